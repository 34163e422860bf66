import pytest

from toolwitness.model.enums import AttemptStatus, ObservationStatus, SideEffect
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


def test_a_run_that_goes_on_in_another_process_is_ordered_by_time(history, ask):
    """Ordinals begin at 1 again there; what came before is no repeat."""
    before = doubtful_call(history, arguments_digest="x", call_ordinal=7)
    after = doubtful_call(history, arguments_digest="x", call_ordinal=1)

    rows = ask(history, "unknown_commits", now_ns=history.now_ns)

    assert flags(rows) == {before: (True, True, False), after: (False, False, False)}


def test_of_calls_at_one_time_the_ordinal_tells_which_is_later(ask):
    """As in an import, whose calls of one step stand at one offset."""
    history = History(time_known=False)
    first = history.call("r", "pay", ObservationStatus.TIMEOUT, arguments_digest="x")
    history.skip(-SECOND_NS)
    second = history.call("r", "pay", ObservationStatus.TIMEOUT, arguments_digest="x")

    rows = ask(history, "unknown_commits", now_ns=history.now_ns)

    assert flags(rows) == {first: (True, True, False), second: (False, False, False)}


def test_a_later_word_of_the_same_does_not_make_a_duplicate_a_risk(history, ask):
    """It was committed from the first word on."""
    call = doubtful_call(history, arguments_digest="x")
    history.reconciliation("r", call, "pay", "committed")
    history.call("r", "pay", arguments_digest="x")
    history.reconciliation("r", call, "pay", "committed")
    history.reconciliation("r", call, "pay", "still_unknown")

    assert flags(ask(history, "unknown_commits", now_ns=history.now_ns)) == {call: (True, False, True)}


def test_a_repeat_that_is_known_to_have_done_nothing_is_no_duplicate(history, ask):
    """Never sent, or refused by the tool itself."""
    call = doubtful_call(history, arguments_digest="x")
    unsent = history.call("r", "pay", ObservationStatus.RAISED, arguments_digest="x")
    history.attempt("r", unsent, AttemptStatus.ERROR, sent="no")
    refused = history.call("r", "pay", ObservationStatus.BUSINESS_ERROR, arguments_digest="x")
    history.attempt("r", refused, AttemptStatus.OK, sent="yes")

    assert flags(ask(history, "unknown_commits", now_ns=history.now_ns)) == {call: (True, False, False)}


def test_to_look_at_an_action_is_not_to_repeat_it(history, ask):
    """A status query carries the same action id."""
    call = doubtful_call(history, action_id="order 7")
    history.call("r", "payment_status", action_id="order 7", side_effect="read")

    assert flags(ask(history, "unknown_commits", now_ns=history.now_ns)) == {call: (False, False, False)}


def test_where_the_arguments_are_lost_nobody_knows_whether_it_was_repeated(history, ask):
    """The process died before the call's own span; a key that both carry tells all the same."""
    lost = history.call("r", "pay", ObservationStatus.TIMEOUT, key_digest="ab" * 16)
    other = history.call("r", "pay", ObservationStatus.TIMEOUT, arguments_digest="x")
    last = history.call("r", "pay", ObservationStatus.TIMEOUT, arguments_digest="y", key_digest="ab" * 16)

    rows = ask(history, "unknown_commits", now_ns=history.now_ns)

    assert {row["call"]: (row["duplicate_risk"], row["repeat_unknown"]) for row in rows} == {
        lost: (True, True),
        other: (False, False),
        last: (False, False),
    }


def test_a_retry_within_the_call_is_told_apart(history, ask):
    """The same call attempted again is no later call, but may have been done twice."""
    call = doubtful_call(history)
    history.attempt("r", call, AttemptStatus.TIMEOUT, sent="yes")
    once = doubtful_call(history, run="other")
    gateway = history.call("r", "book", ObservationStatus.RAISED, side_effect=SideEffect.WRITE)
    history.attempt("r", gateway, AttemptStatus.ERROR, sent="yes", remote_status=502, error_type="HTTPStatusError")

    rows = ask(history, "unknown_commits", now_ns=history.now_ns)

    assert {row["call"]: row["retried_in_doubt"] for row in rows} == {call: True, once: False, gateway: False}
