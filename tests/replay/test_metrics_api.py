import json

import pytest

from toolwitness.model.enums import AttemptStatus, ObservationStatus, RunOutcome
from toolwitness.replay import metrics
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS, History


def told():
    """One run with two tools, one of them never called, and an error."""
    history = History()
    history.run("r", RunOutcome.SUCCESS, task="7", trial=0)
    history.toolset("r", "ab", [("s", "a"), ("s", "b")])
    step = history.decision("r", toolset_digest="ab")
    used = history.call("r", "a", server="s", decision_id=step, novel_values=1)
    history.call("r", "a", ObservationStatus.ERROR, server="s", decision_id=step, argument_sources=(used,))
    return history


def test_tool_rows_have_the_promised_shape(source_of):
    """A tool is one object with its error classes, arguments and utilisation as objects of their own."""
    called, uncalled = metrics.tool_rows(source_of(told()))

    assert called == {
        "server": "s",
        "tool": "a",
        "visible": 1,
        "selected": 1,
        "selected_visible": 1,
        "selection_rate": 1.0,
        "calls": 2,
        "succeeded": 0,
        "business_rejected": 0,
        "rejected": 0,
        "pending": 0,
        "attempts": 0,
        "good": 1,
        "errors": 1,
        "timeouts": 0,
        "indeterminate": 0,
        "unknown_commits": 0,
        "identical_repeats": 0,
        "measured": 1,
        "not_measurable": 0,
        "runs": 1,
        "runs_judged": 1,
        "runs_succeeded": 1,
        "error_classes": {"unclassified": 1},
        "arguments": {"checked": 0, "valid": 0, "invalid": 0, "indeterminate": 0},
        "utilisation": {"denominator": 1, "in_arguments": 1, "in_answer": 0, "either": 1},
    } | {"succeeded": called["succeeded"]}
    assert (uncalled["tool"], uncalled["calls"], uncalled["error_classes"]) == ("b", 0, {})


def test_weeks_are_added_on_request(source_of):
    """By week, rows name the week, and error classes are split with them."""
    row = metrics.tool_rows(source_of(told()), by_week=True)[0]

    assert (row["week"], row["error_classes"]) == ("2026-W45", {"unclassified": 1})


def test_rows_are_json(source_of):
    """What `--json` prints has no type that JSON lacks."""
    source = source_of(told())

    assert json.loads(json.dumps(metrics.tool_rows(source))) == metrics.tool_rows(source)
    assert json.loads(json.dumps(metrics.runs(source).to_dicts()))[0]["started"] == "2026-11-02T00:00:00.000Z"


def test_the_overview_is_one_dict(source_of):
    """Headline figures stand beside their denominators."""
    found = metrics.overview(source_of(told()))

    assert (found["runs"], found["decisions"], found["calls"], found["errors"]) == (1, 1, 2, 1)
    assert (found["tools_visible"], found["tools_called"]) == (2, 1)


def test_a_source_is_asked_for_as_origin(source_of):
    """Tools with their error classes, runs, headline figures and lists can be narrowed to one source."""
    history = told()
    history.run("d", RunOutcome.ABANDONED, source="demo")
    history.call("d", "a", ObservationStatus.ERROR, server="s", source="demo", error_class="conflict")
    source = source_of(history)

    (row,) = metrics.tool_rows(source, origin="demo")
    assert (row["calls"], row["error_classes"]) == (1, {"conflict": 1})
    assert metrics.runs(source, origin="demo")["run"].to_list() == ["d"]
    assert metrics.failed_runs(source, origin="live").is_empty()
    assert metrics.overview(source, origin="live")["calls"] == 2
    assert metrics.tool_calls(source, "s", "a", origin="live").height == 2
    assert metrics.sources(source).rows() == [("demo", 1, 1), ("live", 1, 2)]


def test_lists_are_cut_and_narrowed_by_their_queries(source_of):
    """A limit, a week and a search leave rows out; `total` tells how many there were before the limit."""
    source = source_of(told())

    assert metrics.tool_calls(source, "s", "a", limit=1)["total"].to_list() == [2]
    assert metrics.tool_calls(source, "s", "a", week="2026-W46").is_empty()
    assert metrics.tool_health(source, week="2026-W45").equals(metrics.tool_health(source))
    assert metrics.overview(source, week="2026-W46")["calls"] == 0
    assert metrics.runs(source, search="R")["run"].to_list() == ["r"]
    assert metrics.runs(source, search="x").is_empty()


def test_settled_commits_are_left_out_unless_asked_for(source_of):
    """Only calls that are unknown now are listed; those that were settled come on request."""
    history = History()
    for _ in range(2):
        call = history.call("r", "pay", ObservationStatus.TIMEOUT)
        history.attempt("r", call, AttemptStatus.TIMEOUT)
    history.reconciliation("r", call, "pay", "not_committed")
    source = source_of(history)

    assert metrics.unknown_commits(source)["outcome"].to_list() == ["unknown_commit"]
    assert metrics.unknown_commits(source, settled=True)["outcome"].to_list() == ["unknown_commit", "failed"]


def test_ages_follow_the_given_clock(source_of):
    """Ages are taken by `now_ns`."""
    history = History()
    history.attempt("r", history.call("r", "pay", ObservationStatus.TIMEOUT), AttemptStatus.TIMEOUT)

    frame = metrics.unknown_commits(source_of(history), now_ns=MONDAY_NS + 5 * SECOND_NS)

    assert frame["age_s"].to_list() == [5.0]


@pytest.mark.parametrize("ask", [metrics.weekly_totals, metrics.ingest, metrics.repeats, metrics.provenance])
def test_an_empty_database_gives_empty_frames(source_of, ask):
    """Where nothing is stored there are no rows, and no error."""
    assert ask(source_of(History())).is_empty()


@pytest.mark.parametrize(
    "ask", [metrics.tool_health, metrics.runs, metrics.failed_runs, metrics.offer_states, metrics.observation_statuses]
)
def test_frames_keep_their_columns_when_empty(source_of, ask):
    """An empty frame has its columns all the same, so that a page can draw it."""
    frame = ask(source_of(History()))

    assert frame.is_empty()
    assert frame.columns


def test_times_are_iso_text():
    """Milliseconds and a Z; an unknown time stays null."""
    assert metrics.iso_time(MONDAY_NS + 1_234_567_890) == "2026-11-02T00:00:01.234Z"
    assert metrics.iso_time(None) is None
