"""Whatever refuses a proposed call, in whichever framework: it has a gate, and no attempt.

Ways that every framework has in common are played by every agent; those of one framework alone stand in a table.
"""

import asyncio
import contextlib
import importlib.util
from collections import Counter

import pytest

from toolwitness.model.enums import GateMode, RecordKind, Verdict
from toolwitness.tests.fakes.installed import installed_agents, name_of
from toolwitness.tests.fakes.orders import Orders

OVER_A_WIRE = {"mcp", "fastmcp", "httpx"}
"""Their attempts are requests to a server, which may refuse what it was sent."""
AGENTS = [
    pytest.param(agent, mode, id=f"{name_of(agent)}-{mode}")
    for agent in installed_agents()
    for mode in dict.fromkeys(
        (agent.MODES[0], *(each for each in agent.MODES if each in {"runner", "runner-eager", "automatic"}))
    )
]
REFUSED = {"badjson", "badargs", "unknown"}
WAYS = {}
"""Plays by name: (framework, what plays, expected gate); what plays is given the model server, orders, and gives nothing."""


def way(framework, gate):
    """Add a play of one framework, in which it runs nothing of what was proposed, and what it is recorded as."""

    def add(play):
        if importlib.util.find_spec({"langchain": "langchain", "openai_agents": "agents"}.get(framework, framework)):
            WAYS[play.__name__] = framework, play, gate
        return play

    return add


def denied(recorded):
    """The calls that an enforced gate stopped."""
    return {
        gate.call_id
        for gate in recorded.records(RecordKind.GATE)
        if gate.gate_mode is GateMode.ENFORCED and gate.verdict in {Verdict.DENY, Verdict.SKIP}
    }


@pytest.mark.parametrize("script", sorted(REFUSED))
@pytest.mark.parametrize(("agent", "mode"), AGENTS)
@pytest.mark.filterwarnings("ignore:Tool 'delete_everything' not found")
def test_what_was_not_executed_has_no_attempt(instrument, model, agent, mode, script):
    """No JSON, arguments that do not fit, a tool that is not there; an attempt that has not run says that it did nothing."""
    orders = Orders()
    with instrument(agent.INSTRUMENTATION, "openai", "mcp") as recorded, contextlib.suppress(Exception):
        agent.run(model.url, script, orders, mode)
    stopped = denied(recorded)
    tools = {call.call_id: call.tool for call in recorded.records(RecordKind.CALL)}
    ran = [attempt for attempt in recorded.records(RecordKind.ATTEMPT) if not attempt.effect_ruled_out]
    attempts = Counter(tools[attempt.call_id] for attempt in ran)

    assert not [call_id for call_id in stopped if recorded.attempts(call_id)]
    if agent.INSTRUMENTATION not in OVER_A_WIRE:
        assert attempts <= Counter(done[0] for done in orders.ledger)


@way("openai_agents", ("policy", "deny", "enforced"))
def a_hook_of_openai_agents_raises(model, orders):
    """Before the tool starts."""
    framework = importlib.import_module("agents")

    class Hooks(framework.RunHooks):
        async def on_tool_start(self, *_):
            raise PermissionError

    _openai_agent(model, orders, "odd", hooks=Hooks())


@way("openai_agents", ("policy", "deny", "enforced"))
def an_input_guardrail_of_openai_agents_stops_the_run_meanwhile(model, orders):
    """It looks at the question while the model answers."""
    framework = importlib.import_module("agents")
    proposed = asyncio.Event()

    class Hooks(framework.RunHooks):
        async def on_llm_end(self, *_):
            proposed.set()
            await asyncio.Event().wait()

    async def block(*_):
        await proposed.wait()
        return framework.GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    _openai_agent(model, orders, "odd", hooks=Hooks(), agent={"input_guardrails": [framework.InputGuardrail(block)]})


@way("openai_agents", ("catalog", "deny", "enforced"))
def a_tool_of_openai_agents_is_switched_off(model, orders):
    """The model calls it nevertheless."""
    _openai_agent(model, orders, "odd", tools={"is_enabled": False})


def _openai_agent(model, orders, script, *, tools=None, agent=None, **options):
    framework, openai = importlib.import_module("agents"), importlib.import_module("openai")
    fake = importlib.import_module("toolwitness.tests.fakes.agents.openai_agents")
    framework.set_tracing_disabled(True)

    async def go():
        async with openai.AsyncOpenAI(base_url=model.url + "/v1", api_key="k") as client:
            made = fake.make(client, fake.tools_of(orders, **(tools or {})), **(agent or {}))
            await framework.Runner.run(made, f"[script:{script}]", max_turns=5, **options)

    asyncio.run(go())


@way("pydantic_ai", ("budget", "deny", "enforced"))
def a_limit_of_pydantic_ai_is_spent(model, orders):
    """It ends the run before anything of the step runs."""
    limits = importlib.import_module("pydantic_ai").UsageLimits(tool_calls_limit=0)
    _pydantic_agent(model, orders).run_sync("[script:odd]", usage_limits=limits)


@way("pydantic_ai", ("input_validation", "deny", "enforced"))
def a_validator_of_pydantic_ai_says_no(model, orders):
    """The tool's own, of arguments that fit its schema."""
    framework = importlib.import_module("pydantic_ai")

    async def says_no(_, city: str):
        raise framework.ModelRetry(city)

    _pydantic_agent(model, orders, tools=[framework.Tool(orders.get_weather, args_validator=says_no)]).run_sync("[script:odd]")


@way("pydantic_ai", ("catalog", "deny", "enforced"))
def a_tool_of_pydantic_ai_is_withheld(model, orders):
    """The model calls it nevertheless."""
    framework = importlib.import_module("pydantic_ai")

    async def withhold(*_):
        return None

    _pydantic_agent(model, orders, tools=[framework.Tool(orders.get_weather, prepare=withhold)]).run_sync("[script:odd]")


def _pydantic_agent(model, orders, **options):
    fake = importlib.import_module("toolwitness.tests.fakes.agents.pydantic_ai")
    return fake.make(model.url, orders, **options)


@way("langchain", ("budget", "deny", "enforced"))
def the_recursion_limit_of_langgraph_is_reached(model, orders):
    """Between the model's step and its tools."""
    fake = _langchain()
    fake.make(model.url, fake.tools_of(orders)).invoke(fake.question("odd"), {"recursion_limit": 1})


@way("langchain", ("budget", "deny", "enforced"))
def a_limit_of_langchain_ends_the_run(model, orders):
    """Instead of telling the model."""
    middleware = importlib.import_module("langchain.agents.middleware")
    limit = middleware.ToolCallLimitMiddleware(run_limit=0, exit_behavior="end")
    _langchain().run(model.url, "odd", orders, middleware=[limit])


@way("langchain", ("policy", "deny", "observed"))
def middleware_of_langchain_words_a_no(model, orders):
    """In the tool's place; nobody sees what else it did."""
    message = importlib.import_module("langchain_core.messages").ToolMessage

    def no(request, _):
        return message(content="not allowed", tool_call_id=request.tool_call["id"], status="error")

    _langchain().run(model.url, "odd", orders, middleware=[_around_tools(no)])


@way("langchain", ("policy", "skip", "observed"))
def middleware_of_langchain_answers_from_memory(model, orders):
    """In the tool's place."""
    message = importlib.import_module("langchain_core.messages").ToolMessage

    def remembered(request, _):
        return message(content="7 degrees", tool_call_id=request.tool_call["id"])

    _langchain().run(model.url, "odd", orders, middleware=[_around_tools(remembered)])


@way("langchain", ("authorization", "deny", "enforced"))
def middleware_of_langchain_raises_that_it_is_not_permitted(model, orders):
    """Before the tool, and through the graph."""

    def no(*_):
        raise PermissionError

    _langchain().run(model.url, "odd", orders, middleware=[_around_tools(no)])


def _langchain():
    return importlib.import_module("toolwitness.tests.fakes.agents.langchain_agent")


def _around_tools(function):
    return importlib.import_module("langchain.agents.middleware").wrap_tool_call(function)


@pytest.mark.parametrize("name", sorted(WAYS))
def test_what_one_framework_refuses_has_a_gate_and_no_attempt(instrument, model, name):
    """Nothing ran, and it is neither a failure of the tool nor an attempt of the call."""
    framework, play, gate = WAYS[name]
    orders = Orders()
    with instrument(framework, "openai") as recorded, contextlib.suppress(Exception):
        play(model, orders)
    first = recorded.story()["calls"][0]

    assert orders.ledger == []
    assert (first[0], first[2], first[3][-1:]) == ("get_weather", 0, [gate])


@pytest.mark.parametrize("eager", [{}, {"run_tools_eagerly": True, "stream": True}], ids=["later", "eagerly"])
def test_the_runner_of_anthropic_that_stops_leaves_nothing_proposed(instrument, model, eager):
    """At its limit it runs the tools of the last answer, and asks no more."""
    anthropic = pytest.importorskip("anthropic")
    fake = importlib.import_module("toolwitness.tests.fakes.agents.anthropic_messages")
    model.scripts["forever"] = [[("get_weather", '{"city": "Berlin"}')]] * 3
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "[script:forever]"}], "max_iterations": 1}
    orders = Orders()
    with instrument("anthropic") as recorded, anthropic.Anthropic(base_url=model.url, api_key="k") as client:
        client.beta.messages.tool_runner(**asked, **eager, tools=fake.runner_tools(orders)).until_done()
        calls = recorded.story()["calls"]

    assert [call[:3] for call in calls] == [("get_weather", "ok", 1)]
    assert len(orders.ledger) == 1
