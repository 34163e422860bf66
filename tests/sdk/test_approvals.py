"""An approval is good for what it named, once: what ran beside it shows, and was not stopped by us."""

from datetime import UTC, datetime, timedelta

import pytest

import toolwitness
from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.digest import keyed_digest
from toolwitness.model.enums import Flag, GateMode, Known, SideEffect, Verdict
from toolwitness.sdk.guard import reading_guard, swallowing

VOID, EXPIRED, AGAIN = Flag.APPROVAL_VOID, Flag.APPROVAL_EXPIRED, Flag.APPROVAL_USED_AGAIN
PAID = {"to": "bob", "amount": 5}
SCHEMA = {"type": "object", "properties": {"to": {}, "amount": {}, "currency": {"default": "EUR"}}}


@pytest.fixture(name="call")
def fixture_call(recorded):
    """A call that a model proposed."""
    recorded.recorder.register(ToolDefinition(name="pay", input_schema=SCHEMA, side_effect=SideEffect.WRITE))
    return recorded.recorder.call("pay", dict(PAID))


def ran(call, *arguments, **facts):
    """Run the call once, with these arguments where they are told."""
    with call:
        for told in arguments:
            call.executed(told, **facts)
        with call.attempt():
            call.result({})


def looks(recorded):
    """What was observed of confirmations, as (verdict, reason)."""
    gates = (gate for gate in recorded.records("gate") if gate.gate_mode is GateMode.OBSERVED)
    return [(gate.verdict, gate.reason_code) for gate in gates]


def flags(recorded):
    """The flags of the only call."""
    return recorded.one("call").flags


def test_an_approval_says_what_it_is_about(recorded, call):
    """Digests of arguments and schema as the call carries them, what else was named, and no value."""
    call.gate(
        "confirmation", "allow", approver="ann", approval_id="ap-1", resource_version="v7", items=["a-1", "a-2"],
        expires_at=datetime(2030, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    ran(call)

    gate, found = recorded.one("gate"), recorded.one("call")
    assert gate.approved_arguments_digest == found.arguments_digest == keyed_digest(b"k", ["", "pay", PAID])
    assert gate.approved_schema_digest == found.schema_digest is not None
    assert (gate.approval_id, gate.approved_resource_version, gate.approved_items) == ("ap-1", "v7", ("a-1", "a-2"))
    assert gate.approval_expires_ns == 1_893_456_000_000_000_000
    assert (found.flags, looks(recorded)) == ((), [])


def test_a_verdict_that_approves_nothing_binds_to_nothing(recorded, call):
    """Waiting and denial name the approval, never approved arguments."""
    call.gate("confirmation", "needs_approval", approval_id="ap-1")
    call.gate("confirmation", "deny", approval_id="ap-1")
    call.close()

    assert {gate.approval_id for gate in recorded.records("gate")} == {"ap-1"}
    assert {gate.approved_arguments_digest for gate in recorded.records("gate")} == {None}


def test_other_arguments_void_the_approval(recorded, call):
    """It is a flag of the call and a gate that only observed: the call was not stopped by us."""
    call.gate("confirmation", "allow")
    ran(call, {**PAID, "amount": 50})

    assert flags(recorded) == (VOID,)
    assert looks(recorded) == [(Verdict.DENY, "approval_void")]
    assert len(recorded.records("attempt")) == 1


@pytest.mark.parametrize("told", [PAID, {**PAID, "currency": "EUR"}, '{"amount": 5, "to": "bob"}'])
def test_the_approved_arguments_keep_it(recorded, call, told):
    """With declared defaults filled in too, and as JSON text."""
    call.gate("confirmation", "allow")
    ran(call, told)

    assert (flags(recorded), looks(recorded)) == ((), [])


def test_what_nobody_can_tell_is_no_change_and_no_approval(recorded, call):
    """The application added a tenant: no flag, and a look that says that it could not tell."""
    call.gate("confirmation", "allow")
    ran(call, {**PAID, "tenant": "t-1"})

    assert flags(recorded) == ()
    assert looks(recorded) == [(Verdict.SKIP, "approval_unclear")]


@pytest.mark.parametrize("verdict", ["allow", "modify"])
def test_a_person_may_approve_other_arguments_than_were_proposed(recorded, call, verdict):
    """Then those are what has to run, and the proposed ones are no longer."""
    edited = {**PAID, "amount": 3}
    call.gate("confirmation", verdict, arguments=edited)
    ran(call, edited)
    other = recorded.recorder.call("pay", dict(PAID))
    other.gate("confirmation", verdict, arguments=edited)
    ran(other, PAID)

    assert [found.flags for found in recorded.records("call")] == [(), (VOID,)]
    assert recorded.records("gate")[0].approved_arguments_digest == keyed_digest(b"k", ["", "pay", edited])


@pytest.mark.parametrize("told", [{}, {"arguments": {**PAID, "amount": 3}}])
def test_an_edit_of_which_the_execution_is_not_told_stays_open(recorded, call, told):
    """Nobody says what was edited, or whether the edited arguments ran: neither void nor in order."""
    call.gate("confirmation", "modify", **told)
    ran(call)

    assert (flags(recorded), looks(recorded)) == ((), [(Verdict.SKIP, "approval_unclear")])


def test_another_version_of_the_resource_voids_it(recorded, call):
    """What was approved was about what the resource looked like then; without a version told, nothing is said."""
    call.gate("confirmation", "allow", resource_version="v7")
    ran(call, PAID, resource_version="v8")
    other = recorded.recorder.call("pay", dict(PAID))
    other.gate("confirmation", "allow", resource_version="v7")
    ran(other, PAID)

    assert [found.flags for found in recorded.records("call")] == [(VOID,), ()]


@pytest.mark.parametrize("late", [False, True])
def test_an_attempt_after_its_expiry_shows(recorded, call, late):
    """Each try counts by when it began; waiting beyond it without a try breaks nothing."""
    now = recorded.clock() / 1e9
    call.gate("confirmation", "allow", expires_at=now + 60)
    with call:
        with call.attempt() as attempt:
            attempt.end("error")
        recorded.clock.tick(int(61e9))
        if late:
            with call.attempt():
                pass

    assert flags(recorded) == ((EXPIRED,) if late else ())


def test_an_approval_given_again_is_good_again(recorded, call):
    """The latest approval is the one in force."""
    call.gate("confirmation", "allow", expires_at=recorded.clock() / 1e9 + 60)
    recorded.clock.tick(int(61e9))
    call.gate("confirmation", "allow", expires_at=recorded.clock() / 1e9 + 60)
    ran(call, PAID)

    assert flags(recorded) == ()


def test_a_new_approval_is_not_held_against_what_ran_before_it(recorded, call):
    """A first try with the arguments proposed, then a person edits them, and the loop tells nothing more: open, not void."""
    call.gate("confirmation", "allow")
    with call:
        call.executed(PAID)
        with call.attempt() as attempt:
            attempt.end("error")
        call.gate("confirmation", "modify", arguments={**PAID, "amount": 3})
        with call.attempt():
            pass

    assert (flags(recorded), looks(recorded)) == ((), [(Verdict.SKIP, "approval_unclear")])


@pytest.mark.parametrize("first", ["approval", "arguments"])
def test_the_order_in_which_a_loop_tells_does_not_matter(recorded, call, first):
    """Arguments told before the approval are those that run, as long as nothing ran yet."""
    if first == "arguments":
        call.executed({**PAID, "amount": 50})
    call.gate("confirmation", "allow")
    if first == "approval":
        call.executed({**PAID, "amount": 50})
    ran(call)

    assert flags(recorded) == (VOID,)


def test_what_never_ran_breaks_nothing(recorded, call):
    """Other arguments, told and then replaced by those approved before anything ran."""
    call.gate("confirmation", "allow")
    call.executed({**PAID, "amount": 50})
    ran(call, PAID)

    assert (flags(recorded), looks(recorded)) == ((), [])


def test_an_approval_is_good_for_one_call(recorded, call):
    """Retries of the call that used it are that call; another one on the same approval shows."""
    call.gate("confirmation", "allow", approval_id="ap-1")
    with call:
        for _ in range(2):
            with call.attempt() as attempt:
                attempt.end("error")
    twin = recorded.recorder.call("pay", dict(PAID))
    twin.gate("confirmation", "allow", approval_id="ap-1")
    ran(twin)

    assert [found.flags for found in recorded.records("call")] == [(), (AGAIN,)]


def test_an_approval_that_nothing_ran_on_is_not_used(recorded, call):
    """A call that was given up leaves it to the next."""
    call.gate("confirmation", "allow", approval_id="ap-1")
    call.close()
    twin = recorded.recorder.call("pay", dict(PAID))
    twin.gate("confirmation", "allow", approval_id="ap-1")
    ran(twin)

    assert [found.flags for found in recorded.records("call")] == [(), ()]


def test_arguments_that_ran_out_of_sight_count(recorded, call):
    """A loop that makes no attempts tells what it ran with."""
    call.gate("confirmation", "allow")
    with call:
        call.executed({**PAID, "amount": 50})
        call.result({})

    assert flags(recorded) == (VOID,)


def test_a_call_that_nobody_was_asked_about_has_no_approval(recorded, call):
    """Nothing is held against it, and another gate's verdict is no approval."""
    call.gate("policy", "allow")
    ran(call, {**PAID, "amount": 50})

    assert (flags(recorded), looks(recorded)) == ((), [])


@pytest.mark.parametrize("expiry", ["soon", True, float("nan"), timedelta(1)])
def test_an_expiry_that_is_no_moment_is_a_warning(recorded, call, expiry):
    """The verdict stands, and when it expires is not known."""
    before = reading_guard.swallowed
    with swallowing():
        call.gate("confirmation", "allow", expires_at=expiry)
    ran(call, PAID)

    assert reading_guard.swallowed == before + 1
    assert recorded.one("gate").approval_expires_ns is None


def test_a_decorated_tool_tells_what_it_ran_with(live):
    """Its bound arguments are held against those approved, inside a call and inside a framework's attempt alike."""

    @toolwitness.tool(side_effect="write")
    def pay(to, amount):
        """Pay."""
        return {"to": to, "amount": amount}

    with toolwitness.call("pay", dict(PAID)) as call:
        call.gate("confirmation", "allow")
        pay(**PAID)
    with toolwitness.call("pay", dict(PAID)) as call:
        call.gate("confirmation", "allow")
        pay("bob", 50)
    with toolwitness.call("pay", dict(PAID)) as call:
        call.gate("confirmation", "allow")
        with call.attempt(unclaimed=True):
            pay("bob", 50)

    assert [found.flags for found in live("call")] == [(), (VOID,), (VOID,)]


def test_an_approval_of_a_cut_copy_leaves_it_open(recorded):
    """Arguments larger than a copy holds cannot be compared, and have no digest."""
    call = recorded.recorder.call("pay", {"to": "x" * 200_000})
    call.gate("confirmation", "allow")
    ran(call, {"to": "x" * 200_000})

    assert recorded.records("gate")[0].approved_arguments_digest is None
    assert (flags(recorded), looks(recorded)) == ((), [(Verdict.SKIP, "approval_unclear")])


def test_a_resumed_call_is_held_against_its_approval(recorded, call):
    """What goes on in another span of the same call is still the call that was approved."""
    call.gate("confirmation", "allow")
    call.close()
    resumed = type(call)(call.run, "pay", dict(PAID), continues=call)
    ran(resumed, {**PAID, "amount": 50})

    assert [found.flags for found in recorded.records("call")] == [(), (VOID,)]


def test_no_approved_value_leaves(recorded, call):
    """What was approved is a digest outside of the process."""
    call.gate("confirmation", "modify", arguments={"to": "Zaphod-4711", "amount": 1}, approver="ann@example.org")
    ran(call, {"to": "Zaphod-4711", "amount": 2})

    gate = next(span for span in recorded.spans() if span.attributes["toolwitness.record"] == "gate")
    assert "Zaphod" not in str(gate.attributes)
    assert "ann" not in str(gate.attributes)
    assert recorded.one("call").visible is Known.UNKNOWN
