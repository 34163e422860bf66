"""What becomes of failed calls, from the exception or the answer to the row in the store."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import requests
from urllib3.util import Retry

import toolwitness
from toolwitness.collector.embedded import StoreExporter
from toolwitness.collector.store.store import Store
from toolwitness.sdk import Settings, setup
from toolwitness.sdk.instrument import registry
from toolwitness.tests.fakes.misbehaving_server import MisbehavingServer

SHORT_S = 0.2


@pytest.fixture(name="server")
def _server():
    server = MisbehavingServer()
    yield server
    server.close()


@pytest.fixture(name="stored")
def _stored(tmp_path):
    """`stored(tool, *names)` runs a tool with these libraries instrumented and hands out the call's row."""

    def run(tool, *names):
        store = Store.open(tmp_path / "spans.duckdb")
        with contextlib.closing(store):
            setup.start(Settings(state_dir=tmp_path, export_interval_s=0.01), lambda: StoreExporter(store))
            registry.switch_on(registry.choose(names))
            try:
                with contextlib.suppress(Exception), toolwitness.run("task", id="r-1"):
                    tool()
                assert setup.flush(20)
                (row,) = store.query("replay_calls", {"run": "r-1"}).to_pylist()
                return row
            finally:
                registry.switch_off()
                setup.stop()

    return run


def posting(url, *, side_effect="write", timeout=20):
    """A tool that posts once and raises for a bad status."""

    @toolwitness.tool(side_effect=side_effect)
    def submit():
        return httpx.post(url, timeout=timeout, trust_env=False).raise_for_status().json()

    return submit


@pytest.mark.parametrize(
    ("path", "outcome", "error_class"),
    [
        ("/401", "failed", "permission"),
        ("/400", "failed", "validation"),
        ("/404", "unknown_commit", "stale_reference"),
        ("/409", "unknown_commit", "conflict"),
        ("/429", "unknown_commit", "rate_limit"),
        ("/500", "unknown_commit", "unknown_commit"),
        ("/502", "unknown_commit", "unknown_commit"),
        ("/silent", "unknown_commit", "unknown_commit"),
        ("/reset", "unknown_commit", "unknown_commit"),
        ("refused", "failed", "temporary"),
    ],
)
def test_a_write_that_fails(stored, server, path, outcome, error_class):
    """Only what the standards call not carried out, or what never left, is a failure; the class says the same."""
    url = server.refused if path == "refused" else server.url + path
    row = stored(posting(url, timeout=SHORT_S if path == "/silent" else 20), "httpx")

    assert (row["outcome"], row["error_class"]) == (outcome, error_class)


@pytest.mark.parametrize(("path", "error_class"), [("/502", "temporary"), ("/500", "internal"), ("/silent", "temporary")])
def test_a_reading_tool_may_be_tried_again(stored, server, path, error_class):
    """Nothing can have happened."""
    row = stored(posting(server.url + path, side_effect="read", timeout=SHORT_S), "httpx")

    assert (row["outcome"], row["error_class"]) == ("failed", error_class)


def test_an_error_below_a_good_status_is_a_failure_with_both_facts(stored, server):
    """The service says itself that it did not; the layer around it is well."""

    @toolwitness.tool(side_effect="write")
    def submit():
        httpx.post(server.url + "/200", trust_env=False).raise_for_status()
        return {"success": True, "result": {"success": 0, "error": {"code": "card_declined"}}}

    row = stored(submit, "httpx")
    told = (row["outcome"], row["observation"], row["transport_status"], row["vendor_code"], row["error_class"])

    assert told == ("failed", "error", "ok", "card_declined", "unclassified")


def test_a_refusal_after_another_request_proves_nothing(stored, server):
    """The first may have committed."""

    @toolwitness.tool(side_effect="write")
    def submit():
        httpx.post(server.url + "/200", trust_env=False)
        httpx.post(server.url + "/401", trust_env=False).raise_for_status()

    assert stored(submit, "httpx")["outcome"] == "unknown_commit"


def test_a_refusal_after_a_retry_of_the_library_proves_nothing(stored, server):
    """urllib3 sent it more than once, and tells the last answer only."""

    @toolwitness.tool(side_effect="write")
    def submit():
        with requests.Session() as session:
            again = Retry(total=1, status_forcelist=[401], allowed_methods=None, raise_on_status=False)
            session.mount("http://", requests.adapters.HTTPAdapter(max_retries=again))
            session.post(server.url + "/401").raise_for_status()

    row = stored(submit, "requests")

    assert (row["outcome"], server.paths) == ("unknown_commit", ["/401", "/401"])


def test_another_exception_after_a_refusal_proves_nothing(stored, server):
    """What the tool did after the refusal is not known."""

    @toolwitness.tool(side_effect="write")
    def submit():
        httpx.post(server.url + "/401", trust_env=False)
        raise ValueError

    assert stored(submit, "httpx")["outcome"] == "unknown_commit"


def test_an_exception_of_ones_own_raised_from_the_refusal_is_one(stored, server):
    """`raise ... from` says that this is why."""

    @toolwitness.tool(side_effect="write")
    def submit():
        try:
            httpx.post(server.url + "/401", trust_env=False).raise_for_status()
        except httpx.HTTPStatusError as error:
            raise RuntimeError from error

    assert stored(submit, "httpx")["outcome"] == "failed"


def test_requests_at_once_prove_nothing(stored, server):
    """Of several refusals any may be that of something else."""

    @toolwitness.tool(side_effect="write")
    def submit():
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda path: httpx.post(server.url + path, trust_env=False), ("/401", "/200"))
        first.raise_for_status()
        second.raise_for_status()

    assert stored(submit, "httpx", "threads")["outcome"] == "unknown_commit"


def test_without_a_look_at_requests_an_exception_alone_proves_nothing(stored, server):
    """A refused connection may come after another that was not."""
    row = stored(posting(server.refused))

    assert (row["outcome"], row["error_class"]) == ("unknown_commit", "unknown_commit")
