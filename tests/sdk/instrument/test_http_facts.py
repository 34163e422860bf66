"""What HTTP requests prove of the attempt that they are made in, by every client that is instrumented."""

import asyncio
import contextlib

import httpx
import httpx2
import pytest
import requests

import toolwitness
from toolwitness.model.enums import RecordKind
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

    assert facts(session) == ("ok" if status < 500 else "error", "yes", status, "http")


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

    assert facts(session, "answers") == ("error", "unknown", None, "http")
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
