from toolwitness.model.enums import ObservationStatus, OutcomeSource, RunOutcome
from toolwitness.tests.factories import MONDAY_NS, History


def test_a_run_is_one_row_with_its_counts(ask):
    """A run shows what it was for, how it ended and by whom, and how many of its calls had a problem."""
    history = History()
    history.run("r", RunOutcome.SUCCESS, outcome_source=OutcomeSource.REWARD, task="7", trial=1, agent="bot", source="demo")
    history.decision("r", source="demo")
    history.call("r", "a", source="demo")
    history.call("r", "a", ObservationStatus.ERROR, source="demo")
    history.call("r", "a", ObservationStatus.CUT_BY_RECORDING, source="demo")

    (row,) = ask(history, "runs")

    assert row == {
        "run": "r",
        "source": "demo",
        "task": "7",
        "trial": 1,
        "agent": "bot",
        "outcome": "success",
        "outcome_source": "reward",
        "decisions": 1,
        "calls": 3,
        "problems": 1,
        "unclear": 1,
        "week": "2026-W45",
        "started_ns": MONDAY_NS,
        "total": 1,
    }


def test_a_run_without_its_own_span_is_shown_as_unknown(ask):
    """Calls of a run whose own span is missing still make a row, with outcome unknown."""
    history = History()
    history.call("r", "a")

    (row,) = ask(history, "runs")

    assert (row["outcome"], row["task"], row["calls"], row["decisions"]) == ("unknown", None, 1, 0)


def test_unknown_times_are_null_and_come_last(ask):
    """A run without known times has no start and stands after those with one, which are newest first."""
    history = History(time_known=False)
    history.run("untimed")
    timed = History(start_ns=history.now_ns)
    timed.run("older")
    timed.run("newer")
    history.rows.extend(row | {"span_id": f"f{row['span_id'][1:]}"} for row in timed.rows)

    rows = ask(history, "runs")

    assert [row["run"] for row in rows] == ["newer", "older", "untimed"]
    assert rows[-1]["started_ns"] is None


def test_a_call_that_ran_although_denied_is_a_problem_of_a_run_that_succeeded(ask):
    """The run keeps its outcome, and the call counts."""
    history = History()
    history.run("r", RunOutcome.SUCCESS)
    for _ in range(2):
        call = history.call("r", "pay")
        history.gate("r", call, "policy", "deny")
    history.attempt("r", call)

    (row,) = ask(history, "runs")

    assert (row["outcome"], row["problems"]) == ("success", 2)
