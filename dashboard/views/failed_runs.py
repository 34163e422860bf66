"""Failed runs: which runs did not reach their goal, and what went wrong first in each."""

from __future__ import annotations

import streamlit as st

from toolwitness.dashboard import furniture, reading
from toolwitness.dashboard.listing import failed_table, order_of
from toolwitness.dashboard.wording import cut, of
from toolwitness.replay import load, metrics

MOST_RUNS = 200


def draw() -> None:
    """Draw the page."""
    source = load.current()
    furniture.head(
        "Failed runs",
        "Runs that failed or were abandoned, and runs of unknown outcome in which a call had a problem.",
    )
    weeks = metrics.weekly_totals(source)["week"].to_list()
    if not weeks:
        furniture.no_data(source.where)
        return
    sources = reading.sources(source)
    left, right, _ = st.columns([2, 2, 5])
    with left:
        origin = furniture.source_filter(sources)
    with right:
        week = furniture.week_filter(weeks)
    listed = reading.failed(source, origin=origin, week=week, most=MOST_RUNS)
    furniture.demo_banner(listed.frame["source"])
    if not listed.total:
        furniture.note("No failed run is recorded", " here." if origin is None and week is None else " for this choice.")
        return
    runs = metrics.overview(source, origin=origin, week=week)["runs"]
    shown = cut(listed.frame.height, listed.total, "failed runs")
    furniture.note(
        f"{of(listed.total, runs)} runs",
        f", {shown} shown" if listed.frame.height < listed.total else None,
        f"; {order_of(listed.frame)}.",
    )
    st.html(failed_table(listed.frame))
