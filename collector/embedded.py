"""Exporters that store spans without OTLP over the network, or through the process that holds the file."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from toolwitness.collector.receive.decode import rows_of_request
from toolwitness.collector.store.receipt import Receipt
from toolwitness.collector.store.remote import RemoteStore, running
from toolwitness.collector.store.store import Store
from toolwitness.sdk.exporting import our_export


class _CountingExporter(SpanExporter):
    """Exports on the caller's thread and adds up what became of the spans."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._receipt = Receipt()
        self._ended = False

    @property
    def receipt(self) -> Receipt:
        """What became of all spans so far."""
        with self._lock:
            return self._receipt

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Store the spans; they are durable when this returns. FAILURE only after `shutdown`.

        Raises what the store raises: whoever exports by hand wants to know, and the SDK's worker guards its exporter.
        """
        if self._ended:
            return SpanExportResult.FAILURE
        with our_export():
            receipt = self._store(spans)
        with self._lock:
            self._receipt += receipt
        return SpanExportResult.SUCCESS

    def _store(self, spans: Sequence[ReadableSpan]) -> Receipt:
        raise NotImplementedError

    def shutdown(self) -> None:
        """Take no more spans."""
        self._ended = True

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing waits here, so there is nothing to do."""
        del timeout_millis
        return True


class StoreExporter(_CountingExporter):
    """Writes spans to a store of this process by the same decoding that OTLP goes through.

    `owned` says that the store is this exporter's own, so that `shutdown` closes it.
    """

    def __init__(self, store: Store, *, owned: bool = False) -> None:
        super().__init__()
        self.store = store
        self._owned = owned

    def _store(self, spans: Sequence[ReadableSpan]) -> Receipt:
        decoded = rows_of_request(encode_spans(spans))
        (receipt,) = self.store.write_group([decoded.rows], [decoded.rejected], [decoded.redactions])
        return receipt

    def shutdown(self) -> None:
        """Take no more spans, and close the store if it is this exporter's own."""
        if self._owned and not self._ended:
            self.store.close()
        super().shutdown()


class RemoteExporter(_CountingExporter):
    """Sends spans to the toolwitness that holds the file, and learns what became of them."""

    def __init__(self, remote: RemoteStore) -> None:
        super().__init__()
        self.remote = remote

    def _store(self, spans: Sequence[ReadableSpan]) -> Receipt:
        return self.remote.ingest(encode_spans(spans).SerializeToString())


def sink_of(store: Store | RemoteStore) -> StoreExporter | RemoteExporter:
    """Where spans go that belong into a store that is open already, here or behind a running toolwitness."""
    return RemoteExporter(store) if isinstance(store, RemoteStore) else StoreExporter(store)


def open_sink(db: str | Path) -> StoreExporter | RemoteExporter:
    """Where spans for this file go: to the toolwitness that serves it, or into the file itself.

    Raises StoreHeldError where a process holds the file that does not answer, StoreVersionError where the file is of
    another version.
    """
    remote = running(Path(db))
    return StoreExporter(Store.open(db), owned=True) if remote is None else RemoteExporter(remote)
