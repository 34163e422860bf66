"""A span exporter around another one: only redacted copies of spans pass, those of any instrumentation.

    provider.add_span_processor(BatchSpanProcessor(RedactingSpanExporter(OTLPSpanExporter())))

It fails closed, span by span: one that cannot be redacted shrinks to its ids, times and status code.
"""

from __future__ import annotations

import os
import re
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from toolwitness.model.exceptions import SettingsError
from toolwitness.model.names import ATTRIBUTE_OF
from toolwitness.redaction import Minimal, RedactionPolicy
from toolwitness.redaction.attributes import clean_attributes
from toolwitness.redaction.closed import fails_closed
from toolwitness.redaction.compact import compact_json
from toolwitness.redaction.conventions import event_name, keeps, keeps_of_resource, scope_name, scope_version, span_name
from toolwitness.redaction.policy_file import load_policy
from toolwitness.redaction.template import GAP, message_template
from toolwitness.sdk.labels import plain

__all__ = ["RedactingSpanExporter"]

_MINIMAL = ATTRIBUTE_OF["minimal"]
_LEFT_OUT = "toolwitness.redaction.left_out"
"""How many attributes, events and links of a span were beyond the limits, so that nothing of them was looked at."""
_MOST_EVENTS = 128
"""Events, and links, of one span; the first ones are kept."""
_MAX_SECONDS = 1.0
"""Processor time of the exporting thread for one span."""
_INT64 = 1 << 63
_SCHEMA_URL = re.compile(r"https://opentelemetry\.io/schemas/[0-9.]{1,16}")


class _ShrunkError(Exception):
    """A span of which no clean copy can be made within the limits; `reason` is a word of `Minimal`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RedactingSpanExporter(SpanExporter):
    """Hands redacted copies of spans to `inner`, any span exporter, whoever made the spans.

    `policy` is what the application declares of its own attributes, by selectors such as `*:attributes["app.tenant"]`; what
    neither it nor OpenTelemetry's conventions know leaves its shape only. Trace state is dropped, links and parents keep
    their ids, and of the resource the service, the SDK and the deployment's name stay.

    `policy` may also be the path of a policy file. It is this exporter's own: `TOOLWITNESS_POLICY` is the recorder's.

    Raises SettingsError for a policy that is none, then what `inner` raises, and nothing of its own.
    """

    def __init__(self, inner: SpanExporter, *, policy: RedactionPolicy | str | os.PathLike[str] | None = None) -> None:
        self._inner = inner
        if isinstance(policy, str | os.PathLike):
            policy = load_policy(policy)
        if not isinstance(policy, RedactionPolicy | None):
            raise SettingsError(f"policy is a RedactionPolicy or the path of a policy file, not a {type(policy).__name__}")
        self._policy = policy or RedactionPolicy()
        self._received = self._redacted = self._failed = 0
        self._new_process()
        renew = weakref.WeakMethod(self._new_process)  # the registration lasts as long as the process, the exporter may not
        os.register_at_fork(after_in_child=lambda: (again := renew()) and again())

    def _new_process(self) -> None:
        self._lock = threading.Lock()

    @property
    def spans_received(self) -> int:
        """Spans that were handed in so far; always `spans_redacted` + `redaction_failures`."""
        return self._received

    @property
    def spans_redacted(self) -> int:
        """Spans that were passed on as redacted copies."""
        return self._redacted

    @property
    def redaction_failures(self) -> int:
        """Spans that were passed on without content because the redactor failed or met a limit.

        Those without valid ids, which no exporter can send, were left out.
        """
        return self._failed

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Redact the spans and export them; what the inner exporter answers is returned."""
        safe = [copy for copy in map(self._safe, spans) if copy is not None]
        if spans and not safe:
            return SpanExportResult.SUCCESS
        return self._inner.export(safe)

    def shutdown(self) -> None:
        """Shut the inner exporter down."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flush the inner exporter; what it answers is returned."""
        return self._inner.force_flush(timeout_millis)

    def _safe(self, span: ReadableSpan) -> ReadableSpan | None:
        """The copy that may leave, counted."""
        made = fails_closed(_copy_or_reason, span, self._policy)
        failed = not isinstance(made, ReadableSpan)
        copy = fails_closed(_minimal, span, made or "error") if failed else made
        with self._lock:
            self._received += 1
            self._redacted += not failed
            self._failed += failed
        return copy if isinstance(copy, ReadableSpan) else None


def _copy_or_reason(span: ReadableSpan, policy: RedactionPolicy) -> ReadableSpan | str:
    try:
        return _Copy(policy).of(span)
    except _ShrunkError as shrunk:
        return shrunk.reason


class _Copy:
    """The making of one span's copy."""

    def __init__(self, policy: RedactionPolicy) -> None:
        self._policy = policy
        self._left_out = 0
        self._deadline = time.thread_time() + _MAX_SECONDS

    def of(self, span: ReadableSpan) -> ReadableSpan:
        """The redacted copy. Raises _ShrunkError where there is none, and ValueError where the span has no valid ids."""
        given = span.attributes or {}
        events = [self._event(event) for event in self._bounded(span.events)]
        links = [Link(_context(link.context), self._attributes(link.attributes)) for link in self._bounded(span.links)]
        attributes = self._attributes(given)
        if self._left_out:
            attributes[_LEFT_OUT] = self._left_out
        return ReadableSpan(
            name=span_name(span.name, given.get("http.route")),
            attributes=attributes,
            events=events,
            links=links,
            kind=SpanKind(span.kind),
            status=_status(span.status),
            resource=_resource(span.resource),
            instrumentation_scope=_scope(span.instrumentation_scope),
            **_place(span),
        )

    def _bounded(self, items: Sequence[Any]) -> Sequence[Any]:
        self._left_out += max(0, len(items) - _MOST_EVENTS)
        return items[:_MOST_EVENTS]

    def _attributes(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        if not given:
            return {}
        if time.thread_time() > self._deadline:
            raise _ShrunkError("time")
        copy = clean_attributes(given, self._policy)
        if isinstance(copy, Minimal):
            raise _ShrunkError(copy.reason)
        self._left_out += copy.left_out
        return {plain(name): _sendable(value) for name, value in copy.values.items() if value is not None}

    def _event(self, event: Any) -> Event:
        return Event(event_name(event.name), self._attributes(event.attributes), _time(event.timestamp))


def _minimal(span: ReadableSpan, reason: str) -> ReadableSpan:
    """The span without any content. Raises ValueError where it has no valid ids."""
    code = fails_closed(lambda: StatusCode(span.status.status_code))
    return ReadableSpan(
        name=fails_closed(lambda: span_name(span.name)) or GAP,
        attributes={_MINIMAL: reason},
        status=Status(code or StatusCode.UNSET),
        resource=Resource({}),
        **_place(span),
    )


def _place(span: ReadableSpan) -> dict[str, Any]:
    """Where and when the span stands."""
    parent = None if span.parent is None else _context(span.parent)
    return {
        "context": _context(span.context),
        "parent": parent,
        "start_time": _time(span.start_time),
        "end_time": _time(span.end_time),
    }


def _context(given: Any) -> SpanContext:
    """The ids without the trace state, which holds texts of whoever the request passed."""
    flags = TraceFlags(given.trace_flags)
    context = SpanContext(int(given.trace_id), int(given.span_id), is_remote=bool(given.is_remote), trace_flags=flags)
    if not context.is_valid:
        raise ValueError("a span without ids")
    return context


def _time(given: Any) -> int | None:
    """Nanoseconds as the wire takes them."""
    return given if type(given) is int and 0 <= given < _INT64 else None


def _status(given: Status) -> Status:
    """The status; of its description what can be a message's fixed text."""
    if given.status_code is not StatusCode.ERROR or not given.description:
        return Status(StatusCode(given.status_code))
    return Status(StatusCode.ERROR, message_template(given.description))


def _resource(given: Resource) -> Resource:
    kept = {name: value for name, value in given.attributes.items() if keeps_of_resource(name, value)}
    return Resource(kept, _schema_url(given.schema_url))


def _scope(given: InstrumentationScope | None) -> InstrumentationScope | None:
    if given is None:
        return None
    kept = {name: value for name, value in (given.attributes or {}).items() if keeps(name, value)}
    return InstrumentationScope(scope_name(given.name), scope_version(given.version), _schema_url(given.schema_url), kept)


def _schema_url(given: Any) -> str:
    return given if type(given) is str and _SCHEMA_URL.fullmatch(given) else ""


def _sendable(value: Any) -> Any:
    """A clean value as an attribute may have it: structures, placeholders among them, are JSON text."""
    kind = type(value)
    if kind is str:
        return plain(value)
    if kind is list:
        one_kind = len({type(item) for item in value}) <= 1 and type(value[0] if value else "") in {str, bool, int, float}
        return tuple(_sendable(item) if one_kind else _json(item) for item in value)
    return _json(value) if kind is dict else value


def _json(value: Any) -> str:
    text = value if type(value) is str else compact_json(value)
    return plain(text)
