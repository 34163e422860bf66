"""What an agent handed over and strangers sent is on no page, and in nothing that the pages' server sends to a browser."""

import urllib.request
from collections import Counter
from urllib.parse import urljoin, urlsplit

import pytest

from toolwitness.tests.browser.conftest import serving
from toolwitness.tests.canaries import KEPT, RUN, everything, send_agent

MOST_OF_A_PAGE = 2
"""Addresses of one path that are opened: the same page with other parameters."""
EXPAND = "document.querySelectorAll('details').forEach(one => { one.open = true })"
LINKS = "links => links.map(link => link.href)"


@pytest.fixture(name="aviary", scope="module")
def fixture_aviary(tmp_path_factory):
    """The URL of a collector that took everything that is planted."""
    db = tmp_path_factory.mktemp("aviary") / "aviary.duckdb"
    _, request, _ = everything()
    with serving(db) as url:
        code, output = send_agent(url)
        assert code == 0, output.decode()
        media = {"Content-Type": "application/x-protobuf"}
        urllib.request.urlopen(urllib.request.Request(f"{url}/v1/traces", request.SerializeToString(), media)).close()
        yield url


def visit(reader, url, heard):
    """The HTML of pages that can be reached by links, all details open, by address; frames go to `heard`."""
    reader.page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: heard.append(as_bytes(frame))))
    waiting, seen, paths = [url, f"{url}/replay?run={RUN}"], {}, Counter()
    while waiting:
        address = waiting.pop(0)
        parts = urlsplit(address)
        if address in seen or parts.netloc != urlsplit(url).netloc or paths[parts.path] == MOST_OF_A_PAGE:
            continue
        paths[parts.path] += 1
        page = reader.open(address)
        page.evaluate(EXPAND)
        seen[address] = page.content()
        waiting += [urljoin(address, link) for link in page.locator("a[href]").evaluate_all(LINKS)]
    return seen


def as_bytes(frame):
    """A frame's payload, which is a text or bytes."""
    return frame.encode() if isinstance(frame, str) else frame


def test_no_canary_is_on_a_page(reader, aviary):
    """No page that a reader can reach shows one, in its text or hidden in its markup, nor was one sent."""
    heard = []
    pages = visit(reader, aviary, heard)
    planted = everything()[0].planted

    assert {urlsplit(address).path for address in pages} >= {"", "/failed-runs", "/replay", "/submissions"}
    assert any(KEPT in html for html in pages.values())
    assert [(place, address) for address, html in pages.items() for place, text in planted.items() if text in html] == []
    sent = b"".join(heard)
    assert KEPT.encode() in sent
    assert [place for place, text in planted.items() if text.encode() in sent] == []
