"""One group of requests into the tables: what is new comes in, and what it touches is derived again.

Everything here runs in the caller's transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from toolwitness.collector.store.columns import Row, table_of
from toolwitness.collector.store.queries import Write, execute, fetch
from toolwitness.collector.store.receipt import Receipt
from toolwitness.collector.store.redactions import Redactions, counts_of
from toolwitness.model.enums import RecordKind

_DIGEST_OF = {RecordKind.SCHEMA.value: "definition_digest", RecordKind.TOOLSET.value: "toolset_digest"}
_INCOMING = "incoming"
_TOUCHED = "touched"
_TOUCHED_SPANS = "touched_spans"


@dataclass(frozen=True, slots=True)
class Times:
    """The injected time of the group and the age at which an open call counts as given up, both in nanoseconds."""

    now: int
    open_timeout: int


@dataclass(frozen=True, slots=True)
class _Distinct:
    """The rows of a group without those that it holds twice; `batch_of` is each row's batch."""

    rows: list[Row]
    batch_of: list[int]


def _keys(row: Row) -> set[tuple[Any, Any]]:
    """What makes a span the same one: its ids, and the digest of a schema or toolset, whatever span carries it."""
    keys = {(row["trace_id"], row["span_id"])}
    digest = _DIGEST_OF.get(row.get("record", ""))
    if digest is not None:
        keys.add((digest, row[digest]))
    return keys


def _distinct(batches: Sequence[list[Row]]) -> _Distinct:
    seen: set[tuple[Any, Any]] = set()
    found = _Distinct([], [])
    for index, batch in enumerate(batches):
        for row in batch:
            keys = _keys(row)
            if seen.isdisjoint(keys):
                found.rows.append(row)
                found.batch_of.append(index)
            seen |= keys
    return found


def _stored_already(cursor: duckdb.DuckDBPyConnection, rows: list[Row]) -> set[int]:
    """Which rows of the registered group are stored already, by position."""
    starts = [row["start_ns"] for row in rows]
    span = {"lo": min(starts), "hi": max(starts)}
    known = execute(cursor, Write.FIND_DUPLICATES, span).fetchall()
    if any(row.get("record") in _DIGEST_OF for row in rows):
        known += execute(cursor, Write.FIND_KNOWN_DIGESTS).fetchall()
    return {seq for (seq,) in known}


def _insert(cursor: duckdb.DuckDBPyConnection, rows: list[Row]) -> None:
    execute(cursor, Write.INSERT_SPANS)
    execute(cursor, Write.MERGE_TRACE_LOC)
    records = {row.get("record") for row in rows}
    if RecordKind.TOOLSET in records:
        execute(cursor, Write.INSERT_TOOLSETS)
        execute(cursor, Write.INSERT_TOOLSET_MEMBERS)
    if RecordKind.SCHEMA in records:
        execute(cursor, Write.INSERT_SCHEMAS)


def _derive(cursor: duckdb.DuckDBPyConnection, rows: list[Row], times: Times) -> None:
    """Derive again every call of which a span came in."""
    starts: dict[str, list[int]] = {}
    for row in rows:
        if row.get("call_id") is not None and row.get("record") is not None:
            starts.setdefault(row["call_id"], []).append(row["start_ns"])
    if not starts:
        return
    cursor.register(_TOUCHED, pa.table({"call_id": pa.array(starts, type=pa.string())}))
    lo, hi = min(map(min, starts.values())), max(map(max, starts.values()))
    stored_lo, stored_hi = execute(cursor, Write.FIND_TOUCHED_RANGE).fetchall()[0]
    if stored_lo is not None:
        lo, hi = min(lo, stored_lo), max(hi, stored_hi)
        execute(cursor, Write.FORGET_TOUCHED, {"lo": lo, "hi": hi})
    cursor.register(_TOUCHED_SPANS, fetch(cursor, Write.FIND_TOUCHED_SPANS, {"lo": lo, "hi": hi}))
    execute(cursor, Write.PLAN_PLAINLY)
    execute(cursor, Write.DERIVE_CALLS, {"now": times.now, "open_timeout": times.open_timeout})
    execute(cursor, Write.OPTIMIZE)
    cursor.unregister(_TOUCHED_SPANS)
    cursor.unregister(_TOUCHED)


def count(cursor: duckdb.DuckDBPyConnection, spans: Mapping[str, int], requests: Mapping[str, int]) -> None:
    """Add to the counts in `ingest`, by reason."""
    reasons = sorted(requests)
    numbers = {"spans": [spans.get(reason, 0) for reason in reasons], "requests": [requests[reason] for reason in reasons]}
    if reasons:
        execute(cursor, Write.COUNT_INGEST, {"reasons": reasons, **numbers})


def _count_receipts(cursor: duckdb.DuckDBPyConnection, receipts: list[Receipt]) -> None:
    spans: Counter[str] = Counter()
    requests: Counter[str] = Counter()
    for receipt in receipts:
        outcome = {"stored": receipt.stored, "duplicate": receipt.duplicate, **receipt.rejected}
        spans.update(outcome)
        requests.update(reason for reason, number in outcome.items() if number)
    count(cursor, spans, requests)


def _store_rows(cursor: duckdb.DuckDBPyConnection, given: _Distinct, times: Times) -> Counter[int]:
    """Store what is new and derive what it touches; the number of stored rows by batch."""
    if not given.rows:
        return Counter()
    table = table_of(given.rows, times.now).append_column("seq", pa.array(range(len(given.rows)), type=pa.int64()))
    cursor.register(_INCOMING, table)
    known = _stored_already(cursor, given.rows)
    new = [position for position in range(len(given.rows)) if position not in known]
    rows = [given.rows[position] for position in new]
    if known and rows:
        cursor.register(_INCOMING, table.take(new))
    if rows:
        _insert(cursor, rows)
        _derive(cursor, rows, times)
    cursor.unregister(_INCOMING)
    return Counter(given.batch_of[position] for position in new)


def store_group(
    cursor: duckdb.DuckDBPyConnection,
    batches: Sequence[list[Row]],
    rejected: Sequence[Mapping[str, int]],
    times: Times,
    redactions: Sequence[Redactions] = (),
) -> list[Receipt]:
    """Store the batches of a group, one receipt a batch; `rejected` counts what each lost before it came here.

    `redactions` counts what the redactor made of their spans.
    """
    stored = _store_rows(cursor, _distinct(batches), times)
    receipts = [
        Receipt(
            received=len(batch) + sum(lost.values()),
            stored=stored[index],
            duplicate=len(batch) - stored[index],
            rejected=dict(lost),
        )
        for index, (batch, lost) in enumerate(zip(batches, rejected, strict=True))
    ]
    _count_receipts(cursor, receipts)
    counts = counts_of(redactions)
    if counts["spans"]:
        execute(cursor, Write.COUNT_REDACTIONS, counts)
    return receipts
