"""Tool health: how often each tool could be chosen, was chosen, failed, and gave something that was used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl
import streamlit as st

from toolwitness.dashboard import furniture, links, reading
from toolwitness.dashboard.chart import ABOUT, weeks_chart
from toolwitness.dashboard.drawing import axis
from toolwitness.dashboard.listing import calls_table, fit, tools_table, trends_of
from toolwitness.dashboard.markup import Child, Markup, join, tag
from toolwitness.dashboard.wording import absent, count, cut, of, plural, tool_name, unknown
from toolwitness.replay import load, metrics
from toolwitness.replay.honest import SCHEMA_UNKNOWN, UNKNOWN, no_utilisation

MOST_ROWS = 50
"""So many rows of a list are shown unless the reader asks for all."""
_ORDERS = {
    "Most calls": "calls",
    "Most errors": "errors",
    "Most unknown commits": "unknown_commits",
    "Most rejected": "rejected",
    "Most often visible": "visible",
}
"""What can be chosen, in the words that stand in the address too, and the column that it goes by."""


class _Choice(NamedTuple):
    """What the reader chose to see, kept in the address; None leaves nothing out."""

    origin: str | None
    week: str | None
    order: str
    whole: frozenset[str]
    """The lists, of `tools` and `calls`, that are shown whole."""


def draw() -> None:
    """Draw the page."""
    source = load.current()
    furniture.head("Tool health", "How each tool is doing: chosen when it could be, stopped, failed, and of use.")
    every_week = metrics.weekly_totals(source)
    if every_week.is_empty():
        furniture.no_data(source.where)
        return
    sources = reading.sources(source)
    choice = _choose(sources, every_week["week"].to_list())
    furniture.demo_banner([choice.origin] if choice.origin else sources)
    tools = metrics.tool_health(source, origin=choice.origin, week=choice.week)
    furniture.cards(headline(metrics.overview(source, origin=choice.origin, week=choice.week), tools=tools.height))
    _weeks(metrics.weekly_totals(source, origin=choice.origin) if choice.origin else every_week, choice.week)
    _tools(source, choice, tools)
    _calls(source, choice)


def _choose(sources: Sequence[str], weeks: Sequence[str]) -> _Choice:
    source_column, week_column, order_column, _ = st.columns([2, 2, 2, 3])
    with source_column:
        origin = furniture.source_filter(sources)
    with week_column:
        week = furniture.week_filter(weeks)
    with order_column:
        order = st.selectbox("Order", list(_ORDERS), key="order", bind="query-params")
    return _Choice(origin, week, order, frozenset(st.query_params.get("all", "").split()))


def headline(totals: dict[str, Any], *, tools: int) -> list[tuple[str, Child, Child]]:
    """The figures at the top of the page, each with what it is of; `tools` is how many were visible or called."""
    succeeded = f"{of(totals['runs_succeeded'], totals['runs_judged'])} judged runs succeeded"
    calls = f"of {plural(totals['calls'], 'call')}"
    return [
        ("Runs", count(totals["runs"]), succeeded if totals["runs_judged"] else unknown("no run was judged")),
        (
            "Calls",
            count(totals["calls"]),
            f"{of(totals['tools_called'], tools)} tools called, {plural(totals['decisions'], 'decision')}",
        ),
        ("Calls in error", count(totals["errors"]), calls),
        ("Unknown commits", count(totals["unknown_commits"]), calls),
        ("Unfinished", count(totals["pending"]), calls),
        ("Valid arguments", *_valid(totals)),
        ("Results used later", *_used(totals)),
    ]


def _valid(totals: dict[str, Any]) -> tuple[Child, Child]:
    """How many arguments fit the schema of their call and of how many; what is invalid or open stands beside them."""
    checked = totals["arguments_checked"]
    if not checked:
        return unknown(SCHEMA_UNKNOWN), None
    return count(totals["arguments_valid"]), ", ".join(filter(None, [f"of {checked:,} with a known schema", fit(totals)]))


def _used(totals: dict[str, Any]) -> tuple[Child, Child]:
    """How many results were used later and of how many; those that could not be measured stand beside them."""
    used, unmeasured = totals["utilisation_denominator"], totals["not_measurable"]
    beside = f"{unmeasured:,} not measurable" if unmeasured else None
    if used:
        return count(totals["utilisation_either"]), ", ".join(filter(None, [f"of {used:,} with new values", beside]))
    why = no_utilisation(**{name: totals[name] for name in ("calls", "errors", "measured", "not_measurable")})
    return absent(why), beside


def _weeks(totals: pl.DataFrame, week: str | None) -> None:
    dated = totals.filter(pl.col("week") != UNKNOWN)
    if dated.height > 1:
        weeks, dark = axis(dated["week"].to_list()), st.context.theme.type == "dark"
        st.altair_chart(weeks_chart(dated, weeks, dark=dark, chosen=week if week in weeks else None))
        furniture.note(ABOUT)


def _tools(source: load.Source, choice: _Choice, tools: pl.DataFrame) -> None:
    frame = tools.sort(_ORDERS[choice.order], descending=True, maintain_order=True)
    by_week = metrics.tool_health(source, by_week=True, origin=choice.origin)
    shown = frame if "tools" in choice.whole else frame.head(MOST_ROWS)

    def address_of(server: str, tool: str) -> str:
        return _address(choice._replace(whole=choice.whole - {"calls"}), server=server, tool=tool)

    given = _chosen_tool()
    chosen = (given.get("server", ""), given.get("tool", ""))
    weeks = axis(by_week["week"].to_list())
    st.html(tools_table(shown, weeks, trends_of(by_week), address_of=address_of, chosen=chosen, week=choice.week))
    undated = by_week.filter((pl.col("week") == UNKNOWN) & (pl.col("calls") > 0)).height
    furniture.note(
        cut(shown.height, frame.height, "tools"),
        _show_all(choice, "tools", **_chosen_tool()) if shown.height < frame.height else None,
        "; choose one to see its calls. Selection counts decisions; there may be more calls, as one step can call a tool "
        "twice. Arguments are valid where they fit the schema that the model was shown; where the recording cannot tell, they "
        "are indeterminate, which is neither. Utilisation is evidence that a new value of a result reappeared, not of cause.",
        " Calls without known times stand under week unknown and in no trend." if undated else None,
    )


def _chosen_tool() -> dict[str, str]:
    """The tool whose calls are shown, as the address has it; empty where there is none."""
    return {name: st.query_params[name] for name in ("server", "tool") if name in st.query_params}


def _address(choice: _Choice, **chosen: str) -> str:
    """The address of this page as it is, but for the tool whose calls are shown."""
    kept = {"source": choice.origin, "week": choice.week, "order": choice.order}
    return links.address(links.TOOL_HEALTH, **kept, all=" ".join(sorted(choice.whole)) or None, **chosen)


def _show_all(choice: _Choice, things: str, **chosen: str) -> Markup:
    """A link that shows one of the lists whole."""
    whole = choice._replace(whole=choice.whole | {things})
    return join([" (", links.link(f"show all {things}", _address(whole, **chosen)), ")"])


def _calls(source: load.Source, choice: _Choice) -> None:
    tool = st.query_params.get("tool")
    if tool is None:
        return
    server = st.query_params.get("server", "")
    name = tool_name(server, tool)
    close = links.link("close", _address(choice._replace(whole=choice.whole - {"calls"})))
    st.html(tag("div", tag("h3", "Calls of ", name), close, class_="tw heading", data_show=name))
    listed = reading.calls_of(
        source, server, tool, origin=choice.origin, week=choice.week, most=None if "calls" in choice.whole else MOST_ROWS
    )
    if not listed.total:
        every = choice.origin is None and choice.week is None
        furniture.note("No call of ", name, " was recorded." if every else " was recorded for this choice.")
        return
    st.html(calls_table(listed.frame, f"Calls of {name}"))
    more = listed.frame.height < listed.total
    shown = cut(listed.frame.height, listed.total, "calls")
    furniture.note(shown, _show_all(choice, "calls", server=server, tool=tool) if more else None)
