"""What the pages read: lists of `replay.metrics`, narrowed and cut by the queries themselves."""

from __future__ import annotations

from typing import NamedTuple, Self

import polars as pl

from toolwitness.replay import metrics
from toolwitness.replay.load import Source


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
