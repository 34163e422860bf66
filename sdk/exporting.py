"""Exports of ours, told apart from those of the application: nobody traces them, and nobody but us logs about them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context as otel_context

_EXPORTER_LOGGERS = (
    "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.http.transport",
    "opentelemetry.exporter.otlp.common",
    "opentelemetry.attributes",
    "urllib3.connectionpool",
)

_exporting = threading.local()


def _said_by_others(_record: logging.LogRecord) -> bool:
    """Let through what was not logged by an export of ours."""
    return not getattr(_exporting, "active", False)


def quiet_exporters() -> None:
    """Keep the exporter's own log lines about our exports away; those of the application's exporters still come through."""
    for name in _EXPORTER_LOGGERS:
        logging.getLogger(name).addFilter(_said_by_others)


def loud_exporters() -> None:
    """Undo `quiet_exporters`."""
    for name in _EXPORTER_LOGGERS:
        logging.getLogger(name).removeFilter(_said_by_others)


@contextmanager
def our_export() -> Iterator[None]:
    """Mark this thread as exporting for us: HTTP instrumentations of the application look away, exporter logs are ours."""
    token = otel_context.attach(otel_context.set_value(otel_context._SUPPRESS_INSTRUMENTATION_KEY, True))  # noqa: SLF001 -- the key that all instrumentations look for has no public name
    before, _exporting.active = getattr(_exporting, "active", False), True
    try:
        yield
    finally:
        _exporting.active = before
        otel_context.detach(token)
