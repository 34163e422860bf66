from toolwitness.model.enums import AttemptStatus, ObservationStatus, RunOutcome, Validity
from toolwitness.tests.factories import WEEK_NS, History


def told():
    """Two runs in two weeks, with three decisions and three calls."""
    history = History()
    history.run("won", RunOutcome.SUCCESS)
    history.toolset("won", "ab", [("s", "a"), ("s", "b")])
    step = history.decision("won", toolset_digest="ab")
    history.call("won", "a", server="s", decision_id=step, novel_values=1, arguments_digest="x")
    history.decision("won", answer_sources=(history.rows[-1]["call_id"],))
    history.skip(WEEK_NS)
    history.run("lost", RunOutcome.FAILURE)
    step = history.decision("lost", toolset_digest="ab")
    history.call("lost", "b", ObservationStatus.ERROR, server="s", decision_id=step, arguments_digest="x")
    late = history.call("lost", "b", ObservationStatus.TIMEOUT, server="s", decision_id=step, arguments_digest="x")
    history.attempt("lost", late, AttemptStatus.TIMEOUT)
    return history


def test_totals_add_up_runs_decisions_and_calls(ask):
    """One row holds every headline figure beside its denominator."""
    (row,) = ask(told(), "totals", by_week=False)

    counted = {key: value for key, value in row.items() if value}
    assert counted == {
        "week": "all",
        "runs": 2,
        "runs_judged": 2,
        "runs_succeeded": 1,
        "runs_failed": 1,
        "decisions": 3,
        "decisions_with_call": 2,
        "tools_visible": 2,
        "tools_called": 2,
        "calls": 3,
        "good": 1,
        "errors": 1,
        "timeouts": 1,
        "unknown_commits": 1,
        "identical_repeats": 1,
        "utilisation_denominator": 1,
        "utilisation_either": 1,
        "measured": 1,
    }


def test_totals_count_arguments_by_what_their_schema_says(ask):
    """Valid, invalid and indeterminate add up to the calls that were checked."""
    history = History()
    for verdict in (Validity.VALID, Validity.INVALID, Validity.INVALID, Validity.INDETERMINATE, None):
        history.call("r", "a", arguments_valid=verdict)

    (row,) = ask(history, "totals", by_week=False)

    words = ("calls", "arguments_checked", "arguments_valid", "arguments_invalid", "arguments_indeterminate")
    assert tuple(row[word] for word in words) == (5, 4, 1, 2, 1)


def test_only_success_and_failure_are_judgements(ask):
    """Abandoned, handed off and unknown runs are nobody's verdict."""
    history = History()
    for outcome in RunOutcome:
        history.run(outcome.value, outcome)

    (row,) = ask(history, "totals", by_week=False)

    assert (row["runs"], row["runs_judged"], row["runs_succeeded"], row["runs_failed"]) == (5, 2, 1, 1)


def test_what_was_cut_off_cannot_be_measured(ask):
    """Results that lost their end and results without a count of new values stand apart from the denominator."""
    history = History()
    history.call("r", "a", ObservationStatus.CUT_BY_RECORDING)
    history.call("r", "a", ObservationStatus.CUT_ON_WIRE)
    history.call("r", "a")
    history.call("r", "a", novel_values=0)

    (row,) = ask(history, "totals", by_week=False)

    assert (row["utilisation_denominator"], row["not_measurable"]) == (0, 3)


def test_totals_by_week_stand_in_the_order_of_the_weeks(ask):
    """Each week has the runs, decisions and calls that started in it."""
    rows = ask(told(), "totals", by_week=True)

    words = ("week", "runs", "decisions", "calls", "errors")
    assert [tuple(row[word] for word in words) for row in rows] == [("2026-W45", 1, 2, 1, 0), ("2026-W46", 1, 1, 2, 1)]


def test_an_empty_database_has_totals_of_zero(ask):
    """Nothing stored is one row of zeros, and no week at all."""
    (row,) = ask(History(), "totals", by_week=False)

    assert row.pop("week") == "all"
    assert set(row.values()) == {0}
