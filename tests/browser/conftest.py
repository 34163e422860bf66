"""Real servers on real files, and a real Chromium that may not leave this machine."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from toolwitness.collector.importing import import_into
from toolwitness.collector.store.store import Store
from toolwitness.tests.browser import story

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Below a page's own path Streamlit first looks for its server in the wrong place; it finds it at once, but the browser logs.
KNOWN_NOISE = re.compile(r"/_stcore/(health|host-config)$")
STARTED = re.compile(r"serves .* at (http://\S+)")
STOP_TIMEOUT_S = 15
LOOPBACK = {"127.0.0.1", "localhost"}
WIDE = {"width": 1440, "height": 900}
TALLEST = 4_000
TIMEOUT_MS = 30_000


def pytest_collection_modifyitems(items):
    """Every test of this folder drives a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@contextmanager
def serving(db):
    """The URL of `toolwitness up` on a file, in a process of its own, for as long as the block runs."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("STREAMLIT_")}
    with tempfile.TemporaryFile("w+") as log:
        command = [sys.executable, "-m", "toolwitness", "up", "--db", str(db), "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, cwd=db.parent)
        try:
            said = process.stdout.readline()
            log.seek(0)
            assert STARTED.search(said), f"toolwitness up said {said!r} and {log.read()!r}"
            yield STARTED.search(said)[1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_TIMEOUT_S)
            process.stdout.close()


@pytest.fixture(name="office", scope="session")
def fixture_office(tmp_path_factory):
    """(URL, file) of the made-up office agent's history."""
    db = tmp_path_factory.mktemp("office") / "office.duckdb"
    store = Store.open(db)
    store.write_group([story.rows()])
    store.close()
    with serving(db) as url:
        yield url, db


@pytest.fixture(name="nothing", scope="session")
def fixture_nothing(tmp_path_factory):
    """(URL, file) of a database in which nothing has been recorded."""
    db = tmp_path_factory.mktemp("nothing") / "nothing.duckdb"
    with serving(db) as url:
        yield url, db


@pytest.fixture(name="airline", scope="session")
def fixture_airline(tmp_path_factory, shared):
    """(URL, file) of imported tau-bench runs."""
    folder = shared / "data" / "tau-bench"
    db = tmp_path_factory.mktemp("airline") / "airline.duckdb"
    import_into(db, [folder / "gpt-4o-airline.dev_trials01.json.gz"], tools=folder / "tau1_airline_tools.json")
    with serving(db) as url:
        yield url, db


@pytest.fixture(name="chromium", scope="session")
def fixture_chromium():
    """A headless Chromium; skips where there is none."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if program is None:
        pytest.skip("no Chromium found: install Debian's chromium, or name one in CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()


class Reader:
    """Someone who looks at pages; `heard` is what went wrong while they did."""

    def __init__(self, page, folder):
        self.page = page
        self.heard = []
        self._folder = folder
        page.on("console", self._hear_console)
        page.on("pageerror", lambda error: self.heard.append(f"page error: {error}"))
        page.on("request", self._hear_request)

    def _hear_console(self, message):
        if message.type == "error" and not KNOWN_NOISE.search(message.location.get("url", "")):
            self.heard.append(f"console: {message.text} at {message.location}")

    def _hear_request(self, request):
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"} and parts.hostname not in LOOPBACK:
            self.heard.append(f"request to {request.url}")

    def open(self, address):
        """Open an address and wait until the page is drawn."""
        self.page.goto(address)
        self.settle()
        return self.page

    def settle(self):
        """Wait until the script of the page has run to its end."""
        done = self.page.locator("[data-testid=stApp][data-test-script-state=notRunning]")
        expect(done).to_be_visible()
        expect(self.page.locator(".tw").first).to_be_visible()

    def keep(self, name):
        """Save a screenshot of the whole page."""
        before = self.page.viewport_size
        height = self.page.locator("[data-testid=stMain]").evaluate("main => main.scrollHeight")
        self.page.set_viewport_size({**before, "height": max(before["height"], min(height, TALLEST))})
        self._folder.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self._folder / f"{name}.png")
        self.page.set_viewport_size(before)


@pytest.fixture(name="window", scope="session")
def fixture_window(chromium):
    """One browser profile for all tests, which loads the application's scripts only once."""
    expect.set_options(timeout=TIMEOUT_MS)
    context = chromium.new_context(viewport=WIDE, color_scheme="light", reduced_motion="reduce")
    context.set_default_timeout(TIMEOUT_MS)
    yield context
    context.close()


@pytest.fixture(name="reader")
def fixture_reader(window, root):
    """A reader with a wide screen who likes it light; after the test nothing may have gone wrong."""
    reader = Reader(window.new_page(), root / "var" / "screenshots")
    yield reader
    reader.page.close()
    assert reader.heard == []
