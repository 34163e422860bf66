"""What a run leaves to whoever goes on with it."""

import pytest

from toolwitness.model.enums import AttemptStatus, ObservationStatus, RunOutcome, SideEffect, StopReason
from toolwitness.model.exceptions import RunNotFoundError
from toolwitness.replay.handover import handover, is_confirmed, is_not_executed, is_to_reconcile, left_of
from toolwitness.replay.submissions import STATES, submissions
from toolwitness.tests.factories import History

WRITE = {"side_effect": SideEffect.WRITE}


def told(history, run="run-1"):
    """A call of each kind; their ids by what they are."""
    ids = {}

    def call(name, observation=ObservationStatus.NONE, **fields):
        ids[name] = history.call(run, "pay", observation, arguments_digest=name, **WRITE, **fields)
        return ids[name]

    history.attempt(run, call("answered", ObservationStatus.OK))
    late = call("found", ObservationStatus.TIMEOUT)
    history.attempt(run, late, AttemptStatus.TIMEOUT, sent="yes")
    history.reconciliation(run, late, "pay", "committed")
    history.gate(run, call("denied"), "policy", "deny")
    history.gate(run, call("waiting"), "confirmation", "needs_approval")
    history.attempt(run, call("never sent", ObservationStatus.RAISED), AttemptStatus.ERROR, sent="no")
    history.attempt(run, call("timed out", ObservationStatus.TIMEOUT), AttemptStatus.TIMEOUT, sent="yes")
    history.attempt_start(run, call("open"), "pay", parent="00000000000000aa")
    call("proposed")
    call("cut", ObservationStatus.CUT_BY_RECORDING)
    return ids


@pytest.fixture(name="history")
def fixture_history():
    """A run that its budget stopped."""
    history = History()
    spent = {"budget": '{"calls":9,"attempts":40,"cost":2.5,"bytes":100}', "spent": '{"cost":1.5,"objects":3}'}
    history.run("run-1", RunOutcome.ABANDONED, stopped_by=StopReason.BUDGET, outcome_source="application", **spent)
    return history


def test_every_writing_call_stands_in_one_part(history, source_of):
    """What was answered or found took effect; what is open or has no evidence is to be reconciled, never not executed."""
    ids = told(history)

    left = handover(source_of(history), "run-1")

    parts = {name: [one.call for one in getattr(left, name)] for name in ("confirmed", "not_executed", "to_reconcile")}
    assert parts == {
        "confirmed": [ids["answered"], ids["found"]],
        "not_executed": [ids["denied"], ids["waiting"], ids["never sent"]],
        "to_reconcile": [ids["timed out"], ids["open"], ids["proposed"], ids["cut"]],
    }


def test_the_parts_are_a_partition(history, source_of):
    """Whatever the state, a call is in one part and no other."""
    told(history)

    for one in submissions(source_of(history), states=STATES):
        assert [is_confirmed(one), is_not_executed(one), is_to_reconcile(one)].count(True) == 1


def test_what_only_reads_is_counted(history, source_of):
    """It can simply be asked again."""
    history.call("run-1", "look", side_effect=SideEffect.READ)
    history.call("run-1", "look", ObservationStatus.ERROR, side_effect=SideEffect.READ)

    left = handover(source_of(history), "run-1")

    assert (left.calls, left.reading, left.read_well, left.confirmed) == (2, 2, 1, ())


def test_what_is_needed_names_the_step_and_its_command(history, source_of):
    """An approval, a gate's reason, a retry, and what settles each call in doubt."""
    ids = told(history)

    needed = handover(source_of(history), "run-1").needed

    assert {need.call: need.step for need in needed if need.call} == {
        ids["denied"]: "answer_gate",
        ids["waiting"]: "approve",
        ids["never sent"]: "recover",
        ids["timed out"]: "settle",
        ids["open"]: "wait",
        ids["proposed"]: "settle",
        ids["cut"]: "settle",
    }
    commands = {need.call: need.command for need in needed if need.command}
    assert list(commands) == [ids["timed out"], ids["open"], ids["proposed"], ids["cut"]]
    assert commands[ids["cut"]].startswith(f"toolwitness settle {ids['cut']} FINDING ")


def test_a_call_that_was_only_taken_in_is_settled_by_the_command_beside_it(history, source_of):
    """A 202 is in doubt until somebody finds out, so the handover says how."""
    history.run("run-1")
    call = history.call("run-1", "pay", ObservationStatus.ACCEPTED, side_effect=SideEffect.WRITE)
    history.attempt("run-1", call, "ok")

    left = handover(source_of(history), "run-1")

    assert [one.call for one in left.to_reconcile] == [call]
    assert [(need.step, need.command) for need in left.needed] == [
        ("settle", f"toolwitness settle {call} FINDING --by NAME --reason TEXT")
    ]


def test_limits_stand_beside_what_was_used(history, source_of):
    """Calls and attempts are counted from the records, the rest is the application's word, and unknown is no zero."""
    told(history)

    left = handover(source_of(history), "run-1")

    assert [(one.name, one.limit, one.used, left_of(one)) for one in left.budget] == [
        ("calls", 9, 9, 0),
        ("attempts", 40, 5, 35),
        ("cost", 2.5, 1.5, 1.0),
        ("bytes", 100, None, None),
        ("seconds", None, 1, None),
        ("objects", None, 3, None),
    ]
    assert [need.what for need in left.needed if need.step == "limit"] == [
        "Raise the limit of 9 calls, all of which is used, or go on in another run."
    ]
    assert left.unknown == (
        "How much of bytes was used.",
        "What the model would have asked for next: only what it had proposed is recorded.",
    )


def test_a_run_whose_own_record_never_came_may_still_go_on(source_of):
    """What ended it, and how long it took, is not known."""
    history = History()
    history.call("lost", "pay", ObservationStatus.NONE, **WRITE)

    left = handover(source_of(history), "lost")

    assert (left.stopped_by, left.outcome, [one.used for one in left.budget if one.name == "seconds"]) == (
        "unknown",
        "unknown",
        [None],
    )
    assert "Whether the run has ended: its own record never came." in left.unknown


def test_a_run_with_a_longer_name_is_another(history, source_of):
    """Only the calls of the run itself are handed over."""
    ids = told(history)
    history.run("run-12")
    history.call("run-12", "pay", **WRITE)

    left = handover(source_of(history), "run-1")

    assert sum(map(len, (left.confirmed, left.not_executed, left.to_reconcile))) == len(ids)


def test_a_run_that_is_not_there_is_an_error(history, source_of):
    """As for a replay."""
    with pytest.raises(RunNotFoundError, match="no run"):
        handover(source_of(history), "nix")
