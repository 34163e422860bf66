"""What HTTP requests prove of an attempt: several at once, retries inside, and what becomes of the call."""

import asyncio
import contextlib
import socket
import struct
import threading

import httpx
import httpx2
import pytest
import requests
import urllib3

import toolwitness
from toolwitness.collector.embedded import StoreExporter
from toolwitness.collector.store.store import Store
from toolwitness.model.enums import RecordKind
from toolwitness.sdk import Settings, calls, setup
from toolwitness.sdk.instrument import registry
from toolwitness.tests.fakes.misbehaving_server import MisbehavingServer

SHORT_S = 0.2
LONG_S = 20


@pytest.fixture(name="server")
def _server():
    server = MisbehavingServer()
    yield server
    server.close()


@contextlib.contextmanager
def instrumented(state_dir, make_exporter):
    """Record requests of httpx, to an exporter of the test's own."""
    setup.start(Settings(state_dir=state_dir, export_interval_s=0.01), make_exporter)
    registry.switch_on(registry.choose(["httpx"]))
    try:
        yield
    finally:
        registry.switch_off()
        setup.stop()


def test_a_thread_that_outlives_the_inner_tool_still_is_in_the_outer_one(instrument, server):
    """What it sends is sent while the outer attempt runs."""
    ended = threading.Event()
    thread = threading.Thread(target=lambda: ended.wait(20) and httpx.post(server.url + "/200", timeout=LONG_S))

    @toolwitness.tool
    def starting():
        thread.start()

    @toolwitness.tool
    def outermost():
        starting()
        ended.set()
        thread.join()
        httpx.post(server.refused)

    with instrument("httpx", "threads") as recorded:
        with contextlib.suppress(httpx.ConnectError):
            outermost()
        sent = {one.tool: str(recorded.attempts(one.call_id)[0].sent) for one in recorded.records(RecordKind.CALL)}

    assert sent == {"starting": "unknown", "outermost": "yes"}


def test_requests_at_once_prove_nothing_while_one_is_on_its_way(instrument, server):
    """One of a gather is refused, which ends the attempt; the other was sent or is being sent."""

    async def together():
        async with httpx.AsyncClient(timeout=5, trust_env=False) as client:
            await asyncio.gather(client.post(server.url + "/slow"), client.post(server.refused))

    with instrument("httpx") as recorded:
        with contextlib.suppress(httpx.ConnectError):
            asyncio.run(toolwitness.tool(together)())
        (attempt,) = recorded.records(RecordKind.ATTEMPT)

    assert (str(attempt.attempt_status), str(attempt.sent)) == ("error", "unknown")


def test_the_status_is_that_of_the_request_that_began_last(instrument, server):
    """Of those at once one is told, and always the same one."""

    async def together():
        async with httpx.AsyncClient(timeout=5, trust_env=False) as client:
            await asyncio.gather(client.post(server.url + "/slow"), client.post(server.url + "/500"))

    with instrument("httpx") as recorded:
        asyncio.run(toolwitness.tool(together)())
        attempt = recorded.one(RecordKind.ATTEMPT)

    assert attempt.remote_status == 500


def test_a_request_that_is_cancelled_is_not_known(instrument, server):
    """It was sent or not; a timeout around the tool does not tell."""

    async def cancelled():
        async with httpx.AsyncClient(trust_env=False) as client:
            await asyncio.wait_for(client.post(server.url + "/silent"), SHORT_S)

    with instrument("httpx") as recorded:
        with contextlib.suppress(TimeoutError):
            asyncio.run(toolwitness.tool(cancelled)())
        attempt = recorded.one(RecordKind.ATTEMPT)

    assert (str(attempt.attempt_status), str(attempt.sent)) == ("timeout", "unknown")


@pytest.fixture(name="once")
def _once():
    """A URL where one request is read and reset, and then nobody listens."""
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"

    def serve():
        connection, _ = listening.accept()
        listening.close()
        connection.recv(65536)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    yield url
    thread.join()


def test_what_was_handed_to_a_thread_may_still_have_an_effect(instrument, server):
    """A refused connection says nothing of a write that another thread makes a moment later."""
    later = threading.Event()

    @toolwitness.tool
    def handing_over():
        threading.Thread(target=lambda: later.wait(LONG_S)).start()
        httpx.post(server.refused)

    with instrument("httpx", "threads") as recorded:
        with contextlib.suppress(httpx.ConnectError):
            handing_over()
        later.set()
        attempt = recorded.one(RecordKind.ATTEMPT)

    assert attempt.sent == "unknown"


def test_a_retry_inside_urllib3_that_is_refused_rules_nothing_out(instrument, once):
    """The exception tells of the last try alone; the first was sent."""

    def retrying():
        with requests.Session() as session:
            session.trust_env = False
            session.mount("http://", requests.adapters.HTTPAdapter(max_retries=urllib3.Retry(1, allowed_methods=None)))
            session.post(once)

    with instrument("requests") as recorded:
        with contextlib.suppress(requests.ConnectionError):
            toolwitness.tool(retrying)()
        attempt = recorded.one(RecordKind.ATTEMPT)

    assert (str(attempt.attempt_status), str(attempt.sent)) == ("error", "yes")


def test_retries_that_are_all_refused_sent_nothing(instrument, server):
    """Where urllib3 tried several times to connect."""

    def retrying():
        with requests.Session() as session:
            session.trust_env = False
            session.mount("http://", requests.adapters.HTTPAdapter(max_retries=2))
            session.post(server.refused, data=b"order")

    with instrument("requests") as recorded:
        with contextlib.suppress(requests.ConnectionError):
            toolwitness.tool(retrying)()
        attempt = recorded.one(RecordKind.ATTEMPT)

    assert (str(attempt.attempt_status), str(attempt.sent)) == ("error", "no")


def test_a_transport_of_the_application_s_own_sends_nothing_that_we_know_of(instrument):
    """Such as those of tests."""

    def mocked():
        with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200))) as client:
            client.get("http://shop.invalid")

    with instrument("httpx") as recorded:
        toolwitness.tool(mocked)()
        attempt = recorded.one(RecordKind.ATTEMPT)

    assert (attempt.transport, str(attempt.sent)) == (None, "unknown")


def test_a_model_that_a_tool_asks_is_a_fact_of_its_attempt(instrument, model):
    """As any other request."""
    openai = pytest.importorskip("openai")

    def asking():
        with openai.OpenAI(base_url=model.url + "/v1", api_key="k") as client:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])

    with instrument("openai", "httpx", "httpx2") as recorded:
        toolwitness.tool(asking)()
        attempt = recorded.one(RecordKind.ATTEMPT)

    assert (attempt.transport, str(attempt.sent), attempt.remote_status) == ("http", "yes", 200)


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("/202", "indeterminate"),
        ("/500", "unknown_commit"),
        ("/reset", "unknown_commit"),
        ("/silent", "unknown_commit"),
        ("refused", "failed"),
        ("full", "failed"),
    ],
)
def test_what_becomes_of_a_write(tmp_path, server, path, outcome):
    """A connection that was refused or took too long is a failure that can be tried again; the rest may have committed."""
    store = Store.open(tmp_path / "spans.duckdb")

    @toolwitness.tool(side_effect="write")
    def submit():
        url = server.url + path if path.startswith("/") else getattr(server, path)
        httpx.post(url, timeout=SHORT_S if path in {"/silent", "full"} else LONG_S, trust_env=False).raise_for_status()

    with contextlib.closing(store), instrumented(tmp_path, lambda: StoreExporter(store)):
        with contextlib.suppress(httpx.HTTPError), toolwitness.run("task", id="r-1"):
            submit()
        assert setup.flush(20)
        (call,) = store.query("replay_calls", {"run": "r-1"}).to_pylist()

    assert call["outcome"] == outcome


@pytest.mark.parametrize(
    ("name", "owner", "method"),
    [
        ("httpx", httpx.HTTPTransport, "handle_request"),
        ("httpx", httpx.AsyncHTTPTransport, "handle_async_request"),
        ("httpx2", httpx2.HTTPTransport, "handle_request"),
        ("requests", requests.adapters.HTTPAdapter, "send"),
        ("requests", urllib3.connection.HTTPConnection, "request"),
        ("httpx", httpx.Response, "iter_raw"),
        ("httpx", httpx.Response, "aiter_raw"),
        ("httpx", httpx.Response, "json"),
        ("requests", requests.Response, "iter_content"),
    ],
)
def test_taken_back_it_is_as_it_was(instrument, name, owner, method):
    """Methods, and which exceptions are timeouts."""
    before, timeouts = vars(owner)[method], list(calls.TIMEOUTS)
    with instrument(name):
        during = vars(owner)[method]

    assert during is not before
    assert vars(owner)[method] is before
    assert timeouts == calls.TIMEOUTS
