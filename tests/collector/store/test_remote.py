import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from toolwitness.collector.store.remote import RemoteStore
from toolwitness.model.exceptions import CollectorAnswerError, SettingsError, UnknownQueryError
from toolwitness.model.records import Run
from toolwitness.tests.collector.receive.otlp import calls, of_records


@contextmanager
def stranger(*answers):
    """A server that gives these (status, headers, body) one after the other, the last for ever; yields its URL."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, body = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    Handler.do_GET = Handler.do_POST = Handler.handle_any
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_questions_and_spans_go_through_a_running_collector(live):
    """What is sent comes back as a receipt, what is asked as the store's own rows."""
    remote = RemoteStore(live.url + "/")
    receipt = remote.ingest(of_records(Run(run_id="r1")).SerializeToString())
    assert (receipt.received, receipt.stored) == (1, 1)
    assert remote.query("runs") == live.collector.store.query("runs")
    assert remote.health()["db"] == str(live.collector.path.resolve())


def test_parameters_reach_the_query(live):
    """A run is found by its id, and only that one."""
    remote = RemoteStore(live.url)
    remote.ingest(of_records(Run(run_id="r1"), Run(run_id="r2")).SerializeToString())
    assert remote.query("replay_run", {"run": "r2"}).num_rows == 1


@pytest.mark.parametrize(("name", "params"), [("no_such", {}), ("runs", {"x": 1})])
def test_a_wrong_question_is_the_error_that_the_store_itself_raises(live, name, params):
    """Callers need not know whether the store is near or far."""
    with pytest.raises(UnknownQueryError) as near:
        live.collector.store.query(name, params)
    with pytest.raises(UnknownQueryError) as far:
        RemoteStore(live.url).query(name, params)
    assert str(far.value) == str(near.value)


def test_spans_that_are_too_large_are_refused_with_the_reason(start):
    """The collector's own message is passed on."""
    with pytest.raises(CollectorAnswerError, match="status 413: the body is too large"):
        RemoteStore(start(body_bytes=1000).url).ingest(calls(20).SerializeToString())


def test_nobody_there_is_told_with_the_next_step():
    """The message names the URL and how to start a collector."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(CollectorAnswerError, match=rf"no answer from {url} .*refused.* toolwitness up --db FILE"):
        RemoteStore(url).health()


def test_a_server_that_never_answers_is_given_up():
    """The timeout holds, and says so."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(CollectorAnswerError, match="timed out"):
            RemoteStore(url, timeout_s=0.2).query("runs")


@pytest.mark.parametrize(
    "answer",
    [(200, {}, b"<html>hello</html>"), (200, {}, b'{"status": "ok"}'), (404, {}, b"gone"), (500, {}, b"")],
)
@pytest.mark.parametrize("ask", [RemoteStore.health, lambda remote: remote.query("runs"), lambda remote: remote.ingest(b"")])
def test_another_program_is_not_taken_for_a_collector(answer, ask):
    """Whatever it answers, the message says that this is no toolwitness and where to look."""
    with stranger(answer) as url, pytest.raises(CollectorAnswerError, match=r"not as a toolwitness .* see what listens"):
        ask(RemoteStore(url))


def test_a_full_queue_is_waited_for_as_long_as_it_asks():
    """503 with Retry-After is no loss; absurd waits are cut."""
    waits = []
    busy = b'{"code": 14, "message": "too much is waiting"}'
    good = {"toolwitness-receipt": '{"received": 1, "stored": 1, "duplicate": 0, "rejected": {}}'}
    with stranger((503, {"Retry-After": "2"}, busy), (503, {"Retry-After": "9999"}, busy), (200, good, b"")) as url:
        assert RemoteStore(url, sleep=waits.append).ingest(b"").stored == 1
    assert waits == [2.0, 5.0]


def test_a_queue_that_stays_full_is_an_error_in_the_end():
    """Five tries, then the collector's own words."""
    waits = []
    busy = stranger((503, {}, b'{"code": 14, "message": "too much is waiting"}'))
    with busy as url, pytest.raises(CollectorAnswerError, match="status 503: too much is waiting"):
        RemoteStore(url, sleep=waits.append).ingest(b"")
    assert len(waits) == 4


def test_no_proxy_is_asked_for_the_loopback(live, monkeypatch):
    """A proxy of the environment would see the spans, and could not reach them anyway."""
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:1")
    assert RemoteStore(live.url).health()["product"] == "toolwitness"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "127.0.0.1:4318", "http://"])
def test_only_http_addresses_are_taken(url):
    """The message shows what an address looks like."""
    with pytest.raises(SettingsError, match=r"looks like http://127\.0\.0\.1:4318"):
        RemoteStore(url)
