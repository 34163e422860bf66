"""A recorder whose spans stay in memory."""

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwitness.model.codec import decode
from toolwitness.sdk import ManualClock, Recorder, SeededIds, Settings, setup
from toolwitness.tests.fakes.collector import Collector


class Recorded:
    """An inline recorder and what it emitted."""

    def __init__(self):
        self.exporter = InMemorySpanExporter()
        self.clock = ManualClock(1_700_000_000_000_000_000)
        self.recorder = Recorder(exporter=self.exporter, clock=self.clock, key=b"k", ids=SeededIds("test"), inline=True)

    def spans(self):
        """Every span so far."""
        self.recorder.flush()
        return self.exporter.get_finished_spans()

    def records(self, kind=None):
        """Every record so far, of one kind where it is given."""
        found = [decode(span.attributes) for span in self.spans()]
        return [record for record in found if kind is None or record.kind == kind]

    def one(self, kind):
        """The only record of a kind."""
        (record,) = self.records(kind)
        return record


@pytest.fixture(name="recorded")
def _recorded():
    return Recorded()


@pytest.fixture(name="live")
def _live(tmp_path):
    """The process's own recorder, started as `instrument()` does, with its spans in memory."""
    exporter = InMemorySpanExporter()
    setup.start(Settings(state_dir=tmp_path, export_interval_s=0.01), lambda: exporter)

    def records(kind=None):
        assert setup.flush(10)
        found = [decode(span.attributes) for span in exporter.get_finished_spans()]
        return [record for record in found if kind is None or record.kind == kind]

    yield records
    setup.stop()


@pytest.fixture(name="telemetry", params=["off", "on"])
def _telemetry(request):
    """Every truth that uses it holds with telemetry off and on."""
    if request.param == "on":
        request.getfixturevalue("live")
    return request.param


@pytest.fixture(name="collector")
def _collector():
    """`collector(status=500)` starts one that answers so; they end with the test."""
    servers = []

    def make(**how):
        servers.append(Collector(**how))
        return servers[-1]

    yield make
    for server in servers:
        server.release.set()
        server.shutdown()
        server.server_close()
