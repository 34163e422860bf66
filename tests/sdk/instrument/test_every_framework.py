"""What holds for an agent of every framework, over OpenAI's client."""

import importlib

import pytest

import toolwitness
from toolwitness.model.enums import Known, RecordKind
from toolwitness.tests.fakes.installed import installed_agents
from toolwitness.tests.fakes.orders import Orders

WRAPPED = {
    "langchain": ("langgraph.prebuilt.tool_node", "ToolNode", "_run_one"),
    "openai_agents": ("agents.run", "AgentRunner", "run"),
    "pydantic_ai": ("pydantic_ai.tool_manager", "ToolManager", "validate_tool_call"),
}
"""A method that each instrumentation of a framework wraps: module, class, name."""
HERE = [agents for agents in installed_agents() if agents.INSTRUMENTATION in WRAPPED]
ALLOWED = [("input_validation", "allow", "enforced")]
every_framework = pytest.mark.parametrize("agents", [pytest.param(each, id=each.INSTRUMENTATION) for each in HERE])


@pytest.fixture(name="both")
def _both(instrument):
    """`with both(agents) as recorded:` records the framework and the client below it."""
    return lambda agents: instrument(agents.INSTRUMENTATION, "openai")


@pytest.mark.parametrize(
    ("agents", "mode"),
    [pytest.param(each, mode, id=f"{each.INSTRUMENTATION}-{mode}") for each in HERE for mode in each.MODES],
)
def test_parallel_calls_are_one_decision_with_two_executed_calls(both, model, agents, mode):
    """What the client saw proposed is what the framework checked and ran, in one run; nothing is recorded twice."""
    with both(agents) as recorded:
        gave = agents.run(model.url, "parallel", Orders(), mode)
        story, run = recorded.story(), recorded.one(RecordKind.RUN)

    assert isinstance(gave, list) or gave.startswith("Found order")
    assert story == {
        "decisions": ["called", "answered"],
        "calls": [("search_orders", "ok", 1, ALLOWED), ("get_weather", "ok", 1, ALLOWED)],
        "runs": 1,
    }
    assert run.agent == "orders"


@every_framework
def test_visible_tools_are_known(both, model, agents):
    """The schemas are those that the client sent."""
    with both(agents) as recorded:
        agents.run(model.url, "parallel", Orders())
        call = next(one for one in recorded.records(RecordKind.CALL) if one.tool == "search_orders")

    assert (call.registered, call.visible, call.arguments_valid) == (Known.YES, Known.YES, "valid")


@every_framework
def test_inside_a_run_of_the_application_it_is_that_run(both, model, agents):
    """The framework's run is a part of it."""
    with both(agents) as recorded:
        with toolwitness.run("t-1", id="run-1"):
            agents.run(model.url, "parallel", Orders())
        runs = {one.run_id for one in recorded.records() if one.kind in {RecordKind.CALL, RecordKind.DECISION, RecordKind.RUN}}

    assert runs == {"run-1"}


@every_framework
def test_a_decorated_tool_is_the_attempt_that_the_framework_opened(both, model, agents):
    """No call more, and the decorator's word on side effects counts."""
    orders = Orders()
    orders.get_weather = toolwitness.tool(orders.get_weather, name="get_weather", side_effect="read")
    with both(agents) as recorded:
        agents.run(model.url, "parallel", orders)
        effects = {one.tool: str(one.side_effect) for one in recorded.records(RecordKind.CALL)}
        story = recorded.story()

    assert [call[:3] for call in story["calls"]] == [("search_orders", "ok", 1), ("get_weather", "ok", 1)]
    assert effects["get_weather"] == "read"


@every_framework
def test_after_uninstrument_nothing_is_wrapped(agents):
    """Every method is the one that it was."""
    module, owner_name, name = WRAPPED[agents.INSTRUMENTATION]
    owner = getattr(importlib.import_module(module), owner_name)
    before = owner.__dict__[name]
    toolwitness.instrument(only=[agents.INSTRUMENTATION])
    during = owner.__dict__[name]
    toolwitness.uninstrument()

    assert owner.__dict__[name] is before
    assert during is not before
