import polars as pl
import pytest

from toolwitness.dashboard import listing, reading
from toolwitness.dashboard.drawing import axis
from toolwitness.dashboard.views.tool_health import headline
from toolwitness.replay import metrics
from toolwitness.tests.browser import story


def _tools(source):
    by_week = metrics.tool_health(source, by_week=True)
    return listing.tools_table(
        metrics.tool_health(source),
        axis(by_week["week"].to_list()),
        listing.trends_of(by_week),
        address_of=lambda server, tool: f"/?server={server}&tool={tool}",
        chosen=("rooms", "book_room"),
    )


def test_a_tool_that_was_never_called_has_no_error_share(source):
    """No calls is said as such, never as 0 of 0."""
    (row,) = [row for row in _tools(source).split("<tr") if "delete_everything" in row]
    assert row.count("no calls") == 1
    assert all(cell.startswith(' class="num"></td>') for cell in row.split("<td")[4:10])


def test_open_arguments_are_not_counted_as_valid(source):
    """Table and headline show valid arguments of those checked, and what is invalid or open by itself."""
    told = {"arguments_checked": 7, "arguments_valid": 4, "arguments_invalid": 1, "arguments_indeterminate": 2}
    called = metrics.tool_health(source).filter(pl.col("calls") > 0).head(1)
    frame = called.with_columns(**{key: pl.lit(value) for key, value in told.items()})
    cell = listing.tools_table(frame, [], {}, address_of=lambda *_: "/").rsplit("<td", 2)[1]
    (card,) = [card for card in headline({**metrics.overview(source), **told}, tools=1) if card[0] == "Valid arguments"]

    assert "4 of 7" in cell
    assert "1 invalid, 2 indeterminate" in cell
    assert card[1:] == ("4", "of 7 with a known schema, 1 invalid, 2 indeterminate")


def test_without_a_schema_no_share_of_valid_arguments_is_shown(source):
    """Nothing checked is no zero."""
    frame = metrics.tool_health(source).filter(pl.col("calls") > 0).head(1).with_columns(arguments_checked=pl.lit(0))
    cell = listing.tools_table(frame, [], {}, address_of=lambda *_: "/").rsplit("<td", 2)[1]
    told = headline({**metrics.overview(source), "arguments_checked": 0}, tools=1)
    (card,) = [card for card in told if card[0] == "Valid arguments"]

    assert "schema unknown" in cell
    assert ("schema unknown" in card[1], card[2]) == (True, None)


def test_a_tool_of_which_no_visibility_is_known_has_no_selection_rate(source):
    """Without a denominator there is no rate, and the reason is said."""
    (row,) = [row for row in _tools(source).split("<tr") if "onerror" in row]
    assert "visibility unknown" in row


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"calls": 2, "measured": 1, "not_measurable": 1}, "not measurable"),
        ({"calls": 2, "measured": 2, "not_measurable": 0}, "no new values"),
        ({"calls": 2, "measured": 0, "not_measurable": 0}, "no result"),
    ],
)
def test_utilisation_without_a_denominator_says_why(source, told, said):
    """Table and headline use the same words."""
    none = {"utilisation_denominator": 0, "utilisation_either": 0, "errors": 0, **told}
    frame = metrics.tool_health(source).head(1).with_columns(**{key: pl.lit(value) for key, value in none.items()})
    cell = listing.tools_table(frame, [], {}, address_of=lambda *_: "/").rsplit("<td", 1)[1]
    _, value, beside = headline({**metrics.overview(source), **none}, tools=1)[-1]
    assert said in cell
    assert said in value
    assert beside == ("1 not measurable" if told["not_measurable"] else None)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"observation": "timeout"}, "no result"),
        ({"observation": "timeout", "outcome": "pending"}, "no result"),
        ({"observation": "cut_on_wire"}, "not measurable"),
        ({"observation": "ok", "measurable": True, "novel_values": 0}, "no new values"),
        ({"observation": "ok", "measurable": True, "novel_values": 1}, "not seen again"),
    ],
)
def test_a_call_whose_result_was_not_used_says_why(source, changed, said):
    """A result that is missing or cut off is no unused one."""
    unused = {"outcome": "failed", "measurable": False, "novel_values": None, "in_arguments": False, "in_answer": False}
    frame = reading.calls_of(source, "rooms", "book_room", most=1).frame
    frame = frame.with_columns(**{key: pl.lit(value) for key, value in {**unused, **changed}.items()})
    assert f">{said}<" in listing.calls_table(frame, "calls")


def test_a_made_up_tool_name_stays_text(source):
    """A tool name that is markup is shown, not obeyed."""
    assert story.HOSTILE not in _tools(source)


def test_the_chosen_tool_is_marked(source):
    """The row whose calls are shown below stands out."""
    (row,) = [row for row in _tools(source).split("<tr") if 'class="chosen"' in row]
    assert "book_room" in row


def test_every_call_leads_to_its_replay(source):
    """From a call to the run that it was made in is one click."""
    calls = reading.calls_of(source, "rooms", "book_room", most=100).frame
    shown = listing.calls_table(calls, "calls")
    assert all(f'href="/replay?run={run}"' in shown for run in calls["run"])


def test_a_failed_run_names_its_first_problem(source):
    """The list answers what went wrong first, and in which tool."""
    failed = reading.failed(source, week="2026-W49", most=1).frame
    shown = listing.failed_table(failed)
    assert "unknown commit" in shown
    assert "rooms / book_room" in shown


def test_runs_without_times_say_so(source):
    """An import without times has no date."""
    undated = reading.runs(source, origin="tau-bench", most=10).frame
    assert "time unknown" in listing.runs_table(undated)


def test_arguments_in_a_list_are_chips(source):
    """What was redacted reads in a list as in a replay."""
    shown = listing.calls_table(reading.calls_of(source, "mail", "send_mail", most=1).frame, "calls")
    assert "[redacted: personal string, 9-16 chars, email]" in shown
    assert "$tw" not in shown


@pytest.mark.parametrize(
    ("started", "said"),
    [
        (["2026-11-02T00:00:00Z", "2026-11-01T00:00:00Z"], "newest first"),
        (["2026-11-02T00:00:00Z", None], "newest first, then those without known times by source, task and trial"),
        ([None, None], "by source, task and trial, as their times are not known"),
    ],
)
def test_the_order_is_told_as_it_is(started, said):
    """Where no time is known there is no newest."""
    assert listing.order_of(pl.DataFrame({"started": started}, schema={"started": pl.String})) == said


def test_a_run_of_which_only_not_known_is_known_says_both(source):
    """No known problem and calls of which it is not known are two figures."""
    failed = reading.failed(source, most=1).frame.with_columns(problems=pl.lit(0), unclear=pl.lit(1))
    assert "1 not known" in listing.failed_table(failed)


def test_a_run_without_a_task_is_called_by_its_whole_id(source):
    """An id that is cut could be another run's."""
    runs = reading.runs(source, search="live-w4-trouble", most=1).frame
    runs = runs.with_columns(task=pl.lit(None), run=pl.lit("0123456789abcdef" * 2))
    assert listing.runs_table(runs).count(f">{'0123456789abcdef' * 2}<") == 2
