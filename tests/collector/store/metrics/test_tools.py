import pytest

from toolwitness.model.enums import AttemptStatus, Known, ObservationStatus, RunOutcome, Validity
from toolwitness.tests.factories import WEEK_NS, History


@pytest.fixture(name="history")
def fixture_history():
    """An empty history."""
    return History()


def by_tool(rows):
    """Rows by (server, tool)."""
    return {(row["server"], row["tool"]): row for row in rows}


def picked(row, *names):
    """Some values of a row, in the order of the names."""
    return tuple(row[name] for name in names)


def test_visible_counts_decisions_whose_toolset_holds_the_tool(history, ask):
    """A tool is visible in each decision whose toolset holds it, also where it is never called."""
    history.toolset("r", "ab", [("s", "a"), ("s", "b")])
    history.toolset("r", "a", [("s", "a")])
    first = history.decision("r", toolset_digest="ab", visibility=Known.YES)
    history.decision("r", toolset_digest="a", visibility=Known.YES)
    history.call("r", "a", server="s", decision_id=first)

    rows = by_tool(ask(history, "tools", by_week=False))

    words = ("visible", "selected", "selected_visible", "selection_rate", "calls")
    assert picked(rows["s", "a"], *words) == (2, 1, 1, 0.5, 1)
    assert picked(rows["s", "b"], *words) == (1, 0, 0, 0.0, 0)


def test_two_calls_in_one_decision_select_once(history, ask):
    """Selected counts decisions, calls counts call ids."""
    history.toolset("r", "a", [("s", "a")])
    step = history.decision("r", toolset_digest="a", visibility=Known.YES)
    history.call("r", "a", server="s", decision_id=step)
    history.call("r", "a", server="s", decision_id=step)

    (row,) = ask(history, "tools", by_week=False)

    assert picked(row, "selected", "selected_visible", "calls", "selection_rate") == (1, 1, 2, 1.0)


def test_unknown_visibility_selects_without_being_visible(history, ask):
    """Where it is not known what was visible, a call is selected, not selected_visible, and there is no rate."""
    step = history.decision("r")
    history.call("r", "a", decision_id=step)

    (row,) = ask(history, "tools", by_week=False)

    assert picked(row, "visible", "selected", "selected_visible", "selection_rate") == (0, 1, 0, None)


def test_a_call_that_says_visible_makes_its_tool_visible(history, ask):
    """A call known to be visible counts as visible and selected_visible although no toolset tells of it."""
    step = history.decision("r")
    history.call("r", "a", decision_id=step, visible=Known.YES)

    (row,) = ask(history, "tools", by_week=False)

    assert picked(row, "visible", "selected_visible", "selection_rate") == (1, 1, 1.0)


def test_the_same_name_on_two_servers_is_two_tools(history, ask):
    """A tool is identified by server and name."""
    history.call("r", "search", server="one")
    history.call("r", "search", server="two")
    history.call("r", "search", server="two")

    rows = by_tool(ask(history, "tools", by_week=False))

    assert {key: row["calls"] for key, row in rows.items()} == {("one", "search"): 1, ("two", "search"): 2}


def test_calls_are_counted_by_what_was_observed(history, ask):
    """Errors, timeouts and cut-off results are three different counts; business errors and raised ones are errors."""
    seen = ("ok", "error", "business_error", "raised", "invalid", "timeout", "cut_by_recording", "cut_on_wire", "empty")
    for status in seen:
        history.call("r", "a", ObservationStatus(status))

    (row,) = ask(history, "tools", by_week=False)

    assert picked(row, "calls", "errors", "timeouts", "indeterminate") == (9, 4, 1, 2)


def test_only_enforced_gates_reject(history, ask):
    """A denial by an enforced gate rejects the call, one by an observed gate does not; a rejected call has no attempts."""
    stopped = history.call("r", "a", ObservationStatus.NONE)
    history.gate("r", stopped, "policy", "deny")
    watched = history.call("r", "a")
    history.gate("r", watched, "policy", "deny", gate_mode="observed")
    history.attempt("r", watched)

    (row,) = ask(history, "tools", by_week=False)

    assert picked(row, "calls", "rejected", "attempts") == (2, 1, 1)


def test_retries_are_attempts_of_one_call(history, ask):
    """A retry adds an attempt, not a call."""
    call = history.call("r", "a", side_effect="read")
    history.attempt("r", call, AttemptStatus.ERROR)
    history.attempt("r", call)

    (row,) = ask(history, "tools", by_week=False)

    assert picked(row, "calls", "attempts", "succeeded") == (1, 2, 1)


def test_a_timeout_of_a_tool_not_known_to_read_is_an_unknown_commit(history, ask):
    """Side effect unknown and a timeout: nobody knows whether it took effect; a reading tool's timeout is not one."""
    history.call("r", "writes", ObservationStatus.TIMEOUT)
    history.attempt("r", history.rows[-1]["call_id"], AttemptStatus.TIMEOUT)
    history.call("r", "reads", ObservationStatus.TIMEOUT, side_effect="read")
    history.attempt("r", history.rows[-1]["call_id"], AttemptStatus.TIMEOUT)

    rows = by_tool(ask(history, "tools", by_week=False))

    assert {tool: row["unknown_commits"] for (_, tool), row in rows.items()} == {"writes": 1, "reads": 0}


def test_repeats_need_run_tool_and_arguments_to_be_the_same(history, ask):
    """Only a later call with the same run, server, tool and known arguments digest is an identical repeat."""
    history.call("r", "a", arguments_digest="x")
    history.call("r", "a", arguments_digest="x")
    history.call("r", "a", arguments_digest="x")
    history.call("r", "a", arguments_digest="y")
    history.call("r", "a")
    history.call("r", "a")
    history.call("other run", "a", arguments_digest="x")

    (row,) = ask(history, "tools", by_week=False)

    assert picked(row, "calls", "identical_repeats") == (7, 2)


def test_utilisation_counts_measured_results_that_reappear(history, ask):
    """Of three results with new values one reappears in an argument, one in an answer and one nowhere."""
    in_arguments = history.call("r", "a", novel_values=2)
    in_answer = history.call("r", "a", novel_values=1, argument_sources=(in_arguments,))
    history.call("r", "a", novel_values=5)
    history.decision("r", answer_sources=(in_answer,))

    (row,) = ask(history, "tools", by_week=False)

    words = ("denominator", "in_arguments", "in_answer", "either")
    assert picked(row, *(f"utilisation_{word}" for word in words)) == (3, 1, 1, 2)


def test_utilisation_leaves_out_what_cannot_be_judged(history, ask):
    """Nothing new, errors and cut results are no part of the denominator; unmeasured and cut ones are counted as such."""
    history.call("r", "a", novel_values=0)
    history.call("r", "a", ObservationStatus.ERROR, novel_values=3)
    history.call("r", "a", ObservationStatus.CUT_BY_RECORDING)
    history.call("r", "a", ObservationStatus.CUT_ON_WIRE, novel_values=3)
    history.call("r", "a")

    (row,) = ask(history, "tools", by_week=False)

    assert picked(row, "utilisation_denominator", "not_measurable") == (0, 3)


def test_an_answer_that_was_not_searched_leaves_earlier_results_unmeasured(history, ask):
    """Where a limit kept an answer from being searched, earlier results are unmeasured unless found elsewhere."""
    step = history.decision("r")
    found = history.call("r", "a", decision_id=step, novel_values=1)
    history.call("r", "a", decision_id=step, novel_values=1)
    unsearched = history.decision("r", answer_measured=False)
    history.call("r", "a", decision_id=unsearched, novel_values=1, argument_sources=(found,))

    (row,) = ask(history, "tools", by_week=False)

    assert picked(row, "utilisation_denominator", "utilisation_either", "not_measurable") == (2, 1, 1)


def test_runs_count_once_however_often_they_call(history, ask):
    """Runs are those with a call of the tool; judged are those of success or failure, and unknown ones are in no share."""
    for run, outcome in (("won", RunOutcome.SUCCESS), ("lost", RunOutcome.FAILURE), ("open", RunOutcome.UNKNOWN)):
        history.run(run, outcome)
        history.call(run, "a")
        history.call(run, "a")
    history.run("without", RunOutcome.SUCCESS)

    (row,) = ask(history, "tools", by_week=False)

    assert picked(row, "calls", "runs", "runs_judged", "runs_succeeded") == (6, 3, 2, 1)


def test_arguments_are_counted_by_what_their_schema_says(history, ask):
    """Seven calls: six with a verdict, of which three are valid, one is invalid and two are neither; one has no verdict."""
    for verdict in ("valid", "valid", "valid", "invalid", "indeterminate", "indeterminate"):
        history.call("r", "a", arguments_valid=Validity(verdict))
    history.call("r", "a", schema_digest="known")
    history.call("r", "b")

    rows = by_tool(ask(history, "tools", by_week=False))

    words = ("calls", "arguments_checked", "arguments_valid", "arguments_invalid", "arguments_indeterminate")
    assert picked(rows["", "a"], *words) == (7, 6, 3, 1, 2)
    assert picked(rows["", "b"], *words) == (1, 0, 0, 0, 0)


def test_weeks_are_those_of_the_call(history, ask):
    """By week each call stands in the ISO week (UTC) of its own start, and a run in each week in which it called."""
    history.call("r", "a")
    history.skip(WEEK_NS)
    history.call("r", "a")
    history.call("r", "a")

    rows = ask(history, "tools", by_week=True)

    assert {row["week"]: picked(row, "calls", "runs") for row in rows} == {"2026-W45": (1, 1), "2026-W46": (2, 1)}


def test_unknown_times_are_a_week_of_their_own(ask):
    """Calls without known times stand under week 'unknown'."""
    history = History(time_known=False)
    history.call("r", "a")

    (row,) = ask(history, "tools", by_week=True)

    assert row["week"] == "unknown"


def test_a_call_known_by_its_gate_alone_is_counted(history, ask):
    """A call whose own span is missing keeps its place, under a tool that says it is unknown."""
    history.gate("r", "00000000000000ff", "policy", "deny")

    (row,) = ask(history, "tools", by_week=False)

    assert picked(row, "tool", "calls", "rejected") == ("(unknown)", 1, 1)
