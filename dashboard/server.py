"""Pages and receiver as one ASGI application: one process, one port, one open database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import config

from toolwitness.collector.receive.collector import Collector
from toolwitness.collector.receive.server import HostGuard, routes
from toolwitness.dashboard.look import THEME
from toolwitness.replay import load

_SCRIPT = Path(__file__).parent / "app.py"
_POLICY_VIOLATION = 1008
_OPTIONS: dict[str, object] = {
    "browser.gatherUsageStats": False,
    "server.headless": True,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.baseUrlPath": "",
    "server.enableStaticServing": False,
    "server.showEmailPrompt": False,
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "type",
    "client.showErrorLinks": False,
    "runner.magicEnabled": False,
    "logger.hideWelcomeMessage": True,
    **THEME,
}
"""Nothing calls out, nothing is watched, no detail of an error is shown that could hold recorded text."""


def configure() -> None:
    """Set Streamlit up for the pages, whatever the working directory's and the user's config.toml say.

    What those files set is taken back to Streamlit's own default first, so that no option leaks in.
    """
    for name, option in config.get_config_options().items():
        if config.is_manually_set(name):
            config.set_option(name, option.default_val)
    for name, value in _OPTIONS.items():
        config.set_option(name, value)


class OriginGuard:
    """ASGI middleware that opens a page's web socket only for the page itself, since a reader can write there.

    Streamlit alone would also let in pages of any other server on this machine, and ask the internet for its own address
    before it turns others away. What sends no `Origin` is no browser.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or close the web socket before it opens."""
        headers = Headers(scope=scope) if scope["type"] == "websocket" else Headers()
        origin = headers.get("origin")
        if origin is None or urlsplit(origin).netloc.lower() == headers.get("host", "").lower():
            await self._app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})


async def _tool_health(request: Request) -> RedirectResponse:
    """The default page has no path of its own in Streamlit; this gives it one."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/{query}")


def build_app(collector: Collector) -> st.App:
    """The ASGI application that receives for `collector` and shows the pages over its store.

    The pages read the store that the collector writes: the database file is open once. They are shown for the same `Host`
    names only that the collector answers to, and take a reader's clicks from themselves alone.
    """
    configure()

    @asynccontextmanager
    async def lifespan(app: st.App) -> AsyncIterator[dict[str, Any]]:
        async with collector.lifespan(app):
            load.use(load.Source(collector.store, str(collector.store.path)))
            try:
                yield {}
            finally:
                load.use(None)

    own = [Route("/tool-health", _tool_health, methods=["GET"]), *routes(collector)]
    guards = [Middleware(HostGuard, collector=collector), Middleware(OriginGuard)]
    return st.App(_SCRIPT, routes=own, lifespan=lifespan, middleware=guards)
