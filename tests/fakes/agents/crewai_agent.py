"""An agent and a crew of crewai over OpenAI's client, by function calling and in its text format."""

import asyncio
import atexit
import os
import tempfile
import warnings

# It sends telemetry, asks on the terminal for permission to send traces and leaves files behind, unless it is told not to.
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", CREWAI_TESTING="true")

with warnings.catch_warnings(action="ignore"):  # of its own modules
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import tool

from toolwitness.tests.fakes.orders import NAMES

_STORAGE = tempfile.TemporaryDirectory()  # what it keeps of every run would go to the user's home and be shared by processes
atexit.register(_STORAGE.cleanup)
os.environ["CREWAI_STORAGE_DIR"] = _STORAGE.name

INSTRUMENTATION = "crewai"
MODES = ("crew", "agent", "async", "stream")


def make(url, orders, *, model="gpt-4o-mini", stream=False, **options):
    """The agent; `model="o1"` is one that crewai asks in the text format. Huge results get no file of a random name."""
    provider, path = ("anthropic", "") if model.startswith("claude") else ("openai", "/v1")
    llm = LLM(model=model, provider=provider, base_url=url + path, api_key="k", stream=stream)
    tools = options.pop("tools", None) or [tool(name)(getattr(orders, name)) for name in NAMES]
    options = {"max_iter": 6, "use_better_compaction": False, **options}
    return Agent(role="orders", goal="Help.", backstory="Be brief.", llm=llm, tools=tools, **options)


def crew(agent, question):
    """A crew of this agent alone."""
    task = Task(description=question, expected_output="An answer.", agent=agent)
    return Crew(name="orders", agents=[agent], tasks=[task], tracing=False)


def run(url, script, orders, mode="crew"):
    """Ask about orders; gives the final text."""
    agent = make(url, orders, stream=mode == "stream")
    question = f"Orders, please [script:{script}]"
    if mode == "agent":
        return agent.kickoff(question).raw
    if mode == "async":
        return asyncio.run(crew(agent, question).akickoff()).raw
    return crew(agent, question).kickoff().raw
