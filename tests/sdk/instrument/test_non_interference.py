"""The agent does what it would do without us, in every state that telemetry can be in (C1, C3).

Every agent of `tests/fakes/agents` plays the same scripts bare and instrumented. What it gave or raised, what its tools were
asked to do, and every byte that the model server got must be the same.
"""

import dataclasses
import functools
import gc
import importlib.util
import json
import re
from contextlib import ExitStack, contextmanager

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from toolwitness.sdk import Settings, setup
from toolwitness.sdk.guard import swallowing
from toolwitness.sdk.instrument import registry
from toolwitness.tests.broken import Broken
from toolwitness.tests.fakes.installed import installed_agents, name_of
from toolwitness.tests.fakes.model_server import start_model_server
from toolwitness.tests.fakes.odd_values import ODD_VALUES, Lazy, QuerySet
from toolwitness.tests.fakes.orders import Orders
from toolwitness.tests.fakes.sick_collectors import SICK, sick_collector

RANDOM = re.compile(rb"0x[0-9a-f]{6,}|call_[0-9a-f]{28}")
"""Where an object lies in memory, which stands in texts that frameworks make of generators, and ids that litellm makes up."""
SCRIPTS = ["parallel", "raises", "timeout", "badjson", "unknown", "badargs", "flaky", "http429", "notool"]


AGENTS = list(installed_agents())
EVERY_MODE = [pytest.param(agent, mode, id=f"{name_of(agent)}-{mode}") for agent in AGENTS for mode in agent.MODES]
ONE_MODE = [pytest.param(agent, agent.MODES[0], id=name_of(agent)) for agent in AGENTS]


@pytest.fixture(autouse=True)
def _no_warnings_of_ours():
    """Here warnings of ours are expected, one each."""


@dataclasses.dataclass
class Played:
    """All that can be seen of an agent from outside."""

    gave: object
    raised: object
    did: list
    sent: list


def play(agent, mode, script, orders=None):
    """Run the agent once, against a model server of its own."""
    state, stop = start_model_server()
    orders = orders or Orders()
    gave = raised = None
    try:
        gave = agent.run(state.url, script, orders, mode)
    except Exception as error:  # noqa: BLE001 -- whatever the agent raises is compared
        raised = seen(error, state.url)
    finally:
        stop()
    sent = [
        (path, RANDOM.sub(b"0x", body).replace(state.url.encode(), b"URL"), dict(headers, host="", Host=""))
        for path, body, headers in state.requests
    ]
    return Played(gave=gave, raised=raised, did=orders.ledger, sent=sent)


def seen(error, url, depth=5):
    """An exception with its arguments and causes."""
    if error is None or depth == 0:
        return None
    arguments = [str(argument).replace(url, "URL") for argument in error.args]
    return [type(error).__qualname__, arguments, seen(error.__cause__, url, depth - 1), seen(error.__context__, url, depth - 1)]


def order(played):
    """What parallel tools did has no order."""
    return dataclasses.replace(played, did=sorted(map(repr, played.did)))


@functools.cache
def played_bare(agent, mode, script):
    """What the agent does without us; the same every time, so it is played once."""
    return order(play(agent, mode, script))


def touches(value):
    """How often the value was looked at, where it counts that."""
    return value.touched if type(value) in {QuerySet, Lazy} else None


class Discarding(SpanExporter):
    """Takes everything."""

    def export(self, spans):
        """Succeed."""
        del spans
        return SpanExportResult.SUCCESS


class Raising(SpanExporter):
    """Breaks at every export."""

    def export(self, spans):
        """Raise."""
        del spans
        raise RuntimeError("the exporter is broken")


@contextmanager
def instrumented(agent, tmp_path, make_exporter=Discarding, **settings):
    """Record the agent's framework and its client."""
    setup.start(Settings(state_dir=tmp_path, export_interval_s=0.01, **settings), make_exporter)
    registry.switch_on(registry.choose())
    assert agent.INSTRUMENTATION in registry.in_place(), "it was left out, so that nothing is compared"
    try:
        yield
    finally:
        registry.switch_off()
        setup.stop()


@contextmanager
def state(name, agent, tmp_path, monkeypatch):
    """Instrumented, with telemetry in one of its states."""
    with ExitStack() as stack:
        stack.enter_context(swallowing())
        if name in SICK:
            stack.enter_context(instrumented(agent, tmp_path, None, endpoint=stack.enter_context(sick_collector(name))))
        elif name == "broken exporter":
            stack.enter_context(instrumented(agent, tmp_path, Raising))
        elif name == "no exporter":
            stack.enter_context(instrumented(agent, tmp_path, Broken(RuntimeError("no exporter"))))
        elif name == "full queue":
            stack.enter_context(instrumented(agent, tmp_path, queue_bytes=1))
        elif name == "redactor raises":
            monkeypatch.setattr("toolwitness.sdk.assemble.clean", Broken(RuntimeError("the redactor is broken")))
            stack.enter_context(instrumented(agent, tmp_path))
        elif name == "projection raises":
            for module in (
                "calls",
                "decorator",
                "instrument.mcp",
                "instrument.mcp_served",
                "instrument.steps",
                "instrument.tools",
            ):
                monkeypatch.setattr(f"toolwitness.sdk.{module}.project", Broken(RuntimeError("the projection is broken")))
            stack.enter_context(instrumented(agent, tmp_path))
        elif name == "no model steps":
            monkeypatch.setattr("toolwitness.sdk.instrument.steps.DecisionScope", Broken(RuntimeError("steps are broken")))
            stack.enter_context(instrumented(agent, tmp_path))
        elif name == "no calls":
            monkeypatch.setattr("toolwitness.sdk.instrument.steps.CallScope", Broken(RuntimeError("calls are broken")))
            monkeypatch.setattr("toolwitness.sdk.recorder.CallScope", Broken(RuntimeError("calls are broken")))
            stack.enter_context(instrumented(agent, tmp_path))
        else:
            stack.enter_context(instrumented(agent, tmp_path))
        yield


@pytest.fixture(name="put")
def _put(tmp_path, monkeypatch):
    """`with put(state, agent):` is instrumented with telemetry in that state."""
    return lambda name, agent: state(name, agent, tmp_path, monkeypatch)


STATES = ["well", *SICK, "broken exporter", "no exporter", "full queue", "redactor raises",
          "projection raises", "no model steps", "no calls"]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(("agent", "mode"), EVERY_MODE)
def test_every_script_goes_as_without_us(agent, mode, script, tmp_path):
    """Results, exceptions, what tools did and what was sent are the same, in every mode."""
    bare = played_bare(agent, mode, script)
    with instrumented(agent, tmp_path):
        with_us = play(agent, mode, script)
    after = play(agent, mode, script)

    assert order(with_us) == bare
    assert order(after) == bare


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize(("agent", "mode"), ONE_MODE)
def test_every_state_of_telemetry_goes_as_without_us(agent, mode, name, put, caplog):
    """Dead, slow, erring, broken: the agent does not notice, and is told in one line at most."""
    bare = [played_bare(agent, mode, script) for script in ("parallel", "raises")]
    with put(name, agent):
        with_us = [order(play(agent, mode, script)) for script in ("parallel", "raises")]

    assert with_us == bare
    assert len([record for record in caplog.records if record.name == "toolwitness"]) <= 1


@pytest.fixture(name="no_collection")
def _no_collection():
    """A cycle takes frameworks to the end of the stack, where whatever the collector finalizes just then would raise."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("name", sorted(ODD_VALUES))
@pytest.mark.parametrize(("agent", "mode"), ONE_MODE)
def test_odd_results_go_through_untouched(agent, mode, name, tmp_path):
    """Whatever a tool gives reaches the framework as it is, and nobody else looks into it."""

    def played():
        orders = Orders()
        orders.odd = ODD_VALUES[name]()
        return order(play(agent, mode, "odd", orders)), touches(orders.odd)

    bare = played()
    with instrumented(agent, tmp_path):
        with_us = played()

    assert with_us == bare


def test_the_suite_covers_every_instrumentation_that_is_installed():
    """No instrumentation of a framework is without an agent here."""
    facts_only = {"httpx", "httpx2", "requests", "threads"}
    here = {one.name for one in registry.OWN.values() if one.name not in facts_only and importlib.util.find_spec(one.module)}

    assert here - {agent.INSTRUMENTATION for agent in AGENTS} == set()


def test_played_compares_what_was_sent():
    """The comparison itself sees a changed byte."""
    one = Played(gave=1, raised=None, did=[], sent=[("/", json.dumps({"tools": []}).encode())])

    assert order(one) != order(dataclasses.replace(one, sent=[("/", b"{}")]))
