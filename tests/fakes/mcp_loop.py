"""A hand-written loop over OpenAI's client whose tools are those of an MCP server, as hosts are written."""

import json

import openai

_TURNS = 5


async def loop(url, script, listed, call):
    """Ask about orders; gives the final text. `listed` are a server's tools, `call(name, arguments)` gives blocks."""
    tools = [{"type": "function", "function": {"name": each.name, "parameters": parameters(each)}} for each in listed]
    messages = [{"role": "user", "content": f"Orders, please [script:{script}]"}]
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="k") as client:
        for _ in range(_TURNS):
            answer = await client.chat.completions.create(model="m", messages=messages, tools=tools)
            message = answer.choices[0].message.model_dump(exclude_none=True)
            messages.append(message)
            for asked in message.get("tool_calls") or ():
                content = await _dispatch(call, asked["function"]["name"], asked["function"]["arguments"])
                messages.append({"role": "tool", "tool_call_id": asked["id"], "content": content})
            if not message.get("tool_calls"):
                return message["content"]
    return None


def parameters(tool):
    """The schema of a listed tool, by the names of both major versions."""
    return tool.model_dump(by_alias=True)["inputSchema"]


async def _dispatch(call, name, arguments):
    try:
        return json.dumps([block.model_dump(exclude_none=True) for block in await call(name, json.loads(arguments))])
    except Exception as error:  # noqa: BLE001 -- a typical loop tells the model whatever went wrong
        return f"Error: {error}"
