"""Nodes and keys of the application's own, and what uses them for something else."""

import contextlib

import pytest

import toolwitness
from toolwitness.model.enums import ErrorClass, Flag, GateKind, GateMode, ObservationStatus, Verdict
from toolwitness.model.exceptions import IdempotencyConflictError, IdempotencyKeyError
from toolwitness.tests.fakes import bank
from toolwitness.tests.fakes.bank import WAYS, LostError, outcomes, seen, send


@pytest.fixture(autouse=True)
def _fresh():
    bank.fresh()


@pytest.mark.usefixtures("telemetry")
def test_a_key_of_the_application_s_own_is_given_back():
    """Also where the arguments could have no other."""
    with toolwitness.run() as run, run.decision() as step:
        calls = (run.call("pay", idempotency_key="k-1"), step.call("pay", {"a": object()}, idempotency_key="k-2"))
        seen.extend(call.idempotency_key for call in calls)
    with toolwitness.call("pay", {"amount": 1}, idempotency_key="k-3") as call:
        seen.append(call.idempotency_key)
    assert seen == ["k-1", "k-2", "k-3"]


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("given_key", ["", 5, b"k"])
def test_a_key_that_is_no_text_is_told_when_it_is_asked_for(given_key):
    """Proposing a call raises nothing."""
    with toolwitness.run() as run, pytest.raises(IdempotencyKeyError, match="no text"):
        _ = run.call("pay", {"amount": 5}, idempotency_key=given_key).idempotency_key


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("how", WAYS)
def test_asking_for_the_key_of_other_arguments_is_a_conflict(how):
    """Another tool, or another node or key, has nothing to do with it."""
    with toolwitness.run(id="r-1") as run:
        first = run.call("pay", {"amount": 5}, **how).idempotency_key
        assert run.call("pay", {"amount": 5}, **how).idempotency_key == first
        assert run.call("refund", {"amount": 6}, **how).idempotency_key
        with pytest.raises(IdempotencyConflictError, match="tool pay: its node or idempotency key"):
            _ = run.call("pay", {"amount": 6}, **how).idempotency_key


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("how", WAYS)
def test_a_decorated_tool_does_not_run_on_a_conflict(how):
    """Whether or not it would have asked for its key."""
    ran = []

    @toolwitness.tool(side_effect="write")
    def book(room):
        ran.append(room)

    with toolwitness.run(id="r-1") as run:
        for room in (1, 1, 2):
            with run.call("book", {"room": room}, **how), contextlib.suppress(IdempotencyConflictError):
                book(room)
    assert ran == [1, 1]


@pytest.mark.parametrize("how", WAYS)
def test_a_conflict_is_a_call_that_a_gate_stopped(live, how):
    """No attempt, nothing observed, class `conflict`, and the call is flagged."""
    with toolwitness.run(id="r-1") as run:
        with run.call("send", {"amount": 5}, **how):
            send(5)
        with pytest.raises(IdempotencyConflictError), run.call("send", {"amount": 6}, **how):
            send(6)
    fine, call = live("call")
    (gate,), (attempt,) = live("gate"), live("attempt")
    assert (attempt.call_id, gate.call_id, fine.flags) == (fine.call_id, call.call_id, ())
    assert (gate.gate_kind, gate.verdict, gate.gate_mode) == (GateKind.IDEMPOTENCY, Verdict.DENY, GateMode.ENFORCED)
    assert (gate.reason_code, call.flags) == ("conflict", (Flag.IDEMPOTENCY_CONFLICT,))
    assert (call.observation, call.error_class) == (ObservationStatus.NONE, ErrorClass.CONFLICT)


@pytest.mark.parametrize("how", WAYS)
def test_where_the_runtime_is_not_ours_a_conflict_is_reported(live, how):
    """A hand-written attempt goes on; the gate only looked."""
    with toolwitness.run(id="r-1") as run:
        for amount in (5, 6):
            with run.call("pay", {"amount": amount}, **how) as call, call.attempt():
                call.result("ok")
    (gate,), (first, second) = live("gate"), live("call")
    assert (gate.call_id, gate.gate_mode, gate.reason_code) == (second.call_id, GateMode.OBSERVED, "conflict")
    assert (first.flags, second.flags) == ((), (Flag.IDEMPOTENCY_CONFLICT,))
    assert len(live("attempt")) == 2


@pytest.mark.usefixtures("telemetry")
def test_a_call_that_runs_with_other_arguments_than_before_is_a_conflict():
    """Its key stands for what it was first asked for with."""
    with toolwitness.run(id="r-1") as run, run.call("send", {"amount": 5}):
        outcomes.append(LostError())
        with pytest.raises(LostError):
            send(5)
        with pytest.raises(IdempotencyConflictError):
            send(6)


@pytest.mark.usefixtures("telemetry")
def test_a_key_that_the_loop_asked_for_is_of_one_payment():
    """The tool runs with what the application adds; that it adds something else under the same key is a conflict."""
    with toolwitness.run(id="r-1") as run:
        for amount, fits in ((5, True), (5, True), (7, False)):
            with run.call("send", {"order": "A-1"}) as call:
                seen.append(call.idempotency_key)
                outcomes.append(LostError())
                with pytest.raises(LostError if fits else IdempotencyConflictError):
                    send(amount)
    assert len({*seen}) == 1
