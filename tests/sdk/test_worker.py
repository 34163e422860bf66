"""The background thread: nothing blocks, nothing is lost silently, and the end is quick."""

import logging
import os
import threading
import time
from types import SimpleNamespace

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwitness.sdk import Recorder, Settings, setup
from toolwitness.sdk.guard import swallowing
from toolwitness.sdk.worker import Worker


class Switch(SpanExporter):
    """An exporter that fails until told otherwise."""

    def __init__(self):
        self.works = False
        self.names = []
        self.tried = threading.Event()

    def export(self, spans):
        """Take the batch, or fail."""
        self.tried.set()
        if not self.works:
            return SpanExportResult.FAILURE
        self.names += [span.name for span in spans]
        return SpanExportResult.SUCCESS


@pytest.fixture(name="switch")
def _switch():
    return Switch()


@pytest.fixture(name="start")
def _start(tmp_path, switch):
    """Start the process's recorder over the switch."""

    def start(**settings):
        setup.start(Settings(state_dir=tmp_path, export_interval_s=0.01, **settings), lambda: switch)
        return setup.active()

    yield start
    setup.stop()


def test_a_failed_batch_is_kept_and_delivered_later(start, switch):
    """Spans that a collector did not take arrive when it comes back, in order."""
    recorder = start()
    recorder.call("one").close()
    assert not setup.flush(10)
    switch.works = True
    recorder.call("two").close()

    assert setup.flush(10)
    assert switch.names == ["execute_tool one", "execute_tool two"]


def test_one_warning_however_long_it_fails(start, caplog):
    """A dead collector is told once, with what to do."""
    recorder = start()
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            recorder.call("one").close()
            assert not setup.flush(10)

    (said,) = caplog.records
    assert "toolwitness up" in said.getMessage()


def test_a_full_queue_drops_and_counts(start, switch):
    """Beyond its bytes the queue takes nothing more, and says how much it lost."""
    recorder = start(queue_bytes=1)
    recorder.call("one").close()
    switch.works = True

    assert setup.flush(10)
    assert switch.names == []
    assert recorder.dropped > 0


def test_a_raising_exporter_is_swallowed(start, switch, monkeypatch, caplog):
    """An exporter that raises is a failed export, not the end of the worker."""

    def raises(_spans):
        raise RuntimeError("broken")

    with swallowing(), monkeypatch.context() as patched:
        patched.setattr(switch, "export", raises)
        recorder = start()
        recorder.call("one").close()
        assert not setup.flush(10)
    switch.works = True

    assert setup.flush(10)
    assert switch.names == ["execute_tool one"]
    assert "broken" not in caplog.text


def test_the_agent_s_thread_never_exports(start, switch):
    """Export happens on a thread of ours alone."""
    threads = []
    switch.works = True
    original = switch.export
    switch.export = lambda spans: (threads.append(threading.current_thread().name), original(spans))[1]
    start().call("one").close()

    assert setup.flush(10)
    assert set(threads) == {"toolwitness"}


def test_notes_after_the_end_are_dropped(start, switch):
    """What a tool does after `uninstrument` is not recorded and does not fail."""
    recorder = start()
    switch.works = True
    setup.stop()
    recorder.call("late").close()

    assert switch.names == []


def test_an_inline_recorder_exports_in_batches(switch):
    """Importers get their spans out without a thread, and closing sends the rest."""
    switch.works = True
    recorder = Recorder(exporter=switch, clock=lambda: 1, key=b"k", inline=True)
    for _ in range(600):
        recorder.call("one").close()
    before = len(switch.names)
    recorder.close()

    assert (before, len(switch.names)) == (512, 600)
    assert threading.active_count() == 1 or "toolwitness" not in {t.name for t in threading.enumerate()}


def test_the_thread_leaves_between_two_notes(caplog):
    """One that is in the middle of a note when Python ends would take the process down; that something is left is told."""
    begun = threading.Event()
    worked = []

    def work(number):
        begun.set()
        worked.append(number)
        time.sleep(0.01)

    assembler = SimpleNamespace(out=[], message=work)
    worker = Worker(InMemorySpanExporter, lambda: assembler, queue_bytes=10**6, interval_s=0.001)
    for number in range(1000):
        worker.put(1, "message", number)
    begun.wait(10)

    assert not worker.close(0)
    assert not any(thread.name == "toolwitness" for thread in threading.enumerate())
    assert len(worked) < 1000
    assert "not everything was delivered" in caplog.text


def test_a_fork_waits_for_the_note_in_hand():
    """A child never has half of what our thread was doing, such as an import that nobody would finish."""
    begun, ended = threading.Event(), threading.Event()

    def work():
        begun.set()
        time.sleep(0.1)
        ended.set()

    assembler = SimpleNamespace(out=[], message=work)
    worker = Worker(InMemorySpanExporter, lambda: assembler, queue_bytes=10**6, interval_s=0.001)
    worker.put(1, "message")
    assert begun.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(0 if ended.is_set() else 1)
    worker.close(10)

    assert os.waitpid(child, 0)[1] == 0
