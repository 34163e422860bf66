"""What a recorded tool call costs the agent's own thread, in CPU time, as a ratio to three plain OpenTelemetry spans."""

import copy
import tempfile
import time
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

import toolwitness
from toolwitness.redaction import project
from toolwitness.sdk import Settings, setup

ARGUMENTS = {
    "order": "A-1234567",
    "customer": {"name": "Jo Smith", "city": "Springfield", "street": "12 Long Street"},
    "items": [{"sku": "SKU-1", "quantity": 2, "price": 12.5}, {"sku": "SKU-2", "quantity": 1, "price": 99.0}],
    "note": "please leave it at the door and ring twice, thank you very much indeed",
    "express": True,
}
RESULT = {
    "status": "ok",
    "items": [{"id": f"id-{n}", "name": f"Item number {n}", "price": n * 1.5, "stock": n} for n in range(20)],
}
ROUNDS, CALLS = 7, 1000


class Nowhere(SpanExporter):
    """Takes everything."""

    def export(self, spans):
        """Succeed."""
        del spans
        return SpanExportResult.SUCCESS


@toolwitness.tool(side_effect="read")
def look(**arguments):
    """A tool that reads."""
    del arguments
    return RESULT


@toolwitness.tool(side_effect="write")
def pay(**arguments):
    """A tool that writes."""
    del arguments
    return RESULT


def three_spans():
    """A call, a gate and an attempt as the SDK itself would record them, without any payload."""
    with tracer.start_as_current_span("call", attributes={f"key{n}": "value" for n in range(12)}):
        with tracer.start_as_current_span("gate", attributes={f"key{n}": "value" for n in range(6)}):
            pass
        with tracer.start_as_current_span("attempt", attributes={f"key{n}": "value" for n in range(6)}):
            pass


def microseconds(function):
    """CPU microseconds of this thread a call, the best of several rounds."""
    rounds = []
    for _ in range(ROUNDS):
        start = time.thread_time_ns()
        for _ in range(CALLS):
            function()
        rounds.append((time.thread_time_ns() - start) / 1000 / CALLS)
        toolwitness.flush(30)
    return min(rounds)


tracer = TracerProvider().get_tracer("floor")
with tempfile.TemporaryDirectory() as folder:
    setup.start(Settings(state_dir=Path(folder)), Nowhere)
    with toolwitness.run(task="benchmark"):
        floor = microseconds(three_spans)
        rows = {
            "three plain SDK spans": floor,
            "deep copy of the payload": microseconds(lambda: (copy.deepcopy(ARGUMENTS), copy.deepcopy(RESULT))),
            "bounded projection of it": microseconds(lambda: (project(ARGUMENTS), project(RESULT))),
            "recorded reading tool": microseconds(lambda: look(**ARGUMENTS)),
            "recorded writing tool (with journal)": microseconds(lambda: pay(**ARGUMENTS)),
        }
    setup.stop()
print(f"{'CPU on the thread of the agent':40} {'us':>8} {'ratio':>6}")
for name, cost in rows.items():
    print(f"{name:40} {cost:8.1f} {cost / floor:6.2f}")
