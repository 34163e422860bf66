"""The redactor fails closed: whichever of its parts breaks or is too slow, what leaves says nothing of the payload."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import logging
import subprocess
import sys
import time
from itertools import count

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import toolwitness
from toolwitness import redaction
from toolwitness.model.codec import decode
from toolwitness.redaction.cleaning import clean, failures
from toolwitness.redaction.credentials import CREDENTIALS
from toolwitness.redaction.identifiers import IDENTIFIERS
from toolwitness.redaction.prefilter import Prefilter
from toolwitness.redaction.walk import Walk
from toolwitness.sdk import Settings, setup
from toolwitness.sdk.guard import swallowing
from toolwitness.tests.broken import Broken
from toolwitness.tests.canaries import KEPT, RUN, Material
from toolwitness.tests.canary_steps import steps

WRITTEN = {"__init__", "__post_init__", "__call__"}
CACHED = type(functools.lru_cache(len))
CLEAN = inspect.unwrap(clean).__code__


def modules():
    """The modules of the redactor that recording and receiving need, as a fresh interpreter has them."""
    code = (
        "import sys, toolwitness.sdk.recorder, toolwitness.collector.receive.decode\n"
        "from toolwitness.redaction import clean\n"
        "clean({'a': 'b@example.org'})\n"
        "print(*sorted(name for name in sys.modules if name.startswith('toolwitness.redaction.')))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return [importlib.import_module(name) for name in said.split()]


def parts():
    """Every function and method of those, by its name: where it stands and what it is."""
    found = {}
    for module in modules():
        short = module.__name__.rpartition(".")[2]
        for name, item in vars(module).items():
            if getattr(item, "__module__", None) != module.__name__:
                continue
            if inspect.isfunction(item) or type(item) is CACHED:
                found[f"{short}.{name}"] = (module, name, item)
            elif inspect.isclass(item) and not issubclass(item, BaseException):
                own = {method: part for method, part in vars(item).items() if inspect.isfunction(part)}
                methods = {method: part for method, part in own.items() if method in WRITTEN or not method.startswith("__")}
                found |= {f"{short}.{name}.{method}": (item, method, part) for method, part in methods.items()}
    return found


PARTS = parts()
RULES = (*CREDENTIALS, *IDENTIFIERS)


def replaced(patch, holder, name, part, other):
    """Put `other` in the place of a part, under every name that it was imported by."""
    patch.setattr(holder, name, other)
    for module in [module for key, module in sys.modules.items() if key.startswith("toolwitness.")]:
        for alias, item in list(vars(module).items()):
            if item is part:
                patch.setattr(module, alias, other)


class Agent:
    """An agent as users run it, but for its spans, which stay in memory."""

    def __init__(self, state_dir):
        self.exporter, self.material = InMemorySpanExporter(), Material()
        setup.start(Settings(state_dir=state_dir, export_interval_s=0.001), lambda: self.exporter)

    def works(self):
        """Record a run with every canary; nothing of it may fail."""
        with swallowing():
            with toolwitness.run(KEPT, id=RUN) as run:
                steps(run, self.material)
            setup.stop()

    def calls(self):
        """The calls that were exported."""
        records = [decode(span.attributes) for span in self.exporter.get_finished_spans()]
        return [record for record in records if record.kind == "call"]

    def leaked(self, log):
        """The places whose canary left, in a span or a line of the log."""
        told = "".join(span.to_json() for span in self.exporter.get_finished_spans()) + log
        return [place for place, text in self.material.planted.items() if text in told]


@pytest.fixture(name="agent")
def fixture_agent(caplog, tmp_path):
    """An agent; every line of its log is kept."""
    caplog.set_level(logging.DEBUG)
    yield Agent(tmp_path)
    setup.stop()


@pytest.mark.parametrize("name", PARTS)
def test_nothing_leaves_by_a_part_that_raises(agent, monkeypatch, caplog, name):
    """Where a part of the redactor raises, and says the payload in doing so, no copy of a payload that needed it leaves."""
    holder, attribute, part = PARTS[name]
    broken = Broken(ArithmeticError(" ".join(agent.material.planted.values())), below=CLEAN)
    replaced(monkeypatch, holder, attribute, part, broken)
    before = failures()
    agent.works()

    assert agent.leaked(caplog.text) == []
    assert failures() > before or not broken.reached


ERRORS = (RuntimeError, ValueError, RecursionError, MemoryError, KeyError)


@pytest.mark.parametrize("error", ERRORS)
def test_only_the_minimal_event_leaves_where_no_copy_can_be_made(agent, monkeypatch, caplog, error):
    """Every call still leaves, with its tool, its status and the reason why there is no payload."""
    replaced(monkeypatch, Walk, "top", Walk.top, Broken(error(agent.material.said)))
    agent.works()

    assert agent.leaked(caplog.text) == []
    calls = agent.calls()
    reason = "depth" if error is RecursionError else "error"
    assert {(call.arguments, call.executed_arguments, call.result, call.minimal) for call in calls} == {
        (None, None, None, reason)
    }
    assert {"look"} < {call.tool for call in calls}


def slow(rule, clock):
    """The rule, which takes a second of processor time for each text."""

    def find(text):
        clock.append(clock[-1] + 1.0)
        return rule.find(text)

    return rule._replace(find=find)


@pytest.mark.parametrize("which", range(len(RULES)))
def test_a_detector_that_takes_too_long_ends_in_the_minimal_event(agent, monkeypatch, caplog, which):
    """Beyond the time that a copy may take nothing of the payload leaves; the clock is the test's own."""
    clock = [0.0]
    monkeypatch.setattr(time, "thread_time", lambda: clock[-1])
    rules = [slow(rule, clock) if at == which else rule for at, rule in enumerate(RULES)]
    replaced(monkeypatch, redaction.detect, "prefilter", redaction.detect.prefilter, Prefilter(lambda: rules))
    agent.works()

    assert agent.leaked(caplog.text) == []
    assert len(clock) == 1 or "time" in {call.minimal for call in agent.calls()}


def test_a_payload_of_too_many_places_ends_in_the_minimal_event(agent, monkeypatch):
    """What would be larger than a copy may be leaves the reason and nothing else."""
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)
    agent.material.result = [json.dumps([7] * 4_900, separators=(",", ":"))] * 6
    agent.works()

    first = agent.calls()[0]
    assert (first.result, first.minimal) == (None, "size")


def test_a_payload_that_takes_too_long_ends_in_the_minimal_event(agent, monkeypatch):
    """A second of processor time at each look at the clock is too much; the clock is the test's own."""
    moments = count()
    monkeypatch.setattr(time, "thread_time", lambda: float(next(moments)))
    agent.works()

    assert {(call.arguments, call.result, call.minimal) for call in agent.calls()} == {(None, None, "time")}
