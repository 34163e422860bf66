"""Agents of pydantic-ai, over OpenAI's client and over the framework's own test models."""

import asyncio

import pytest
from pydantic_ai import DeferredToolRequests, DeferredToolResults, ModelRetry, Tool, ToolApproved, ToolDenied
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.models.test import TestModel

from toolwitness.model.enums import RecordKind
from toolwitness.tests.fakes.agents import pydantic_ai as agents
from toolwitness.tests.fakes.orders import Orders, PermissionDeniedError

ALLOWED = [("input_validation", "allow", "enforced")]


@pytest.fixture(name="both")
def _both(instrument):
    """The framework and the client below it."""
    return lambda: instrument("pydantic_ai", "openai")


@pytest.mark.parametrize(
    ("script", "gate"),
    [("badjson", "parse"), ("badargs", "input_validation"), ("unknown", "catalog")],
)
def test_what_the_framework_refuses_has_a_gate_and_no_attempt(both, model, script, gate):
    """The model is asked again, which is a new call."""
    with both() as recorded:
        agents.run(model.url, script, Orders())
        first, second = recorded.story()["calls"]

    assert first[1:3] == ("none", 0)
    assert (gate, "deny", "enforced") in first[3]
    assert second == ("search_orders", "ok", 1, ALLOWED)


def test_places_are_named_and_values_are_not(both, model):
    """Pointer and keyword of each problem."""
    with both() as recorded:
        agents.run(model.url, "badargs", Orders())
        gate = next(one for one in recorded.records(RecordKind.GATE) if one.gate_mode == "enforced" and one.verdict == "deny")

    assert dict(zip(gate.pointers, gate.keywords, strict=True)) == {"/limit": "int_parsing", "/colour": "extra_forbidden"}


@pytest.mark.parametrize(
    ("script", "error", "status"), [("raises", PermissionDeniedError, "raised"), ("timeout", TimeoutError, "timeout")]
)
def test_a_tool_that_raises_ends_the_run(both, model, script, error, status):
    """The exception goes through; attempt, call and run know of it."""
    with both() as recorded:
        with pytest.raises(error):
            agents.run(model.url, script, Orders())
        call, run = recorded.one(RecordKind.CALL), recorded.one(RecordKind.RUN)

    assert (str(call.observation), call.error_type, str(run.run_outcome)) == (status, error.__name__, "failure")


def test_a_tool_that_asks_for_another_try_is_an_error_result(both, model):
    """The model is told, and whether it calls again is its choice; raised over a lost connection it proves nothing."""
    with both() as recorded:
        agents.run(model.url, "flaky", Orders())
        call = recorded.one(RecordKind.CALL)

    assert (str(call.observation), call.error_type) == ("raised", "ModelRetry")


def test_too_many_retries_end_the_run_with_the_refusals_recorded(both, model):
    """The last refused call is closed too."""
    model.scripts["stubborn"] = [[("delete_everything", "{}")]] * 9
    with both() as recorded:
        with pytest.raises(UnexpectedModelBehavior):
            agents.run(model.url, "stubborn", Orders())
        calls = recorded.story()["calls"]

    assert {call[1:3] for call in calls} == {("none", 0)}


@pytest.fixture(name="approving")
def _approving(model):
    """An agent whose refunds need an approval, and its orders."""
    orders = Orders()
    orders.submit_refund = lambda order_id, amount_cents: f"{order_id}: {amount_cents}"  # one that works
    tool = Tool(orders.submit_refund, name="submit_refund", requires_approval=True)
    return agents.make(model.url, orders, tools=[tool], output_type=[str, DeferredToolRequests])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(True, ("ok", 1, "allow")), (ToolDenied("no"), ("none", 0, "deny")), (False, ("none", 0, "deny"))],
)
def test_an_approval_holds_the_call_back_and_a_later_run_goes_on_with_it(both, approving, answer, expected):
    """One call id over both runs; a denied one has no attempt."""
    with both() as recorded:
        asked = approving.run_sync("[script:approve]")
        (held,) = recorded.records(RecordKind.CALL)
        gates_before = recorded.gates(held.call_id)
        approvals = {part.tool_call_id: answer for part in asked.output.approvals}
        approving.run_sync(message_history=asked.all_messages(), deferred_tool_results=DeferredToolResults(approvals=approvals))
        calls = recorded.records(RecordKind.CALL)
        gates = recorded.gates(held.call_id)
        attempts = recorded.attempts(held.call_id)

    assert gates_before[-1] == ("confirmation", "needs_approval", "enforced")
    assert {one.call_id for one in calls} == {held.call_id}
    assert (str(calls[-1].observation), len(attempts), [gate[1] for gate in gates if gate[0] == "confirmation"][-1]) == expected


def test_arguments_that_a_person_put_in_place_are_those_approved(both, approving):
    """The tool runs with them, and the approval is not void: it was of them and not of those proposed."""
    answer = ToolApproved(override_args={"order_id": "A-1", "amount_cents": 1})
    with both() as recorded:
        asked = approving.run_sync("[script:approve]")
        approvals = {part.tool_call_id: answer for part in asked.output.approvals}
        approving.run_sync(message_history=asked.all_messages(), deferred_tool_results=DeferredToolResults(approvals=approvals))
        proposed, *_, call = recorded.records(RecordKind.CALL)
        *_, gate = [one for one in recorded.records(RecordKind.GATE) if one.gate_kind == "confirmation"]

    assert (str(call.observation), call.flags, gate.reason_code) == ("ok", (), None)
    assert gate.approved_arguments_digest not in {None, proposed.arguments_digest}
    assert (call.arguments_digest, call.executed_arguments is None) == (proposed.arguments_digest, False)


def test_a_model_without_a_client_has_calls_without_a_decision(instrument):
    """Nothing is known of what such a model was shown; what was executed is."""
    agent = agents.make("http://127.0.0.1:9", Orders(), tools=[Orders().get_weather])
    with instrument("pydantic_ai") as recorded:
        agent.run_sync("x", model=TestModel())
        call = recorded.one(RecordKind.CALL)

    assert (call.tool, call.decision_id, str(call.observation)) == ("get_weather", None, "ok")


def test_the_iterator_of_a_run_is_the_frameworks(both, model):
    """`iter` is entered and left inside our run."""

    async def walk():
        async with agents.make(model.url, Orders()).iter("[script:parallel]") as run:
            return [type(node).__name__ async for node in run]

    with both() as recorded:
        nodes = asyncio.run(walk())
        story = recorded.story()

    assert nodes[-1] == "End"
    assert story["runs"] == 1


def test_a_retry_raised_by_a_tool_is_no_exception_of_the_run(both, model):
    """ModelRetry is the framework's word to the model."""
    orders = Orders()

    def never(city: str) -> str:
        """Ask again, always."""
        raise ModelRetry(city)

    orders.get_weather = never
    agent = agents.make(model.url, orders, tools=[orders.search_orders, Tool(never, name="get_weather", max_retries=3)])
    with both() as recorded:
        agent.run_sync("[script:parallel]")
        statuses = {one.tool: str(one.observation) for one in recorded.records(RecordKind.CALL)}

    assert statuses == {"search_orders": "ok", "get_weather": "error"}
