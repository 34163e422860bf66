"""OTLP on the wire: a body in either format to one request message, and a receipt to the answer in the same format."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from google.protobuf.json_format import MessageToJson, ParseDict, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from starlette.responses import Response

from toolwitness.collector.receive.refusal import Refusal, RefusedError
from toolwitness.collector.receive.values import MOST_LINKS, MOST_NODES
from toolwitness.collector.store.receipt import Receipt
from toolwitness.redaction.attributes import MOST_ATTRIBUTES

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
RECEIPT_HEADER = "toolwitness-receipt"

_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_NO_ID = base64.b64encode(b"?").decode()
"""Stands for an id that is not hex: no id has one byte, so the span or link is found wrong by its length."""
_ID_NAMES = ("traceId", "trace_id", "spanId", "span_id", "parentSpanId", "parent_span_id")
_TIME_NAMES = ("startTimeUnixNano", "start_time_unix_nano", "endTimeUnixNano", "end_time_unix_nano")
_HELD = frozenset({"scopeSpans", "scope_spans", "spans"})
_UINT64_END = 1 << 64
_ENVELOPE = frozenset({*_ID_NAMES, *_TIME_NAMES, "status"})
_MAX_SECONDS = 4.0
"""Processor time for reading one request's spans from JSON."""
_MALFORMED = (ParseError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)
"""What `ParseDict` lets out where a value is of another JSON type than the field's (found by fuzzing)."""


class Parsed(NamedTuple):
    """A request's message, and how many spans of it were no spans at all, so that they are missing in it.

    Of the spans behind the first `whole` ones only the envelope was read, since the time for one request was over.
    """

    request: ExportTraceServiceRequest
    malformed: int = 0
    whole: int | None = None


def media_of(content_type: str | None) -> str:
    """The media type without its parameters. Raises RefusedError (415) where it is neither of the two of OTLP."""
    media = (content_type or "").partition(";")[0].strip().lower()
    if media not in {PROTOBUF, JSON}:
        raise RefusedError(Refusal.WRONG_CONTENT_TYPE)
    return media


def parse(body: bytes, media: str) -> Parsed:
    """The request that a body is; an empty one is a request without spans. Raises RefusedError (400) for anything else."""
    return _parse_protobuf(body) if media == PROTOBUF else _parse_json(body)


def _parse_protobuf(body: bytes) -> Parsed:
    try:
        return Parsed(ExportTraceServiceRequest.FromString(body))
    except DecodeError as error:
        raise RefusedError(Refusal.BAD_PROTOBUF) from error


def _parse_json(body: bytes) -> Parsed:
    """Read OTLP JSON, span by span: one that is malformed takes no other with it."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(Refusal.BAD_JSON) from error
    request = ExportTraceServiceRequest()
    reader = _SpanReader()
    for resource_json in _members(document, "resourceSpans", "resource_spans"):
        resource_spans = _filled(resource_json, request.resource_spans.add())
        for scope_json in _members(resource_json, "scopeSpans", "scope_spans"):
            scope_spans = _filled(scope_json, resource_spans.scope_spans.add())
            reader.add(_members(scope_json, "spans"), scope_spans)
    return Parsed(request, reader.malformed, reader.whole)


def _members(owner: Any, *names: str) -> list[Any]:
    """The list under the first of the names that is there; protobuf's JSON allows a field's own name too."""
    if not isinstance(owner, dict):
        raise RefusedError(Refusal.BAD_JSON)
    members: Any = next((owner[name] for name in names if owner.get(name) is not None), [])
    if not isinstance(members, list):
        raise RefusedError(Refusal.BAD_JSON)
    return members


def _filled(given: Any, message: Any) -> Any:
    """The message with all that the object says and is used, except for what it only holds."""
    if not isinstance(given, dict):
        raise RefusedError(Refusal.BAD_JSON)
    own = {name: _used(name, value) for name, value in given.items() if name not in _HELD}
    try:
        return ParseDict(own, message, ignore_unknown_fields=True)
    except _MALFORMED as error:
        raise RefusedError(Refusal.BAD_JSON) from error


def _used(name: str, value: Any) -> Any:
    """A resource or scope without the attributes that nobody reads, since reading them here is slow."""
    if name not in {"resource", "scope"} or not isinstance(value, dict) or not isinstance(value.get("attributes"), list):
        return value
    named = [pair for pair in value["attributes"] if isinstance(pair, dict) and pair.get("key") == "service.name"]
    return {**value, "attributes": named}


class _SpanReader:
    """Adds spans to scopes' messages, within a time for the whole request: protobuf's JSON takes 40 us an attribute.

    When that time is over, only ids, times and status of the spans are read.
    """

    def __init__(self) -> None:
        self.malformed = 0
        self.whole: int | None = None
        self._added = 0
        self._deadline = time.thread_time() + _MAX_SECONDS

    def add(self, spans: list[Any], target: Any) -> None:
        """Add each span to the scope's message, and count those that are none."""
        for span in spans:
            if self.whole is None and time.thread_time() > self._deadline:
                self.whole = self._added
            try:
                given = _as_protojson(span)
                if self.whole is not None:
                    given = {name: value for name, value in given.items() if name in _ENVELOPE}
                target.spans.append(ParseDict(given, Span(), ignore_unknown_fields=True))
            except _MALFORMED:
                self.malformed += 1
            else:
                self._added += 1


def _as_protojson(span: Any) -> dict[str, Any]:
    """The span as protobuf's own JSON has it: ids in base64, and times that cannot be read left out.

    Raises TypeError where it is no object.
    """
    if not isinstance(span, dict):
        raise TypeError("a span is an object")
    out = _with_base64_ids(span)
    for name in _TIME_NAMES:
        if name in out and not _is_time(out[name]):
            del out[name]
    links, attributes = out.get("links"), out.get("attributes")
    if isinstance(links, list):
        ids = (_with_base64_ids(link) for link in links[: MOST_LINKS + 1] if isinstance(link, dict))
        out["links"] = [{name: value for name, value in link.items() if name != "attributes"} for link in ids]
    if isinstance(attributes, list):
        # One more than is looked at, so that what was cut here is seen to be cut.
        out["attributes"] = _Trim().value(attributes[: MOST_ATTRIBUTES + 1])
    out.pop("events", None)  # which are not stored, and may be long
    return out


class _Trim:
    """Cuts the lists inside of a span's attributes to about as many members as are looked at."""

    def __init__(self) -> None:
        self._left = MOST_NODES + MOST_ATTRIBUTES + 1

    def value(self, given: Any) -> Any:
        """A JSON value with its lists cut; the one that exceeds the limit keeps one member too many, so that it shows."""
        if isinstance(given, dict):
            return {name: self.value(inner) for name, inner in given.items()}
        if isinstance(given, list):
            taken = given[: self._left + 1]
            self._left = max(0, self._left - len(taken))
            return [self.value(item) for item in taken]
        return given


def _with_base64_ids(given: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(given)
    for name in _ID_NAMES:
        if name in out:
            value = out[name]
            good = value is None or (isinstance(value, str) and _HEX.fullmatch(value))
            out[name] = base64.b64encode(bytes.fromhex(value or "")).decode() if good else _NO_ID
    return out


def _is_time(value: Any) -> bool:
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value) < _UINT64_END
    return type(value) is int and 0 <= value < _UINT64_END


def reply(receipt: Receipt, media: str) -> Response:
    """Answer 200 in the request's own format; spans that were rejected are a partial success with their reasons."""
    answer = ExportTraceServiceResponse()
    if receipt.rejected:
        answer.partial_success.rejected_spans = sum(receipt.rejected.values())
        reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(receipt.rejected.items()))
        answer.partial_success.error_message = f"rejected spans by reason: {reasons}"
    content = answer.SerializeToString() if media == PROTOBUF else MessageToJson(answer, indent=None).encode()
    return Response(content, media_type=media, headers={RECEIPT_HEADER: json.dumps(asdict(receipt))})
