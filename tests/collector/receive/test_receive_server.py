import asyncio
import gzip
import json
import os
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from toolwitness.collector.receive.serve import Collector
from toolwitness.collector.receive.server import HostGuard
from toolwitness.collector.store.store import Store
from toolwitness.model.exceptions import QueueFullError
from toolwitness.model.records import AttemptStart, Call, Run
from toolwitness.tests.collector.receive.otlp import START_NS, as_otlp_json, calls, of_records, request_of

MIB = 2**20


def spans_in(live):
    """How many spans the running collector has stored."""
    return live.collector.store.read(lambda cursor: cursor.sql("select count(*) from spans").fetchall()[0][0])


def body_of(number=1):
    """A protobuf request of so many calls with a gate each."""
    return calls(number).SerializeToString()


@pytest.mark.parametrize("compression", list(Compression))
def test_the_standard_exporter_is_understood(live, compression):
    """Spans of OpenTelemetry's own SDK arrive, whatever it compresses with."""
    provider = TracerProvider()
    exporter = OTLPSpanExporter(f"{live.url}/v1/traces", compression=compression)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("app").start_as_current_span("outer"), provider.get_tracer("app").start_as_current_span("in"):
        pass
    provider.shutdown()
    assert spans_in(live) == 2


def test_a_good_request_is_stored_when_it_is_answered(live):
    """The receipt says so, and the answer is OTLP's own."""
    answer = live.post(body_of(3))
    assert json.loads(answer.headers["toolwitness-receipt"]) == {"received": 6, "stored": 6, "duplicate": 0, "rejected": {}}
    assert (answer.headers["content-type"], answer.content) == ("application/x-protobuf", b"")
    assert spans_in(live) == 6


def test_spans_sent_twice_are_stored_once(live):
    """An exporter that did not hear the answer sends again."""
    body = body_of(2)
    live.post(body)
    assert live.receipt_of(body, Content_Encoding="identity")["duplicate"] == 4
    assert spans_in(live) == 4


def test_rejected_spans_are_a_partial_success_in_protobuf(live):
    """Invalid ids lose that span alone, and the answer says how many and why."""
    request = request_of({"a": 1}, span_id=b"short")
    request.MergeFrom(calls(1))
    answer = ExportTraceServiceResponse.FromString(live.post(request.SerializeToString()).content)
    assert answer.partial_success.rejected_spans == 1
    assert answer.partial_success.error_message == "rejected spans by reason: invalid_span_id 1"
    assert spans_in(live) == 2


def test_json_is_answered_in_json(live, shared):
    """The published sample with base64 ids: the request is good, its span is not."""
    answer = live.post((shared / "data/otlp/contrib_invalid_base64_ids.json").read_bytes(), "application/json; charset=utf-8")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert json.loads(answer.content)["partialSuccess"]["rejectedSpans"] == "1"


def test_unknown_fields_are_ignored(live):
    """A newer protocol's fields cost nothing."""
    document = as_otlp_json(calls(1)) | {"invented": {"later": [1]}}
    assert live.receipt_of(json.dumps(document), "application/json")["stored"] == 2


GZIP = {"Content_Encoding": "gzip"}
BAD = [
    (b"not protobuf", "application/x-protobuf", {}, 400, "http_400_bad_protobuf"),
    (b"not json", "application/json", {}, 400, "http_400_bad_json"),
    (b"[" * 100_000, "application/json", {}, 400, "http_400_bad_json"),
    (b'{"resourceSpans": 7}', "application/json", {}, 400, "http_400_bad_json"),
    (gzip.compress(b"x" * 99)[:-9], "application/x-protobuf", GZIP, 400, "http_400_truncated_compression"),
    (b"no gzip at all", "application/x-protobuf", GZIP, 400, "http_400_broken_compression"),
    (b"x", "text/plain", {}, 415, "http_415_content_type"),
    (b"x", "", {}, 415, "http_415_content_type"),
    (b"x", "application/json", {"Content_Encoding": "br"}, 415, "http_415_content_encoding"),
    (b"x", "application/json", {"Host": "evil.example:4318"}, 421, "http_421_wrong_host"),
    (gzip.compress(bytes(100 * MIB)), "application/x-protobuf", GZIP, 413, "http_413_too_large"),
    (bytes(65 * MIB), "application/x-protobuf", {}, 413, "http_413_too_large"),
]


@pytest.mark.parametrize("bad", BAD, ids=[f"{bad[4]}-{at}" for at, bad in enumerate(BAD)])
def test_bad_input_is_refused_counted_and_costs_nothing_else(live, bad):
    """The right status, a message that repeats nothing, a count, and the next good request is stored."""
    body, content_type, headers, status, reason = bad
    answer = live.post(body, content_type, **headers)
    refusal = json.loads(answer.content)
    assert (answer.status, refusal.keys(), live.counted(reason)) == (status, {"code", "message"}, 1)
    assert "no gzip at all" not in refusal["message"]
    assert "evil" not in refusal["message"]
    assert live.receipt_of(body_of())["stored"] == 2


def test_a_body_that_never_says_its_length_is_cut_off_at_the_limit(live):
    """100 MB in chunks: 413, though no Content-Length announced it."""
    chunk = bytes(MIB)
    answer = live.ask("POST", "/v1/traces", (chunk for _ in range(100)), Content_Type="application/x-protobuf")
    assert (answer.status, live.counted("http_413_too_large")) == (413, 1)
    assert live.receipt_of(body_of())["stored"] == 2


def test_a_sender_that_leaves_in_the_middle_is_counted(live):
    """Half a request loses only itself."""
    with socket.create_connection(("127.0.0.1", live.port)) as half:
        half.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: 999\r\n\r\n{")  # fmt: skip
    assert live.counted("http_400_body_cut") == 1


def hold(writer, until):
    """Keep the writer's thread busy, and 90,000 bytes of its queue taken, until the event."""
    here, is_held = threading.current_thread(), threading.Event()

    def wait(_):
        if threading.current_thread() is not here:  # a receipt that is there already calls back on this thread
            is_held.set()
            until.wait(30)

    while not is_held.wait(0.01):
        with suppress(QueueFullError):
            writer.submit([], size=90_000).add_done_callback(wait)


def test_a_full_queue_is_503_with_the_wait_that_exporters_survive(start):
    """What does not fit now may come again in two seconds; what never fits is 413."""
    live = start(queue_bytes=100_000)
    body, free = calls(40).SerializeToString(), threading.Event()
    hold(live.collector.writer, free)
    answer = live.post(body)
    assert (answer.status, answer.headers["retry-after"], live.counted("http_503_queue_full")) == (503, "2", 1)
    free.set()
    live.collector.writer.submit([], size=0).result(30)
    assert live.receipt_of(body)["stored"] == 80
    assert live.post(bytes(100_001)).status == 413


def test_many_senders_at_once_lose_and_double_nothing(live):
    """Eight threads, five requests each, every one sent twice."""
    bodies = [[body_of(5) for _ in range(5)] for _ in range(8)]
    receipts = []

    def send(mine):
        receipts.extend(live.receipt_of(body) for body in mine for _ in range(2))

    threads = [threading.Thread(target=send, args=(mine,)) for mine in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(each["stored"] for each in receipts), sum(each["duplicate"] for each in receipts)) == (400, 400)
    assert spans_in(live) == 400


def test_a_named_query_answers_in_arrow(live):
    """The rows are those of the store itself."""
    live.post(of_records(Run(run_id="r7", task="12")).SerializeToString())
    answer = live.ask("POST", "/api/query", '{"name": "runs"}', Content_Type="application/json")
    assert answer.headers["content-type"] == "application/vnd.apache.arrow.stream"
    assert pa.ipc.open_stream(answer.content).read_all() == live.collector.store.query("runs")


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        ('{"name": "no_such"}', "application/json", 404),
        ('{"name": "runs", "params": {"x": 1}}', "application/json", 400),
        ('{"name": "replay_run", "params": {"run": ["a"]}}', "application/json", 400),
        ('{"name": "runs", "params": {"limit": -1}}', "application/json", 400),
        ('{"name": "runs", "params": {"limit": "ten"}}', "application/json", 400),
        ('{"name": "runs", "params": {"search": "\\ud800"}}', "application/json", 400),
        ('{"name": "tools", "params": {"by_week": 3}}', "application/json", 400),
        ('{"params": {}}', "application/json", 400),
        ('["runs"]', "application/json", 400),
        ("not json", "application/json", 400),
        ('{"name": "runs"}', "text/plain", 415),
        ('{"name": "runs"}', "application/x-protobuf", 415),
        ('{"name": "runs"' + " " * 100_000, "application/json", 413),
    ],
)
def test_a_bad_question_is_refused(idle, body, content_type, status):
    """Unknown query, wrong parameters, no JSON; nothing that a web page could send unasked is taken."""
    assert idle.ask("POST", "/api/query", body, Content_Type=content_type).status == status


@pytest.mark.parametrize("path", ["/v1/metrics", "/v1/", "/api/", "/api/spans"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_paths_are_404_in_json(idle, method, path):
    """A dashboard's catch-all page would answer 200."""
    answer = idle.ask(method, path)
    assert (answer.status, json.loads(answer.content)["code"]) == (404, 5)


@pytest.mark.parametrize(("method", "path", "allow"), [("GET", "/v1/traces", "POST"), ("POST", "/api/health", "GET, HEAD")])
def test_a_wrong_method_is_told_the_right_one(idle, method, path, allow):
    """405 with Allow."""
    answer = idle.ask(method, path)
    assert (answer.status, answer.headers["allow"]) == (405, allow)


def test_health_says_who_this_is(idle):
    """Enough for another process to know that the file is served here."""
    health = json.loads(idle.ask("GET", "/api/health").content)
    assert (health["product"], health["pid"], health["url"]) == ("toolwitness", os.getpid(), idle.url)
    assert health["db"] == str(idle.collector.path.resolve())


def test_allowed_hosts_are_answered(start):
    """The loopback's names with any port, and those that were configured."""
    live = start(hosts=["Box.example"])
    hosts = ["localhost", "127.0.0.1:9", "LOCALHOST:4318", "[::1]:4318", "box.example"]
    assert {live.ask("GET", "/api/health", Host=host).status for host in hosts} == {200}


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::2]"])
@pytest.mark.parametrize("path", ["/api/health", "/v1/nothing"])
def test_other_hosts_are_refused_on_every_path(idle, host, path):
    """A name that an attacker's DNS points here reads nothing."""
    assert idle.ask("GET", path, Host=host).status == 421


def test_the_guard_covers_pages_and_web_sockets_too(tmp_path):
    """As middleware around an application it closes a strange web socket before it opens, and counts it."""
    collector = Collector(tmp_path / "spans.duckdb")
    sent, inner = [], []

    async def page(scope, _receive, _send):
        inner.append(scope["headers"])

    async def send(message):
        sent.append(message["type"])

    async def both():
        guard = HostGuard(page, collector)
        async with collector.lifespan(None):
            for host in (b"evil.example", b"localhost"):
                await guard({"type": "websocket", "headers": [(b"host", host)]}, None, send)

    asyncio.run(both())
    assert (sent, inner) == (["websocket.close"], [[(b"host", b"localhost")]])
    assert counts_in(collector.path) == {"http_421_wrong_host": 1}


def counts_in(path):
    """Requests by reason, in a file that nobody holds."""
    store = Store.open(path)
    try:
        return {row["reason"]: row["requests"] for row in store.query("ingest").to_pylist()}
    finally:
        store.close()


def test_the_store_of_a_stopped_collector_holds_all_that_was_answered(live):
    """A clean end closes the file, counts included, and takes back the owner file."""
    path = live.collector.path
    live.post(body_of(2))
    live.post(b"junk")
    live.stop()
    assert not Path(f"{path}.owner.json").exists()
    assert counts_in(path) == {"stored": 1, "http_400_bad_protobuf": 1}


def test_open_calls_are_judged_again_and_again(start):
    """A call that nobody ever ends becomes an unknown commit by time alone."""
    now = [START_NS]
    live = start(clock=lambda: now[0], derive_every_s=0.01)
    call = Call(run_id="r", call_id="c" * 16, call_ordinal=0, tool="pay")
    begun = AttemptStart(run_id="r", call_id="c" * 16, attempt_ordinal=1, tool="pay")
    live.post(of_records(call, begun).SerializeToString())
    now[0] += 3600 * 10**9
    deadline = time.monotonic() + 20
    while outcome_of(live) != "unknown_commit" and time.monotonic() < deadline:
        live.ask("GET", "/api/health")
    assert outcome_of(live) == "unknown_commit"


def outcome_of(live):
    """The outcome of the only call."""
    return live.collector.store.read(lambda cursor: cursor.sql("select outcome from calls").fetchall()[0][0])
