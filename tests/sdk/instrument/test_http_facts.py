"""What HTTP requests prove of the attempt that they are made in, by every client that is instrumented."""

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
REFUSED = {"httpx": httpx.ConnectError, "httpx2": httpx2.ConnectError, "requests": requests.ConnectionError}


class Httpx:
    """A session of httpx, or of httpx2."""

    def __init__(self, module, proxy=None):
        self._client = module.Client(timeout=LONG_S, follow_redirects=True, proxy=proxy, trust_env=False, verify=False)
        self.post, self.close = self._client.post, self._client.close

    def stream(self, url):
        """Read the head of the answer alone."""
        with self._client.stream("POST", url):
            pass


class Async:
    """An asynchronous one, each request in the same loop."""

    def __init__(self, module, proxy=None):
        self._runner = asyncio.Runner()
        self._client = module.AsyncClient(timeout=LONG_S, follow_redirects=True, proxy=proxy, trust_env=False, verify=False)
        self.apost = self._client.post

    def post(self, url, **given):
        """Send in the loop, in the context of the caller."""
        return self._runner.run(self._client.post(url, **given))

    def stream(self, url):
        """Read the head of the answer alone."""

        async def head():
            async with self._client.stream("POST", url):
                pass

        self._runner.run(head())

    def close(self):
        """Close connections and loop."""
        self._runner.run(self._client.aclose())
        self._runner.close()


class Requests:
    """A session of requests."""

    def __init__(self, proxy=None):
        self._session = requests.Session()
        self._session.trust_env = self._session.verify = False
        self._session.proxies = {"http": proxy, "https": proxy} if proxy else {}
        self.close = self._session.close

    def post(self, url, content=None, timeout=LONG_S):
        """Send with a timeout."""
        return self._session.post(url, data=content, timeout=timeout)

    def stream(self, url):
        """Read the head of the answer alone."""
        self._session.post(url, timeout=LONG_S, stream=True).close()


CLIENTS = {
    "httpx": lambda **given: Httpx(httpx, **given),
    "httpx-async": lambda **given: Async(httpx, **given),
    "httpx2": lambda **given: Httpx(httpx2, **given),
    "httpx2-async": lambda **given: Async(httpx2, **given),
    "requests": Requests,
}


@pytest.fixture(name="server")
def _server():
    server = MisbehavingServer()
    yield server
    server.close()


@pytest.fixture(name="session", params=CLIENTS)
def _session(request, instrument):
    """A function that makes a session of one client, which is instrumented; `recorded` is what it left."""
    with instrument(request.param.partition("-")[0]) as recorded, contextlib.ExitStack() as stack:

        def make(**given):
            made = CLIENTS[request.param](**given)
            stack.callback(made.close)
            return made

        make.recorded = recorded
        make.refused = REFUSED[request.param.partition("-")[0]]
        yield make


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


def run(function, name="http_tool"):
    """Run a function as a tool that may write; what it raises stays here."""
    with contextlib.suppress(Exception):
        toolwitness.tool(function, name=name)()


def facts(session, name="http_tool"):
    """Status of the only attempt of a tool, whether it was sent, the remote status, the transport."""
    ids = {one.call_id for one in session.recorded.records(RecordKind.CALL) if one.tool == name}
    (one,) = [one for one in session.recorded.records(RecordKind.ATTEMPT) if one.call_id in ids]
    return str(one.attempt_status), str(one.sent), one.remote_status, one.transport


@pytest.mark.parametrize("status", [200, 202, 500])
def test_an_answered_request_was_sent(session, server, status):
    """Its status stands on the attempt, whatever it says."""
    run(lambda: session().post(f"{server.url}/{status}").status_code)

    assert facts(session) == ("ok", "yes", status, "http")


def test_a_refused_connection_sent_nothing(session, server):
    """The attempt ended by it, so nothing left the process."""
    run(lambda: session().post(server.refused + "/200"))

    assert facts(session) == ("error", "no", None, "http")


def test_a_connection_that_takes_too_long_is_a_timeout_that_sent_nothing(session, server):
    """Time ran out before anything could be sent."""
    run(lambda: session().post(server.full + "/200", timeout=SHORT_S))

    assert facts(session) == ("timeout", "no", None, "http")


def test_an_answer_that_does_not_come_is_a_timeout_that_was_sent(session, server):
    """It may have committed."""
    run(lambda: session().post(server.url + "/silent", timeout=SHORT_S))

    assert facts(session) == ("timeout", "yes", None, "http")


def test_a_reset_after_sending_was_sent(session, server):
    """It may have committed."""
    run(lambda: session().post(server.url + "/reset"))

    assert facts(session) == ("error", "yes", None, "http")


def test_a_body_that_breaks_off_was_answered(session, server):
    """The status came, the rest did not."""
    run(lambda: session().post(server.url + "/cut").text)

    assert facts(session) == ("error", "yes", 200, "http")


def test_an_answer_that_is_not_read_was_answered(session, server):
    """The head of it is enough."""
    run(lambda: session().stream(server.url + "/cut"))

    assert facts(session) == ("ok", "yes", 200, "http")


def test_a_redirect_counts_by_its_end(session, server):
    """The last status is the answer's."""
    run(lambda: session().post(server.url + "/redirect"))

    assert facts(session) == ("ok", "yes", 200, "http")


def test_a_redirect_to_nowhere_has_no_status(session, server):
    """The status of the way there would say that the last request was answered."""
    run(lambda: session().post(server.url + "/redirect-silent", timeout=SHORT_S))

    assert facts(session) == ("timeout", "yes", None, "http")


@pytest.mark.parametrize("path", ["/200", "/reset", "/silent"])
def test_a_refusal_after_a_request_that_was_sent_rules_nothing_out(session, server, path):
    """What was sent first may have committed, also where it was not answered and the tool went on."""

    def tool():
        client = session()
        with contextlib.suppress(Exception):
            client.post(server.url + path, timeout=SHORT_S)
        client.post(server.refused)

    run(tool)

    assert facts(session) == ("error", "yes", None, "http")


def test_a_refusal_that_the_tool_gets_over_proves_nothing(session, server):
    """It may have done its work in another way, whether it answers or fails by something else."""

    def tool(error):
        with contextlib.suppress(Exception):
            session().post(server.refused)
        if error:
            raise error

    run(lambda: tool(None), "answers")
    run(lambda: tool(KeyError("order")), "fails")

    assert facts(session, "answers") == ("ok", "unknown", None, "http")
    assert facts(session, "fails") == ("error", "unknown", None, "http")


def test_a_refusal_proves_the_same_as_the_cause_of_what_the_tool_raises(session, server):
    """Where the tool says so by `raise ... from`; one that happened before proves nothing."""

    def tool(said):
        try:
            session().post(server.refused)
        except session.refused as error:
            raise RuntimeError("shop is closed") from (error if said else None)

    run(lambda: tool(said=True), "said")
    run(lambda: tool(said=False), "unsaid")

    assert facts(session, "said")[1] == "no"
    assert facts(session, "unsaid")[1] == "unknown"


def test_tls_that_fails_sent_nothing(session, server):
    """No request goes over a connection that is not there yet."""
    run(lambda: session().post(server.url.replace("http:", "https:")))

    assert facts(session)[:2] == ("error", "no")


def test_a_proxy_that_refuses_the_tunnel_sent_nothing(session, server):
    """Nothing reached the origin."""
    run(lambda: session(proxy=server.url).post("https://shop.invalid/403"))

    assert facts(session)[:2] == ("error", "no")


def test_a_proxy_that_breaks_off_rules_nothing_out(session, server):
    """What it was told to forward may have gone on."""
    run(lambda: session(proxy=server.url + "/").post("http://shop.invalid/reset"))

    assert facts(session)[:2] == ("error", "yes")


def test_a_connection_that_is_used_again_and_breaks_was_sent(session, server):
    """Whether it was closed before or after the request arrived, nobody knows."""

    def tool():
        client = session()
        client.post(server.url + "/200")
        client.post(server.url + "/reset")

    run(tool)

    assert facts(session) == ("error", "yes", None, "http")


def test_a_body_that_cannot_be_made_is_not_known(session, server):
    """A part of the request may have left, also where the exception says that nothing of another one did."""

    def body():
        yield b"half"
        session().post(server.refused)

    async def abody():
        yield b"half"
        await session().apost(server.refused)

    run(lambda: session().post(server.url + "/200", content=abody() if isinstance(session(), Async) else body()))

    assert facts(session)[:2] == ("error", "unknown")


def test_a_tool_in_a_tool_is_a_part_of_what_the_outer_one_sent(session, server):
    """The outer attempt ends by a refusal, and yet something left the process in it."""

    @toolwitness.tool
    def inner():
        session().post(server.url + "/200")

    def outer():
        inner()
        session().post(server.refused)

    run(outer, "outer")

    assert facts(session, "inner") == ("ok", "yes", 200, "http")
    assert facts(session, "outer") == ("error", "yes", None, "http")


def test_a_refusal_in_a_tool_in_a_tool_is_one_of_both(session, server):
    """Neither sent anything."""

    @toolwitness.tool
    def refused_inside():
        session().post(server.refused)

    run(refused_inside, "outside")

    assert facts(session, "refused_inside")[1] == facts(session, "outside")[1] == "no"


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


def test_what_the_application_says_stands(session, server):
    """It knows better what its tool does."""
    with toolwitness.call("told") as call, call.attempt(transport="queue") as attempt:
        attempt.sent("unknown")
        session().post(server.url + "/200")

    assert facts(session, "told") == ("ok", "unknown", 200, "queue")


def test_outside_of_an_attempt_nothing_is_recorded(session, server):
    """A request of the loop itself is nobody's fact, nor is one of an attempt that ended."""
    with toolwitness.call("early") as call:
        with call.attempt() as attempt:
            pass
        with attempt:
            session().post(server.url + "/200")
    session().post(server.url + "/200")

    assert facts(session, "early") == ("ok", "unknown", None, None)


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
        ("/202", "succeeded"),
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
