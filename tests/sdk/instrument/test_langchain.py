"""Agents of LangChain, which are graphs of LangGraph, over OpenAI's client."""

import asyncio
import inspect

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolCallLimitMiddleware, ToolRetryMiddleware, wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from toolwitness.model.enums import RecordKind
from toolwitness.tests.fakes.agents import langchain_agent as agents
from toolwitness.tests.fakes.orders import Orders, PermissionDeniedError

ALLOWED = [("input_validation", "allow", "enforced")]
THREAD = {"configurable": {"thread_id": "thread-1"}}
MODES = (
    ({}, {"interrupt_mode": "per_call"})
    if "interrupt_mode" in inspect.signature(HumanInTheLoopMiddleware).parameters
    else ({},)
)
"""Ways of asking for approvals: one at a time is newer than the oldest version."""


@pytest.fixture(name="both")
def _both(instrument):
    """The framework and the client below it."""
    return lambda: instrument("langchain", "openai")


@pytest.mark.parametrize(("script", "gate"), [("badargs", "input_validation"), ("unknown", "catalog")])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_what_the_framework_refuses_has_a_gate_and_no_attempt(both, model, mode, script, gate):
    """The model is told, and calls again."""
    with both() as recorded:
        agents.run(model.url, script, Orders(), mode)
        first, second = recorded.story()["calls"]

    assert first[1:3] == ("none", 0)
    assert first[3][-1] == (gate, "deny", "enforced")
    assert second == ("search_orders", "ok", 1, ALLOWED)


def test_arguments_that_are_no_json_are_dropped_by_the_framework(both, model):
    """It runs nothing and answers nothing, so the call stays unfinished; what was wrong with it is observed."""
    with both() as recorded:
        agents.run(model.url, "badjson", Orders())
        story = recorded.story()

    assert story["calls"] == [("search_orders", "none", 0, [("parse", "deny", "observed")])]


@pytest.mark.parametrize(
    ("script", "error", "status"), [("raises", PermissionDeniedError, "raised"), ("timeout", TimeoutError, "timeout")]
)
def test_a_tool_that_raises_ends_the_run(both, model, script, error, status):
    """The exception goes through; attempt, call and run know of it."""
    with both() as recorded:
        with pytest.raises(error):
            agents.run(model.url, script, Orders(), "async")
        call, run = recorded.one(RecordKind.CALL), recorded.one(RecordKind.RUN)

    assert (str(call.observation), call.error_type, str(run.run_outcome)) == (status, error.__name__, "failure")


def test_an_error_that_middleware_words_was_raised_nevertheless(both, model):
    """The model gets words; the tool gave no answer that could be trusted."""

    @wrap_tool_call
    def catch(request, handler):
        try:
            return handler(request)
        except TimeoutError as error:
            return ToolMessage(content=str(error), tool_call_id=request.tool_call["id"], status="error")

    with both() as recorded:
        agents.run(model.url, "timeout", Orders(), middleware=[catch])
        call = recorded.one(RecordKind.CALL)

    assert (str(call.observation), call.error_type) == ("timeout", "TimeoutError")


def test_a_retry_by_middleware_is_an_attempt_of_the_same_call(both, model):
    """Two tries, one call, and the reason for the second."""
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    with both() as recorded:
        agents.run(model.url, "flaky", Orders(), middleware=[retry])
        call = recorded.one(RecordKind.CALL)
        attempts = [(str(one.attempt_status), one.retry_reason) for one in recorded.attempts(call.call_id)]

    assert str(call.observation) == "ok"
    assert attempts == [("error", None), ("ok", "ConnectionError")]


def test_a_call_beyond_a_limit_is_a_budget_gate(both, model):
    """The model gets words for it; nothing ran."""
    limit = ToolCallLimitMiddleware(tool_name="get_weather", run_limit=0)
    with both() as recorded:
        agents.run(model.url, "parallel", Orders(), middleware=[limit])
        calls = {call[0]: call[1:] for call in recorded.story()["calls"]}

    assert calls == {"search_orders": ("ok", 1, ALLOWED), "get_weather": ("none", 0, [("budget", "deny", "enforced")])}


def test_a_graph_that_stops_before_its_tools_goes_on_with_the_same_calls(both, model):
    """Nothing was refused and nothing ran, until another run of the thread."""
    agent = agents.make(model.url, agents.tools_of(Orders()), interrupt_before=["tools"], checkpointer=InMemorySaver())
    with both() as recorded:
        agent.invoke(agents.question("parallel"), THREAD)
        agent.invoke(None, THREAD)
        calls = recorded.records(RecordKind.CALL)

    assert len({one.call_id for one in calls}) == 2
    assert [str(one.observation) for one in calls] == ["none", "none", "ok", "ok"]


def refund(order_id: str, amount_cents: int) -> str:
    """Refund an order."""
    return f"{order_id}: {amount_cents}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("answer", "expected"), [("approve", ("ok", 1, "allow")), ("reject", ("none", 0, "deny"))])
def test_an_approval_holds_the_call_back_and_a_later_run_goes_on_with_it(both, model, mode, answer, expected):
    """One call id over both runs of the thread; a rejected one has no attempt."""
    review = HumanInTheLoopMiddleware(interrupt_on={"submit_refund": True}, **mode)
    tools = [StructuredTool.from_function(refund, name="submit_refund")]
    agent = agents.make(model.url, tools, middleware=[review], checkpointer=InMemorySaver())
    decision = {"type": answer}
    with both() as recorded:
        held = agent.invoke(agents.question("approve"), THREAD)
        ids = {one.call_id for one in recorded.records(RecordKind.CALL)}
        first = [verdict for call_id in ids for kind, verdict, _ in recorded.gates(call_id) if kind == "confirmation"]
        resume = {"decisions": [decision]} if not mode else {held["__interrupt__"][0].id: decision}
        agent.invoke(Command(resume=resume), THREAD)
        calls = recorded.records(RecordKind.CALL)
        (call_id,) = {one.call_id for one in calls}
        confirmations = [verdict for kind, verdict, _ in recorded.gates(call_id) if kind == "confirmation"]
        runs = recorded.records(RecordKind.RUN)

    assert first == ["needs_approval"]
    assert (str(calls[-1].observation), len(recorded.attempts(call_id)), confirmations[-1]) == expected
    assert {(str(one.run_outcome), one.session) for one in runs} == {("unknown", "thread-1")}


@pytest.mark.parametrize("mode", MODES)
def test_arguments_that_a_person_edited_are_those_approved(both, model, mode):
    """The tool runs with them, and the approval is not void: it was of them and not of those proposed."""
    review = HumanInTheLoopMiddleware(interrupt_on={"submit_refund": True}, **mode)
    tools = [StructuredTool.from_function(refund, name="submit_refund")]
    agent = agents.make(model.url, tools, middleware=[review], checkpointer=InMemorySaver())
    edited = {"name": "submit_refund", "args": {"order_id": "A-1", "amount_cents": 1}}
    decision = {"type": "edit", "edited_action": edited}
    with both() as recorded:
        held = agent.invoke(agents.question("approve"), THREAD)
        resume = {"decisions": [decision]} if not mode else {held["__interrupt__"][0].id: decision}
        agent.invoke(Command(resume=resume), THREAD)
        *_, call = recorded.records(RecordKind.CALL)
        *_, gate = [one for one in recorded.records(RecordKind.GATE) if one.gate_kind == "confirmation"]

    assert (str(call.observation), call.flags, str(gate.verdict)) == ("ok", (), "modify")
    assert gate.approved_arguments_digest not in {None, call.arguments_digest}
    assert call.executed_arguments is not None


def test_a_tool_that_interrupts_is_held_back_and_goes_on(both, model):
    """Its first try was cancelled, not failed; the second one answers."""

    def ask(order_id: str, amount_cents: int) -> str:
        """Ask somebody."""
        return f"{interrupt('sure?')} {order_id} {amount_cents}"

    tools = [StructuredTool.from_function(ask, name="submit_refund")]
    agent = agents.make(model.url, tools, checkpointer=InMemorySaver())
    with both() as recorded:
        agent.invoke(agents.question("approve"), THREAD)
        agent.invoke(Command(resume="yes"), THREAD)
        calls = recorded.records(RecordKind.CALL)
        (call_id,) = {one.call_id for one in calls}
        attempts = [str(one.attempt_status) for one in recorded.attempts(call_id)]

    assert attempts == ["cancelled", "ok"]
    assert str(calls[-1].observation) == "ok"
    assert {one.cancellation for one in calls} == {None}


class Weather(BaseTool):
    """An application's own class of tools."""

    name: str = "get_weather"
    description: str = "Tell the weather of a city."

    def _run(self, city: str) -> str:
        return f"7 degrees in {city}"


def test_a_class_of_the_application_is_executed_too(both, model):
    """Its function is its own; without a schema class nothing is checked, and no gate says so."""
    with both() as recorded:
        agents.make(model.url, [Weather()]).invoke(agents.question("odd"))
        story = recorded.story()

    assert story["calls"] == [("get_weather", "ok", 1, [])]
    assert not hasattr(Weather.__dict__["_run"], "__wrapped__")


def test_a_tool_run_by_hand_is_a_call(instrument):
    """Outside of any graph or model step."""
    tool = StructuredTool.from_function(Orders().get_weather)
    with instrument("langchain") as recorded:
        tool.invoke({"city": "Berlin"})
        asyncio.run(tool.ainvoke({"city": "Berlin"}))
        story = recorded.story()

    assert story["calls"] == [("get_weather", "ok", 1, ALLOWED)] * 2


def test_a_stream_that_is_closed_early_ends_its_run(both, model):
    """What was not reached is not claimed."""
    agent = agents.make(model.url, agents.tools_of(Orders()))
    with both() as recorded:
        stream = agent.stream(agents.question("parallel"), stream_mode="updates")
        next(stream)
        stream.close()
        never = agent.stream(agents.question("parallel"))
        del never
        story, run = recorded.story(), recorded.one(RecordKind.RUN)

    assert [call[1:3] for call in story["calls"]] == [("none", 0)] * 2
    assert run.run_outcome == "unknown"
