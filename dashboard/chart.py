"""The one chart: calls per week by whether they are known to be good."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from toolwitness.dashboard.look import CHART_COLOURS

_KINDS = ("good", "not known to be good", "in error")
_HEIGHT = 190
_OTHER_WEEKS = 0.35
ABOUT = (
    "Calls per week: good (a complete answer without error), in error (the tool said no or failed, or raised), and not known "
    "to be good: timeouts, unknown commits, cut-off or partial results, rejected, pending, and calls without an answer."
)
"""What the parts of the chart hold."""


def weekly_kinds(totals: pl.DataFrame, weeks: Sequence[str]) -> pl.DataFrame:
    """Columns week, kind, calls: three rows for each week of the axis, zeros where nothing was called."""
    axis = pl.DataFrame({"week": weeks}, schema={"week": pl.String})
    counts = totals.select("week", "calls", "good", "errors")
    filled = axis.join(counts, on="week", how="left", maintain_order="left").fill_null(0)
    parts = (pl.col("good"), pl.col("calls") - pl.col("good") - pl.col("errors"), pl.col("errors"))
    return pl.concat(filled.select("week", kind=pl.lit(kind), calls=part) for kind, part in zip(_KINDS, parts, strict=True))


def weeks_chart(totals: pl.DataFrame, weeks: Sequence[str], *, dark: bool, chosen: str | None = None) -> alt.Chart:
    """Stacked columns of calls per ISO week; weeks without calls keep their place, the others than `chosen` step back."""
    colours = CHART_COLOURS["dark" if dark else "light"]
    marked = alt.value(1) if chosen is None else alt.condition(alt.datum.week == chosen, alt.value(1), alt.value(_OTHER_WEEKS))
    chart: alt.Chart = (
        alt.Chart(weekly_kinds(totals, weeks), height=_HEIGHT)
        .mark_bar(size=22)
        .encode(
            x=alt.X("week:O", sort=list(weeks), axis=alt.Axis(labelAngle=0, labelOverlap=True), title=None),
            y=alt.Y("calls:Q", axis=alt.Axis(tickCount=3, labelFlush=False), title=None),
            color=alt.Color(
                "kind:N", sort=list(_KINDS), legend=alt.Legend(orient="top", title="Calls per week", titleOrient="left")
            ).scale(domain=list(_KINDS), range=list(colours)),
            opacity=marked,
            order=alt.Order("kind:N", sort="ascending"),
            tooltip=["week:O", "kind:N", "calls:Q"],
        )
    )
    return chart
