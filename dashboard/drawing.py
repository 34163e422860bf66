"""Small marks inside tables: shares as bars, weeks as a row of columns. Each says its figures in words too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from toolwitness.dashboard.markup import Markup, tag
from toolwitness.dashboard.wording import absent, unknown
from toolwitness.replay.honest import NO_CALLS

MOST_WEEKS = 12
_ONE_WEEK = timedelta(weeks=1)


class Week(NamedTuple):
    """What one tool did in one week."""

    calls: int
    good: int
    errors: int

    @property
    def unsure(self) -> int:
        """Calls that are neither known to be good nor in error."""
        return self.calls - self.good - self.errors


def bar(part: int, whole: int, *, bad: bool = False) -> Markup | None:
    """`part` of `whole` as a bar's filled length; nothing where there is nothing to be a part of."""
    if not whole:
        return None
    filled = tag("i", class_="bad" if bad else None, style=f"flex-grow:{part}")
    return tag("span", filled, tag("i", class_="rest", style=f"flex-grow:{whole - part}"), class_="bar", aria_hidden="true")


def _monday(week: str) -> date:
    year, number = week.split("-W")
    return date.fromisocalendar(int(year), int(number), 1)


def axis(weeks: Sequence[str]) -> list[str]:
    """Every ISO week from the first to the last one given, at most the last twelve; week *unknown* is on no axis."""
    mondays = sorted(_monday(week) for week in weeks if week != "unknown")
    if not mondays:
        return []
    first = max(mondays[0], mondays[-1] - _ONE_WEEK * (MOST_WEEKS - 1))
    steps = (mondays[-1] - first) // _ONE_WEEK
    return [f"{(first + _ONE_WEEK * at):%G-W%V}" for at in range(steps + 1)]


def _told(week: str, done: Week) -> str:
    errors = f", {done.errors:,} in error" if done.errors else ""
    unsure = f", {done.unsure:,} not known to be good" if done.unsure else ""
    return f"{week}: {done.calls:,} called{errors}{unsure}"


def _column(done: Week | None, most: int, name: str, *, marked: bool) -> Markup:
    mark = "marked" if marked else None
    if done is None or not done.calls:
        return tag("i", title=f"{name}: 0 called", class_=mark)
    parts = (
        tag("b", style=f"flex-grow:{most - done.calls}"),
        tag("b", class_="calls", style=f"flex-grow:{done.good}"),
        tag("b", class_="unsure", style=f"flex-grow:{done.unsure}"),
        tag("b", class_="bad", style=f"flex-grow:{done.errors}"),
    )
    return tag("i", *parts, title=_told(name, done), class_=mark)


def trend(weeks: Sequence[str], done: Mapping[str, Week], chosen: str | None = None) -> Markup:
    """Calls per week on the axis `weeks`, errors at the foot, the `chosen` week marked.

    Only calls without known time make it *unknown*.
    """
    dated = {week: done[week] for week in weeks if week in done}
    if not any(week.calls for week in dated.values()):
        undated = done.get("unknown", Week(0, 0, 0)).calls
        return unknown("time unknown") if undated else absent(NO_CALLS)
    most = max(week.calls for week in dated.values())
    told = "; ".join(_told(name, week) for name, week in dated.items())
    columns = (_column(dated.get(week), most, week, marked=week == chosen) for week in weeks)
    return tag("span", *columns, class_="trend", role="img", aria_label=f"calls per week: {told}")
