"""A collector that really listens, over a real database file."""

import http.client
import json
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from toolwitness.collector.receive.serve import Collector, Server, bind
from toolwitness.collector.receive.server import build_app


class Running:
    """A collector that is up, and a client to it that sends exactly what it is told."""

    def __init__(self, collector, port, stop):
        self.collector = collector
        self.port = port
        self.url = collector.url
        self.stop = stop

    def ask(self, method, path, body=None, **headers):
        """Send one request; its answer with `content` read. Header names are written with `_` for `-`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
            answer = connection.getresponse()
            answer.content = answer.read()
            return answer
        finally:
            connection.close()

    def post(self, body, content_type="application/x-protobuf", **headers):
        """Post spans."""
        return self.ask("POST", "/v1/traces", body, Content_Type=content_type, **headers)

    def receipt_of(self, body, content_type="application/x-protobuf", **headers):
        """Post spans that are taken; the counts that came back."""
        answer = self.post(body, content_type, **headers)
        assert answer.status == 200, answer.content
        return json.loads(answer.headers["toolwitness-receipt"])

    def counted(self, reason, at_least=1):
        """How many requests were counted under this reason; waits a while for the count, which follows the answer."""
        deadline = time.monotonic() + 20
        while True:
            rows = self.collector.store.query("ingest").to_pylist()
            found = sum(row["requests"] for row in rows if row["reason"] == reason)
            if found >= at_least or time.monotonic() > deadline:
                return found


@contextmanager
def _running(collector):
    listener = bind(collector, "127.0.0.1", 0)
    is_up = threading.Event()
    server = Server(build_app(collector), collector, lambda _: is_up.set())
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()

    def stop():
        server.should_exit = True
        thread.join()

    try:
        assert is_up.wait(30)
        yield Running(collector, listener.getsockname()[1], stop)
    finally:
        stop()


@pytest.fixture(name="start")
def fixture_start(tmp_path):
    """`start(**limits)` -> a running collector; all end with the test."""
    with ExitStack() as stack:
        yield lambda name="spans.duckdb", **limits: stack.enter_context(_running(Collector(tmp_path / name, **limits)))


@pytest.fixture(name="live")
def fixture_live(start):
    """A running collector with the usual limits."""
    return start()


@pytest.fixture(name="idle", scope="session")
def fixture_idle(tmp_path_factory):
    """A running collector that tests share which store nothing and count nothing."""
    with _running(Collector(tmp_path_factory.mktemp("idle") / "idle.duckdb")) as running:
        yield running
