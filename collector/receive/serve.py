"""Serving an application on one port, from a clear error about the port to a clean end by a signal."""

from __future__ import annotations

import contextlib
import errno
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from toolwitness.collector.receive.collector import Collector
from toolwitness.collector.store.remote import RemoteStore
from toolwitness.model.exceptions import CollectorAnswerError, SettingsError

__all__ = ["Collector", "Server", "bind", "serve"]

DEFAULT_PORT = 4318
_BACKLOG = 2048
_GRACE_S = 5


class Server(uvicorn.Server):
    """uvicorn with this product's settings; `ready` is called with the URL once it answers."""

    def __init__(self, app: Any, collector: Collector, ready: Callable[[str], None] | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_keep_alive=60,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self._collector = collector
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer, then say so."""
        await super().startup(sockets=sockets)
        if self.started and self._ready is not None:
            self._ready(self._collector.url)


def bind(collector: Collector, host: str, port: int) -> socket.socket:
    """A listening socket, whose URL the collector is told; port 0 takes any free one.

    Raises SettingsError where the address cannot be used, saying what holds the port if that is a toolwitness.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
    except OSError as error:
        raise SettingsError(f"cannot listen on host {host!r}: {error}; 127.0.0.1 is this machine alone") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # Listening at once, not when the application is up: until then Linux would let a second process bind as well.
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise SettingsError(_why_not(collector, host, port, error)) from error
    collector.url = _url(host, listener.getsockname()[1])
    return listener


def _url(host: str, port: int) -> str:
    """The URL to reach the port by from this machine."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 -- compared with, never bound to
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def _why_not(collector: Collector, host: str, port: int, error: OSError) -> str:
    if error.errno != errno.EADDRINUSE:
        return f"cannot listen on {host} port {port}: {error.strerror}; choose another host or port"
    try:
        holder = RemoteStore(_url(host, port), timeout_s=1.0).health()
    except CollectorAnswerError:
        return f"port {port} on {host} is taken by another program; stop that program, or choose another port"
    same = holder.get("db") == str(collector.path.resolve())
    what = "this very file" if same else f"another file, {holder.get('db')}"
    step = f"open {holder.get('url')}, or stop it first" if same else "choose another port, or stop it first"
    return f"port {port} on {host} is taken by a toolwitness (PID {holder.get('pid')}) that serves {what}; {step}"


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a signal mean a normal end: uvicorn shuts down at the first one, then sends it again to the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def serve(
    app: Any,
    collector: Collector,
    *,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the application until SIGTERM or Ctrl-C, and return once all that was accepted is stored.

    The application must run `collector.lifespan`. The file is opened before that, so that its errors reach the caller.

    Raises SettingsError where the port cannot be had, StoreHeldError or StoreVersionError where the file cannot.
    """
    with bind(collector, host, port) as listener:
        collector.open()
        try:
            with _ended_by_signals():
                Server(app, collector, ready).run(sockets=[listener])
        finally:
            collector.close()
