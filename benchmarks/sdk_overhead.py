"""What a traced tool call adds to an agent, beside a plain OpenTelemetry span and the tool decorators of four peers.

Every case runs in processes of its own, in turn, against the same sink on loopback that answers 200, over OTLP/HTTP. Figures of
a case are the least of its processes, since others use the machine too, less those of the bare agent:

- `tight`: wall microseconds a call in a loop that does nothing else; the median of all calls.
- `awaiting`: the same for an async tool that waits two milliseconds for an answer on loopback.
- `thread`: CPU microseconds a call of the agent's own thread.
- `process`: CPU microseconds a call of all threads until everything is delivered.
- `start`: CPU milliseconds that importing and switching on add to the start of a process.
- `first`: the same until the first call is delivered; what is imported on a thread of its own is in it.

    python benchmarks/sdk_overhead.py [--rounds 5] [--gate] [CASE ...]
    python benchmarks/sdk_overhead.py --memory 1000000

A case whose package is not installed is left out with a line. Peers need other versions of OpenTelemetry than we do;
`--python mlflow=/path/bin/python` names the interpreter of a case.
"""

import argparse
import asyncio
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ARGUMENTS = {
    "order": "A-1234567",
    "customer": {"name": "Jo Smith", "city": "Springfield", "street": "12 Long Street"},
    "items": [{"sku": "SKU-1", "quantity": 2, "price": 12.5}, {"sku": "SKU-2", "quantity": 1, "price": 99.0}],
    "note": "please leave it at the door and ring twice, thank you very much",
    "express": True,
}
RESULT = {
    "status": "ok",
    "order": "A-1234567",
    "items": [
        {"sku": f"SKU-{n:05}", "title": "Wireless keyboard, silent, ISO layout", "price": n * 1.5, "stock": n}
        for n in range(10)
    ],
}
CALLS, AWAITED, WARM = 4000, 1500, 300
GATE_TIGHT_US = 60.0
GATE_MEMORY_MB = 20.0
PEERS = ("logfire", "mlflow", "openinference", "openllmetry")
CASES = ("bare", "span", "toolwitness", *PEERS)


def tool(order, customer, items, note, express):
    """A tool that takes no time of its own."""
    del order, customer, items, note, express
    return RESULT


async def awaiting_tool(order, customer, items, note, express):
    """A tool that waits for an answer over a socket."""
    del order, customer, items, note, express
    reader, writer = CONNECTION
    writer.write(b"x")
    await reader.readexactly(1)
    return RESULT


CONNECTION = ()


def _otlp(endpoint):
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces"), max_queue_size=100_000))
    return provider


def bare(endpoint):
    """Nothing is recorded."""
    del endpoint
    return (lambda function: function), lambda: None


def span(endpoint):
    """One plain span with twelve attributes, and no payload."""
    provider = _otlp(endpoint)
    tracer = provider.get_tracer("floor")
    attributes = {f"key{n}": "value" for n in range(12)}

    def decorate(function):
        if asyncio.iscoroutinefunction(function):

            async def traced(**arguments):
                with tracer.start_as_current_span("execute_tool", attributes=attributes):
                    return await function(**arguments)
        else:

            def traced(**arguments):
                with tracer.start_as_current_span("execute_tool", attributes=attributes):
                    return function(**arguments)

        return traced

    return decorate, provider.force_flush


def toolwitness(endpoint):
    """Ours, as a user has it: the tool's effect is not known, so each attempt goes through the journal."""
    import toolwitness

    toolwitness.instrument(endpoint=endpoint, state_dir=Path(tempfile.mkdtemp()))
    return toolwitness.tool, lambda: toolwitness.flush(60)


def logfire(endpoint):
    """Logfire's decorator, arguments and result recorded, scrubbing on."""
    import logfire
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    processor = BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces"), max_queue_size=100_000)
    logfire.configure(send_to_logfire=False, console=False, additional_span_processors=[processor], inspect_arguments=False)
    return logfire.instrument("execute_tool", record_return=True), logfire.force_flush


def mlflow(endpoint):
    """MLflow's decorator."""
    os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = f"{endpoint}/v1/traces"
    import mlflow

    return mlflow.trace(span_type="TOOL"), mlflow.flush_trace_async_logging


def openinference(endpoint):
    """OpenInference's decorator."""
    from openinference.instrumentation import OITracer, TraceConfig

    provider = _otlp(endpoint)
    return OITracer(provider.get_tracer("peer"), config=TraceConfig()).tool, provider.force_flush


def openllmetry(endpoint):
    """OpenLLMetry's decorator."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from traceloop.sdk import Traceloop
    from traceloop.sdk.decorators import tool

    exporter = OTLPSpanExporter(f"{endpoint}/v1/traces")
    Traceloop.init(app_name="peer", exporter=exporter, disable_batch=False, telemetry_enabled=False, instruments=set())
    return tool(name="execute_tool"), lambda: None


def calls(function, count):
    """Nanoseconds of each call, and those of the thread's CPU a call."""
    walls = []
    cpu = time.thread_time_ns()
    for _ in range(count):
        start = time.perf_counter_ns()
        function(**ARGUMENTS)
        walls.append(time.perf_counter_ns() - start)
    return walls, (time.thread_time_ns() - cpu) / count


async def awaited_calls(decorate, port):
    """Nanoseconds of each awaited call."""
    global CONNECTION  # noqa: PLW0603 -- the tool is a module's function, as tools are
    CONNECTION = await asyncio.open_connection("127.0.0.1", port)
    function = decorate(awaiting_tool)
    walls = []
    for _ in range(AWAITED):
        start = time.perf_counter_ns()
        await function(**ARGUMENTS)
        walls.append(time.perf_counter_ns() - start)
    CONNECTION[1].close()
    return walls[WARM:]


def measure(case, endpoint, echo_port):
    """Print one process's figures of a case as JSON."""
    before = time.process_time_ns()
    decorate, flush = globals()[case](endpoint)
    start = time.process_time_ns() - before
    traced = decorate(tool)
    calls(traced, 1)
    flush()
    first = time.process_time_ns() - before
    calls(traced, WARM)
    flush()
    gc.collect()
    cpu = time.process_time_ns()
    walls, thread = calls(traced, CALLS)
    flush()
    process = (time.process_time_ns() - cpu) / CALLS
    awaiting = asyncio.run(awaited_calls(decorate, echo_port))
    flush()
    figures = {
        "tight": statistics.median(walls) / 1e3,
        "awaiting": statistics.median(awaiting) / 1e3,
        "thread": thread / 1e3,
        "process": process / 1e3,
        "start": start / 1e6,
        "first": first / 1e6,
    }
    print(json.dumps(figures))
    os._exit(0)  # what is still to be delivered is no part of the figures


def memory(count, endpoint):
    """Print by how many MB the process grew over so many calls, the first thousands left out."""
    decorate, flush = toolwitness(endpoint)
    traced = decorate(tool)
    size = []
    for part in (5000, count):
        for done in range(part):
            traced(**ARGUMENTS)
            if done % 1000 == 0:
                flush()
        flush()
        gc.collect()
        size.append(_resident_mb())
    print(json.dumps({"calls": count, "grown_mb": round(size[1] - size[0], 1)}))
    os._exit(0)


def _resident_mb():
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


class _Sink(BaseHTTPRequestHandler):
    """Takes every export."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        """Answer 200."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


async def _echo(reader, writer):
    while data := await reader.read(1):
        await asyncio.sleep(0.002)
        writer.write(data)


def serve():
    """Be the sink and the echo; print both ports."""
    sink = ThreadingHTTPServer(("127.0.0.1", 0), _Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()

    async def run():
        server = await asyncio.start_server(_echo, "127.0.0.1", 0)
        print(sink.server_port, server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(run())


def _process(case, *arguments, python=sys.executable):
    environ = os.environ | {"LOGFIRE_IGNORE_NO_CONFIG": "1", "TRACELOOP_TELEMETRY": "false"}
    done = subprocess.run([python, __file__, *map(str, arguments)], capture_output=True, text=True, env=environ, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"{case}: left out ({reason})", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def compare(names, rounds, pythons, endpoint, echo_port):
    """The least figures of each case, less those of the bare agent."""
    found = {name: [] for name in ("bare", *names)}
    for _ in range(rounds):
        for name in list(found):
            figures = _process(name, "--measure", name, endpoint, echo_port, python=pythons.get(name, sys.executable))
            if figures is None:
                del found[name]
            else:
                found[name].append(figures)
    least = {name: {figure: min(one[figure] for one in several) for figure in several[0]} for name, several in found.items()}
    floor = least.pop("bare")
    return {name: {figure: value - floor[figure] for figure, value in row.items()} for name, row in least.items()}


def show(rows):
    """Print a table; ratios are to the plain span."""
    figures = ("tight", "awaiting", "thread", "process", "start", "first")
    print(f"{'added to the bare agent':24}" + "".join(f"{name:>18}" for name in figures))
    for name, row in rows.items():
        cells = (f"{row[figure]:9.1f} {row[figure] / rows['span'][figure]:6.2f}x " for figure in figures)
        print(f"{name:24}" + "".join(f"{cell:>18}" for cell in cells))
    print("microseconds a call, start and first in milliseconds of CPU; x: as many times a plain span")


def misses(rows):
    """What does not hold of what is promised."""
    ours, plain = rows["toolwitness"], rows["span"]
    peers = {name: rows[name] for name in PEERS if name in rows}
    if ours["tight"] > GATE_TIGHT_US:
        yield f"tight loop: {ours['tight']:.0f} us a call, at most {GATE_TIGHT_US:.0f} are promised"
    if ours["awaiting"] > plain["awaiting"]:
        yield f"awaiting: {ours['awaiting']:.0f} us a call, where a plain span adds {plain['awaiting']:.0f}"
    for name, row in peers.items():
        for figure in ("thread", "start"):
            if ours[figure] > row[figure]:
                yield f"{figure}: {ours[figure]:.0f}, where {name} takes {row[figure]:.0f}"


def main():
    """Measure, print, and judge where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=CASES[1:], metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", action="append", default=[], metavar="CASE=PATH")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--memory", type=int, metavar="CALLS")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--grow", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
    if given.measure:
        measure(given.measure[0], given.measure[1], int(given.measure[2]))
    if given.grow:
        memory(int(given.grow[0]), given.grow[1])
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        sink, echo = server.stdout.readline().split()
        endpoint = f"http://127.0.0.1:{sink}"
        if given.memory:
            grown = _process("toolwitness", "--grow", given.memory, endpoint)
            print(f"{grown['calls']:,} calls: {grown['grown_mb']:+.1f} MB (at most {GATE_MEMORY_MB:.0f} are promised)")
            return int(given.gate and grown["grown_mb"] > GATE_MEMORY_MB)
        rows = compare(given.cases, given.rounds, dict(pair.split("=", 1) for pair in given.python), endpoint, echo)
        show(rows)
        missed = list(misses(rows)) if given.gate else []
        print(*missed, sep="\n")
        return int(bool(missed))
    finally:
        server.kill()


if __name__ == "__main__":
    sys.exit(main())
