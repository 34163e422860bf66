"""Hand-written loops over litellm, to providers that it asks by its own client and to OpenAI, by OpenAI's."""

import asyncio
import importlib.util
import json
import os

from toolwitness.tests.fakes.orders import OPENAI_TOOLS

INSTRUMENTATION = "litellm"
MODES = (
    *("anthropic", "anthropic-stream", "anthropic-async", "gemini-astream", "deepseek"),
    *("openai", "openai-stream", "openai-async", "responses", "responses-async"),
)
MODELS = {
    "anthropic": "anthropic/m",
    "gemini": "gemini/m",
    "deepseek": "deepseek/m",
    "mistral": "mistral/m",
    "openai": "openai/m",
    "responses": "openai/m",
}
_TURNS = 5

if importlib.util.find_spec("litellm") is None:
    raise ImportError("litellm is not installed here")


def imported():
    """The package, which takes seconds to import and then does not ask the network for prices."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm  # noqa: PLC0415 -- as said

    litellm.suppress_debug_info = True
    return litellm


def options(url, mode):
    """Where a mode's provider is asked."""
    provider = mode.partition("-")[0]
    base = url if provider in {"anthropic", "gemini"} else url + "/v1"
    return {"model": MODELS[provider], "api_base": base, "api_key": "k", "max_retries": 0}


def tools():
    """Tools of this request alone, since litellm may change them."""
    return json.loads(json.dumps(OPENAI_TOOLS))


def run(url, script, orders, mode="anthropic"):
    """Ask about orders; gives the final text."""
    litellm = imported()
    asked = options(url, mode)
    question = f"Orders, please [script:{script}]"
    if mode.startswith("responses"):
        return _responses(litellm, asked, question, orders, use_async=mode.endswith("async"))
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
    if mode.endswith(("async", "astream")):
        return asyncio.run(_arun(litellm, asked, messages, orders, stream=mode.endswith("stream")))
    for _ in range(_TURNS):
        answer = litellm.completion(messages=messages, tools=tools(), stream=mode.endswith("stream"), **asked)
        message = _message(litellm, list(answer) if mode.endswith("stream") else answer)
        if not _go_on(messages, message, orders):
            return message["content"]
    return None


async def _arun(litellm, asked, messages, orders, *, stream):
    for _ in range(_TURNS):
        answer = await litellm.acompletion(messages=messages, tools=tools(), stream=stream, **asked)
        message = _message(litellm, [chunk async for chunk in answer] if stream else answer)
        if not _go_on(messages, message, orders):
            return message["content"]
    return None


def _message(litellm, answer):
    whole = litellm.stream_chunk_builder(answer) if isinstance(answer, list) else answer
    message = whole.choices[0].message
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": call.function.arguments}}
        for call in message.tool_calls or ()
    ]
    return {"role": "assistant", "content": message.content, **({"tool_calls": calls} if calls else {})}


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


def _responses(litellm, asked, question, orders, *, use_async):
    """The responses API, of which each request holds only what is new."""
    given, previous = question, None
    for _ in range(_TURNS):
        request = {
            "input": given,
            "previous_response_id": previous,
            "tools": [{"type": "function", **tool["function"]} for tool in tools()],
            **asked,
        }
        answer = asyncio.run(litellm.aresponses(**request)) if use_async else litellm.responses(**request)
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return answer.output[0].content[0].text
        given, previous = (
            [
                {
                    "type": "function_call_output",
                    "call_id": call.call_id,
                    "output": _dispatch(orders, call.name, call.arguments),
                }
                for call in calls
            ],
            answer.id,
        )
    return None
