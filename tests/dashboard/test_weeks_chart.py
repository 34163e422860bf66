import polars as pl

from toolwitness.dashboard.chart import weekly_kinds, weeks_chart

TOTALS = pl.DataFrame({"week": ["2026-W45", "2026-W47"], "calls": [10, 4], "errors": [3, 0]})
WEEKS = ["2026-W45", "2026-W46", "2026-W47"]


def test_calls_are_split_into_those_in_error_and_the_others():
    """Both parts of a week add up to its calls, and a week without calls is there with none."""
    kinds = weekly_kinds(TOTALS, WEEKS)
    assert kinds.filter(pl.col("kind") == "in error")["calls"].to_list() == [3, 0, 0]
    assert kinds.filter(pl.col("kind") == "not in error")["calls"].to_list() == [7, 0, 4]


def test_the_chart_keeps_the_order_of_the_weeks():
    """Weeks run from left to right as given."""
    assert weeks_chart(TOTALS, WEEKS, dark=True).to_dict()["encoding"]["x"]["sort"] == WEEKS
