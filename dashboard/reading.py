"""What the pages read: lists of `replay.metrics` and `replay.submissions`, narrowed and cut by the queries themselves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple, Self

import polars as pl

from toolwitness.replay import metrics
from toolwitness.replay import submissions as replay
from toolwitness.replay.load import Source
from toolwitness.replay.submissions import Submission


class Listed(NamedTuple):
    """The rows that a page shows, and how many there are in all."""

    frame: pl.DataFrame
    total: int

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Self:
        """A list that its query cut; the column `total` says how long it was before."""
        return cls(frame, 0 if frame.is_empty() else frame["total"][0])


def calls_of(
    source: Source, server: str, tool: str, *, origin: str | None = None, week: str | None = None, most: int | None
) -> Listed:
    """The calls of one tool, newest first; all of them where `most` is None."""
    return Listed.of(metrics.tool_calls(source, server, tool, origin=origin, week=week, limit=most))


def failed(source: Source, *, origin: str | None = None, week: str | None = None, most: int) -> Listed:
    """Failed runs, newest first."""
    return Listed.of(metrics.failed_runs(source, origin=origin, week=week, limit=most))


def runs(source: Source, *, origin: str | None = None, search: str = "", most: int) -> Listed:
    """Runs whose id, task or agent contains `search`, newest first; white space around it is not looked for."""
    return Listed.of(metrics.runs(source, origin=origin, search=search.strip() or None, limit=most))


def sources(source: Source) -> list[str]:
    """Where the records came from: `live`, `demo` or an import's format."""
    return metrics.sources(source)["source"].to_list()


class Sought(NamedTuple):
    """Which submissions are looked for; None leaves nothing out. The days are in UTC, `until` is the last one."""

    search: str | None = None
    origin: str | None = None
    since: date | None = None
    until: date | None = None

    def filters(self) -> dict[str, Any]:
        """As `replay.submissions` takes them."""
        until = None if self.until is None else self.until + timedelta(days=1)
        return {
            "search": self.search,
            "origin": self.origin,
            "since_ns": _midnight_ns(self.since),
            "until_ns": _midnight_ns(until),
        }


def _midnight_ns(day: date | None) -> int | None:
    """The start of a day in UTC, in nanoseconds since 1970."""
    return None if day is None else int(datetime.combine(day, time(), UTC).timestamp()) * 1_000_000_000


def submissions(source: Source, sought: Sought, *, states: Sequence[str], most: int | None) -> list[Submission]:
    """Writing calls in these states, those in doubt first; all of them where `most` is None."""
    return replay.submissions(source, **sought.filters(), states=states, limit=most)


def submission_counts(source: Source, sought: Sought) -> dict[str, int]:
    """How many writing calls there are in each state."""
    return replay.state_counts(source, **sought.filters())
