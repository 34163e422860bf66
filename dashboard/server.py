"""Pages and receiver as one ASGI application: one process, one port, one open database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from streamlit import config

from toolwitness.collector.receive.collector import Collector
from toolwitness.collector.receive.server import HostGuard, routes
from toolwitness.dashboard.look import THEME
from toolwitness.replay import load

_SCRIPT = Path(__file__).parent / "app.py"
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


async def _tool_health(request: Request) -> RedirectResponse:
    """The default page has no path of its own in Streamlit; this gives it one."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/{query}")


def build_app(collector: Collector) -> st.App:
    """The ASGI application that receives for `collector` and shows the pages over its store.

    The pages read the store that the collector writes: the database file is open once. They are shown for the same `Host`
    names only that the collector answers to.
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
    guard = Middleware(HostGuard, collector=collector)
    return st.App(_SCRIPT, routes=own, lifespan=lifespan, middleware=[guard])
