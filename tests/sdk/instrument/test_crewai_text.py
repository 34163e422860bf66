"""crewai's text format, in which the model only writes what it wants to do, and the steps of its plans."""

from importlib.metadata import version

import pytest

pytest.importorskip("crewai", reason="crewai is not installed here; its environment is .venv-crewai, by make test-all")

from crewai.agents.cache.cache_handler import CacheHandler
from crewai.agents.step_executor import StepExecutor
from crewai.agents.tools_handler import ToolsHandler
from crewai.hooks import clear_all_tool_call_hooks, register_before_tool_call_hook
from crewai.utilities.planning_types import TodoItem
from crewai.utilities.step_execution_context import StepExecutionContext

import toolwitness
from toolwitness.model.enums import RecordKind
from toolwitness.tests.fakes.agents.crewai_agent import make
from toolwitness.tests.fakes.model_server import J
from toolwitness.tests.fakes.orders import Orders

ALLOWED = [("input_validation", "allow", "enforced")]
CACHED = [("idempotency", "skip", "enforced")]
CACHE_AFTER_HOOKS = tuple(map(int, version("crewai").split("."))) >= (1, 15, 28)
"""Older planned steps ask the cache before a call is begun, so that nothing tells what answered it."""
ASKED = '{"query": "blue lamp", "limit": 3}'


@pytest.fixture(name="both")
def _both(instrument):
    """`with both() as recorded:` records crewai and the client below it."""
    return lambda: instrument("crewai", "openai")


@pytest.fixture(name="hooks")
def _hooks():
    """Hooks are the process's; they are taken back."""
    yield register_before_tool_call_hook
    clear_all_tool_call_hooks()


def wants(turn, name, arguments):
    """What a model says in the text format; the server reads off it which turn was answered."""
    return f"Thought: call_text_t{turn}_x\nAction: {name}\nAction Input: {arguments}"


@pytest.fixture(name="play")
def _play(model):
    """`play(turns, orders)` lets an agent of the text format answer by these turns."""

    def play(turns, orders, **options):
        model.scripts["text"] = [*turns, "Thought: I know.\nFinal Answer: Done."]
        return make(model.url, orders, model="o1", **options).kickoff("Orders, please [script:text]").raw

    return play


# -- the text format -----------------------------------------------------------------------------------------------


def test_a_call_in_the_text_format_is_a_call(both, play):
    """The model only writes it; arguments are its text, and those that the tool ran with are told where they differ."""
    orders = Orders()
    with both() as recorded:
        assert play([wants(0, "search_orders", ASKED)], orders) == "Done."
        story = recorded.story()

    assert orders.ledger == [("search_orders", "blue lamp", 3)]
    assert story["calls"] == [("search_orders", "ok", 1, ALLOWED)]
    assert story["runs"] == 1


def test_a_decorated_tool_is_the_attempt_in_the_text_format_too(both, play):
    """No call more."""
    orders = Orders()
    orders.search_orders = toolwitness.tool(orders.search_orders, name="search_orders", side_effect="read")
    with both() as recorded:
        play([wants(0, "search_orders", ASKED)], orders)
        story = recorded.story()

    assert story["calls"] == [("search_orders", "ok", 1, ALLOWED)]


def test_every_time_that_crewai_runs_a_tool_that_raises_is_a_try(both, play):
    """It runs it again and again by itself before the model is told."""
    orders = Orders()
    with both() as recorded:
        play([wants(0, "cancel_order", J({"order_id": "A-17", "reason": "-"}))], orders)
        call = recorded.one(RecordKind.CALL)
        attempts = recorded.attempts(call.call_id)

    assert (len(orders.ledger) > 1, len(attempts)) == (True, len(orders.ledger))
    assert {one.retry_reason for one in attempts[1:]} == {"PermissionDeniedError"}
    assert (str(call.observation), call.error_type) == ("raised", "PermissionDeniedError")


def test_a_tool_that_answers_when_it_is_tried_again_has_answered(both, play):
    """Two attempts of one call."""
    with both() as recorded:
        play([wants(0, "flaky_lookup", J({"key": "A-17"}))], Orders())
        story = recorded.story()

    assert story["calls"] == [("flaky_lookup", "ok", 2, ALLOWED)]


@pytest.mark.parametrize(
    ("action", "gate"),
    [
        (("delete_everything", "{}"), "catalog"),
        (("search_orders", "blue lamp"), "parse"),
        (("search_orders", J({"query": "blue lamp", "limit": "lots"})), "input_validation"),
    ],
    ids=["unknown", "no object", "bad arguments"],
)
def test_what_cannot_be_run_of_the_text_is_a_gate_without_an_attempt(both, play, action, gate):
    """The model is told so in words."""
    orders = Orders()
    with both() as recorded:
        play([wants(0, *action)], orders)
        (refused,) = recorded.story()["calls"]

    assert (orders.ledger, refused[1:3]) == ([], ("none", 0))
    assert (gate, "deny", "enforced") in refused[3]


def test_the_same_call_again_is_not_run(both, play):
    """The model is told not to repeat itself."""
    orders = Orders()
    with both() as recorded:
        play([wants(0, "search_orders", ASKED), wants(1, "search_orders", ASKED)], orders)
        story = recorded.story()

    assert len(orders.ledger) == 1
    assert story["calls"][1] == ("search_orders", "none", 0, [("policy", "deny", "enforced")])


def test_the_cache_answers_in_the_text_format_too(both, play):
    """With another call in between it is no repetition."""
    orders = Orders()
    weather = wants(1, "get_weather", J({"city": "Berlin"}))
    with both() as recorded:
        play([wants(0, "search_orders", ASKED), weather, wants(2, "search_orders", ASKED)], orders, cache=True)
        story = recorded.story()

    assert [entry[0] for entry in orders.ledger] == ["search_orders", "get_weather"]
    assert story["calls"][2] == ("search_orders", "ok", 0, CACHED)


def test_a_hook_blocks_in_the_text_format_too(both, play, hooks):
    """The text was read, and nothing else happened."""
    hooks(lambda _: False)
    orders = Orders()
    with both() as recorded:
        play([wants(0, "search_orders", ASKED)], orders)
        story = recorded.story()

    assert (orders.ledger, story["calls"]) == ([], [("search_orders", "none", 0, [("policy", "deny", "enforced")])])


def test_the_text_format_goes_as_without_us(both, model, play):
    """The same bytes to the model, and the tools did the same."""

    def played():
        orders, before = Orders(), len(model.requests)
        arguments = [("search_orders", ASKED), ("cancel_order", J({"order_id": "A-17", "reason": "-"})), ("nothing", "{}")]
        gave = play([wants(turn, *action) for turn, action in enumerate(arguments)], orders)
        return gave, orders.ledger, model.bodies()[before:]

    bare = played()
    with both():
        with_us = played()

    assert with_us == bare


# -- planned steps -------------------------------------------------------------------------------------------------


@pytest.fixture(name="step")
def _step(model):
    """`step(script, orders)` executes one step of a plan."""

    def step(script, orders, **options):
        agent = make(model.url, orders, **options)
        structured = [each.to_structured_tool() for each in agent.tools]
        handler = ToolsHandler(cache=CacheHandler())
        executor = StepExecutor(llm=agent.llm, tools=structured, agent=agent, original_tools=agent.tools, tools_handler=handler)
        context = StepExecutionContext(task_description=f"Orders [script:{script}]", task_goal="An answer.")
        return executor.execute(TodoItem(step_number=1, description="Look."), context)

    return step


def test_the_calls_of_a_planned_step_are_executed_calls(both, step):
    """Each with its own attempt."""
    with both() as recorded:
        step("parallel", Orders())
        story = recorded.story()

    assert story["calls"] == [("search_orders", "ok", 1, ALLOWED), ("get_weather", "ok", 1, ALLOWED)]


@pytest.mark.parametrize(("script", "gate"), [("badjson", "parse"), ("badargs", "input_validation"), ("unknown", "catalog")])
def test_a_refused_call_of_a_planned_step_is_a_gate_without_an_attempt(both, step, script, gate):
    """As outside of a plan."""
    with both() as recorded:
        step(script, Orders())
        refused = recorded.story()["calls"][0]

    assert refused[1:3] == ("none", 0)
    assert (gate, "deny", "enforced") in refused[3]


def test_a_planned_step_is_told_what_hooks_cache_and_tools_did(both, model, step, hooks):
    """A hook blocks one, the cache answers another, a third raises."""
    model.scripts["many"] = [
        [("get_weather", J({"city": "Berlin"})), ("get_weather", J({"city": "Berlin"})), ("search_orders", ASKED),
         ("cancel_order", J({"order_id": "A-17", "reason": "-"}))], "Done."]  # fmt: skip
    hooks(lambda context: False if context.tool_name == "search_orders" else None)
    with both() as recorded:
        step("many", Orders())
        story = recorded.story()

    assert story["calls"] == [
        ("get_weather", "ok", 1, ALLOWED),
        ("get_weather", "ok", 0, CACHED if CACHE_AFTER_HOOKS else []),
        ("search_orders", "none", 0, [("policy", "deny", "enforced")]),
        ("cancel_order", "raised", 1, ALLOWED),
    ]
