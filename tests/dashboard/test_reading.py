import polars as pl

from toolwitness.dashboard import reading
from toolwitness.replay import metrics


def test_the_figures_of_all_weeks_add_up_to_the_whole(source):
    """A week's headline figures are that week's alone."""
    weeks = metrics.weekly_totals(source)["week"].to_list()
    assert sum(metrics.overview(source, week=week)["calls"] for week in weeks) == metrics.overview(source)["calls"]


def test_the_figures_of_all_sources_add_up_to_the_whole(source):
    """A source's headline figures are that source's alone."""
    sources = reading.sources(source)
    assert sum(metrics.overview(source, origin=one)["calls"] for one in sources) == metrics.overview(source)["calls"]


def test_a_list_without_rows_is_of_length_zero(source):
    """There is no row that could tell the length."""
    assert reading.calls_of(source, "files", "delete_everything", most=5).total == 0


def test_the_calls_of_a_tool_can_be_narrowed_to_a_source_and_week(source):
    """The list below the table shows what the table counts."""
    one = reading.calls_of(source, "mail", "search_mail", origin="live", week="2026-W45", most=500)
    row = metrics.tool_health(source, origin="live", week="2026-W45").row(
        by_predicate=pl.col("tool") == "search_mail", named=True
    )
    assert one.total == row["calls"] > 0
    assert set(one.frame["source"]) == {"live"}


def test_a_list_is_cut_and_keeps_its_full_length(source):
    """A page shows so many rows and knows of how many."""
    listed = reading.runs(source, origin=None, search="", most=3)
    assert (listed.frame.height, listed.total) == (3, metrics.runs(source).height)


def test_a_search_looks_in_id_task_and_agent_whatever_the_case(source):
    """A reader types a part of what they remember."""
    found = reading.runs(source, origin=None, search=" BOOK 4", most=10).frame
    assert found["run"].to_list() == ["live-w4-trouble"]


def test_a_search_is_text_and_no_pattern(source):
    """A dot finds a dot."""
    assert reading.runs(source, origin=None, search="live.w4", most=10).total == 0


def test_failed_runs_can_be_narrowed_to_a_source(source):
    """Another source's failures are left out."""
    failed = reading.failed(source, origin="demo", week=None, most=100).frame
    assert set(failed["source"]) == {"demo"}


def test_every_source_is_named_once(source):
    """The filter offers what is there."""
    assert reading.sources(source) == ["demo", "live", "tau-bench"]
