"""An agent of LangChain (a graph of LangGraph) over OpenAI's client."""

import asyncio

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI

INSTRUMENTATION = "langchain"
MODES = ("sync", "async", "stream")


def tools_of(orders, **options):
    """The tools as the framework's."""
    plain = (orders.search_orders, orders.get_weather, orders.cancel_order, orders.submit_refund, orders.flaky_lookup)
    return [StructuredTool.from_function(tool, **options) for tool in plain]


def make(url, tools, **options):
    """The agent."""
    model = ChatOpenAI(model="m", base_url=url + "/v1", api_key="k")
    return create_agent(model, tools, system_prompt="Be brief.", name="orders", **options)


def question(script):
    """The agent's input."""
    return {"messages": [{"role": "user", "content": f"Orders, please [script:{script}]"}]}


def run(url, script, orders, mode="sync", **options):
    """Ask about orders; gives the final text."""
    agent = make(url, tools_of(orders), **options)
    if mode == "sync":
        return agent.invoke(question(script))["messages"][-1].content
    if mode == "async":
        return asyncio.run(agent.ainvoke(question(script)))["messages"][-1].content
    return _streamed(agent.stream(question(script), stream_mode="messages"))


def _streamed(stream):
    """The model's text as it came, then the tools' messages: those of parallel tools come in any order, also without us."""
    said, tools = [], []
    for message, _ in stream:
        (tools if message.type == "tool" else said).append(str(message.content))
    return ["".join(said), *sorted(tools)]
