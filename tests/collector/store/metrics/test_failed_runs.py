import pytest

from toolwitness.model.enums import ErrorClass, ObservationStatus, RunOutcome
from toolwitness.tests.factories import History


@pytest.fixture(name="history")
def fixture_history():
    """An empty history."""
    return History()


def test_the_first_problem_is_the_first_in_call_order(history, ask):
    """A failed run names the call that went wrong first, with tool, observation and error class."""
    history.run("r", RunOutcome.FAILURE)
    history.call("r", "fine")
    step = history.decision("r")
    guilty = history.call("r", "book", ObservationStatus.ERROR, server="s", error_class=ErrorClass.CONFLICT, decision_id=step)
    history.call("r", "later", ObservationStatus.ERROR)

    (row,) = ask(history, "failed_runs")

    words = ("first_problem", "server", "tool", "observation", "error_class", "call", "decision", "call_ordinal", "problems")
    expected = ("failed", "s", "book", "error", "conflict", guilty, step, 2, 2)
    assert tuple(row[word] for word in words) == expected


def test_a_run_whose_calls_were_all_fine_says_so(history, ask):
    """A failed run without a problem in any call failed after calls that were ok, and blames none."""
    history.run("r", RunOutcome.FAILURE)
    history.call("r", "fine")

    (row,) = ask(history, "failed_runs")

    assert (row["first_problem"], row["tool"], row["calls"]) == ("task_failed_after_ok_calls", None, 1)


def test_a_run_without_calls_says_so(history, ask):
    """A failed run without calls is not one whose calls were ok."""
    history.run("r", RunOutcome.ABANDONED)

    (row,) = ask(history, "failed_runs")

    assert row["first_problem"] == "task_failed_without_calls"


def test_an_unclear_call_is_named_only_where_nothing_is_worse(history, ask):
    """A result cut by the recording is not called ok, but any real problem goes before it."""
    for run in ("cut only", "cut and error"):
        history.run(run, RunOutcome.FAILURE)
        history.call(run, "a", ObservationStatus.CUT_BY_RECORDING)
    history.call("cut and error", "a", ObservationStatus.ERROR)

    rows = ask(history, "failed_runs")

    assert {row["run"]: row["first_problem"] for row in rows} == {"cut only": "indeterminate", "cut and error": "failed"}


def test_which_runs_count_as_failed(history, ask):
    """Failure and abandoned always do, unknown only with a problem, success and handed off never."""
    for outcome in RunOutcome:
        history.run(f"{outcome} with problem", outcome)
        history.call(f"{outcome} with problem", "a", ObservationStatus.ERROR)
        history.run(f"{outcome} without", outcome)
        history.call(f"{outcome} without", "a")

    rows = ask(history, "failed_runs")

    assert {row["run"] for row in rows} == {
        "failure with problem",
        "failure without",
        "abandoned with problem",
        "abandoned without",
        "unknown with problem",
    }


def test_a_call_that_ran_although_denied_is_a_problem(history, ask):
    """A denial that kept nothing from running is the first problem, and makes a run of success no failed one."""
    for outcome in (RunOutcome.SUCCESS, RunOutcome.UNKNOWN):
        history.run(outcome, outcome)
        call = history.call(outcome, "pay")
        history.gate(outcome, call, "policy", "deny")
        history.attempt(outcome, call)

    rows = ask(history, "failed_runs")

    assert [(row["run"], row["first_problem"], row["problems"]) for row in rows] == [("unknown", "ran_although_denied", 1)]


def test_unclear_calls_are_counted_apart(history, ask):
    """Nobody knows whether a cut-off result was a problem."""
    history.run("r", RunOutcome.FAILURE)
    history.call("r", "a", ObservationStatus.CUT_BY_RECORDING)

    (row,) = ask(history, "failed_runs")

    assert (row["problems"], row["unclear"]) == (0, 1)
