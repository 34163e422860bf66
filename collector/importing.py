"""Importing recorded files into a database: the importers, one recorder a run as in a live agent, and where its spans go."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwitness.collector.embedded import RemoteExporter, StoreExporter, open_sink
from toolwitness.collector.importers import ImportCounts, open_files, record_files
from toolwitness.collector.store.receipt import Receipt
from toolwitness.sdk.clock import Clock, Ids
from toolwitness.sdk.recorder import Recorder

__all__ = ["ImportResult", "import_into"]

_GROUP = 4096
"""Spans a transaction: enough to make its cost small, few enough to see progress."""


class ImportResult(TypedDict):
    """What an import came to; the last four count spans, and `received` is the sum of the other three.

    A record of a file that could not be read counts as one received and rejected.
    """

    runs: int
    decisions: int
    calls: int
    received: int
    stored: int
    duplicate: int
    rejected: dict[str, int]


def _import_key(source: str) -> bytes:
    """The key of an import's keyed digests: the same on every machine, so that importing again changes nothing.

    It keeps no secret: who can read the file that is imported has its arguments anyway.
    """
    return hashlib.sha256(f"toolwitness import {source}".encode()).digest()


class _Passage:
    """Carries spans from the recorders to the sink in large groups, outside of any guard, so that errors reach the caller."""

    def __init__(self, sink: StoreExporter | RemoteExporter) -> None:
        self._sink = sink
        self._recorded = InMemorySpanExporter()

    def recorder(self, *, source: str, ids: Ids, clock: Clock) -> Recorder:
        """A recorder whose spans are collected here."""
        return Recorder(
            exporter=self._recorded,
            clock=clock,
            ids=ids,
            key=_import_key(source),
            source=source,
            inline=True,
            time_known=False,
            service=source,
        )

    def pass_on(self, *, at_least: int = 1) -> None:
        """Store what the recorders made, if it is as many spans as that."""
        spans = self._recorded.get_finished_spans()
        if len(spans) >= at_least:
            self._sink.export(spans)
            self._recorded.clear()


def _result(counts: ImportCounts, receipt: Receipt) -> ImportResult:
    unread = dict(counts.rejected)
    total = receipt + Receipt(received=sum(unread.values()), rejected=unread)
    return ImportResult(
        runs=counts.runs,
        decisions=counts.decisions,
        calls=counts.calls,
        received=total.received,
        stored=total.stored,
        duplicate=total.duplicate,
        rejected=total.rejected,
    )


def import_into(
    db: str | Path,
    paths: Sequence[str | Path],
    *,
    format: str | None = None,  # noqa: A002 -- the option's name
    tools: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ImportResult:
    """Import files into a database, or into the running toolwitness that holds it; importing again changes nothing.

    The other parameters are those of `open_files` and `record_files`. The database is opened, and made, when all files have
    been recognised. Raises what those raise, and StoreHeldError, StoreMissingError, StoreVersionError or
    CollectorAnswerError where the database cannot be written.
    """
    opened = open_files(paths, format=format, tools=tools)
    sink = open_sink(db)
    passage = _Passage(sink)

    def advance(done: int, total: int) -> None:
        passage.pass_on(at_least=_GROUP)
        if progress is not None:
            progress(done, total)

    try:
        counts = record_files(opened, make_recorder=passage.recorder, progress=advance)
        passage.pass_on()
    finally:
        sink.shutdown()
    return _result(counts, sink.receipt)
