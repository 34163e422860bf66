"""The standard OTLP/HTTP exporter, kept from everything that belongs to the application's own telemetry."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import requests
from opentelemetry import context as otel_context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.trace.export import SpanExporter

from toolwitness.sdk.settings import Settings

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_OWN_HEADERS = {
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "user-agent",
}
_EXPORTER_LOGGERS = (
    "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.http.transport",
    "opentelemetry.exporter.otlp.common",
    "opentelemetry.attributes",
    "urllib3.connectionpool",
)

_exporting = threading.local()


class _OwnSession(requests.Session):
    """A session that sends no header, certificate or proxy that the environment holds for the application's vendor.

    The exporter adds `OTEL_EXPORTER_OTLP_HEADERS` to whatever it is given; those may be a vendor's key.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__()
        self.trust_env = False
        self._wanted = {key.lower(): value for key, value in headers.items()}

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Send with our own headers only."""
        foreign = [key for key in request.headers if key.lower() not in _OWN_HEADERS]
        for key in foreign:
            del request.headers[key]
        request.headers.update(self._wanted)
        return super().send(request, **{**options, "verify": True, "cert": None})


def otlp_exporter(settings: Settings) -> SpanExporter:
    """The exporter to `settings.endpoint`."""
    endpoint = settings.endpoint.rstrip("/") + "/v1/traces"
    local = urlsplit(endpoint).hostname in _LOOPBACK
    return OTLPSpanExporter(
        endpoint=endpoint,
        headers=settings.headers,
        timeout=settings.export_timeout_s,
        compression=Compression.NoCompression if local else Compression.Gzip,
        session=None if settings.use_otel_exporter_variables else _OwnSession(settings.headers),
        meter_provider=NoOpMeterProvider(),
    )


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
