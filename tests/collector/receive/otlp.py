"""OTLP requests written by hand: spans of records, and foreign ones."""

from __future__ import annotations

import base64
import itertools

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList

from toolwitness.model import codec
from toolwitness.model.enums import GateKind, Verdict
from toolwitness.model.records import Call, Gate, Record

START_NS = 1_793_577_600_000_000_000
"""Monday 2026-11-02T00:00:00Z."""
_numbers = itertools.count(1)


def value(given) -> AnyValue:
    """An OTLP value."""
    if isinstance(given, bool):
        return AnyValue(bool_value=given)
    if isinstance(given, str):
        return AnyValue(string_value=given)
    if isinstance(given, int):
        return AnyValue(int_value=given)
    if isinstance(given, float):
        return AnyValue(double_value=given)
    if isinstance(given, bytes):
        return AnyValue(bytes_value=given)
    if isinstance(given, dict):
        return AnyValue(kvlist_value=KeyValueList(values=pairs(given)))
    return AnyValue(array_value=ArrayValue(values=map(value, given)))


def pairs(given) -> list[KeyValue]:
    """OTLP attributes."""
    return [KeyValue(key=key, value=value(item)) for key, item in given.items()]


def span_id() -> str:
    """An id that no other span of the test run has."""
    return f"{next(_numbers):016x}"


def add(request, attributes, **fields):
    """Add a span to the request's only scope; `fields` overrule the span's own; returns the span."""
    if not request.resource_spans:
        request.resource_spans.add().scope_spans.add()
    span = request.resource_spans[0].scope_spans[0].spans.add()
    span.trace_id, span.span_id, span.name = bytes(15) + b"\1", bytes.fromhex(span_id()), "work"
    span.start_time_unix_nano, span.end_time_unix_nano = START_NS, START_NS + 1_000
    span.attributes.extend(pairs(attributes))
    for name, given in fields.items():
        setattr(span, name, given)
    return span


def request_of(*attributes, **fields) -> ExportTraceServiceRequest:
    """A request with one span for each mapping of attributes."""
    request = ExportTraceServiceRequest()
    for each in attributes:
        add(request, each, **fields)
    return request


def of_records(*records: Record) -> ExportTraceServiceRequest:
    """A request with one span a record, named as the SDK names it."""
    request = ExportTraceServiceRequest()
    for record in records:
        add(request, codec.encode(record), name=codec.span_name(record))
    return request


def calls(number: int) -> ExportTraceServiceRequest:
    """A request with so many calls, a gate each."""
    ids = [span_id() for _ in range(number)]
    return of_records(
        *(Call(run_id="r", call_id=each, call_ordinal=at, tool="look", server="shop") for at, each in enumerate(ids)),
        *(Gate(run_id="r", call_id=each, gate_kind=GateKind.POLICY, verdict=Verdict.ALLOW) for each in ids),
    )


def as_otlp_json(request: ExportTraceServiceRequest) -> dict:
    """The request as OTLP JSON has it: protobuf's JSON, but ids in hex."""
    document = MessageToDict(request)
    for resource_spans in document.get("resourceSpans", []):
        for scope_spans in resource_spans.get("scopeSpans", []):
            for span in scope_spans.get("spans", []):
                for name in {"traceId", "spanId", "parentSpanId"} & span.keys():
                    span[name] = base64.b64decode(span[name]).hex()
    return document
