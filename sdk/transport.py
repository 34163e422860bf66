"""The standard OTLP/HTTP exporter, kept from everything that belongs to the application's own telemetry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import requests
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.trace.export import SpanExporter

from toolwitness.sdk.guard import worker_guard
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
    exporter = OTLPSpanExporter(
        endpoint=endpoint,
        headers=settings.headers,
        timeout=settings.export_timeout_s,
        compression=Compression.NoCompression if local else Compression.Gzip,
        session=None if settings.use_otel_exporter_variables else _OwnSession(settings.headers),
        meter_provider=NoOpMeterProvider(),
    )
    with worker_guard:
        # It draws jitter from `random` at every export, which an agent may have seeded to decide the same every time.
        exporter._client._compute_backoff = lambda retry: 2.0**retry  # type: ignore[method-assign]  # noqa: SLF001 -- there is no setting
    return exporter
