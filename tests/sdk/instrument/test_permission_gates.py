"""The permission gate is the application's: a denial stays one, in every state that telemetry can be in (C2)."""

import asyncio
import contextlib
import importlib
from types import SimpleNamespace

import pytest

import toolwitness
from toolwitness.tests.fakes.orders import Orders
from toolwitness.tests.sdk.instrument.test_non_interference import state
from toolwitness.tests.sdk.instrument.test_refusals import WAYS

BROKEN = ["broken exporter", "full queue", "redactor raises", "projection raises", "no model steps", "no calls"]
APPROVALS = {}
"""Plays by framework: given the model server, orders and the answer, they propose a call that waits for it, and go on."""


@pytest.fixture(autouse=True)
def _no_warnings_of_ours():
    """Here warnings of ours are expected."""


@pytest.fixture(name="put")
def _put(tmp_path, monkeypatch):
    """`with put(state, framework):` records it with telemetry in that state, or not at all where the state is None."""

    @contextlib.contextmanager
    def put(name, framework):
        with monkeypatch.context() as patched:
            recorded = state(name, SimpleNamespace(INSTRUMENTATION=framework), tmp_path, patched)
            with contextlib.nullcontext() if name is None else recorded:
                yield

    return put


def approval(framework):
    """Add a play, where its framework is installed."""

    def add(play):
        with contextlib.suppress(ImportError):
            importlib.import_module({"openai_agents": "agents"}.get(framework, framework))
            APPROVALS[framework] = play
        return play

    return add


@approval("openai_agents")
def ask_openai_agents(model, orders, *, allowed):
    """A tool that needs an approval."""
    framework, openai = importlib.import_module("agents"), importlib.import_module("openai")
    fake = importlib.import_module("toolwitness.tests.fakes.agents.openai_agents")
    framework.set_tracing_disabled(True)

    async def go():
        async with openai.AsyncOpenAI(base_url=model.url + "/v1", api_key="k") as client:
            agent = fake.make(client, fake.tools_of(orders, needs_approval=True))
            asked = await framework.Runner.run(agent, "[script:odd]")
            waiting = asked.to_state()
            for item in asked.interruptions:
                (waiting.approve if allowed else waiting.reject)(item)
            await framework.Runner.run(agent, waiting)

    asyncio.run(go())


@approval("pydantic_ai")
def ask_pydantic_ai(model, orders, *, allowed):
    """A tool that needs an approval."""
    framework = importlib.import_module("pydantic_ai")
    fake = importlib.import_module("toolwitness.tests.fakes.agents.pydantic_ai")
    tool = framework.Tool(orders.get_weather, requires_approval=True)
    agent = fake.make(model.url, orders, tools=[tool], output_type=[str, framework.DeferredToolRequests])
    asked = agent.run_sync("[script:odd]")
    answers = framework.DeferredToolResults(approvals={part.tool_call_id: allowed for part in asked.output.approvals})
    agent.run_sync(message_history=asked.all_messages(), deferred_tool_results=answers)


@approval("langchain")
def ask_langchain(model, orders, *, allowed):
    """Middleware that asks a person."""
    fake = importlib.import_module("toolwitness.tests.fakes.agents.langchain_agent")
    review = importlib.import_module("langchain.agents.middleware").HumanInTheLoopMiddleware(interrupt_on={"get_weather": True})
    saver = importlib.import_module("langgraph.checkpoint.memory").InMemorySaver()
    command = importlib.import_module("langgraph.types").Command
    agent = fake.make(model.url, fake.tools_of(orders), middleware=[review], checkpointer=saver)
    thread = {"configurable": {"thread_id": "thread-1"}}
    agent.invoke(fake.question("odd"), thread)
    agent.invoke(command(resume={"decisions": [{"type": "approve" if allowed else "reject"}]}), thread)


@approval("fastmcp")
def ask_fastmcp(model, orders, *, allowed):
    """A server whose middleware knows who may call."""
    del model
    framework = importlib.import_module("fastmcp")
    middleware = importlib.import_module("fastmcp.server.middleware").Middleware

    class Allows(middleware):
        async def on_call_tool(self, context, call_next):
            if not allowed:
                raise PermissionError
            return await call_next(context)

    server = framework.FastMCP("desk", middleware=[Allows()])
    server.add_tool(importlib.import_module("fastmcp.tools").Tool.from_function(orders.get_weather))

    async def go():
        async with framework.Client(server) as client:
            await client.call_tool("get_weather", {"city": "Berlin"})

    asyncio.run(go())


@pytest.mark.parametrize("name", [None, *BROKEN])
@pytest.mark.parametrize("framework", sorted(APPROVALS))
def test_an_answer_is_what_it_was(put, model, framework, name):
    """Denied, the tool never runs; allowed, it runs once; recorded or not, however telemetry is."""
    denied, allowed = Orders(), Orders()
    with put(name, framework):
        with contextlib.suppress(Exception):
            APPROVALS[framework](model, denied, allowed=False)
        APPROVALS[framework](model, allowed, allowed=True)

    assert (denied.ledger, allowed.ledger) == ([], [("get_weather", "Berlin")])


@pytest.mark.parametrize("way", sorted(WAYS))
def test_what_a_framework_refuses_does_not_run_while_telemetry_is_broken(put, model, way):
    """Limits, guardrails, hooks and middleware."""
    framework, play, _ = WAYS[way]
    orders = Orders()
    for name in BROKEN:
        with put(name, framework), contextlib.suppress(Exception):
            play(model, orders)

    assert orders.ledger == []


@pytest.mark.parametrize("name", [None, *BROKEN])
def test_a_decorated_tool_that_is_not_permitted_raises_what_it_raised(put, name):
    """The very same exception, within a call of a run and by itself."""
    said = PermissionError("not you")

    @toolwitness.tool(side_effect="write")
    def pay():
        raise said

    with put(name, "httpx"):
        with pytest.raises(PermissionError) as alone:
            pay()
        with toolwitness.run("t"), toolwitness.call("pay", {}) as call:
            call.gate("authorization", "deny")
            with pytest.raises(PermissionError) as inside:
                pay()

    assert alone.value is said
    assert inside.value is said
