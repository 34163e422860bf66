"""The views over the spans."""

from toolwitness.model.enums import DecisionFinish, RunOutcome
from toolwitness.tests.factories import SECOND_NS, History


def test_a_run_is_what_its_own_span_says(store, rows_of):
    """Task, outcome and times come from the run's span."""
    history = History()
    history.run("r", RunOutcome.SUCCESS, task="12", agent="clerk", trial=3, outcome_source="reward", reward=1.0)
    history.call("r", "look")
    store.write_group([history.rows])
    (run,) = rows_of("select * from runs")
    span = history.rows[0]
    expected = {
        "run_id": "r",
        "source": "live",
        "time_known": True,
        "week": "2026-W45",
        "started_ns": span["start_ns"],
        "ended_ns": span["end_ns"],
        "agent": "clerk",
        "task": "12",
        "task_category": None,
        "trial": 3,
        "session": None,
        "labels": None,
        "run_outcome": "success",
        "outcome_source": "reward",
        "reward": 1.0,
        "run_inferred": False,
        "stopped_by": "unknown",
        "budget": None,
        "spent": None,
        "has_run_span": True,
    }
    assert run == expected


def test_a_run_without_its_own_span_is_shown_with_what_is_known(store, rows_of):
    """Its times are those of its spans and its outcome is unknown."""
    history = History()
    history.call("r", "look")
    history.call("r", "look")
    store.write_group([history.rows])
    (run,) = rows_of("select * from runs")
    first, last = history.rows
    assert (run["started_ns"], run["ended_ns"]) == (first["start_ns"], last["end_ns"])
    assert (run["has_run_span"], run["run_outcome"], run["task"]) == (False, "unknown", None)


def test_a_decision_told_twice_is_its_latest_span(store, rows_of):
    """A second span of the same decision id replaces the first in the view."""
    history = History()
    decision = history.decision("r", finish=DecisionFinish.UNKNOWN)
    again = {**history.rows[0], "span_id": "f" * 16, "finish": "answered"}
    again["start_ns"] += SECOND_NS
    store.write_group([history.rows, [again]])
    assert rows_of("select decision_id, finish from decisions") == [{"decision_id": decision, "finish": "answered"}]
