"""A person's word about a call in doubt: what is stored, what it changes, and when it is not taken."""

import pytest

from toolwitness.collector.store.store import Store
from toolwitness.model.enums import AttemptStatus, Finding, ObservationStatus, Outcome
from toolwitness.model.exceptions import CallNotFoundError, SettlementError, StoreMissingError
from toolwitness.replay.load import Source, open_ledger, open_source
from toolwitness.replay.reconcile import Making, find_call, settle
from toolwitness.replay.runs import replay_run
from toolwitness.sdk.clock import ManualClock, SeededIds
from toolwitness.tests.factories import SECOND_NS, History

WHO = {"by": "ann", "reason": "the bank's books show it"}


@pytest.fixture(name="history")
def _history():
    """A payment that timed out, in a run of its own."""
    history = History()
    history.run("r1")
    call = history.call("r1", "pay", ObservationStatus.TIMEOUT, side_effect="write", server="bank")
    history.attempt("r1", call, AttemptStatus.TIMEOUT, sent="yes")
    history.doubt = call
    return history


@pytest.fixture(name="ledger")
def _ledger(history, tmp_path):
    """An open store over the history that findings can be stored in, a minute later."""
    clock = ManualClock(history.now_ns + 60 * SECOND_NS)
    store = Store.open(tmp_path / "ledger.duckdb", clock=clock)
    store.write_group([history.rows])
    source = Source(store, "ledger.duckdb")
    source.making = Making(clock, SeededIds("settle"))
    yield source
    store.close()


def word(ledger, call, finding, **who):
    """A word by the ledger's own clock and ids."""
    return settle(ledger, call, finding, making=ledger.making, **{**WHO, **who})


@pytest.mark.parametrize(
    ("finding", "outcome"), [("committed", "succeeded"), ("not_committed", "failed"), ("still_unknown", "unknown_commit")]
)
def test_a_word_settles_an_unknown_commit(ledger, history, finding, outcome):
    """And a word that nobody knows yet leaves it open."""
    settled = word(ledger, history.doubt, finding)

    assert (settled.before, settled.outcome, settled.is_heard) == (Outcome.UNKNOWN_COMMIT, Outcome(outcome), True)
    assert find_call(ledger, history.doubt)["outcome"] == outcome


def test_a_finding_is_a_span_of_its_own_linked_to_the_call(ledger, history):
    """A trace of its own, covering what was attempted until now, by a person; the call's own span is not touched."""
    word(ledger, history.doubt, "not_committed")
    (span,) = [row for row in ledger.query("run_spans", run="r1").to_dicts() if row["record"] == "reconciliation"]

    assert span["name"] == "reconcile pay"
    assert span["trace_id"] != f"{1:032x}"
    assert span["links"] == [f"{1:032x}:{history.doubt}"]
    assert (span["method"], span["basis"], span["covers_until_ns"]) == ("person", "answer", ledger.making.clock())
    assert (span["found_by"], span["reason"]) == ("ann", '"the bank\'s books show it"')


def test_a_later_word_follows_an_earlier_one(ledger, history):
    """Nothing is overwritten: both stand in the run's replay, and the later answer counts."""
    word(ledger, history.doubt, "committed")
    ledger.making.clock.tick(SECOND_NS)
    settled = word(ledger, history.doubt, "not_committed", by="bob")
    (step,) = [step for step in replay_run(ledger, "r1").steps if step.calls]

    assert (settled.before, settled.outcome) == (Outcome.SUCCEEDED, Outcome.FAILED)
    assert [(found.finding, found.found_by) for found in step.calls[0].reconciliations] == [
        ("committed", "ann"),
        ("not_committed", "bob"),
    ]


def test_a_reason_is_redacted(ledger, history):
    """It is free text, in which people write what they should not; the rest of it stays."""
    settled = word(ledger, history.doubt, "committed", reason="told by ann@example.com on the phone")

    assert "ann@example.com" not in str(ledger.query("run_spans", run="r1").to_dicts())
    assert settled.reason.endswith("on the phone")


def test_a_beginning_of_an_id_is_enough(ledger, history):
    """Where one call alone begins so."""
    assert word(ledger, history.doubt[:-1], "committed").call == history.doubt


@pytest.mark.parametrize("prefix", ["nothing", ""])
def test_an_unknown_call_is_refused(ledger, prefix):
    """An empty id is none, since it would mean any."""
    with pytest.raises(CallNotFoundError, match="no call whose id starts with"):
        word(ledger, prefix, "committed")


def test_several_calls_are_refused(history, stored):
    """The sentence names them."""
    other = history.call("r1", "pay", ObservationStatus.TIMEOUT, side_effect="write")
    with open_ledger(stored(history)) as ledger, pytest.raises(CallNotFoundError, match=f"{history.doubt}, {other}; give more"):
        settle(ledger, "0", "committed", **WHO)


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"observation": ObservationStatus.OK, "side_effect": "write"}, "succeeded by a trustworthy answer"),
        ({"observation": ObservationStatus.TIMEOUT, "side_effect": "read"}, "known to be reading"),
    ],
)
def test_what_is_known_is_not_settled(history, stored, facts, sentence):
    """A finding would change nothing there, and the sentence says why."""
    call = history.call("r1", "look", **facts)
    history.attempt("r1", call, AttemptStatus.OK if facts["side_effect"] == "write" else AttemptStatus.TIMEOUT)
    with open_ledger(stored(history)) as ledger, pytest.raises(SettlementError, match=sentence):
        settle(ledger, call, "committed", **WHO)


def test_proof_of_no_effect_needs_no_word_but_hears_of_a_commit(history, stored):
    """A request that never left is failed; if the books show it all the same, they are right."""
    call = history.call("r1", "pay", ObservationStatus.RAISED, side_effect="write")
    history.attempt("r1", call, AttemptStatus.ERROR, sent="no", error_type="ConnectError")
    with open_ledger(stored(history)) as ledger:
        with pytest.raises(SettlementError, match="only 'committed' would say something else"):
            settle(ledger, call, "not_committed", **WHO)
        assert settle(ledger, call, "committed", **WHO).outcome is Outcome.SUCCEEDED


def test_an_attempt_that_may_still_run_is_never_settled_as_not_committed(history, tmp_path):
    """It may take effect after the word; that it did already can be said."""
    call = history.call("r1", "pay", ObservationStatus.NONE, side_effect="write")
    history.attempt_start("r1", call, "pay", parent="00000000000000ff")
    store = Store.open(tmp_path / "ledger.duckdb", clock=ManualClock(history.now_ns))
    store.write_group([history.rows])
    ledger = Source(store, "ledger.duckdb")
    with pytest.raises(SettlementError, match="may still take effect"):
        settle(ledger, call, "not_committed", **WHO)
    assert settle(ledger, call, "committed", **WHO).outcome is Outcome.SUCCEEDED
    store.close()


@pytest.mark.parametrize("missing", [{"by": " "}, {"reason": ""}])
def test_who_and_why_are_needed(ledger, history, missing):
    """A word without either is none."""
    with pytest.raises(SettlementError, match="give both a name and a reason"):
        word(ledger, history.doubt, "committed", **missing)


def test_a_word_that_is_no_finding_is_refused(ledger, history):
    """The sentence tells the words."""
    with pytest.raises(SettlementError, match="committed, not_committed, still_unknown"):
        word(ledger, history.doubt, "perhaps")


def test_an_attempt_after_the_word_is_unknown_again(ledger, history):
    """A finding speaks of what it covers alone."""
    word(ledger, history.doubt, "not_committed")
    history.skip(3600 * SECOND_NS)
    history.attempt("r1", history.doubt, AttemptStatus.TIMEOUT, sent="yes")
    ledger.backend.write_group([history.rows[-1:]])

    assert find_call(ledger, history.doubt)["outcome"] == Outcome.UNKNOWN_COMMIT


def test_a_word_that_is_not_heard_says_so(ledger, history):
    """Where the agent's clock is ahead of ours, the word covers nothing; it is stored, and the doubt stays."""
    ledger.making.clock.tick(-3600 * SECOND_NS)
    settled = word(ledger, history.doubt, "not_committed")

    assert (settled.finding, settled.outcome, settled.is_heard) == (Finding.NOT_COMMITTED, Outcome.UNKNOWN_COMMIT, False)


def test_a_finding_goes_with_the_subject_of_its_call(history, stored):
    """So that a purge by subject finds it."""
    history.rows[1]["subject"] = "ab" * 16
    path = stored(history)
    with open_ledger(path) as ledger:
        settle(ledger, history.doubt, "committed", **WHO)
    with open_source(path) as source:
        assert "reconciliation" in source.query("subject_spans", subject="ab" * 16)["record"].to_list()


def test_a_source_that_only_reads_takes_no_word(history, stored):
    """The sentence names the one that does."""
    with open_source(stored(history)) as source, pytest.raises(SettlementError, match="open_ledger"):
        settle(source, history.doubt, "committed", **WHO)


def test_a_missing_file_is_told_and_not_made(tmp_path):
    """A word about nothing must not leave an empty database behind."""
    with pytest.raises(StoreMissingError), open_ledger(tmp_path / "none.duckdb"):
        pass
    assert not (tmp_path / "none.duckdb").exists()
