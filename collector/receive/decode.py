"""OTLP spans to rows of the store: ours by the codec's columns, foreign ones by what redaction leaves of them.

Nothing from outside is taken on trust: ids and times are checked, own attributes must lie in their field's domain, free
text is scanned again, and a foreign span keeps no text that was not redacted here. A span that cannot be kept is counted
under a reason and takes no other span with it:

- `malformed_span`: an element of an OTLP JSON array that is no span
- `invalid_trace_id`, `invalid_span_id`: not 16 or 8 bytes, or all zero
- `invalid_time`: missing, or outside the years 2000 to 2099, as where seconds or milliseconds were sent for nanoseconds;
  where a span of ours says that its times stand for an order only, every positive time is good
- `missing_field`: a span of ours without a field that its record needs, or with one outside its domain

A span that passes these checks is always stored. Where the redactor fails on it, answers `Minimal`, or has no more time left
for the request, it is stored without content (`shrink`) and counted as a failure, never as it came.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from toolwitness.collector.receive.scan import Scan, masked
from toolwitness.collector.receive.shrink import shrink
from toolwitness.collector.receive.values import MOST_LINKS, Values
from toolwitness.collector.receive.wire import Parsed, parse
from toolwitness.collector.store.columns import Row
from toolwitness.collector.store.redactions import Failure, Redactions
from toolwitness.model import names
from toolwitness.model.codec import COLUMN_OF_ATTRIBUTE
from toolwitness.model.enums import RecordKind
from toolwitness.model.records import RECORD_TYPES, Record
from toolwitness.redaction import Minimal
from toolwitness.redaction.attributes import MOST_ATTRIBUTES, clean_attributes
from toolwitness.redaction.closed import fails_closed
from toolwitness.redaction.compact import compact_json
from toolwitness.redaction.conventions import scope_name, span_name

PROBLEMS = "toolwitness.problems"
"""Key in `rest` under which the names of dropped attributes and envelope fields stand; never their values.

`attributes` is among them where a span had more, or larger ones, than are looked at.
"""

_TRACE_ID_BYTES, _SPAN_ID_BYTES = 16, 8
_EARLIEST_NS = 946_684_800 * 10**9  # 2000-01-01
_END_NS = 4_102_444_800 * 10**9  # 2100-01-01
_INT64_END = 1 << 63
_STATUS = {1: "ok", 2: "error"}
_SAID_ELSEWHERE = frozenset({names.RECORD, names.OPERATION})
"""Own attributes that are no fields: the first is column `record`, the second follows from it."""

_MAX_SECONDS = 4.0
"""Processor time for the redaction of one request; a full batch of the standard exporters needs a tenth of it."""
_MOST_WHEN_LATE = 100
"""Attributes of a span that are read when that time is over; a span of ours has fewer."""
_MOST_SENDERS = 16
"""Services and scopes by which one request's failures are counted apart."""
_OTHERS = "(others)"
_LONGEST_SENDER = 200
_REASONS = frozenset({"error", "size", "time", "depth"})
_MINIMAL = names.ATTRIBUTE_OF["minimal"]


def _default_row(record: type[Record]) -> Row:
    """What an absent attribute stands for, as the codec reads it."""
    given = {field.name: field.default for field in dataclasses.fields(record)}
    row = {
        name: value.value if isinstance(value, StrEnum) else value
        for name, value in given.items()
        if value is not None and value is not dataclasses.MISSING and value != ()
    }
    return {"record": record.kind.value, **row}


def _needed(record: type[Record]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(record) if field.default is dataclasses.MISSING)


_KINDS = frozenset(RecordKind)
_DEFAULTS = {kind.value: _default_row(record) for kind, record in RECORD_TYPES.items()}
_NEEDED = {kind.value: _needed(record) for kind, record in RECORD_TYPES.items()}


class _RejectedError(Exception):
    """A span that cannot be kept; its text is the reason's name."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A request's spans as rows, how many could not be kept, by reason, and what the redactor made of them."""

    rows: list[Row]
    rejected: dict[str, int]
    redactions: Redactions = field(default_factory=Redactions)

    @property
    def received(self) -> int:
        """How many spans the request had."""
        return len(self.rows) + sum(self.rejected.values())


def decode_request(body: bytes, media: str) -> Decoded:
    """The rows of an OTLP trace request, decompressed, of media type `wire.PROTOBUF` or `wire.JSON`.

    Raises RefusedError (400) where the body is no request of that type at all.
    """
    return rows_of(parse(body, media))


def rows_of(parsed: Parsed, *, clock: Callable[[], float] = time.thread_time) -> Decoded:
    """The rows of a parsed request; `clock` gives the seconds that count against the time for one request."""
    reading = _Reading(parsed, clock)
    for resource_spans in parsed.request.resource_spans:
        service = _service(resource_spans)
        for scope_spans in resource_spans.scope_spans:
            scope = fails_closed(scope_name, scope_spans.scope.name) or ""
            sender = {"service": service, "scope": scope if scope_spans.scope.name else ""}
            for span in scope_spans.spans:
                reading.read(span, {name: value[:_LONGEST_SENDER] for name, value in sender.items() if value})
    return reading.done()


def rows_of_request(request: ExportTraceServiceRequest) -> Decoded:
    """The rows of a request that never was on the wire."""
    return rows_of(Parsed(request))


def _service(resource_spans: Any) -> str:
    """The resource's `service.name`; everything else about the resource stays out."""
    for pair in resource_spans.resource.attributes:
        if pair.key == "service.name":
            return fails_closed(masked, pair.value.string_value) or ""
    return ""


class _Reading:
    """The making of one request's rows."""

    def __init__(self, parsed: Parsed, clock: Callable[[], float]) -> None:
        self._rows: list[Row] = []
        self._rejected = Counter({"malformed_span": parsed.malformed} if parsed.malformed else {})
        self._whole = parsed.whole
        self._read = 0
        self._failed: dict[int, str] = {}
        """Reasons by the place of the row."""
        self._senders: list[Mapping[str, str]] = []
        self._scan = Scan()
        self._clock = clock
        self._deadline = clock() + _MAX_SECONDS

    def _is_late(self) -> bool:
        return self._clock() > self._deadline

    def read(self, span: Any, sender: Mapping[str, str]) -> None:
        """Take in one span of a sender."""
        late = self._is_late() or (self._whole is not None and self._read >= self._whole)
        self._read += 1
        try:
            row, rest = _checked(span, sender, late=late)
        except _RejectedError as reason:
            self._rejected[str(reason)] += 1
            return
        failed = "time" if late else fails_closed(_redact, span, row, rest)
        if failed is None or failed in _REASONS:
            self._failed[len(self._rows)] = failed or "error"
        elif "record" in row:
            self._scan.add(row)
        self._rows.append(row)
        self._senders.append(sender)

    def done(self) -> Decoded:
        """Scan what is ours, take the content out of what failed, and count."""
        places = {id(row): at for at, row in enumerate(self._rows)}
        for row, reason in self._scan.mask(self._is_late):
            self._failed.setdefault(places[id(row)], reason)
        for at, reason in self._failed.items():
            shrink(self._rows[at], reason)
        before = sum(self._rejected.values())
        counts = Redactions(
            received=len(self._rows) + before,
            redacted=len(self._rows) - len(self._failed),
            rejected=before,
            failed=self._failures(),
        )
        return Decoded(self._rows, dict(self._rejected), counts)

    def _failures(self) -> dict[Failure, int]:
        counted: Counter[Failure] = Counter()
        for at, reason in self._failed.items():
            failure = Failure(reason, **self._senders[at])
            known = failure in counted or len(counted) < _MOST_SENDERS
            counted[failure if known else Failure(reason, _OTHERS, _OTHERS)] += 1
        return dict(counted)


@dataclass(slots=True)
class _Rest:
    """What of a span has no column: attributes, and the names of what was wrong with it."""

    attributes: dict[str, Any]
    problems: list[str]


def _checked(span: Any, sender: Mapping[str, str], *, late: bool) -> tuple[Row, _Rest]:
    """The span's row, whose texts are still to be looked at, and its rest. Raises _RejectedError where it cannot be kept."""
    problems: list[str] = []
    row: Row = {"name": span.name, "status_code": _STATUS.get(span.status.code, "unset"), **sender}
    row |= _ids(span, problems)
    rest = _attributes(span, problems, most=_MOST_WHEN_LATE if late else MOST_ATTRIBUTES)
    kind = rest.get(names.RECORD)
    if type(kind) is str and kind in _KINDS:
        rest = _take_own(kind, rest, row, problems)
    elif late:
        rest = {}
    row |= _times(span, problems, time_known=row.get("time_known") is not False)
    return row, _Rest(rest, problems)


def _attributes(span: Any, problems: list[str], *, most: int) -> dict[str, Any]:
    values = Values()
    found = {pair.key: values.read(pair.value) for pair in islice(span.attributes, most)}
    if values.cut or len(span.attributes) > most:
        problems.append("attributes")
    return found


def _redact(span: Any, row: Row, rest: _Rest) -> str:
    """Fill in what redaction leaves of a span; a word of `_REASONS` where it leaves nothing, else empty."""
    if "record" not in row:
        row["name"] = span_name(span.name, rest.attributes.get("http.route"))
        shrunk = rest.attributes.get(_MINIMAL)
        if type(shrunk) is str and shrunk in _REASONS:
            row["minimal"] = rest.attributes.pop(_MINIMAL)
    copy = clean_attributes(rest.attributes)
    if isinstance(copy, Minimal):
        return copy.reason
    left = {**copy.values, PROBLEMS: rest.problems} if rest.problems else copy.values
    if left:
        row["rest"] = compact_json(left)
    return ""


def _ids(span: Any, problems: list[str]) -> Row:
    if len(span.trace_id) != _TRACE_ID_BYTES or not any(span.trace_id):
        raise _RejectedError("invalid_trace_id")
    if not _is_span_id(span.span_id):
        raise _RejectedError("invalid_span_id")
    row: Row = {"trace_id": span.trace_id.hex(), "span_id": span.span_id.hex()}
    if _is_span_id(span.parent_span_id):
        row["parent_span_id"] = span.parent_span_id.hex()
    elif any(span.parent_span_id):
        problems.append("parent_span_id")
    if span.links:
        seen = islice(span.links, MOST_LINKS)
        good = [link for link in seen if len(link.trace_id) == _TRACE_ID_BYTES and _is_span_id(link.span_id)]
        row["links"] = [f"{link.trace_id.hex()}:{link.span_id.hex()}" for link in good]
        if len(good) < len(span.links):
            problems.append("links")
    return row


def _is_span_id(given: bytes) -> bool:
    return len(given) == _SPAN_ID_BYTES and any(given)


def _times(span: Any, problems: list[str], *, time_known: bool) -> Row:
    """The checked times. A clock that was set back during a span makes it end before it starts: then it has no length."""
    start_ns, end_ns = span.start_time_unix_nano, span.end_time_unix_nano
    earliest, end = (_EARLIEST_NS, _END_NS) if time_known else (1, _INT64_END)
    if not (earliest <= start_ns < end and earliest <= end_ns < end):
        raise _RejectedError("invalid_time")
    if end_ns < start_ns:
        problems.append("end_ns")
    return {"start_ns": start_ns, "end_ns": max(start_ns, end_ns)}


def _take_own(kind: str, attributes: Mapping[str, Any], row: Row, problems: list[str]) -> dict[str, Any]:
    """Fill the row with the record's columns; returns the attributes that are none.

    Raises _RejectedError where a needed one is missing.
    """
    row |= _DEFAULTS[kind]
    rest: dict[str, Any] = {}
    for attribute, value in attributes.items():
        column = COLUMN_OF_ATTRIBUTE.get(attribute)
        if column is None:
            if attribute not in _SAID_ELSEWHERE:
                rest[attribute] = value
            continue
        try:
            row[column.name] = column.read(value)
        except (ValueError, TypeError, RecursionError):
            problems.append(attribute)
    if any(row.get(name) is None for name in _NEEDED[kind]):
        raise _RejectedError("missing_field")
    return rest
