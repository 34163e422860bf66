"""Frames as tables: one function a table, from a polars frame of `replay.metrics` to markup."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from toolwitness.dashboard.drawing import Week, bar, trend
from toolwitness.dashboard.links import link, to_run
from toolwitness.dashboard.markup import Child, Markup, join, tag
from toolwitness.dashboard.payload import brief
from toolwitness.dashboard.wording import (
    absent,
    call_name,
    count,
    lasted,
    of,
    percent,
    pill,
    plain,
    said,
    tool_name,
    unknown,
    when,
)
from toolwitness.replay.honest import NO_CALLS, SCHEMA_UNKNOWN, VISIBILITY_UNKNOWN, no_use, no_utilisation

Row = Mapping[str, Any]
Trends = Mapping[tuple[str, str], Mapping[str, Week]]
_RIGHT = "num"


def table(
    caption: str, heads: Sequence[tuple[str, str | None]], rows: Iterable[Markup], *, shares: Sequence[int] = ()
) -> Markup:
    """A table that scrolls sideways where it must; heads are (text, class), `shares` the columns' widths in percent.

    Where shares are given long words are broken, so that no cell pushes the others aside.
    """
    head = tag("tr", *(tag("th", name, scope="col", class_=cls) for name, cls in heads))
    columns = tag("colgroup", *(tag("col", style=f"width:{share}%") for share in shares)) if shares else None
    shape = "list shared" if shares else "list"
    body = tag("table", tag("caption", caption), columns, tag("thead", head), tag("tbody", *rows), class_=shape)
    return tag("div", body, class_="tw scroll", role="region", aria_label=caption, tabindex="0")


def _under(content: Child) -> Markup:
    return tag("span", content, class_="under")


def _rate(rate: float | None, part: int, whole: int) -> Markup:
    """A selection rate with its numerator, denominator and bar; where the tool was never known to be visible, that."""
    if rate is None:
        return unknown(VISIBILITY_UNKNOWN)
    return join([percent(rate), " ", tag("span", of(part, whole), class_="soft"), bar(part, whole)])


def _plain_part(part: int, whole: int) -> Markup:
    return tag("span", of(part, whole), class_=None if part else "zero")


def _part(part: int, whole: int, *, none: str = NO_CALLS, bad: bool = False) -> Markup:
    """`n of m` with its bar; without a denominator `none` says why there is no figure."""
    if not whole:
        return absent(none)
    return join([_plain_part(part, whole), bar(part, whole, bad=bad)])


def fit(it: Row) -> str:
    """How many arguments did not fit their schema, and of how many that is open, as far as there are such."""
    told = (("invalid", it["arguments_invalid"]), ("indeterminate", it["arguments_indeterminate"]))
    return ", ".join(f"{number:,} {word}" for word, number in told if number)


def _fit(it: Row) -> Markup:
    """Valid arguments of those checked; what is invalid and what is open stand beneath, each by itself."""
    whole = it["arguments_checked"]
    if not whole:
        return unknown(SCHEMA_UNKNOWN)
    rest = fit(it)
    return join([_part(it["arguments_valid"], whole), _under(rest) if rest else None])


def trends_of(by_week: pl.DataFrame) -> dict[tuple[str, str], dict[str, Week]]:
    """Calls, good ones and errors by tool and week, from the frame with one row per tool and week."""
    trends: dict[tuple[str, str], dict[str, Week]] = {}
    for server, tool, week, *counts in by_week.select("server", "tool", "week", "calls", "good", "errors").iter_rows():
        trends.setdefault((server, tool), {})[week] = Week(*counts)
    return trends


def _of_calls(it: Row) -> list[Markup | None]:
    """The cells from errors to utilisation; a tool without calls says so once, in its cell of calls, and shows none here."""
    calls = it["calls"]
    if not calls:
        return [None] * 6
    facts = {name: it[name] for name in ("calls", "errors", "measured", "not_measurable")}
    return [
        _part(it["errors"], calls, bad=True),
        *(_plain_part(it[name], calls) for name in ("timeouts", "unknown_commits", "rejected")),
        _fit(it),
        _part(it["utilisation_either"], it["utilisation_denominator"], none=no_utilisation(**facts)),
    ]


_TOOL_HEADS = (
    ("Tool", None),
    ("Calls", _RIGHT),
    ("Trend", None),
    ("Selection rate", _RIGHT),
    ("Errors", _RIGHT),
    ("Timeouts", _RIGHT),
    ("Unknown commits", _RIGHT),
    ("Rejected", _RIGHT),
    ("Valid arguments", _RIGHT),
    ("Utilisation", _RIGHT),
)


def tools_table(
    frame: pl.DataFrame,
    weeks: Sequence[str],
    trends: Trends,
    *,
    address_of: Callable[[str, str], str],
    chosen: tuple[str, str] | None = None,
    week: str | None = None,
) -> Markup:
    """Tool health, one row per (server, tool); `address_of` makes the link that shows a tool's calls, `week` is marked."""

    def row(it: Row) -> Markup:
        name = (it["server"], it["tool"])
        first = join([link(it["tool"], address_of(*name)), _under(it["server"]) if it["server"] else None])
        return tag(
            "tr",
            tag("th", first, scope="row"),
            tag("td", count(it["calls"]) if it["calls"] else absent(NO_CALLS), class_=_RIGHT),
            tag("td", trend(weeks, trends.get(name, {}), week) if it["calls"] else None),
            tag("td", _rate(it["selection_rate"], it["selected_visible"], it["visible"]), class_=_RIGHT),
            *(tag("td", cell, class_=_RIGHT) for cell in _of_calls(it)),
            class_="chosen" if name == chosen else None,
        )

    return table("Tool health by tool", _TOOL_HEADS, (row(it) for it in frame.iter_rows(named=True)))


def _task(it: Row) -> Markup:
    trial = "" if it["trial"] is None else f" trial {it['trial']}"
    return join([said(it["task"]), tag("span", trial, class_="soft")])


def _problem(it: Row) -> Markup:
    return join(
        [
            join([pill("ran_although_denied"), " "]) if it["ran_although_denied"] else None,
            pill(it["outcome"]),
            f" by {plain(it['rejected_by'])}" if it["rejected_by"] else _why(it["error_class"], it["outcome"]),
        ]
    )


def _why(error_class: str | None, said: str) -> Markup | None:
    """The class of an error below the word that names the problem, where it says more than that."""
    return None if error_class in {None, said} else _under(plain(str(error_class)))


def _use(it: Row) -> Markup:
    places = [word for word, used in (("arguments", it["in_arguments"]), ("answer", it["in_answer"])) if used]
    if places:
        return join([" and ".join(places)])
    why = no_use(it["observation"], it["outcome"], measurable=it["measurable"], novel_values=it["novel_values"])
    return absent(why)


def _arguments(it: Row) -> Markup:
    """The redacted arguments, with a mark where they did not fit their schema or where that is open."""
    verdict = it["arguments_valid"]
    marked = _under(pill(verdict)) if verdict in {"invalid", "indeterminate"} else None
    shown = unknown("not recorded") if it["arguments"] is None else brief(json.loads(it["arguments"]))
    return join([shown, marked])


_CALL_HEADS = (
    ("Run", None),
    ("Outcome", None),
    ("Attempts", _RIGHT),
    ("Duration", _RIGHT),
    ("Result used in", None),
    ("Arguments (redacted)", None),
    ("Started", None),
)


def _duration(it: Row) -> Child:
    if it["outcome"] == "pending":
        return tag("span", "not finished", class_="soft")
    return unknown() if it["duration_ms"] is None else lasted(it["duration_ms"])


def calls_table(frame: pl.DataFrame, caption: str) -> Markup:
    """One tool's calls, each with a link to its run's replay."""

    def row(it: Row) -> Markup:
        via = f", via {it['via']}" if it["via"] else ""
        first = join([_run_link(it), _under(f"{call_name(it['call_ordinal'])}{via}")])
        return tag(
            "tr",
            tag("th", first, scope="row"),
            tag("td", _problem(it)),
            tag("td", count(it["attempts"]), class_=_RIGHT),
            tag("td", _duration(it), class_=_RIGHT),
            tag("td", _use(it)),
            tag("td", _arguments(it)),
            tag("td", when(it["started"])),
        )

    return table(caption, _CALL_HEADS, (row(it) for it in frame.iter_rows(named=True)))


def _run_link(it: Row) -> Markup:
    """A run in a list, by its task and trial, else by its whole id."""
    return to_run(it["run"], tag("span", it["run"], class_="id") if it["task"] is None else _task_name(it))


def _task_name(it: Row) -> str:
    return f"task {it['task']}" + ("" if it["trial"] is None else f", trial {it['trial']}")


def _run_cell(it: Row) -> Markup:
    agent = it["agent"] or "agent unknown"
    return tag("th", _run_link(it), _under(f"{it['source']} · {agent}"), scope="row")


_FAILED_HEADS = (
    ("Run", None),
    ("First problem", None),
    ("In tool", None),
    ("Run outcome", None),
    ("Problems", _RIGHT),
    ("Started", None),
)


def _problems(it: Row) -> Child:
    """How many of a run's calls had a problem; calls of which that is not known stand beside them."""
    if not it["calls"]:
        return absent(NO_CALLS)
    told = tag("span", of(it["problems"], it["calls"]), class_=None if it["problems"] else "zero")
    return join([told, "; ", unknown(f"{it['unclear']:,} not known")]) if it["unclear"] else told


def failed_table(frame: pl.DataFrame) -> Markup:
    """Failed runs, each with its first problem and a link to its replay."""

    def row(it: Row) -> Markup:
        where: Child = tag("span", "no call to blame", class_="soft")
        if it["tool"] is not None:
            where = join([tool_name(it["server"], it["tool"]), _under(call_name(it["call_ordinal"]))])
        problem = join([pill(it["first_problem"]), _why(it["error_class"], it["first_problem"])])
        outcome = (
            unknown()
            if it["outcome"] == "unknown"
            else join([pill(it["outcome"]), _under(f"by {plain(it['outcome_source'])}")])
        )
        return tag(
            "tr",
            _run_cell(it),
            tag("td", problem),
            tag("td", where),
            tag("td", outcome),
            tag("td", _problems(it), class_=_RIGHT),
            tag("td", when(it["started"])),
        )

    return table("Failed runs", _FAILED_HEADS, (row(it) for it in frame.iter_rows(named=True)))


def order_of(frame: pl.DataFrame) -> str:
    """The order of a list of runs in words: where times are not known there is no newest."""
    undated = frame["started"].null_count()
    if not undated:
        return "newest first"
    by_name = "by source, task and trial"
    if undated == frame.height:
        return f"{by_name}, as their times are not known"
    return f"newest first, then those without known times {by_name}"


_RUN_HEADS = (
    ("Run", None),
    ("Outcome", None),
    ("Decisions", _RIGHT),
    ("Calls", _RIGHT),
    ("Problems", _RIGHT),
    ("Started", None),
    ("Run id", None),
)


def runs_table(frame: pl.DataFrame) -> Markup:
    """Runs to choose from, each with a link to its replay."""

    def row(it: Row) -> Markup:
        return tag(
            "tr",
            _run_cell(it),
            tag("td", unknown() if it["outcome"] == "unknown" else pill(it["outcome"])),
            tag("td", count(it["decisions"]), class_=_RIGHT),
            tag("td", count(it["calls"]), class_=_RIGHT),
            tag("td", _problems(it), class_=_RIGHT),
            tag("td", when(it["started"])),
            tag("td", tag("code", it["run"], class_="id", title=it["run"])),
        )

    return table("Runs", _RUN_HEADS, (row(it) for it in frame.iter_rows(named=True)))
