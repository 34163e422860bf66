"""Calls that may have changed the world: which are listed, in which order, and what is told of each."""

import pytest

from toolwitness.model.enums import AttemptStatus, ErrorClass, Known, ObservationStatus, Outcome, SideEffect
from toolwitness.model.exceptions import CallNotFoundError
from toolwitness.model.records import Attempt, AttemptStart
from toolwitness.replay.accounts import committed
from toolwitness.replay.submissions import STATES, state_counts, submission, submissions
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS, History

WRITE = {"server": "bank", "side_effect": SideEffect.WRITE}
NONE = ObservationStatus.NONE


@pytest.fixture(name="history")
def fixture_history():
    """A history with one run."""
    history = History()
    history.run("run-1", task="ticket-17", session="chat-3")
    return history


def pay(history, observation=ObservationStatus.OK, run="run-1", **fields):
    """A call of a tool that writes."""
    return history.call(run, "pay", observation, **{"arguments_digest": "x", **WRITE, **fields})


def timed_out(history, run="run-1", **fields):
    """A call that timed out after it was sent."""
    call = pay(history, ObservationStatus.TIMEOUT, run, **fields)
    history.attempt(run, call, AttemptStatus.TIMEOUT, sent="yes")
    return call


def denied(history, **fields):
    """A call that a policy stopped."""
    call = pay(history, NONE, **fields)
    history.gate("run-1", call, "policy", "deny", reason_code="limit", rule_id="max")
    return call


def retried(history, keys=(None, None), **fields):
    """A call that succeeded after an attempt that timed out."""
    call = pay(history, **fields)
    history.attempt("run-1", call, AttemptStatus.TIMEOUT, sent="yes", key_digest=keys[0])
    history.attempt("run-1", call, AttemptStatus.OK, sent="yes", key_digest=keys[1])
    return call


def only(found):
    """The one submission of a list."""
    (one,) = found
    return one


def test_unsettled_ones_come_first_and_the_oldest_of_them(history, source_of):
    """Then what may be done twice, what failed and what was stopped; what was done or only reads is left out."""
    stopped = denied(history, arguments_digest="a")
    failed = pay(history, ObservationStatus.ERROR, error_class=ErrorClass.VALIDATION, arguments_digest="b")
    history.attempt("run-1", failed, AttemptStatus.ERROR, sent="yes")
    twice = retried(history, arguments_digest="c")
    older, younger = (timed_out(history, arguments_digest=name) for name in "de")
    pay(history, arguments_digest="f")
    history.call("run-1", "look", ObservationStatus.ERROR, side_effect=SideEffect.READ)

    source = source_of(history)

    told = [(one.call, one.state) for one in submissions(source)]
    assert told == [(older, "unsettled"), (younger, "unsettled"), (twice, "twice"), (failed, "failed"), (stopped, "stopped")]
    assert state_counts(source) == {"unsettled": 2, "twice": 1, "failed": 1, "stopped": 1, "done": 1}


def test_a_tool_of_unknown_effect_is_not_known_to_be_reading(history, source_of):
    """It is listed, and that nobody declared its effect is among what is not known."""
    call = history.call("run-1", "pay", ObservationStatus.TIMEOUT)
    history.attempt("run-1", call, AttemptStatus.TIMEOUT)

    one = only(submissions(source_of(history)))

    assert (one.side_effect, one.state) == ("unknown", "unsettled")
    assert "What the tool may change: no side effect is declared." in one.unknown


def test_each_search_finds_its_own(history, source_of):
    """Run and call by their beginnings, tool by name or with its server, the others exactly; times leave out the rest."""
    first = timed_out(history, action_id="order 7")
    history.run("walk", task="ticket-1", session="chat-4")
    second = history.call("walk", "send", ObservationStatus.TIMEOUT, server="mail", side_effect=SideEffect.WRITE)
    history.attempt("walk", second, AttemptStatus.TIMEOUT)
    source = source_of(history)
    searches = [
        ({}, [first, second]),
        ({"run": "run"}, [first]),
        ({"run": "x"}, []),
        ({"task": "ticket-1"}, [second]),
        ({"session": "chat-3"}, [first]),
        ({"call": second}, [second]),
        ({"action": "order 7"}, [first]),
        ({"tool": "pay"}, [first]),
        ({"tool": "mail/send"}, [second]),
        ({"tool": "bank/send"}, []),
        ({"since_ns": MONDAY_NS + 2 * SECOND_NS}, [second]),
        ({"until_ns": MONDAY_NS + 2 * SECOND_NS}, [first]),
        ({"limit": 1}, [first]),
        ({"states": ("failed",)}, []),
        ({"origin": "demo"}, []),
    ]

    for search, expected in searches:
        assert [one.call for one in submissions(source, **search)] == expected, search
    assert submissions(source, limit=1)[0].total == 2
    assert state_counts(source, tool="send")["unsettled"] == 1


@pytest.mark.parametrize("text", ["ORDER 7", "run-", "icket-17", "HAT-3", "bank/pay", "PAY"])
def test_a_text_is_looked_for_in_ids_task_session_and_tool(history, source_of, text):
    """In whatever case and wherever in them; the counts are of what is found."""
    call = timed_out(history, action_id="order 7")
    history.run("walk", task="errand", session="talk")
    history.call("walk", "send", NONE, server="mail", side_effect=SideEffect.WRITE, action_id="letter")
    source = source_of(history)

    assert call in [one.call for one in submissions(source, search=text)]
    assert sum(state_counts(source, search=text).values()) == len(submissions(source, search=text)) == 1


def test_a_text_that_stands_nowhere_finds_nothing(history, source_of):
    """A wildcard is text like any other."""
    timed_out(history)
    assert submissions(source_of(history), search="%") == []


def test_calls_without_known_times_are_in_no_range(source_of):
    """They are listed where no range is asked for, with an age that is not known."""
    history = History(time_known=False)
    timed_out(history)
    source = source_of(history)

    assert only(submissions(source)).age_s is None
    assert submissions(source, since_ns=0) == []


def test_an_unknown_commit_names_its_owner_and_the_command(history, source_of):
    """Who must act and what they type, since when it is so, and what "not found" would prove."""
    timed_out(history, owner="payments on call", settle_after_s=60.0)

    one = only(submissions(source_of(history), now_ns=MONDAY_NS + 91 * SECOND_NS))

    assert (one.outcome, one.owner, one.age_s, one.retry) == ("unknown_commit", "payments on call", 90.0, "unsafe")
    assert one.next_step.startswith("payments on call finds out whether it took effect, with `toolwitness reconcile`")
    assert "`toolwitness settle`" in one.next_step
    assert one.not_found_settles_from == "2026-11-02T00:01:03.000Z"
    assert "Whether it took effect." in one.unknown


def test_nobody_declared_is_an_unknown_owner(history, source_of):
    """It is said so, never left empty."""
    timed_out(history)

    one = only(submissions(source_of(history)))

    assert one.owner == "unknown"
    assert "Who must act: the tool declares no owner." in one.unknown
    assert one.not_found == '"Not found" settles nothing: the tool does not declare after how long it would (settle_after).'


def test_where_a_call_lost_its_own_word_the_tool_s_other_calls_name_the_owner(history, source_of):
    """A process that dies never sends the call's record; that it is taken from others is said."""
    history.attempt("run-1", pay(history, owner="payments on call"))
    fields = {"tool": "pay", "server": "bank", "side_effect": SideEffect.WRITE}
    started = AttemptStart(run_id="run-1", call_id="00000000000000cc", attempt_ordinal=1, **fields)
    history.add(started, parent="00000000000000aa")

    one = only(submissions(source_of(history)))

    assert (one.call, one.owner) == ("00000000000000cc", "payments on call")
    assert "Whether it names the same owner as other calls of the tool: its own word is lost." in one.unknown


def test_gates_and_attempts_are_told_in_a_few_words(history, source_of):
    """Each is a line."""
    call = pay(history, ObservationStatus.RAISED, error_class=ErrorClass.UNKNOWN_COMMIT)
    history.gate("run-1", call, "confirmation", "needs_approval")
    history.gate("run-1", call, "confirmation", "allow", approver="ana", approved_arguments_digest="x")
    history.attempt("run-1", call, AttemptStatus.ERROR, sent="no", error_type="ConnectError")
    history.attempt("run-1", call, AttemptStatus.TIMEOUT, sent="yes", retry_reason="connect", remote_reference="T-1")

    one = only(submissions(source_of(history)))

    assert one.gates == ("confirmation: needs_approval", "confirmation: allow (by ana, of the arguments proposed)")
    assert one.attempts == (
        "1: failed, never sent (ConnectError, 1,000 ms)",
        "2: timed out, sent (reference T-1, 1,000 ms, again because of connect)",
    )
    assert one.known[0] == "It was attempted 2 times. A request left the process."


def test_a_call_that_a_gate_stopped_never_ran(history, source_of):
    """That is known; a retry is safe for the world, and the next step names what stopped it."""
    denied(history)

    one = only(submissions(source_of(history)))

    assert (one.state, one.attempts, one.retry) == ("stopped", (), "safe")
    assert one.known[0] == "Nothing ran: gate policy denied it."
    assert one.next_step == "Change what stopped it, policy: deny (limit, rule max), then let the agent ask again."


def test_a_call_that_waits_for_approval_is_unsettled_and_did_not_run(history, source_of):
    """Asking again is not needed."""
    call = pay(history, NONE)
    history.gate("run-1", call, "confirmation", "needs_approval")

    one = only(submissions(source_of(history)))

    assert (one.state, one.outcome, one.retry) == ("unsettled", "pending", "not_needed")
    assert one.known[0] == "Nothing has run: it waits for an approval."


def test_an_open_attempt_is_not_retried(history, source_of):
    """A process may still be at it."""
    call = pay(history, NONE)
    history.attempt_start("run-1", call, "pay", parent="00000000000000aa")

    one = only(submissions(source_of(history)))

    assert (one.outcome, one.retry, one.attempts) == ("pending", "unsafe", ("1: no end recorded, not known whether sent",))
    assert "Whether its attempt still goes on, and what it comes to." in one.unknown


def test_a_proposal_without_evidence_is_unsettled(history, source_of):
    """Nobody knows whether it ran."""
    pay(history, NONE)

    one = only(submissions(source_of(history)))

    assert (one.state, one.outcome, one.retry) == ("unsettled", "indeterminate", "unsafe")
    assert "Whether it ran at all." in one.unknown


def test_the_same_again_before_settling_is_a_duplicate_risk(history, source_of):
    """The repeat is named, and what it came to."""
    first = timed_out(history)
    again = pay(history)
    history.attempt("run-1", again)

    one = submission(source_of(history), first)

    assert (one.duplicate_risk, one.duplicate, one.repeated_by, one.retry) == (True, False, again, "unsafe")
    assert f"The same was asked for again in call {again}, which took effect." in one.known


def test_a_failure_that_was_made_good_later_needs_no_retry(history, source_of):
    """The same arguments took effect in a later call of the run: a retry would be the second time."""
    failed = pay(history, ObservationStatus.ERROR, error_class=ErrorClass.VALIDATION)
    history.attempt("run-1", failed, AttemptStatus.ERROR, sent="yes")
    later = pay(history)
    history.attempt("run-1", later)

    one = only(submissions(source_of(history)))

    assert (one.state, one.retry) == ("failed", "not_needed")
    assert one.next_step == f"Look at call {later} instead: `toolwitness triage {later}`."


def test_a_repeat_after_a_commit_was_found_is_listed_as_done_twice(history, source_of):
    """The first is settled as committed, and the second took effect after that."""
    first = timed_out(history)
    history.reconciliation("run-1", first, "pay", "committed")
    history.attempt("run-1", pay(history))

    one = only(submissions(source_of(history)))

    assert (one.call, one.state, one.duplicate, one.retry) == (first, "twice", True, "unsafe")


def test_a_success_after_a_doubtful_attempt_may_be_done_twice(history, source_of):
    """Without a key that every attempt carried, or with a tool not declared idempotent."""
    bare = retried(history, arguments_digest="a")
    other_keys = retried(history, ("k", "l"), idempotent=Known.YES, arguments_digest="b")
    late_key = retried(history, (None, "k"), idempotent=Known.YES, arguments_digest="c")
    not_declared = retried(history, ("k", "k"), arguments_digest="d")
    retried(history, ("k", "k"), idempotent=Known.YES, arguments_digest="e")

    found = submissions(source_of(history))

    assert [one.call for one in found] == [bare, other_keys, late_key, not_declared]
    assert {(one.state, one.retried_in_doubt, one.retry) for one in found} == {("twice", True, "unsafe")}


def test_one_attempt_that_a_gateway_failed_is_no_second_try(history, source_of):
    """It is found to be committed, and nobody is sent to take anything back."""
    call = pay(history, ObservationStatus.RAISED)
    history.attempt("run-1", call, AttemptStatus.ERROR, sent="yes", remote_status=502, error_type="HTTPStatusError")
    history.reconciliation("run-1", call, "pay", "committed")

    one = only(submissions(source_of(history), states=STATES))

    assert (one.state, one.committed, one.retry, one.retried_in_doubt) == ("done", "yes", "not_needed", False)


def test_what_was_only_accepted_is_not_known_to_be_done(history, source_of):
    """The service may do it later, or never; a finding says more."""
    found = [pay(history, commit_level="accepted", arguments_digest=each) for each in "ab"]
    for call in found:
        history.attempt("run-1", call, sent="yes", remote_status=202)
    history.reconciliation("run-1", found[1], "pay", "committed")

    told = {one.call: (one.committed, one.retry) for one in submissions(source_of(history), states=STATES)}

    assert told == {found[0]: ("accepted", "unsafe"), found[1]: ("yes", "not_needed")}


def test_what_requests_prove_says_so(history, source_of):
    """A tool may have written a file before, which nobody watched."""
    call = pay(history, ObservationStatus.RAISED)
    history.attempt("run-1", call, AttemptStatus.ERROR, sent="no", transport="http")

    one = only(submissions(source_of(history)))

    assert "None of its requests left the process." in one.known[0]
    assert any(sentence.startswith("What it did by other means than HTTP requests") for sentence in one.unknown)


def test_of_a_process_that_died_no_answer_is_claimed(history, source_of):
    """Nobody knows whether one came, where the call's own record is lost."""
    common = {"run_id": "run-1", "call_id": "lost", "attempt_ordinal": 1}
    history.add(AttemptStart(tool="pay", side_effect=SideEffect.WRITE, **common), parent="tried")
    history.add(Attempt(attempt_status=AttemptStatus.ERROR, error_type="ProcessDied", **common), span_id="tried")

    one = only(submissions(source_of(history)))

    assert one.outcome == "unknown_commit"
    assert not any(sentence.startswith("An answer came back") for sentence in one.known)


def test_with_one_key_and_an_idempotent_tool_a_retry_is_safe(history, source_of):
    """With the same key alone, as the sentence says."""
    call = pay(history, ObservationStatus.TIMEOUT, idempotent=Known.YES)
    history.attempt("run-1", call, AttemptStatus.TIMEOUT, sent="yes", key_digest="k")

    one = only(submissions(source_of(history)))

    assert (one.outcome, one.retry) == ("unknown_commit", "safe")
    assert one.why.startswith("Only with the same idempotency key")


def test_without_arguments_nobody_knows_whether_the_same_was_asked_again(history, source_of):
    """Duplicates of a call that another of its tool followed are then not known, never no."""
    first = timed_out(history, arguments_digest=None)
    second = timed_out(history)
    source = source_of(history)

    one, last = submission(source, first), submission(source, second)

    assert (one.duplicate_risk, one.duplicate) == (None, None)
    assert "Whether a later call of the tool asked for the same." in one.unknown
    assert (last.duplicate_risk, last.duplicate) == (False, False)


def test_what_was_found_since_is_told(history, source_of):
    """A finding settles the call, and says by whom."""
    call = timed_out(history)
    history.reconciliation("run-1", call, "pay", "not_committed")

    one = only(submissions(source_of(history)))

    assert (one.state, one.outcome, one.settled, one.retry) == ("failed", "failed", "not_committed", "safe")
    assert any(sentence.endswith("not_committed.") for sentence in one.known)


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_says_whether_it_took_effect(outcome):
    """None is left to a default, which could turn what nobody knows into a no."""
    row = {"state": "", "outcome": outcome, "attempts": 1, "last_effect": "none", "earlier_effect": "none", "settled": ""}
    row["commit_level"] = "unknown"

    assert committed(row) in {"yes", "no", "says_no", "partly", "unknown"}


def test_one_call_comes_with_its_replay(history, source_of):
    """By a unique beginning of its id, in whatever state."""
    done = pay(history, arguments='{"amount": 12}')
    history.attempt("run-1", done)

    one = submission(source_of(history), done[:16])

    assert (one.state, one.arguments, one.next_step) == ("done", {"amount": 12}, "Nothing.")
    assert (one.replay.call, one.replay.outcome) == (done, "succeeded")


def test_none_or_several_calls_are_an_error(history, source_of):
    """The error says that there is none, or which there are."""
    first, second = timed_out(history), timed_out(history)
    source = source_of(history)

    with pytest.raises(CallNotFoundError, match="no call that may have changed something"):
        submission(source, "nix")
    with pytest.raises(CallNotFoundError, match=f"several calls .* {first}, {second}"):
        submission(source, "0")


def test_more_calls_than_a_request_may_name_are_all_told(history, source_of):
    """Gates and attempts are asked for in parts."""
    calls = [timed_out(history, arguments_digest=str(number)) for number in range(1001)]

    found = submissions(source_of(history), states=STATES)

    assert [one.call for one in found] == calls
    assert {len(one.attempts) for one in found} == {1}
