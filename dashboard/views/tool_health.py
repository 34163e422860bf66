"""Tool health: how often each tool could be chosen, was chosen, failed, and gave something that was used."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from toolwitness.dashboard import furniture, links, reading
from toolwitness.dashboard.chart import weeks_chart
from toolwitness.dashboard.drawing import axis
from toolwitness.dashboard.listing import calls_table, tools_table, trends_of
from toolwitness.dashboard.markup import Child, tag
from toolwitness.dashboard.wording import NOT_MEASURABLE, UNKNOWN, count, cut, of, plural, tool_name, unknown
from toolwitness.replay import load, metrics

MOST_TOOLS = 200
MOST_CALLS = 200
_ORDERS = {
    "calls": "Most calls",
    "errors": "Most errors",
    "unknown_commits": "Most unknown commits",
    "rejected": "Most rejected",
    "visible": "Most often visible",
}


def draw() -> None:
    """Draw the page."""
    source = load.current()
    furniture.head("Tool health", "How each tool is doing: chosen when it could be, stopped, failed, and of use.")
    every_week = metrics.weekly_totals(source)
    if every_week.is_empty():
        furniture.no_data(source.where)
        return
    sources = reading.sources(source)
    furniture.demo_banner(sources, None)
    week_column, order_column, _ = st.columns([2, 2, 5])
    with week_column:
        week = furniture.week_filter(every_week["week"].to_list())
    with order_column:
        order = st.selectbox("Order", list(_ORDERS), key="order", bind="query-params", format_func=_ORDERS.__getitem__)
    furniture.cards(headline(reading.totals(source, week)))
    _weeks(every_week)
    _tools(source, week, order)
    _calls(source, week)


def headline(totals: dict[str, Any]) -> list[tuple[str, Child, Child]]:
    """The figures at the top of the page, each with what it is of."""
    succeeded = f"{of(totals['runs_succeeded'], totals['runs_judged'])} judged runs succeeded"
    used = totals["utilisation_denominator"]
    calls = plural(totals["calls"], "call")
    return [
        ("Runs", count(totals["runs"]), succeeded if totals["runs_judged"] else unknown("outcomes unknown")),
        (
            "Calls",
            count(totals["calls"]),
            f"{plural(totals['tools_called'], 'tool')}, {plural(totals['decisions'], 'decision')}",
        ),
        ("Calls in error", count(totals["errors"]), f"of {calls}"),
        ("Unknown commits", count(totals["unknown_commits"]), f"of {calls}"),
        ("Unfinished", count(totals["pending"]), f"of {calls}"),
        (
            "Results used later",
            count(totals["utilisation_either"]) if used else unknown(NOT_MEASURABLE),
            f"of {used:,} with new values" if used else "no result held new values",
        ),
    ]


def _weeks(totals: pl.DataFrame) -> None:
    dated = totals.filter(pl.col("week") != UNKNOWN)
    if dated.height > 1:
        st.altair_chart(weeks_chart(dated, axis(dated["week"].to_list()), dark=st.context.theme.type == "dark"))


def _tools(source: load.Source, week: str | None, order: str) -> None:
    frame = reading.tools(source, week).sort(order, descending=True, maintain_order=True)
    by_week = metrics.tool_health(source, by_week=True)
    shown = frame.head(MOST_TOOLS)

    def address_of(server: str, tool: str) -> str:
        return links.address(links.TOOL_HEALTH, week=week, order=order, server=server, tool=tool)

    chosen = (st.query_params.get("server", ""), st.query_params.get("tool", ""))
    weeks = axis(by_week["week"].to_list())
    st.html(tools_table(shown, weeks, trends_of(by_week), address_of=address_of, chosen=chosen))
    undated = by_week.filter((pl.col("week") == UNKNOWN) & (pl.col("calls") > 0)).height
    furniture.note(
        cut(shown.height, frame.height, "tools"),
        "; choose one to see its calls. Utilisation is evidence that a new value of a result reappeared, not of cause.",
        " Calls without known times stand under week unknown and in no trend." if undated else None,
    )


def _calls(source: load.Source, week: str | None) -> None:
    tool = st.query_params.get("tool")
    if tool is None:
        return
    server = st.query_params.get("server", "")
    name = tool_name(server, tool)
    close = links.link("close", links.address(links.TOOL_HEALTH, week=week))
    st.html(tag("div", tag("h3", "Calls of ", name), close, class_="tw heading", data_show=name))
    listed = reading.calls_of(source, server, tool, week=week, most=MOST_CALLS)
    if not listed.total:
        furniture.note("No call of ", name, " was recorded", f" in week {week}." if week else ".")
        return
    st.html(calls_table(listed.frame, f"Calls of {name}"))
    furniture.note(cut(listed.frame.height, listed.total, "calls"))
