import pytest

from toolwitness.model.enums import AttemptStatus, ObservationStatus
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS, History


@pytest.fixture(name="history")
def fixture_history():
    """An empty history."""
    return History()


def doubtful_call(history, run="r", tool="pay", **fields):
    """A call that timed out after it was sent."""
    call = history.call(run, tool, ObservationStatus.TIMEOUT, **fields)
    history.attempt(run, call, AttemptStatus.TIMEOUT, sent="yes")
    return call


def flags(rows):
    """What was tried again, by call id."""
    words = ("followed_by_same_tool", "duplicate_risk", "duplicate")
    return {row["call"]: tuple(row[word] for word in words) for row in rows}


def test_an_unknown_commit_is_one_row_with_its_age(history, ask):
    """Age is in seconds from the call's start to $now_ns."""
    call = doubtful_call(history, key_digest="k")

    (row,) = ask(history, "unknown_commits", now_ns=MONDAY_NS + 90 * SECOND_NS)

    words = ("call", "outcome", "age_s", "key_digest", "settled", "started_ns")
    assert tuple(row[word] for word in words) == (call, "unknown_commit", 90.0, "k", "no_finding", MONDAY_NS)


def test_the_age_is_unknown_where_the_time_is(ask):
    """A call without known times has no age."""
    history = History(time_known=False)
    doubtful_call(history)

    (row,) = ask(history, "unknown_commits", now_ns=MONDAY_NS)

    assert (row["age_s"], row["started_ns"]) == (None, None)


def test_another_call_of_the_tool_only_follows(history, ask):
    """A later call with other arguments follows; one in another run or before does not."""
    history.call("r", "pay", arguments_digest="earlier")
    call = doubtful_call(history, arguments_digest="x")
    alone = doubtful_call(history, run="other", arguments_digest="x")
    history.call("r", "pay", arguments_digest="y")

    rows = ask(history, "unknown_commits", now_ns=history.now_ns)

    assert flags(rows) == {call: (True, False, False), alone: (False, False, False)}


def test_the_same_arguments_before_settling_are_a_duplicate_risk(history, ask):
    """A repeat while nobody knows is a risk."""
    call = doubtful_call(history, arguments_digest="x")
    history.call("r", "pay", arguments_digest="x")

    assert flags(ask(history, "unknown_commits", now_ns=history.now_ns)) == {call: (True, True, False)}


def test_the_same_action_in_another_run_is_a_duplicate_risk(history, ask):
    """An action id names the business action across runs and arguments."""
    call = doubtful_call(history, action_id="order 7", arguments_digest="x")
    history.call("next day", "pay", action_id="order 7", arguments_digest="y")

    assert flags(ask(history, "unknown_commits", now_ns=history.now_ns)) == {call: (False, True, False)}


def test_a_repeat_after_a_finding_of_committed_is_a_duplicate(history, ask):
    """Settled calls stay listed with the finding's outcome; a repeat after it is a duplicate, no risk."""
    call = doubtful_call(history, arguments_digest="x")
    history.reconciliation("r", call, "pay", "committed")
    history.call("r", "pay", arguments_digest="x")

    rows = ask(history, "unknown_commits", now_ns=history.now_ns)

    assert flags(rows) == {call: (True, False, True)}
    assert (rows[0]["outcome"], rows[0]["settled"]) == ("succeeded", "committed")


def test_a_repeat_that_a_gate_stopped_risks_nothing(history, ask):
    """A rejected repeat never ran."""
    call = doubtful_call(history, arguments_digest="x")
    stopped = history.call("r", "pay", ObservationStatus.NONE, arguments_digest="x")
    history.gate("r", stopped, "idempotency", "deny")

    assert flags(ask(history, "unknown_commits", now_ns=history.now_ns)) == {call: (True, False, False)}
