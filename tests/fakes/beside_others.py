"""Agents recorded by us and by another instrumentor in one process: `python beside_others.py OTHER ORDER`.

Prints as JSON what each got in every phase: both on, then ours off, then theirs off and ours on again, then both off. ORDER
may also be that one of them is alone, with which the rest is compared.
"""

import importlib
import json
import re
import sys

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import toolwitness
from toolwitness.tests.fakes.collector import Collector
from toolwitness.tests.fakes.model_server import start_model_server
from toolwitness.tests.fakes.orders import Orders

ORDERS = ("ours first", "theirs first")
MEASURED = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|127\.0\.0\.1:\d+|0x[0-9a-f]{6,}|\b\d+\.\d{5,}\b|took \d+\.\d+s"
)
"""What differs from run to run: random ids, ports, places in memory, durations."""


CALLER = "code."
"""Where the caller's line is: the first frame outside of site-packages, in which ours is not in an editable install."""


class Instrumentors:
    """OpenTelemetry's way of instrumenting: classes with `instrument` and `uninstrument`."""

    def __init__(self, provider, *names):
        self._provider = provider
        self._all = [getattr(importlib.import_module(module), name)() for module, name in names]

    def on(self):
        """Instrument."""
        for each in self._all:
            each.instrument(tracer_provider=self._provider)

    def off(self):
        """Uninstrument."""
        for each in self._all:
            each.uninstrument()


class Logfire:
    """Logfire's way: a function that gives what takes it back."""

    def __init__(self, provider):
        self._logfire = importlib.import_module("logfire")
        self._provider = provider
        self._logfire.configure(send_to_logfire=False, console=False, inspect_arguments=False,
                                additional_span_processors=[SimpleSpanProcessor(theirs)])  # fmt: skip
        self._on = None

    def on(self):
        """Instrument."""
        self._on = self._logfire.instrument_openai()
        self._on.__enter__()

    def off(self):
        """Uninstrument."""
        self._on.__exit__(None, None, None)


OTHERS = {
    "openinference": lambda provider: Instrumentors(
        provider,
        ("openinference.instrumentation.openai", "OpenAIInstrumentor"),
        ("openinference.instrumentation.langchain", "LangChainInstrumentor"),
    ),
    "openllmetry": lambda provider: Instrumentors(
        provider,
        ("opentelemetry.instrumentation.openai", "OpenAIInstrumentor"),
        ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor"),
    ),
    "logfire": Logfire,
}
NEEDS = {
    "openinference": "openinference.instrumentation.openai",
    "openllmetry": "opentelemetry.instrumentation.openai",
    "logfire": "logfire",
}
theirs = InMemorySpanExporter()
ours = Collector()


def plain(spans):
    """What spans say, without what differs from run to run."""
    names = {span.context.span_id: span.name for span in spans}
    told = [
        {"name": span.name, "scope": span.instrumentation_scope.name, "kind": span.kind.name,
         "status": span.status.status_code.name,
         "parent": span.parent and names.get(span.parent.span_id, "unknown"),
         "attributes": {key: MEASURED.sub("?", str(value)) for key, value in sorted((span.attributes or {}).items())
                        if not key.startswith(CALLER)}}
        for span in spans
    ]  # fmt: skip
    return sorted(told, key=json.dumps)


def phase():
    """Run the agents against a server of their own, since clients keep connections; what each side got of it."""
    server, stop = start_model_server()
    theirs.clear()
    before = len(ours.spans)
    for name, modes in (("openai_chat", ("sync", "stream", "async")), ("langchain_agent", ("sync", "async"))):
        agent = importlib.import_module(f"toolwitness.tests.fakes.agents.{name}")
        for mode in modes:
            agent.run(server.url, "parallel", Orders(), mode)
    stop()
    toolwitness.flush(20)
    mine = [span.name for span in ours.spans[before:] if not re.match(r"(schema|toolset|discovery)", span.name)]
    return {"theirs": plain(theirs.get_finished_spans()), "ours": sorted(mine)}


def main(other, order):
    """Play every phase in this order of instrumenting."""
    provider = TracerProvider(resource=Resource({"service.name": "application"}))
    provider.add_span_processor(SimpleSpanProcessor(theirs))
    them = OTHERS[other](provider)

    def us():
        toolwitness.instrument(endpoint=ours.url)

    wanted = {"ours first": (us, them.on), "theirs first": (them.on, us), "theirs alone": (them.on,), "ours alone": (us,)}
    for on in wanted[order]:
        on()
    told = {"on": phase()}
    if order in ORDERS:
        toolwitness.uninstrument()
        told["ours off"] = phase()
        us()
    if order != "ours alone":
        them.off()
        told["theirs off"] = phase()
    toolwitness.uninstrument()
    told["off"] = phase()
    told["scopes"] = sorted({scope.name for scope in ours.scopes})
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
