"""An agent of pydantic-ai over OpenAI's client."""

import asyncio

from pydantic_ai import Agent, ModelRetry, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

INSTRUMENTATION = "pydantic_ai"
MODES = ("sync", "async", "stream")


def make(url, orders, **options):
    """The agent."""

    def flaky_lookup(key: str) -> str:
        """Look something up; fails the first time."""
        try:
            return orders.flaky_lookup(key)
        except ConnectionError as error:
            raise ModelRetry("try again") from error

    plain = (orders.search_orders, orders.get_weather, orders.cancel_order, orders.submit_refund)
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url + "/v1", api_key="k"))
    tools = [Tool(tool) if callable(tool) else tool for tool in options.pop("tools", [*plain, flaky_lookup])]
    return Agent(model, name="orders", instructions="Be brief.", tools=tools, **options)


def run(url, script, orders, mode="sync"):
    """Ask about orders; gives the final text."""
    agent = make(url, orders)
    question = f"Orders, please [script:{script}]"
    if mode == "sync":
        return agent.run_sync(question).output
    return asyncio.run(_arun(agent, question, mode))


async def _arun(agent, question, mode):
    if mode == "async":
        return (await agent.run(question)).output
    async with agent.run_stream(question) as result:
        return await result.get_output()
