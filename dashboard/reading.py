"""What the pages read: frames of `replay.metrics`, narrowed to a source, a week or a search and cut to what a page shows."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from toolwitness.replay import metrics
from toolwitness.replay.load import Source


class Listed(NamedTuple):
    """The rows that a page shows, and how many there are in all."""

    frame: pl.DataFrame
    total: int


def _only(frame: pl.DataFrame, **wanted: str | None) -> pl.DataFrame:
    """The rows whose columns have the wanted values; None wants every value."""
    for column, value in wanted.items():
        if value is not None:
            frame = frame.filter(pl.col(column) == value)
    return frame


def totals(source: Source, week: str | None) -> dict[str, Any]:
    """The headline figures, of one week or of all time."""
    if week is None:
        return metrics.overview(source)
    return metrics.weekly_totals(source).row(by_predicate=pl.col("week") == week, named=True)


def tools(source: Source, week: str | None) -> pl.DataFrame:
    """Tool health, in one week or over all time."""
    if week is None:
        return metrics.tool_health(source)
    return _only(metrics.tool_health(source, by_week=True), week=week)


def calls_of(source: Source, server: str, tool: str, *, week: str | None, most: int) -> Listed:
    """The calls of one tool, newest first."""
    frame = _only(metrics.tool_calls(source, server, tool), week=week)
    return Listed(frame.head(most), frame.height)


def failed(source: Source, *, origin: str | None, week: str | None, most: int) -> Listed:
    """Failed runs, newest first."""
    frame = _only(metrics.failed_runs(source), source=origin, week=week)
    return Listed(frame.head(most), frame.height)


def runs(source: Source, *, origin: str | None, search: str, most: int) -> Listed:
    """Runs whose id, task or agent contains `search`, newest first."""
    frame = _only(metrics.runs(source), source=origin)
    wanted = search.strip().lower()
    if wanted:
        columns = (
            pl.col(name).fill_null("").str.to_lowercase().str.contains(wanted, literal=True)
            for name in ("run", "task", "agent")
        )
        frame = frame.filter(pl.any_horizontal(*columns))
    return Listed(frame.head(most), frame.height)


def sources(source: Source) -> list[str]:
    """Where the recorded runs came from: `live`, `demo` or an import's format."""
    return metrics.runs(source)["source"].unique().sort().to_list()
