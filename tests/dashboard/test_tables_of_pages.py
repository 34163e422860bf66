from toolwitness.dashboard import listing, reading
from toolwitness.dashboard.drawing import axis
from toolwitness.replay import metrics
from toolwitness.tests.browser import story


def _tools(source):
    by_week = metrics.tool_health(source, by_week=True)
    return listing.tools_table(
        reading.tools(source, None),
        axis(by_week["week"].to_list()),
        listing.trends_of(by_week),
        address_of=lambda server, tool: f"/?server={server}&tool={tool}",
        chosen=("rooms", "book_room"),
    )


def test_a_tool_that_was_never_called_has_no_error_share(source):
    """No calls is said as such, never as 0 of 0."""
    (row,) = [row for row in _tools(source).split("<tr") if "delete_everything" in row]
    assert "no calls" in row
    assert "0 of 0" not in row


def test_selection_of_a_tool_that_was_never_visible_is_not_measurable(source):
    """Without a denominator there is no rate."""
    (row,) = [row for row in _tools(source).split("<tr") if "onerror" in row]
    assert "not measurable" in row


def test_a_made_up_tool_name_stays_text(source):
    """A tool name that is markup is shown, not obeyed."""
    assert story.HOSTILE not in _tools(source)


def test_the_chosen_tool_is_marked(source):
    """The row whose calls are shown below stands out."""
    (row,) = [row for row in _tools(source).split("<tr") if 'class="chosen"' in row]
    assert "book_room" in row


def test_every_call_leads_to_its_replay(source):
    """From a call to the run that it was made in is one click."""
    calls = reading.calls_of(source, "rooms", "book_room", week=None, most=100).frame
    shown = listing.calls_table(calls, "calls")
    assert all(f'href="/replay?run={run}"' in shown for run in calls["run"])


def test_a_failed_run_names_its_first_problem(source):
    """The list answers what went wrong first, and in which tool."""
    failed = reading.failed(source, origin=None, week="2026-W49", most=1).frame
    shown = listing.failed_table(failed)
    assert "unknown commit" in shown
    assert "rooms / book_room" in shown


def test_runs_without_times_say_so(source):
    """An import without times has no date."""
    undated = reading.runs(source, origin="tau-bench", search="", most=10).frame
    assert "time unknown" in listing.runs_table(undated)
