"""Which calls are due to be asked about, and what their reconcilers' answers come to."""

from datetime import UTC, datetime

import pytest

import toolwitness
from toolwitness.collector.store.store import Store
from toolwitness.model.digest import key_digest
from toolwitness.model.enums import AttemptStatus, ObservationStatus, Outcome
from toolwitness.model.exceptions import CallNotFoundError
from toolwitness.replay.asking import ask, due_calls, misnamed, why_not_due
from toolwitness.replay.load import Source
from toolwitness.replay.reconcile import Making, find_call, settle
from toolwitness.sdk.clock import ManualClock, SeededIds
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS, History

MINUTE = 60 * SECOND_NS


class Ledger(Source):
    """An open store over a history, whose time stands still at its end."""

    def __init__(self, path, history):
        self.clock = ManualClock(history.now_ns)
        self.making = Making(self.clock, SeededIds("ask"))
        super().__init__(Store.open(path, clock=self.clock), str(path))
        self.tell(history.rows)

    def tell(self, rows):
        """Store more spans."""
        self.backend.write_group([rows])

    def due(self, **chosen):
        """The ids of the calls that are due, of those not asked about within five minutes."""
        return due_calls(self, before_ns=self.clock() - 5 * MINUTE, **chosen)

    def ask(self, **facts):
        """Ask about all that is due."""
        return list(ask(self, self.due(), self.making, **facts))

    def outcome(self, call):
        """What became of a call."""
        return Outcome(find_call(self, call)["outcome"])


@pytest.fixture(name="history")
def _history():
    """A payment of a tool that settles after a minute, which timed out."""
    history = History()
    history.run("r1", task="invoice-7", session="s1")
    facts = {
        "side_effect": "write",
        "server": "bank",
        "settle_after_s": 60.0,
        "arguments": '{"amount":5}',
        "action_id": "inv-7",
    }
    history.doubt = history.call("r1", "pay", ObservationStatus.TIMEOUT, **facts)
    history.attempt("r1", history.doubt, AttemptStatus.TIMEOUT, sent="yes", remote_reference="pay_1")
    return history


@pytest.fixture(name="ledger_of")
def _ledger_of(tmp_path):
    opened = []

    def ledger_of(history):
        opened.append(Ledger(tmp_path / f"{len(opened)}.duckdb", history))
        return opened[-1]

    yield ledger_of
    for one in opened:
        one.backend.close()


@pytest.fixture(name="ledger")
def _ledger(ledger_of, history):
    return ledger_of(history)


def answering(*answers):
    """A reconciler of bank/pay that gives these answers in turn; what it was given."""
    seen, left = [], list(answers)

    @toolwitness.reconciler("bank/pay")
    def status(unknown):
        seen.append(unknown)
        return left.pop(0)

    return seen


def test_a_reconciler_is_told_all_that_is_known(ledger, history):
    """Ids, times, references and the redacted arguments; never the originals, which nobody has."""
    seen = answering("committed")
    ledger.ask()
    (unknown,) = seen

    assert (unknown.call_id, unknown.run_id, unknown.server, unknown.tool) == (history.doubt, "r1", "bank", "pay")
    assert (unknown.task, unknown.session, unknown.action_id, unknown.arguments) == ("invoice-7", "s1", "inv-7", {"amount": 5})
    assert (unknown.attempts, unknown.remote_references) == (1, ("pay_1",))
    assert unknown.started == datetime.fromtimestamp((MONDAY_NS + SECOND_NS) // SECOND_NS, UTC)
    assert unknown.last_ended == datetime.fromtimestamp(ledger.clock() // SECOND_NS, UTC)


@pytest.mark.parametrize(
    ("answer", "outcome", "due_again"),
    [("committed", "succeeded", False), ("not_committed", "failed", False), ("still_unknown", "unknown_commit", True)],
)
def test_an_answer_settles_the_call(ledger, history, answer, outcome, due_again):
    """What stays in doubt is due again after a while, and not before."""
    answering(answer)
    (asked,) = ledger.ask()

    assert (asked.told.answer, asked.settlement.outcome, asked.failure) == (answer, outcome, None)
    assert ledger.due() == []
    ledger.clock.tick(5 * MINUTE + 1)
    assert [one.call for one in ledger.due()] == ([history.doubt] if due_again else [])


def test_not_found_settles_only_after_the_tool_s_time(ledger, history):
    """Before that it is recorded that nobody knows, and why."""
    answering("not_found", "not_found")
    ledger.clock.tick(MINUTE - 1)
    (early,) = ledger.ask()
    ledger.clock.tick(10 * MINUTE)
    (late,) = ledger.ask()

    assert (early.settlement.reason_code, early.settlement.outcome) == ("not_found_too_early", Outcome.UNKNOWN_COMMIT)
    assert (late.settlement.reason_code, late.settlement.outcome) == ("not_found", Outcome.FAILED)
    assert ledger.outcome(history.doubt) is Outcome.FAILED


def test_the_time_of_asking_is_taken_before_the_query_runs(ledger, history):
    """A query that takes its time does not make its answer any newer."""

    @toolwitness.reconciler("bank/pay")
    def slow(_):
        ledger.clock.tick(2 * MINUTE)
        return "not_found"

    ledger.clock.tick(MINUTE - 1)
    (asked,) = ledger.ask()

    assert asked.settlement.reason_code == "not_found_too_early"
    assert ledger.outcome(history.doubt) is Outcome.UNKNOWN_COMMIT


def test_an_attempt_begun_while_the_service_was_asked_is_not_covered(ledger, history):
    """Its "never" was about what it had been sent by then."""

    @toolwitness.reconciler("bank/pay")
    def status(_):
        history.skip(MINUTE)
        history.attempt("r1", history.doubt, AttemptStatus.TIMEOUT, sent="yes")
        ledger.tell(history.rows[-1:])
        return "not_committed"

    (asked,) = ledger.ask()

    assert (asked.settlement.outcome, asked.settlement.is_heard) == (Outcome.UNKNOWN_COMMIT, False)


def test_not_found_never_settles_while_an_attempt_is_not_known_to_have_ended(ledger_of, history):
    """Its process may have died before or after sending; only a plain answer or a person can tell."""
    history.attempt_start("r1", history.doubt, "pay", parent="00000000000000ff")
    history.skip(3600 * SECOND_NS)
    ledger = ledger_of(history)
    answering("not_found", "not_committed")
    (asked,) = ledger.ask()
    ledger.clock.tick(6 * MINUTE)
    (again,) = ledger.ask()

    assert (asked.settlement.reason_code, asked.settlement.outcome) == ("attempt_still_open", Outcome.UNKNOWN_COMMIT)
    assert again.settlement.outcome is Outcome.FAILED


def test_the_loaded_application_tells_settle_after_where_the_call_does_not(ledger_of, history):
    """What stands on the call goes first; where neither tells it, "not found" settles nothing."""
    del history.rows[1]["settle_after_s"]
    history.skip(MINUTE)
    ledger = ledger_of(history)
    answering("not_found", "not_found")
    (asked,) = ledger.ask()
    toolwitness.tool(lambda: None, name="pay", server="bank", settle_after=60)
    ledger.clock.tick(6 * MINUTE)
    (again,) = ledger.ask()

    assert asked.settlement.reason_code == "no_settle_after"
    assert (again.settlement.reason_code, ledger.outcome(history.doubt)) == ("not_found", Outcome.FAILED)


def test_what_a_reconciler_says_beside_its_answer_is_kept(ledger):
    """Its reason redacted, the service's own reference, and how far the commit was verified."""
    answering({"answer": "committed", "reason": "ask ann@example.com", "remote_reference": "ch_9", "commit_level": "read_back"})
    ledger.ask()
    (found,) = [row for row in ledger.query("run_spans", run="r1").to_dicts() if row["record"] == "reconciliation"]
    calls = ledger.query("replay_calls", run="r1")

    assert (found["method"], found["remote_reference"]) == ("status_query", "ch_9")
    assert found["found_by"].endswith("answering.<locals>.status")
    assert "ann@example.com" not in found["reason"]
    assert calls["commit_level"].to_list() == ["read_back"]


def test_an_async_reconciler_is_awaited(ledger):
    """All of them on one loop, so that a client may be shared."""

    @toolwitness.reconciler("bank/pay")
    async def status(_):
        return "committed"

    (asked,) = ledger.ask()
    assert asked.settlement.outcome is Outcome.SUCCEEDED


def test_a_reconciler_that_fails_records_nothing_and_the_others_go_on(ledger_of, history):
    """It is told what went wrong; the call stays due."""
    other = history.call("r1", "pay", ObservationStatus.TIMEOUT, side_effect="write", server="bank")
    history.attempt("r1", other, AttemptStatus.TIMEOUT, sent="yes")
    ledger = ledger_of(history)
    left = [ConnectionError("no route"), "perhaps", SystemExit(3)]

    @toolwitness.reconciler("bank/pay")
    def status(unknown):
        if unknown.call_id == other:
            return "committed"
        said = left.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said

    first, second = ledger.ask()
    assert "ConnectionError: no route" in first.failure
    assert (first.settlement, second.settlement.outcome) == (None, Outcome.SUCCEEDED)
    assert "must be one of committed" in ledger.ask()[0].failure
    assert "SystemExit" in ledger.ask()[0].failure
    assert ledger.query("replay_reconciliations", run="r1")["call_id"].to_list() == [other]


def test_keys_are_compared_under_the_agent_s_secret(ledger_of, history):
    """Without it, or under another, the comparison fails instead of finding nothing."""
    history.rows[1]["key_digest"] = key_digest(b"secret", "k-1")
    ledger = ledger_of(history)

    @toolwitness.reconciler("bank/pay")
    def status(unknown):
        return "committed" if any(unknown.matches_key(key) for key in ("k-0", "k-1")) else "not_committed"

    assert "there is none here" in ledger.ask()[0].failure
    assert "there is another here" in ledger.ask(secret=b"other")[0].failure
    assert ledger.ask(secret=b"secret")[0].settlement.outcome is Outcome.SUCCEEDED


def test_only_what_may_have_taken_effect_unseen_is_due(ledger_of, history):
    """Not what is known, only reads, waits or may still run; but what nobody saw executed, and what a lost process began."""
    history.attempt("r1", history.call("r1", "mail", side_effect="write"))
    history.attempt("r1", history.call("r1", "look", ObservationStatus.TIMEOUT, side_effect="read"), AttemptStatus.TIMEOUT)
    history.gate("r1", history.call("r1", "pay", ObservationStatus.NONE, side_effect="write"), "confirmation", "needs_approval")
    unseen = history.call("r1", "pay", ObservationStatus.NONE, side_effect="write")
    lost = history.call("r1", "post", ObservationStatus.NONE)
    history.attempt_start("r1", lost, "post", parent="00000000000000fe")
    history.skip(3600 * SECOND_NS)
    runs = history.call("r1", "post", ObservationStatus.NONE)
    history.attempt_start("r1", runs, "post", parent="00000000000000ff")
    ledger = ledger_of(history)

    assert [one.call for one in ledger.due()] == [history.doubt, unseen, lost]
    assert why_not_due(ledger, runs, before_ns=0) == f"call {runs} is not in doubt: it is pending"


def test_calls_are_chosen_by_tool_and_beginning(ledger_of, history):
    """A name alone means that of any server."""
    other = history.call("r1", "pay", ObservationStatus.TIMEOUT)
    ledger = ledger_of(history)

    assert [one.call for one in ledger.due(tool="pay")] == [history.doubt, other]
    assert [one.call for one in ledger.due(tool="bank/pay")] == [history.doubt]
    assert [one.call for one in ledger.due(call=other)] == [other]
    assert ledger.due(tool="post") == []


def test_a_reconciler_is_of_one_server_s_tool_alone(ledger_of, history):
    """Another server's tool of the same name goes to another service."""
    history.call("r1", "pay", ObservationStatus.TIMEOUT)
    answering("committed")
    bank, other = ledger_of(history).due()

    assert (bank.query is None, other.query is None) == (False, True)
    assert misnamed([bank, other]) == ["a reconciler is registered for 'bank/pay', which is not 'pay'; name the tool so"]


def test_a_decorated_tool_names_itself(ledger):
    """With its server."""
    pay = toolwitness.tool(lambda: None, name="pay", server="bank")
    toolwitness.reconciler(pay)(lambda _: "committed")

    assert [asked.settlement.outcome for asked in ledger.ask()] == [Outcome.SUCCEEDED]


@pytest.mark.parametrize("tool", [None, "", "/", 7, print])
def test_what_names_no_tool_is_refused_at_once(tool):
    """A reconciler that nobody would ever ask is a mistake to hear of at import."""
    with pytest.raises(ValueError, match="names no tool"):
        toolwitness.reconciler(tool)


def test_asking_again_adds_and_changes_nothing(ledger):
    """Two at once find the same, whichever comes last."""
    answering("committed", "committed")
    due = ledger.due()
    first = [asked.settlement.outcome for asked in ask(ledger, due, ledger.making)]
    second = [asked.settlement.outcome for asked in ask(ledger, due, ledger.making)]

    assert first == second == [Outcome.SUCCEEDED]
    assert ledger.query("replay_reconciliations", run="r1").height == 2


def test_why_a_call_is_not_due_is_told(ledger, history):
    """Asked about lately, or not in doubt; a call that is not there is an error."""
    answering("still_unknown")
    before_ns = ledger.clock() - MINUTE
    ledger.ask()
    assert why_not_due(ledger, history.doubt, before_ns=before_ns).endswith("--again-after 0m asks again")
    settle(ledger, history.doubt, "committed", by="ann", reason="books", making=ledger.making)
    ledger.clock.tick(MINUTE)
    assert why_not_due(ledger, history.doubt, before_ns=ledger.clock()).endswith("not in doubt: it is succeeded")
    with pytest.raises(CallNotFoundError):
        why_not_due(ledger, "ff", before_ns=0)


def test_times_that_stand_for_an_order_only_are_unknown(ledger_of):
    """An imported call is told without times, and "not found" never settles it."""
    history = History(time_known=False)
    history.run("r1")
    call = history.call("r1", "pay", ObservationStatus.TIMEOUT, side_effect="write", server="bank", settle_after_s=1.0)
    history.skip(3600 * SECOND_NS)
    ledger = ledger_of(history)
    seen = answering("not_found")
    ledger.ask()
    (unknown,) = seen

    assert (unknown.started, unknown.last_ended) == (None, None)
    assert ledger.outcome(call) is Outcome.UNKNOWN_COMMIT
    (found,) = ledger.query("replay_reconciliations", run="r1").to_dicts()
    assert found["reason_code"] == "time_unknown"
