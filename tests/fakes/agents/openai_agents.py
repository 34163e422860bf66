"""An agent of openai-agents over OpenAI's client, by both of its protocols."""

import asyncio

import agents
import openai

INSTRUMENTATION = "openai_agents"
MODES = ("sync", "async", "stream", "chat")
_TURNS = 5


def tools_of(orders, **options):
    """The tools as the framework's."""
    plain = (orders.search_orders, orders.get_weather, orders.cancel_order, orders.submit_refund, orders.flaky_lookup)
    return [agents.function_tool(tool, strict_mode=False, **options) for tool in plain]


def make(client, tools, *, chat=False, **options):
    """The agent."""
    model = (agents.OpenAIChatCompletionsModel if chat else agents.OpenAIResponsesModel)("m", openai_client=client)
    return agents.Agent(name="orders", instructions="Be brief.", model=model, tools=tools, **options)


def run(url, script, orders, mode="sync", **options):
    """Ask about orders; gives the final text."""
    agents.set_tracing_disabled(True)
    client = openai.AsyncOpenAI(base_url=url + "/v1", api_key="k")
    agent = make(client, tools_of(orders), chat=mode == "chat", **options)
    question = f"Orders, please [script:{script}]"
    if mode == "sync":
        return agents.Runner.run_sync(agent, question, max_turns=_TURNS).final_output
    return asyncio.run(_arun(client, agent, question, mode))


async def _arun(client, agent, question, mode):
    async with client:
        if mode != "stream":
            return (await agents.Runner.run(agent, question, max_turns=_TURNS)).final_output
        streamed = agents.Runner.run_streamed(agent, question, max_turns=_TURNS)
        async for _ in streamed.stream_events():
            pass
        return streamed.final_output
