"""A model server on loopback, and what an instrumented agent left in memory."""

import asyncio
import gc
import importlib.util
import logging
from contextlib import contextmanager
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwitness.model.codec import decode
from toolwitness.model.enums import RecordKind
from toolwitness.sdk import Settings, setup
from toolwitness.sdk.instrument import registry
from toolwitness.tests.fakes.model_server import start_model_server

HERE = Path(__file__).parent
FRAMEWORKS_OWN = (
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::DeprecationWarning",
    "ignore:Items? .* on TypedDict class:UserWarning",
    "ignore:Pydantic serializer warnings:UserWarning",
)
"""Frameworks leave loops and sockets to the garbage collector, and use what is deprecated or warned of; none of it is ours."""


def pytest_collection_modifyitems(items):
    """Let pass what frameworks warn of by themselves."""
    for item in items:
        if item.path.parent == HERE:
            for warning in FRAMEWORKS_OWN:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(autouse=True, scope="module")
def _garbage_of_frameworks():
    """What they leave behind is found here, where its warnings are let pass, and not in the test of another file."""
    yield
    asyncio.set_event_loop(None)  # openai-agents leaves one open for its next run
    for _ in range(3):
        gc.collect()


@pytest.fixture(name="model")
def _model():
    """A fake model server; `model.url` is where it listens, `model.requests` what it was sent."""
    state, stop = start_model_server()
    yield state
    stop()


class Recorded:
    """The records of an instrumented agent."""

    def __init__(self, exporter):
        self.exporter = exporter

    def records(self, kind=None):
        """Every record so far, of one kind where it is given."""
        assert setup.active() is None or setup.flush(10)
        found = [decode(span.attributes) for span in self.exporter.get_finished_spans()]
        return [record for record in found if kind is None or record.kind == kind]

    def one(self, kind):
        """The only record of a kind."""
        (record,) = self.records(kind)
        return record

    def story(self):
        """What was recorded in short, in the order of decisions and calls."""
        decisions = sorted(self.records(RecordKind.DECISION), key=lambda one: one.decision_ordinal)
        calls = sorted(self.records(RecordKind.CALL), key=lambda one: one.call_ordinal)
        return {
            "decisions": [str(one.finish) for one in decisions],
            "calls": [
                (one.tool, str(one.observation), len(self.attempts(one.call_id)), self.gates(one.call_id)) for one in calls
            ],
            "runs": len({one.run_id for one in (*decisions, *calls)}),
        }

    def attempts(self, call_id):
        """The attempts of a call, in order."""
        found = [one for one in self.records(RecordKind.ATTEMPT) if one.call_id == call_id]
        return sorted(found, key=lambda one: one.attempt_ordinal)

    def gates(self, call_id):
        """The gates of a call as (kind, verdict, mode)."""
        found = [one for one in self.records(RecordKind.GATE) if one.call_id == call_id]
        return [(str(one.gate_kind), str(one.verdict), str(one.gate_mode)) for one in found]


@contextmanager
def instrumented(state_dir, *names, **settings):
    """Record as `toolwitness.instrument(only=names)` does, with the spans in memory."""
    exporter = InMemorySpanExporter()
    setup.start(Settings(state_dir=state_dir, export_interval_s=0.01, **settings), lambda: exporter)
    registry.switch_on(registry.choose(names))
    try:
        yield Recorded(exporter)
    finally:
        registry.switch_off()
        setup.stop()


@pytest.fixture(name="instrument")
def _instrument(tmp_path):
    """`with instrument("openai") as recorded:` records agents of these frameworks in memory."""
    return lambda *names, **settings: instrumented(tmp_path, *names, **settings)


@pytest.fixture(autouse=True)
def _no_warnings_of_ours(caplog):
    """Nothing of ours may go wrong silently: what the guard swallows in the field is raised here, what is logged fails."""
    with caplog.at_level(logging.WARNING, logger="toolwitness"):
        yield
    ours = [record for record in caplog.records if record.name == "toolwitness" and not getattr(record, "expected", False)]
    assert not ours, [record.getMessage() for record in ours]


def needs(*modules):
    """Skips where a framework is not installed, as in the environment of another one."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed here: {', '.join(missing)}")
