"""OTLP spans to rows of the store: ours by the codec's columns, foreign ones by what redaction leaves of them.

Nothing from outside is taken on trust: ids and times are checked, own attributes must lie in their field's domain, free
text is scanned again, and a foreign span keeps no text that was not redacted here. A span that cannot be kept is counted
under a reason and takes no other span with it:

- `malformed_span`: an element of an OTLP JSON array that is no span
- `invalid_trace_id`, `invalid_span_id`: not 16 or 8 bytes, or all zero
- `invalid_time`: missing, or outside the years 2000 to 2099, as where seconds or milliseconds were sent for nanoseconds;
  where a span of ours says that its times stand for an order only, every positive time is good
- `missing_field`: a span of ours without a field that its record needs, or with one outside its domain
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from toolwitness.collector.receive.scan import TEXTS, Scan, masked
from toolwitness.collector.receive.wire import Parsed, parse
from toolwitness.collector.store.columns import Row
from toolwitness.model import names
from toolwitness.model.codec import COLUMN_OF_ATTRIBUTE
from toolwitness.model.enums import RecordKind
from toolwitness.model.records import RECORD_TYPES, Record
from toolwitness.redaction import Clean, clean

PROBLEMS = "toolwitness.problems"
"""Key in `rest` under which the names of dropped attributes and envelope fields stand; never their values."""

_TRACE_ID_BYTES, _SPAN_ID_BYTES = 16, 8
_EARLIEST_NS = 946_684_800 * 10**9  # 2000-01-01
_END_NS = 4_102_444_800 * 10**9  # 2100-01-01
_INT64_END = 1 << 63
_STATUS = {1: "ok", 2: "error"}
_SAID_ELSEWHERE = frozenset({names.RECORD, names.OPERATION})
"""Own attributes that are no fields: the first is column `record`, the second follows from it."""


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
    """A request's spans as rows, and how many could not be kept, by reason."""

    rows: list[Row]
    rejected: dict[str, int]

    @property
    def received(self) -> int:
        """How many spans the request had."""
        return len(self.rows) + sum(self.rejected.values())


def decode_request(body: bytes, media: str) -> Decoded:
    """The rows of an OTLP trace request, decompressed, of media type `wire.PROTOBUF` or `wire.JSON`.

    Raises RefusedError (400) where the body is no request of that type at all.
    """
    return rows_of(parse(body, media))


def rows_of(parsed: Parsed) -> Decoded:
    """The rows of a parsed request."""
    rejected = Counter({"malformed_span": parsed.malformed} if parsed.malformed else {})
    rows: list[Row] = []
    scan = Scan()
    for resource_spans in parsed.request.resource_spans:
        service = _service(resource_spans)
        for scope_spans in resource_spans.scope_spans:
            named = {"service": service, "scope": masked(scope_spans.scope.name)}
            shared = {name: value for name, value in named.items() if value}
            for span in scope_spans.spans:
                try:
                    rows.append(_row(span, shared, scan))
                except _RejectedError as reason:
                    rejected[str(reason)] += 1
    scan.mask()
    return Decoded(rows, dict(rejected))


def rows_of_request(request: ExportTraceServiceRequest) -> Decoded:
    """The rows of a request that never was on the wire."""
    return rows_of(Parsed(request))


def _service(resource_spans: Any) -> str:
    """The resource's `service.name`; everything else about the resource stays out."""
    for pair in resource_spans.resource.attributes:
        if pair.key == "service.name":
            return masked(pair.value.string_value)
    return ""


def _row(span: Any, shared: Mapping[str, str], scan: Scan) -> Row:
    """The span's row. Raises _RejectedError where it cannot be kept."""
    attributes = {pair.key: _value(pair.value) for pair in span.attributes}
    problems: list[str] = []
    row: Row = {"name": span.name, "status_code": _STATUS.get(span.status.code, "unset"), **shared}
    row |= _ids(span, problems)
    kind = attributes.get(names.RECORD)
    if type(kind) is str and kind in _KINDS:
        rest = _take_own(kind, attributes, row, problems)
        texts = row.keys() & TEXTS
    else:
        rest, texts = attributes, {"name"}
    row |= _times(span, problems, time_known=row.get("time_known") is not False)
    scan.add(row, texts)
    if rest or problems:
        row["rest"] = _rest(rest, problems)
    return row


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
        good = [link for link in span.links if len(link.trace_id) == _TRACE_ID_BYTES and _is_span_id(link.span_id)]
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


def _value(value: Any) -> Any:
    """An OTLP value as Python has it; bytes stay bytes, of which redaction leaves the size class."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    inner = getattr(value, kind)
    if kind == "array_value":
        return [_value(item) for item in inner.values]
    if kind == "kvlist_value":
        return {pair.key: _value(pair.value) for pair in inner.values}
    return inner


def _rest(attributes: Mapping[str, Any], problems: list[str]) -> str:
    """JSON of what redaction leaves of the attributes, and of what was wrong with the span."""
    cleaned = clean(dict(attributes))
    rest = cleaned.value if isinstance(cleaned, Clean) else {"toolwitness.minimal": cleaned.reason}
    if problems:
        rest[PROBLEMS] = problems
    return json.dumps(rest, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
