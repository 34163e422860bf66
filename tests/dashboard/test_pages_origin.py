"""Whose clicks the pages take, asked of a server that runs."""

import http.client
from urllib.parse import urlsplit

import pytest

from toolwitness.tests.browser.conftest import serving

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "streamlit",
}


@pytest.fixture(name="place", scope="module")
def fixture_place(tmp_path_factory):
    """Host and port of running pages."""
    with serving(tmp_path_factory.mktemp("pages") / "pages.duckdb") as url:
        yield urlsplit(url).netloc


def opened(place, **headers):
    """The status with which the pages answer a browser that wants their web socket."""
    connection = http.client.HTTPConnection(place, timeout=60)
    connection.request("GET", "/_stcore/stream", headers=HANDSHAKE | headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_pages_own_socket_opens(place):
    """As it does for a program that names no origin."""
    assert opened(place, Origin=f"http://{place}") == http.client.SWITCHING_PROTOCOLS
    assert opened(place) == http.client.SWITCHING_PROTOCOLS


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1:1", "https://example.org", "null"])
def test_no_other_page_can_click_here(place, origin):
    """Not even one of another server on this machine."""
    assert opened(place, Origin=origin) == http.client.FORBIDDEN
