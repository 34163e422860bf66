"""A hand-written loop over Anthropic's client, as people write it, and its own tool runner."""

import asyncio
import functools
import json

import anthropic

from toolwitness.tests.fakes.orders import NAMES, SCHEMAS, Orders

INSTRUMENTATION = "anthropic"
RUNNERS = ("runner", "runner-stream", "runner-eager", "runner-async", "runner-async-eager")
"""How its tool runner can be asked to go on; an eager one runs each tool while the answer still streams."""
MODES = ("sync", "stream", "async", "raw", *RUNNERS)
TOOLS = [{"name": name, "description": getattr(Orders, name).__doc__, "input_schema": SCHEMAS[name]} for name in NAMES]
_TURNS = 5


def run(url, script, orders, mode="sync"):
    """Ask about orders; gives the final text."""
    question = f"Orders, please [script:{script}]"
    asked = {"model": "m", "max_tokens": 256, "system": "Be brief.", "messages": [{"role": "user", "content": question}]}
    if "async" in mode:
        return asyncio.run(_arun(url, asked, orders) if mode == "async" else _arunner(url, asked, orders, mode))
    with anthropic.Anthropic(base_url=url, api_key="k") as client:
        if mode in RUNNERS:
            runner = client.beta.messages.tool_runner(**asked, **_how(mode), tools=runner_tools(orders))
            return runner.until_done().content[0].text
        for _ in range(_TURNS):
            message = _ask(client, mode, {**asked, "tools": TOOLS})
            if not _go_on(asked["messages"], message, orders):
                return message.content[0].text
    return None


def _ask(client, mode, asked):
    if mode == "stream":
        with client.messages.stream(**asked) as stream:
            return stream.get_final_message()
    if mode == "raw":
        return client.messages.with_raw_response.create(**asked).parse()
    return client.messages.create(**asked)


async def _arun(url, asked, orders):
    async with anthropic.AsyncAnthropic(base_url=url, api_key="k") as client:
        for _ in range(_TURNS):
            message = await client.messages.create(**asked, tools=TOOLS)
            if not _go_on(asked["messages"], message, orders):
                return message.content[0].text
    return None


async def _arunner(url, asked, orders, mode):
    async with anthropic.AsyncAnthropic(base_url=url, api_key="k") as client:
        tools = runner_tools(orders, make=_async_tool)
        message = await client.beta.messages.tool_runner(**asked, **_how(mode), tools=tools).until_done()
        return message.content[0].text


def _how(mode):
    return {"max_iterations": _TURNS, **({"stream": True} if mode.endswith(("stream", "eager")) else {}),
            **({"run_tools_eagerly": True} if mode.endswith("eager") else {})}  # fmt: skip


def runner_tools(orders, make=anthropic.beta_tool):
    """The tools as the runner takes them."""
    return [
        make(getattr(orders, name), name=name, description=tool["description"], input_schema=tool["input_schema"])
        for name, tool in zip(NAMES, TOOLS, strict=True)
    ]


def _async_tool(function, **options):
    @functools.wraps(function)
    async def run(*args, **kwargs):
        return function(*args, **kwargs)

    return anthropic.beta_async_tool(run, **options)


def _go_on(messages, message, orders):
    """Run the tools that were called; false where there were none."""
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]})
    results = [_dispatch(orders, block) for block in message.content if block.type == "tool_use"]
    messages.append({"role": "user", "content": results})
    return bool(results)


def _dispatch(orders, block):
    answer = {"type": "tool_result", "tool_use_id": block.id}
    try:
        return {**answer, "content": json.dumps(getattr(orders, block.name)(**block.input))}
    except Exception as error:  # noqa: BLE001 -- a typical loop tells the model whatever went wrong
        return {**answer, "content": str(error), "is_error": True}
