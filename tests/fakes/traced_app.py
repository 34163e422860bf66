"""An application with traces of its own, which runs one of the agents: `python traced_app.py AGENT [ENDPOINT]`.

It has a tracer provider with its own ids, clock, sampler and exporter, traces its tools and its HTTP requests, and propagates
its trace with them. What its exporter got and what the model server received is printed as JSON; with ENDPOINT, it is recorded.
"""

import contextlib
import functools
import hashlib
import importlib
import itertools
import json
import random
import re
import sys
from pathlib import Path

from opentelemetry import propagate, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider, sampling
from opentelemetry.sdk.trace import id_generator as ids
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import toolwitness
from toolwitness.tests.fakes.model_server import start_model_server
from toolwitness.tests.fakes.orders import NAMES, Orders

SCRIPTS = ("badargs", "raises")
RATIOS = (1.0, 0.5, 0.0)
MEASURED = (
    r'(?<=127\.0\.0\.1:)\d+|(?<="server\.port": )\d+|(?<="gen_ai\.response\.time_to_first_chunk": )[\d.e-]+'
    r'|(?<="mcp\.session\.id": ")[\da-f-]+'
)
"""What differs from run to run: the server's port, a time that a client measures by a clock of its own, and a random id that
fastmcp gives a session in memory."""
OURS = re.escape(str(Path(toolwitness.__file__).parent / "sdk"))
FRAMES_OF_OURS = re.compile(rf'  File "{OURS}/[^\n]*\n(?:    [^\n]*\n)*')
"""In a stack trace that a framework records, our wrappers stand between its own functions: all that may differ there."""


class NumberedIds(ids.IdGenerator):
    """The same ids in every process, in the order that they are asked for; as good as random for a sampler."""

    def __init__(self):
        self._numbers = itertools.count()

    def generate_span_id(self):
        """The next one."""
        return self.generate_trace_id() >> 64

    def generate_trace_id(self):
        """The next one."""
        return int.from_bytes(hashlib.sha256(str(next(self._numbers)).encode()).digest()[:16])


class Application:
    """The application's own telemetry."""

    def __init__(self):
        self.memory = InMemorySpanExporter()
        self.sampled = sampling.TraceIdRatioBased(1.0)
        root = sampling.ParentBased(self)
        self.provider = TracerProvider(
            sampler=root, id_generator=NumberedIds(), resource=Resource({"service.name": "application"})
        )
        self.provider.add_span_processor(SimpleSpanProcessor(self.memory))
        trace.set_tracer_provider(self.provider)
        self.tracer = trace.get_tracer("application")

    def should_sample(self, *args, **kwargs):
        """Sample by the ratio of now."""
        return self.sampled.should_sample(*args, **kwargs)

    def get_description(self):
        """A sampler's name."""
        return "Application"

    def traced(self, tool):
        """A tool with a span around it."""

        @functools.wraps(tool)
        def run(*args, **kwargs):
            with self.tracer.start_as_current_span("tool " + tool.__name__, attributes={"arguments": repr((args, kwargs))}):
                return tool(*args, **kwargs)

        return run

    def trace_http(self, module):
        """Trace what clients of httpx send, and propagate the trace."""

        def send(self_, request, **options):
            with self.tracer.start_as_current_span("POST", kind=trace.SpanKind.CLIENT):
                propagate.inject(request.headers)
                return plain(self_, request, **options)

        async def asend(self_, request, **options):
            with self.tracer.start_as_current_span("POST", kind=trace.SpanKind.CLIENT):
                propagate.inject(request.headers)
                return await aplain(self_, request, **options)

        plain, aplain = module.Client.send, module.AsyncClient.send
        module.Client.send, module.AsyncClient.send = send, asend

    def exported(self):
        """The spans so far, without our frames in their stack traces."""
        spans = [json.loads(span.to_json()) for span in self.memory.get_finished_spans()]
        for told in (event["attributes"] for span in spans for event in span["events"]):
            if "exception.stacktrace" in told:
                told["exception.stacktrace"] = FRAMES_OF_OURS.sub("", told["exception.stacktrace"])
        return spans

    def play(self, agent, mode, script, ratio):
        """Run the agent once, against a server of its own, since clients keep connections; what that received."""
        server, stop = start_model_server()
        self.sampled = sampling.TraceIdRatioBased(ratio)
        orders = Orders()
        for name in NAMES:
            setattr(orders, name, self.traced(getattr(orders, name)))
        with self.tracer.start_as_current_span("question"), contextlib.suppress(Exception):
            agent.run(server.url, script, orders, mode)
        stop()
        return [[path, sorted(headers.items()), body.decode()] for path, body, headers in server.requests]


def main(name, *endpoint):
    """Play everything twice: once recorded, where that is wanted, and once after that was taken back."""
    random.seed(17)
    if endpoint:
        toolwitness.instrument(endpoint=endpoint[0])
    clock = itertools.count(1_700_000_000_000_000_000, 1000)
    importlib.import_module("opentelemetry.sdk.trace").time_ns = clock.__next__
    application = Application()
    for module in ("httpx", "httpx2"):
        with contextlib.suppress(ImportError):
            application.trace_http(importlib.import_module(module))
    agent = importlib.import_module(f"toolwitness.tests.fakes.agents.{name}")
    received = [application.play(agent, *how) for how in itertools.product(agent.MODES, SCRIPTS, RATIOS)]
    toolwitness.uninstrument()
    received.append(application.play(agent, agent.MODES[0], SCRIPTS[0], 1.0))
    told = {
        "received": received,
        "exported": application.exported(),
        "same provider": trace.get_tracer_provider() is application.provider,
        "processors": len(application.provider._active_span_processor._span_processors),  # noqa: SLF001 -- nothing public tells
        "random": random.random(),  # noqa: S311 -- whether it is the number that it would be
    }
    sys.stdout.write(re.sub(MEASURED, "0", json.dumps(told)))


if __name__ == "__main__":
    main(*sys.argv[1:])
