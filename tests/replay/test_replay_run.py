import json
from dataclasses import asdict

import pytest

from toolwitness.model.enums import AttemptStatus, DecisionFinish, Known, ObservationStatus, Origin, RunOutcome, Validity
from toolwitness.model.exceptions import RunNotFoundError
from toolwitness.model.names import PROCESS_DIED
from toolwitness.model.records import ArgumentCheck, Failure, Hit, LeafOrigin, Removal
from toolwitness.replay.runs import find_run, replay_run
from toolwitness.tests.factories import SECOND_NS, History


@pytest.fixture(name="history")
def fixture_history():
    """A history with one run that succeeded."""
    history = History()
    history.run("run-1", RunOutcome.SUCCESS, task="7", trial=2, labels='{"arm":"b"}')
    return history


def only_call(run):
    """The one call of a replay."""
    (call,) = run.calls
    return call


def test_a_run_is_found_by_its_beginning(history, source_of):
    """A unique prefix is enough; an id that is another's prefix is found by itself."""
    history.run("run-12")
    history.run("walk")
    source = source_of(history)

    assert find_run(source, "wa") == "walk"
    assert find_run(source, "run-1") == "run-1"


@pytest.mark.parametrize(("prefix", "said"), [("nix", "no run"), ("run-", "run-1, run-2")])
def test_none_or_several_runs_are_an_error(history, source_of, prefix, said):
    """The error says that there is none, or which there are."""
    history.run("run-2")

    with pytest.raises(RunNotFoundError, match=said):
        find_run(source_of(history), prefix)


def test_a_replay_knows_the_run(history, source_of):
    """Task, trial, outcome, labels and times come from the run's own span."""
    run = replay_run(source_of(history), "run-1")

    assert (run.task, run.trial, run.outcome, run.labels) == ("7", 2, "success", {"arm": "b"})
    assert (run.started, run.unknown) == ("2026-11-02T00:00:00.000Z", ())


def test_a_step_shows_what_was_visible_under_which_digests(history, source_of):
    """The visible tools come with their digests, as far as their schemas are known."""
    history.toolset("run-1", "ab", [("s", "a"), ("s", "b")])
    history.schema("run-1", "a", server="s", tool_version="2")
    history.decision("run-1", toolset_digest="ab", visibility=Known.YES, finish=DecisionFinish.ANSWERED)

    (step,) = replay_run(source_of(history), "run-1").steps

    seen = [(tool.server, tool.tool, tool.definition_digest, tool.schema_digest, tool.tool_version) for tool in step.visible]
    assert seen == [("s", "a", "definition of a", "schema of a", "2"), ("s", "b", "definition of b", None, None)]
    assert step.unknown == ()


def test_what_was_visible_may_be_unknown(history, source_of):
    """No toolset is None and said to be unknown, never an empty list."""
    history.decision("run-1")

    (step,) = replay_run(source_of(history), "run-1").steps

    assert step.visible is None
    assert "visible tools" in step.unknown


def test_removals_and_exposure_are_kept(history, source_of):
    """What was kept from the model stands with its reason."""
    history.decision("run-1", removals=(Removal("s", "pay", "permission"),), exposure="wildcard", exposure_members=("s/*",))

    (step,) = replay_run(source_of(history), "run-1").steps

    assert [(gone.tool, gone.reason) for gone in step.removals] == [("pay", "permission")]
    assert (step.exposure, step.exposure_members) == ("wildcard", ("s/*",))


def test_gates_and_attempts_stand_under_their_call(history, source_of):
    """Each call has its own gates and attempts, in their order."""
    step = history.decision("run-1")
    retried = history.call("run-1", "pay", decision_id=step)
    history.gate("run-1", retried, "policy", "allow", rule_id="limit")
    history.attempt("run-1", retried, AttemptStatus.ERROR, sent="no")
    history.attempt("run-1", retried, retry_reason="connect")
    stopped = history.call("run-1", "pay", ObservationStatus.NONE, decision_id=step)
    history.gate("run-1", stopped, "authorization", "deny", reason_code="role", pointers=("/amount",))

    first, second = replay_run(source_of(history), "run-1").calls

    assert [(gate.kind, gate.verdict, gate.rule_id) for gate in first.gates] == [("policy", "allow", "limit")]
    assert [(a.status, a.sent, a.retry_reason) for a in first.attempts] == [("error", "no", None), ("ok", "unknown", "connect")]
    assert [(gate.reason_code, gate.pointers) for gate in second.gates] == [("role", ("/amount",))]
    assert (second.attempts, second.outcome, second.rejected_by) == ((), "rejected", "authorization")


def test_an_announced_attempt_that_never_arrived_is_open(history, source_of):
    """An announcement without its attempt is one open attempt; with it, it is not shown twice."""
    lost = history.call("run-1", "pay", ObservationStatus.NONE)
    history.attempt_start("run-1", lost, "pay", parent="00000000000000aa")
    ended = history.call("run-1", "pay")
    attempt = history.attempt("run-1", ended)
    history.attempt_start("run-1", ended, "pay", parent=attempt)

    first, second = replay_run(source_of(history), "run-1").calls

    assert [(a.status, a.sent, a.duration_ms) for a in first.attempts] == [("open", "unknown", None)]
    assert [(a.status, a.duration_ms) for a in second.attempts] == [("ok", 1000.0)]


def test_how_long_an_attempt_of_a_dead_process_took_is_not_known(history, source_of):
    """It is recorded until its death was found, which is no duration."""
    lost = history.call("run-1", "pay", ObservationStatus.NONE)
    history.attempt("run-1", lost, AttemptStatus.ERROR, error_type=PROCESS_DIED)

    ((attempt,),) = (call.attempts for call in replay_run(source_of(history), "run-1").calls)

    assert (attempt.status, attempt.error_type, attempt.duration_ms) == ("error", "ProcessDied", None)


def test_later_use_points_at_calls_and_decisions(history, source_of):
    """A result names the later calls and answers in which its values reappear, and a repeat its twin."""
    step = history.decision("run-1")
    used = history.call("run-1", "find", decision_id=step, novel_values=2, arguments_digest="x")
    using = history.call("run-1", "find", decision_id=step, argument_sources=(used,), arguments_digest="x")
    answer = history.decision("run-1", answer_sources=(used,))

    first, second = replay_run(source_of(history), "run-1").calls

    assert (first.used_in_arguments, first.used_in_answers) == ((using,), (answer,))
    assert (second.argument_sources, second.repeat_of, first.repeat_of) == ((used,), used, None)


def test_texts_are_parsed(history, source_of):
    """Arguments, result, provenance and search hits are values, not JSON text."""
    history.call(
        "run-1",
        "route",
        arguments='{"q": "x"}',
        result='["found"]',
        provenance=(LeafOrigin("/q", Origin.USER),),
        discovery_query='"x"',
        discovery_hits=(Hit("s", "a"),),
    )

    call = only_call(replay_run(source_of(history), "run-1"))

    assert (call.arguments, call.result, call.provenance) == ({"q": "x"}, ["found"], {"/q": "user"})
    assert (call.discovery_query, [hit.tool for hit in call.discovery_hits]) == ("x", ["a"])


def test_verdicts_on_arguments_are_those_of_each_version(history, source_of):
    """A call has the verdict of its own version and those of the others, with pointers and keywords."""
    checks = (ArgumentCheck("a", Validity.VALID), ArgumentCheck("b", Validity.INVALID, (Failure("/n", "type"),)))
    history.call("run-1", "pay", schema_digest="a", arguments_valid=Validity.VALID, argument_checks=checks)

    call = only_call(replay_run(source_of(history), "run-1"))

    assert call.arguments_valid == "valid"
    told = [(one.schema_digest, one.verdict, [asdict(place) for place in one.failures]) for one in call.argument_checks]
    assert told == [("a", "valid", []), ("b", "invalid", [{"pointer": "/n", "keyword": "type"}])]


@pytest.mark.parametrize(
    ("verdict", "doubtful"),
    [(Validity.VALID, False), (Validity.INVALID, False), (Validity.INDETERMINATE, True), (None, True)],
)
def test_arguments_without_a_verdict_are_named_as_unknown(history, source_of, verdict, doubtful):
    """Where a schema is known and no verdict is, that is among what is not known."""
    history.call("run-1", "pay", schema_digest="a", arguments_valid=verdict)

    call = only_call(replay_run(source_of(history), "run-1"))

    assert ("whether the arguments fit their schema" in call.unknown) is doubtful


def test_reconciliations_are_shown(history, source_of):
    """What was found out later stands with the call, whose outcome it settles."""
    call = history.call("run-1", "pay", ObservationStatus.TIMEOUT)
    history.attempt("run-1", call, AttemptStatus.TIMEOUT)
    history.reconciliation("run-1", call, "pay", "committed")

    found = only_call(replay_run(source_of(history), "run-1"))

    assert ([one.finding for one in found.reconciliations], found.outcome) == (["committed"], "succeeded")


def test_what_is_not_known_of_a_call_is_named(source_of):
    """A call with little evidence lists in words what it does not tell."""
    history = History(time_known=False)
    history.call("bare", "a", ObservationStatus.CUT_BY_RECORDING)

    run = replay_run(source_of(history), "bare")
    call = only_call(run)

    assert set(call.unknown) == {
        "decision",
        "visibility",
        "schema version",
        "side effect",
        "arguments",
        "end of the result",
        "later use",
        "time",
    }
    assert (call.started, call.duration_ms) == (None, None)
    assert set(run.unknown) == {"outcome", "time", "task"}


def test_an_answer_that_was_not_searched_leaves_earlier_use_unknown(history, source_of):
    """Where a limit kept an answer from being searched, a result from before it is unused only if nothing else is known."""
    step = history.decision("run-1")
    found = history.call("run-1", "a", decision_id=step, novel_values=1)
    history.call("run-1", "a", decision_id=step, novel_values=1)
    unsearched = history.decision("run-1", answer_measured=False)
    history.call("run-1", "a", decision_id=unsearched, novel_values=1, argument_sources=(found,))

    calls = replay_run(source_of(history), "run-1").calls

    assert ["later use" in call.unknown for call in calls] == [False, True, False]


def test_calls_without_a_decision_are_not_lost(history, source_of):
    """Calls whose decision is unknown or never arrived come in a step of their own, at the end."""
    step = history.decision("run-1")
    history.call("run-1", "a", decision_id=step)
    history.call("run-1", "b", decision_id="00000000000000ee")
    history.call("run-1", "c")

    steps = replay_run(source_of(history), "run-1").steps

    assert [(one.decision, [call.tool for call in one.calls]) for one in steps] == [(step, ["a"]), (None, ["b", "c"])]


def test_a_call_known_by_its_gate_alone_is_replayed(history, source_of):
    """A call whose own span is missing is shown with what is known, its proposal among the unknown."""
    history.gate("run-1", "00000000000000ff", "policy", "needs_approval")

    call = only_call(replay_run(source_of(history), "run-1"))

    assert (call.tool, call.ordinal, call.outcome) == ("(unknown)", None, "pending")
    assert "proposal" in call.unknown


def test_durations_are_in_milliseconds(history, source_of):
    """A call's own span of one second lasts 1000 ms."""
    history.call("run-1", "a")

    assert only_call(replay_run(source_of(history), "run-1")).duration_ms == SECOND_NS / 1e6


def test_an_answer_that_was_not_searched_is_said_to_be_unknown(history, source_of):
    """Where a limit kept an answer from being searched, the step says so."""
    history.decision("run-1", answer_measured=False)

    (step,) = replay_run(source_of(history), "run-1").steps

    assert "later use in its answer" in step.unknown


def test_a_replay_is_json(history, source_of):
    """A replay as dicts has no type that JSON lacks."""
    history.call("run-1", "a", arguments="{}")
    (step,) = replay_run(source_of(history), "run-1").steps

    assert json.loads(json.dumps(asdict(step)))["calls"][0]["arguments"] == {}
