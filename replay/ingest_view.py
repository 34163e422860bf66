"""The ingest report for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from toolwitness.replay.ingest import IngestReport, Shrunk, Unredacted, meaning, verdict, why_not_redacted

_UNKNOWN = "not known"


def ingest_view(report: IngestReport) -> RenderableType:
    """What arrived, whether the counters agree, and where redaction failed; nothing arrived is said as that."""
    if not report.arrived and not report.spans_received:
        return "nothing has arrived here yet"
    parts: list[RenderableType] = [Text(line, style="" if report.agree else "bold red") for line in verdict(report)]
    parts += ["", _arrived(report), *_failures(report), *_shrunk(report), *_sources(report)]
    return Group(*parts)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], figures: frozenset[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in figures else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


_FIGURES = frozenset({"spans", "requests", "runs", "calls"})


def _arrived(report: IngestReport) -> RenderableType:
    rows = (
        (each.reason, f"{each.spans:,} of {report.spans:,}" if each.spans else "-", f"{each.requests:,}", meaning(each.reason))
        for each in report.arrived
    )
    return _table(("what became of it", "spans", "requests", ""), rows, _FIGURES)


def _by_sender(each: Unredacted | Shrunk, total: int) -> tuple[str, ...]:
    """The row of spans without content, of so many."""
    spans = f"{each.spans:,} of {total:,}"
    return each.reason, each.service or _UNKNOWN, each.scope or _UNKNOWN, spans, why_not_redacted(each.reason)


def _failures(report: IngestReport) -> list[RenderableType]:
    if not report.failures:
        return ["", "the redactor failed on no span"]
    rows = (_by_sender(each, report.spans_received) for each in report.failures)
    return ["", _table(("stored without content", "service", "scope", "spans", ""), rows, _FIGURES)]


def _shrunk(report: IngestReport) -> list[RenderableType]:
    if not report.shrunk_in_agent:
        return []
    rows = (_by_sender(each, each.stored) for each in report.shrunk_in_agent)
    return ["", _table(("shrunk in the agent", "service", "scope", "spans", ""), rows, _FIGURES)]


def _sources(report: IngestReport) -> list[RenderableType]:
    if not report.sources:
        return []
    rows = ((each.source, f"{each.runs:,}", f"{each.calls:,}") for each in report.sources)
    return ["", _table(("source", "runs", "calls"), rows, _FIGURES)]
