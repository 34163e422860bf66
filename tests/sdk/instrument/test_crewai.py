"""crewai's crews and agents need nothing but `instrument()`; in an environment of their own, `make test-all` runs them."""

import asyncio

import pytest

pytest.importorskip("crewai", reason="crewai is not installed here; its environment is .venv-crewai, by make test-all")

from crewai import Agent, Crew, Task
from crewai.hooks import clear_all_tool_call_hooks, register_after_tool_call_hook, register_before_tool_call_hook
from crewai.hooks.dispatch import HookAborted
from crewai.tools import BaseTool, tool
from crewai.tools.tool_failure import ToolFailure, ToolFailurePolicy

import toolwitness
from toolwitness.model.enums import Known, RecordKind
from toolwitness.tests.fakes.agents import crewai_agent
from toolwitness.tests.fakes.agents.crewai_agent import MODES, crew, make
from toolwitness.tests.fakes.model_server import J
from toolwitness.tests.fakes.orders import Orders

ALLOWED = [("input_validation", "allow", "enforced")]
every_mode = pytest.mark.parametrize("mode", MODES)
CACHED = [("idempotency", "skip", "enforced")]


@pytest.fixture(name="both")
def _both(instrument):
    """`with both() as recorded:` records crewai and the client below it."""
    return lambda: instrument("crewai", "openai")


@pytest.fixture(name="hooks")
def _hooks():
    """Hooks are the process's; they are taken back."""
    yield register_before_tool_call_hook
    clear_all_tool_call_hooks()


@every_mode
def test_parallel_calls_are_one_decision_with_two_executed_calls(both, model, mode):
    """What the client saw proposed is what crewai checked and ran, in one run; nothing is recorded twice."""
    with both() as recorded:
        gave = crewai_agent.run(model.url, "parallel", Orders(), mode)
        story, run = recorded.story(), recorded.one(RecordKind.RUN)

    assert gave.startswith("Found order")
    assert story == {
        "decisions": ["called", "answered"],
        "calls": [("search_orders", "ok", 1, ALLOWED), ("get_weather", "ok", 1, ALLOWED)],
        "runs": 1,
    }
    assert run.agent == "orders"


@pytest.mark.parametrize("stream", [False, True])
def test_over_anthropic_s_client_it_is_the_same(instrument, model, stream):
    """Crewai asks each model by its vendor's client."""
    with instrument("crewai", "anthropic") as recorded:
        make(model.url, Orders(), model="claude-sonnet-4-5", stream=stream).kickoff("Orders [script:parallel]")
        story = recorded.story()

    assert story == {
        "decisions": ["called", "answered"],
        "calls": [("search_orders", "ok", 1, ALLOWED), ("get_weather", "ok", 1, ALLOWED)],
        "runs": 1,
    }


def test_visible_tools_are_known(both, model):
    """The schemas are those that the client sent."""
    with both() as recorded:
        crewai_agent.run(model.url, "parallel", Orders())
        call = next(one for one in recorded.records(RecordKind.CALL) if one.tool == "search_orders")

    assert (call.registered, call.visible, call.arguments_valid) == (Known.YES, Known.YES, "valid")


def test_a_decorated_tool_is_the_attempt_that_was_opened(both, model):
    """No call more, also in a thread of crewai's, and the decorator's word on side effects counts."""
    orders = Orders()
    orders.get_weather = toolwitness.tool(orders.get_weather, name="get_weather", side_effect="read")
    with both() as recorded:
        crewai_agent.run(model.url, "parallel", orders)
        effects = {one.tool: str(one.side_effect) for one in recorded.records(RecordKind.CALL)}
        story = recorded.story()

    assert [call[:3] for call in story["calls"]] == [("search_orders", "ok", 1), ("get_weather", "ok", 1)]
    assert effects["get_weather"] == "read"


@pytest.mark.parametrize(
    "told", [("raises", "raised", "PermissionDeniedError"), ("timeout", "timeout", "TimeoutError")], ids=["raises", "timeout"]
)
def test_what_a_tool_raised_is_known_by_its_type(both, model, told):
    """Before crewai makes text of it."""
    script, status, kind = told
    with both() as recorded:
        crewai_agent.run(model.url, script, Orders())
        call, attempt = recorded.one(RecordKind.CALL), recorded.one(RecordKind.ATTEMPT)

    assert (str(call.observation), call.error_type, attempt.error_type) == (status, kind, kind)


@pytest.mark.parametrize(("script", "gate"), [("badjson", "parse"), ("badargs", "input_validation"), ("unknown", "catalog")])
def test_a_refused_call_is_a_gate_without_an_attempt(both, model, script, gate):
    """No JSON, arguments that do not fit, a tool that is not there."""
    with both() as recorded:
        crewai_agent.run(model.url, script, Orders())
        refused = recorded.story()["calls"][0]

    assert refused[1:3] == ("none", 0)
    assert (gate, "deny", "enforced") in refused[3]


def test_a_tool_that_the_model_writes_in_another_way_is_tried(both, model):
    """Crewai reads the name in its own way."""
    model.scripts["loud"] = [[("Get-Weather", J({"city": "Berlin"}))], "Done."]
    orders = Orders()
    with both() as recorded:
        crewai_agent.run(model.url, "loud", orders)
        story = recorded.story()

    assert orders.ledger == [("get_weather", "Berlin")]
    assert story["calls"] == [("Get-Weather", "ok", 1, ALLOWED)]


def test_what_the_cache_answers_is_no_attempt(both, model):
    """The same call a second time: crewai answers from memory, and the tool does not run."""
    model.scripts["again"] = [[("get_weather", J({"city": "Berlin"}))], [("get_weather", J({"city": "Berlin"}))], "Done."]
    orders = Orders()
    with both() as recorded:
        make(model.url, orders, cache=True).kickoff("Weather [script:again]")
        story = recorded.story()

    assert len(orders.ledger) == 1
    assert story["calls"] == [("get_weather", "ok", 1, ALLOWED), ("get_weather", "ok", 0, CACHED)]


def test_a_spent_limit_is_a_gate_without_an_attempt(both, model):
    """The tool may be used once."""
    model.scripts["twice"] = [[("get_weather", J({"city": "Berlin"})), ("get_weather", J({"city": "Bonn"}))], "Done."]
    orders = Orders()
    limited = tool("get_weather", max_usage_count=1)(orders.get_weather)
    with both() as recorded:
        make(model.url, orders, tools=[limited]).kickoff("Weather [script:twice]")
        story = recorded.story()

    assert story["calls"] == [
        ("get_weather", "ok", 1, ALLOWED),
        ("get_weather", "none", 0, [("budget", "deny", "enforced")]),
    ]


def test_a_call_that_a_hook_blocks_has_no_attempt(both, model, hooks):
    """A hook that says no is a policy."""
    hooks(lambda context: False if context.tool_name == "get_weather" else None)
    orders = Orders()
    with both() as recorded:
        crewai_agent.run(model.url, "parallel", orders)
        story = recorded.story()

    assert [entry[0] for entry in orders.ledger] == ["search_orders"]
    assert story["calls"][1] == ("get_weather", "none", 0, [("policy", "deny", "enforced")])


def test_arguments_that_a_hook_changed_are_told(both, model, hooks):
    """The tool ran with others than the model proposed."""
    hooks(lambda context: context.tool_input.update(city="Bonn") if context.tool_name == "get_weather" else None)
    orders = Orders()
    with both() as recorded:
        crewai_agent.run(model.url, "odd", orders)
        call = recorded.one(RecordKind.CALL)

    assert orders.ledger == [("get_weather", "Bonn")]
    assert call.executed_arguments is not None


def test_a_tool_that_a_hook_runs_is_not_the_call_s(both, model, hooks):
    """Only the tool that was called is tried."""
    orders, asked = Orders(), []

    @tool("audit")
    def audit(city: str) -> str:
        """Write down what was asked."""
        asked.append(city)
        return "written"

    hooks(lambda context: audit.run(city=context.tool_input["city"]) and None)
    with both() as recorded:
        crewai_agent.run(model.url, "odd", orders)
        story = recorded.story()

    assert (asked, story["calls"]) == (["Berlin"], [("get_weather", "ok", 1, ALLOWED)])


@pytest.mark.usefixtures("hooks")
def test_a_hook_that_ends_the_run_changes_nothing_of_what_is_known(both, model):
    """The tool has run and answered; the model is not told any more."""

    def abort(_):
        raise HookAborted("enough")

    register_after_tool_call_hook(abort)
    with both() as recorded:
        with pytest.raises(HookAborted):
            crewai_agent.run(model.url, "odd", Orders())
        first = recorded.story()["calls"][0]  # an older crewai executes the task again

    assert first == ("get_weather", "ok", 1, ALLOWED)


def test_a_failure_that_the_tool_itself_reports_is_its_answer(both, model):
    """Not raised, and no success."""

    @tool("get_weather")
    def get_weather(city: str) -> str:
        """Tell the weather."""
        return ToolFailure(message=f"no {city}", code="no_city")

    with both() as recorded:
        make(model.url, Orders(), tools=[get_weather]).kickoff("Weather [script:odd]")
        call, attempt = recorded.one(RecordKind.CALL), recorded.one(RecordKind.ATTEMPT)

    assert (str(call.observation), call.vendor_code, str(attempt.attempt_status)) == ("error", "no_city", "ok")


@pytest.mark.parametrize(("script", "told"), [("raises", ("raised", 1)), ("unknown", ("none", 0))], ids=["raises", "unknown"])
def test_a_policy_that_ends_the_run_changes_nothing_of_what_is_known(both, model, script, told):
    """Crewai raises where it would have told the model."""
    with both() as recorded:
        agent = make(model.url, Orders(), tool_failure_policy=ToolFailurePolicy.RAISE)
        with pytest.raises(Exception, match="fail"):
            agent.kickoff(f"Orders [script:{script}]")
        call = recorded.story()["calls"][0]

    assert call[1:3] == told


def test_a_tool_class_is_tried_by_its_asynchronous_function_too(both):
    """Outside of an agent nothing is recorded, and nothing is changed."""

    class Weather(BaseTool):
        name: str = "get_weather"
        description: str = "Tell the weather."

        def _run(self, city: str) -> str:
            return city

        async def _arun(self, city: str) -> str:
            return city

    with both() as recorded:
        gave = (Weather().run(city="Berlin"), asyncio.run(Weather().arun(city="Bonn")))
        records = recorded.records()

    assert (gave, records) == (("Berlin", "Bonn"), [])


def test_an_agent_that_another_one_asks_is_a_part_of_its_run(both, model):
    """The calls of both stand in one run; the question is an attempt of the call that asked it."""
    model.scripts["ask"] = [
        [("ask_question_to_coworker", J({"question": "Weather?", "context": "-", "coworker": "weather"}))],
        "Done.",
    ]
    orders = Orders()
    with both() as recorded:
        asks = make(model.url, orders, allow_delegation=True)
        knows = Agent(
            role="weather",
            goal="Tell.",
            backstory="[script:odd]",
            llm=asks.llm,
            tools=[tool("get_weather")(orders.get_weather)],
        )
        task = Task(description="Ask [script:ask]", expected_output="An answer.", agent=asks)
        Crew(name="orders", agents=[asks, knows], tasks=[task]).kickoff()
        story = recorded.story()

    assert [entry[0] for entry in orders.ledger] == ["get_weather"]
    assert [call[:3] for call in story["calls"]] == [("ask_question_to_coworker", "ok", 1), ("get_weather", "ok", 1)]
    assert story["runs"] == 1


def test_a_streaming_crew_is_one_run(both, model):
    """It runs in a thread of its own and comes back to the same method there."""
    with both() as recorded:
        streaming = crew(make(model.url, Orders()), "Orders [script:parallel]")
        streaming.stream = True
        output = streaming.kickoff()
        list(output)
        story = recorded.story()
        runs = recorded.records(RecordKind.RUN)

    assert output.result.raw.startswith("Found order")
    assert (story["runs"], len(runs), len(story["calls"])) == (1, 1, 2)


def test_an_agent_asked_inside_a_loop_is_one_run(both, model):
    """There it gives a coroutine, as it does without us."""

    async def ask():
        return await make(model.url, Orders()).kickoff("Orders [script:parallel]")

    with both() as recorded:
        gave = asyncio.run(ask()).raw
        runs = recorded.records(RecordKind.RUN)

    assert gave.startswith("Found order")
    assert [run.agent for run in runs] == ["orders"]


def test_a_task_by_itself_is_a_run_of_its_agent(both, model):
    """There is no crew."""
    with both() as recorded:
        agent = make(model.url, Orders())
        Task(description="Orders [script:parallel]", expected_output="An answer.", agent=agent).execute_sync()
        run, story = recorded.one(RecordKind.RUN), recorded.story()

    assert (run.agent, story["runs"], len(story["calls"])) == ("orders", 1, 2)


def test_inside_a_run_of_the_application_it_is_that_run(both, model):
    """The crew's run is a part of it."""
    with both() as recorded:
        with toolwitness.run("t-1", id="run-1"):
            crewai_agent.run(model.url, "parallel", Orders())
        kinds = {RecordKind.CALL, RecordKind.DECISION, RecordKind.RUN}
        runs = {one.run_id for one in recorded.records() if one.kind in kinds}

    assert runs == {"run-1"}


def test_after_uninstrument_nothing_is_wrapped():
    """Every method is the one that it was."""
    before = BaseTool.__dict__["run"]
    toolwitness.instrument(only=["crewai"])
    during = BaseTool.__dict__["run"]
    toolwitness.uninstrument()

    assert BaseTool.__dict__["run"] is before
    assert during is not before
