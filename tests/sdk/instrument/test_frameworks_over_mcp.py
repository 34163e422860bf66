"""Tools of an MCP server that frameworks offer to their models: one call each, which travels by MCP."""

import asyncio
import sys
from pathlib import Path

import agents as openai_agents
import fastmcp
import openai
import pytest
from agents.mcp import MCPServerStdio
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from toolwitness.model.enums import RecordKind
from toolwitness.tests.fakes import mcp_stdio_server

SERVER = {"command": sys.executable, "args": ["-S", str(Path(mcp_stdio_server.__file__))]}
QUESTION = "Orders, please [script:parallel]"


async def by_openai_agents(url):
    """An agent with the server's tools."""
    openai_agents.set_tracing_disabled(True)
    async with MCPServerStdio(params=SERVER) as server, openai.AsyncOpenAI(base_url=url + "/v1", api_key="k") as client:
        model = openai_agents.OpenAIChatCompletionsModel("m", openai_client=client)
        agent = openai_agents.Agent(name="orders", model=model, mcp_servers=[server])
        return (await openai_agents.Runner.run(agent, QUESTION)).final_output


async def by_pydantic_ai(url):
    """As above, over fastmcp's client."""
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url + "/v1", api_key="k"))
    async with Agent(model, toolsets=[MCPToolset(fastmcp.Client(StdioTransport(**SERVER)))]) as agent:
        return (await agent.run(QUESTION)).output


@pytest.mark.parametrize(("framework", "run"), [("openai_agents", by_openai_agents), ("pydantic_ai", by_pydantic_ai)])
def test_a_tool_of_a_server_is_one_call_with_one_attempt(instrument, model, framework, run):
    """The framework's attempt is the one, and the request says how it travelled."""
    with instrument(framework, "openai", "mcp", "fastmcp") as recorded:
        gave = asyncio.run(run(model.url))
        calls = recorded.story()["calls"]
        attempts = recorded.records(RecordKind.ATTEMPT)

    assert gave.startswith("Found order A-17")
    assert sorted(call[:3] for call in calls) == [("get_weather", "ok", 1), ("search_orders", "ok", 1)]
    assert [attempt.transport for attempt in attempts] == ["mcp", "mcp"]
