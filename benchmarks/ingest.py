"""What a span costs the collector, in CPU time, beside a bare protobuf parse and a bare Arrow append of the same spans."""

import tempfile
import time
from pathlib import Path

import duckdb
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwitness.collector.receive.decode import rows_of_request
from toolwitness.collector.store.columns import table_of
from toolwitness.collector.store.store import Store
from toolwitness.sdk import ManualClock, Recorder, SeededIds

RUNS, REQUEST = 400, 100
TOOLS = [{"name": "look", "input_schema": {"type": "object", "properties": {"order": {"type": "string"}}}}]


def record():
    """Requests of spans as an agent sends them."""
    memory, clock = InMemorySpanExporter(), ManualClock(1_790_000_000_000_000_000)
    recorder = Recorder(exporter=memory, clock=clock, key=b"k", ids=SeededIds("benchmark"), inline=True)
    for number in range(RUNS):
        with recorder.run(f"task-{number}") as run:
            with run.decision("model", tools=TOOLS) as step:
                call = step.call("look", {"order": f"A-{number}", "status": "open"})
            with call:
                call.gate("policy", "allow")
                with call.attempt():
                    clock.tick(1_000_000)
                call.result({"status": "ok", "items": [{"id": f"ID-{number}-{n}", "count": n} for n in range(5)]})
    recorder.close()
    spans = memory.get_finished_spans()
    return [encode_spans(spans[at : at + REQUEST]) for at in range(0, len(spans), REQUEST)], len(spans)


def cost(work):
    """CPU microseconds a span."""
    start = time.process_time_ns()
    result = work()
    return (time.process_time_ns() - start) / 1000 / count, result


requests, count = record()
bodies = [request.SerializeToString() for request in requests]
parse, _ = cost(lambda: [ExportTraceServiceRequest.FromString(body) for body in bodies])
decode, rows = cost(lambda: [rows_of_request(request).rows for request in requests])
tables = [table_of(batch, 1) for batch in rows]
widest = max(tables, key=lambda table: table.num_columns)
with tempfile.TemporaryDirectory() as folder:
    bare = duckdb.connect(str(Path(folder) / "bare.duckdb"))
    bare.register("incoming", widest)
    bare.execute("create table spans as select * from incoming limit 0")

    def append():
        """Append ready tables, one transaction each."""
        for table in tables:
            bare.register("incoming", table)
            bare.execute("insert into spans by name select * from incoming")

    floor, _ = cost(append)
    print(f"{count} spans in requests of {REQUEST}\n{'CPU of the collector':40} {'us/span':>8} {'ratio':>6}")
    results = {"bare protobuf parse": parse, "decode and second redaction": decode, "bare Arrow append": floor}
    for group in (1, 4, 16):
        store = Store.open(Path(folder) / f"group{group}.duckdb")
        groups = [rows[at : at + group] for at in range(0, len(rows), group)]
        results[f"store, {group} requests a transaction"], _ = cost(lambda: [store.write_group(each) for each in groups])  # noqa: B023 -- called before the loop goes on
        store.close()
for name, microseconds in results.items():
    print(f"{name:40} {microseconds:8.1f} {microseconds / floor:6.2f}")
