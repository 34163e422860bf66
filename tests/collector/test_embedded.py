import subprocess
import sys
import threading

import pytest
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, get_value
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import SpanContext, TraceFlags

from toolwitness.collector.embedded import RemoteExporter, StoreExporter, open_sink
from toolwitness.collector.store.owner import write_owner
from toolwitness.collector.store.receipt import Receipt
from toolwitness.collector.store.store import Store
from toolwitness.model import codec
from toolwitness.model.exceptions import CollectorAnswerError, StoreHeldError
from toolwitness.model.records import Run
from toolwitness.tests.collector.receive.otlp import START_NS, span_id

HOLD = """
import sys
from toolwitness.collector.store.store import Store
store = Store.open(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
store.close()
"""


def span_of(record):
    """The record as the SDK hands it to an exporter."""
    context = SpanContext(1, int(span_id(), 16), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return ReadableSpan(
        codec.span_name(record),
        context=context,
        attributes=codec.encode(record),
        start_time=START_NS,
        end_time=START_NS + 1,
    )


def run_ids(store):
    """The ids of the stored runs."""
    return sorted(row["run"] for row in store.query("runs").to_pylist())


@pytest.fixture(name="store")
def fixture_store(tmp_path):
    """A store in a file of its own."""
    store = Store.open(tmp_path / "spans.duckdb")
    yield store
    store.close()


def test_spans_are_in_the_file_when_export_returns(store):
    """No collector, no network; the same decoding."""
    exporter = StoreExporter(store)
    assert exporter.export([span_of(Run(run_id="r1")), span_of(Run(run_id="r2"))]) is SpanExportResult.SUCCESS
    assert run_ids(store) == ["r1", "r2"]


def test_receipts_add_up_over_threads(store):
    """Every export is counted once, and what came twice is a duplicate."""
    exporter = StoreExporter(store)
    spans = [span_of(Run(run_id=f"r{number}")) for number in range(8)]
    threads = [threading.Thread(target=exporter.export, args=([span] * 2,)) for span in spans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert exporter.receipt == Receipt(received=16, stored=8, duplicate=8)


def test_the_applications_instrumentation_is_off_while_spans_are_stored(store, monkeypatch):
    """Telemetry about telemetry would never end."""
    seen = []
    write_group = store.write_group
    monkeypatch.setattr(
        store, "write_group", lambda *given: seen.append(get_value(_SUPPRESS_INSTRUMENTATION_KEY)) or write_group(*given)
    )
    StoreExporter(store).export([span_of(Run(run_id="r1"))])
    assert (seen, get_value(_SUPPRESS_INSTRUMENTATION_KEY)) == ([True], None)


def test_a_free_file_is_written_directly_and_let_go(tmp_path):
    """After `shutdown` the next one can open it, and no span is taken any more."""
    sink = open_sink(tmp_path / "spans.duckdb")
    sink.export([span_of(Run(run_id="r1"))])
    sink.shutdown()
    sink.shutdown()
    assert isinstance(sink, StoreExporter)
    assert sink.export([span_of(Run(run_id="r2"))]) is SpanExportResult.FAILURE
    store = Store.open(tmp_path / "spans.duckdb")
    assert run_ids(store) == ["r1"]
    store.close()


def test_a_store_that_was_given_stays_open(store):
    """Whoever opened it closes it."""
    StoreExporter(store).shutdown()
    assert run_ids(store) == []


def test_a_served_file_is_written_through_its_server(live):
    """The sink finds the collector by the owner file, and the counts come back."""
    sink = open_sink(live.collector.path)
    span = span_of(Run(run_id="r1"))
    sink.export([span])
    sink.export([span])
    assert isinstance(sink, RemoteExporter)
    assert sink.receipt == Receipt(received=2, stored=1, duplicate=1)
    assert run_ids(live.collector.store) == ["r1"]
    assert sink.force_flush()


def test_a_collector_that_went_away_is_an_error_with_the_next_step(live):
    """Whoever exports by hand hears of it, rather than of a success."""
    sink = open_sink(live.collector.path)
    live.stop()
    with pytest.raises(CollectorAnswerError, match="toolwitness up"):
        sink.export([span_of(Run(run_id="r1"))])


def test_an_owner_that_does_not_serve_this_file_is_not_believed(live, tmp_path):
    """Its process lives and answers, but the file is free, so it is written directly."""
    write_owner(tmp_path / "other.duckdb", live.url)
    sink = open_sink(tmp_path / "other.duckdb")
    sink.shutdown()
    assert isinstance(sink, StoreExporter)


def test_a_file_held_by_a_process_without_a_server_is_a_clear_error(tmp_path):
    """Nothing can be sent to it, so the holder is named."""
    path = str(tmp_path / "spans.duckdb")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        holder.stdout.readline()
        with pytest.raises(StoreHeldError, match=f"process {holder.pid}"):
            open_sink(path)
        holder.stdin.close()
