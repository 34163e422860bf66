import polars as pl

from toolwitness.dashboard.chart import weekly_kinds, weeks_chart

TOTALS = pl.DataFrame({"week": ["2026-W45", "2026-W47"], "calls": [10, 4], "good": [5, 4], "errors": [3, 0]})
WEEKS = ["2026-W45", "2026-W46", "2026-W47"]


def test_calls_are_split_into_three_parts():
    """All parts of a week add up to its calls, and a week without calls is there with none."""
    kinds = weekly_kinds(TOTALS, WEEKS)
    assert kinds.filter(pl.col("kind") == "in error")["calls"].to_list() == [3, 0, 0]
    assert kinds.filter(pl.col("kind") == "good")["calls"].to_list() == [5, 0, 4]
    assert kinds.filter(pl.col("kind") == "not known to be good")["calls"].to_list() == [2, 0, 0]


def test_the_chart_keeps_the_order_of_the_weeks():
    """Weeks run from left to right as given."""
    assert weeks_chart(TOTALS, WEEKS, dark=True).to_dict()["encoding"]["x"]["sort"] == WEEKS


def test_the_other_weeks_step_back_behind_the_chosen_one():
    """The chart keeps every week and marks the one that the figures are of."""
    chart = weeks_chart(TOTALS, WEEKS, dark=False, chosen="2026-W47").to_dict()
    assert "2026-W47" in str(chart["encoding"]["opacity"])
