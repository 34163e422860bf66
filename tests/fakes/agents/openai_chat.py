"""A hand-written loop over OpenAI's client, as people write it."""

import asyncio
import json

import openai

from toolwitness.tests.fakes.orders import OPENAI_TOOLS

INSTRUMENTATION = "openai"
MODES = ("sync", "stream", "async")
_TURNS = 5


def run(url, script, orders, mode="sync"):
    """Ask about orders; gives the final text."""
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Orders, please [script:{script}]"}]
    if mode == "async":
        return asyncio.run(_arun(url, messages, orders))
    client = openai.OpenAI(base_url=url + "/v1", api_key="k")
    for _ in range(_TURNS):
        answer = client.chat.completions.create(model="m", messages=messages, tools=OPENAI_TOOLS, stream=mode == "stream")
        message = _assembled(answer) if mode == "stream" else answer.choices[0].message.model_dump(exclude_none=True)
        if not _go_on(messages, message, orders):
            return message["content"]
    return None


async def _arun(url, messages, orders):
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="k") as client:
        for _ in range(_TURNS):
            answer = await client.chat.completions.create(model="m", messages=messages, tools=OPENAI_TOOLS)
            message = answer.choices[0].message.model_dump(exclude_none=True)
            if not _go_on(messages, message, orders):
                return message["content"]
    return None


def _go_on(messages, message, orders):
    """Run the tools that were called; false where there were none."""
    messages.append(message)
    for call in message.get("tool_calls") or ():
        content = _dispatch(orders, call["function"]["name"], call["function"]["arguments"])
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    return bool(message.get("tool_calls"))


def _dispatch(orders, name, arguments):
    try:
        return json.dumps(getattr(orders, name)(**json.loads(arguments)))
    except Exception as error:  # noqa: BLE001 -- a typical loop tells the model whatever went wrong
        return f"Error: {error}"


def _assembled(stream):
    """The message that a stream's chunks make."""
    text, calls = "", {}
    for chunk in stream:
        delta = chunk.choices[0].delta
        text += delta.content or ""
        for part in delta.tool_calls or ():
            call = calls.setdefault(part.index, {"id": part.id, "type": "function", "function": {"name": "", "arguments": ""}})
            call["function"]["name"] += part.function.name or ""
            call["function"]["arguments"] += part.function.arguments or ""
    return {"role": "assistant", "content": text, **({"tool_calls": list(calls.values())} if calls else {})}
