"""Agents over Google's client: hand-written loops, as people write them, and the loop that the client runs by itself."""

import asyncio
import json

from google import genai
from google.genai import types

from toolwitness.tests.fakes.orders import NAMES, SCHEMAS, Orders

INSTRUMENTATION = "google_genai"
MODES = ("automatic", "sync", "stream", "async", "automatic-stream", "automatic-async", "automatic-astream", "chat")
QUESTION = "Orders, please [script:{}]"
DECLARED = types.Tool(
    function_declarations=[
        {"name": name, "description": getattr(Orders, name).__doc__, "parameters_json_schema": SCHEMAS[name]} for name in NAMES
    ]
)
_TURNS = 5


def client_of(url):
    """A client that asks the model server and retries as users set it up."""
    retries = types.HttpRetryOptions(attempts=2, initial_delay=0.001, max_delay=0.001)
    return genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url, retry_options=retries))


def run(url, script, orders, mode="sync"):
    """Ask about orders; gives the final text."""
    client, question = client_of(url), QUESTION.format(script)
    if mode in {"async", "automatic-async", "automatic-astream"}:
        return asyncio.run(_arun(client, question, orders, mode))
    with client:
        if not mode.startswith("automatic") and mode != "chat":
            return _loop(client, question, orders, mode)
        config = _config(tools=functions_of(orders))
        asked = {"model": "gemini-m", "config": config}
        if mode == "automatic-stream":
            chunks = client.models.generate_content_stream(contents=question, **asked)
            return "".join(chunk.text or "" for chunk in chunks)
        if mode == "chat":
            return client.chats.create(**asked).send_message(question).text
        return client.models.generate_content(contents=question, **asked).text


async def _arun(client, question, orders, mode):
    async with client.aio as models:
        if mode == "async":
            return await _aloop(models, question, orders)
        asked = {"model": "gemini-m", "contents": question, "config": _config(tools=functions_of(orders))}
        if mode == "automatic-async":
            return (await models.models.generate_content(**asked)).text
        return "".join([chunk.text or "" async for chunk in await models.models.generate_content_stream(**asked)])


def functions_of(orders):
    """The tools as plain functions."""
    return [getattr(orders, name) for name in NAMES]


def _config(tools):
    return types.GenerateContentConfig(system_instruction="Be brief.", tools=tools)


def _loop(client, question, orders, mode):
    contents = [types.Content(role="user", parts=[types.Part(text=question)])]
    asked = {"model": "gemini-m", "contents": contents, "config": _config([DECLARED])}
    for _ in range(_TURNS):
        if mode == "stream":
            answers = list(client.models.generate_content_stream(**asked))
        else:
            answers = [client.models.generate_content(**asked)]
        if not _go_on(contents, answers, orders):
            return _text(answers)
    return None


async def _aloop(client, question, orders):
    contents = [types.Content(role="user", parts=[types.Part(text=question)])]
    for _ in range(_TURNS):
        answer = await client.models.generate_content(model="gemini-m", contents=contents, config=_config([DECLARED]))
        if not _go_on(contents, [answer], orders):
            return _text([answer])
    return None


def _text(answers):
    return "".join(answer.text or "" for answer in answers)


def _go_on(contents, answers, orders):
    """Run the functions that were called; false where there were none."""
    contents += [answer.candidates[0].content for answer in answers]
    called = [call for answer in answers for call in answer.function_calls or ()]
    parts = [types.Part.from_function_response(name=call.name, response=_dispatch(orders, call)) for call in called]
    contents.append(types.Content(role="user", parts=parts))
    return bool(called)


def _dispatch(orders, call):
    try:
        return {"result": json.loads(json.dumps(getattr(orders, call.name)(**call.args)))}
    except Exception as error:  # noqa: BLE001 -- a typical loop tells the model whatever went wrong
        return {"error": str(error)}
