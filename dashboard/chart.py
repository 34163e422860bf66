"""The one chart: calls per week, in error and not."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from toolwitness.dashboard.look import CHART_COLOURS

_KINDS = ("not in error", "in error")
_HEIGHT = 190


def weekly_kinds(totals: pl.DataFrame, weeks: Sequence[str]) -> pl.DataFrame:
    """Columns week, kind, calls: two rows for each week of the axis, zeros where nothing was called."""
    axis = pl.DataFrame({"week": weeks}, schema={"week": pl.String})
    filled = axis.join(totals.select("week", "calls", "errors"), on="week", how="left", maintain_order="left").fill_null(0)
    well = filled.select("week", kind=pl.lit(_KINDS[0]), calls=pl.col("calls") - pl.col("errors"))
    bad = filled.select("week", kind=pl.lit(_KINDS[1]), calls=pl.col("errors"))
    return pl.concat([well, bad])


def weeks_chart(totals: pl.DataFrame, weeks: Sequence[str], *, dark: bool) -> alt.Chart:
    """Stacked columns of calls per ISO week; weeks without calls keep their place."""
    colours = CHART_COLOURS["dark" if dark else "light"]
    chart: alt.Chart = (
        alt.Chart(weekly_kinds(totals, weeks), height=_HEIGHT)
        .mark_bar(size=22)
        .encode(
            x=alt.X("week:O", sort=list(weeks), axis=alt.Axis(labelAngle=0, labelOverlap=True), title=None),
            y=alt.Y("calls:Q", axis=alt.Axis(tickCount=3, labelFlush=False), title=None),
            color=alt.Color(
                "kind:N", sort=list(_KINDS), legend=alt.Legend(orient="top", title="Calls per week", titleOrient="left")
            ).scale(domain=list(_KINDS), range=list(colours)),
            order=alt.Order("kind:N", sort="ascending"),
            tooltip=["week:O", "kind:N", "calls:Q"],
        )
    )
    return chart
