"""The collector as a whole: what it owns, opened before the first request and closed after the last."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from starlette.concurrency import run_in_threadpool

from toolwitness.collector.receive.body import MIB, Intake
from toolwitness.collector.receive.decode import decode_request
from toolwitness.collector.receive.wire import PROTOBUF
from toolwitness.collector.store import queries
from toolwitness.collector.store.owner import remove_owner, write_owner
from toolwitness.collector.store.store import Store
from toolwitness.collector.store.writer import Writer

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_LOG = logging.getLogger(__name__)
_DECODERS = 4
"""Requests decoded at once: more would only make each of them later, since they share one interpreter."""


class Collector:
    """One database file, the one writer to it, and the limits for what is let in.

    The parts exist between `open` and `close`, which `lifespan` calls around an application's life; routes may be made
    before that. `hosts` are further names for the `Host` header, beside the loopback's; `open_timeout_s` is as in `Store.open`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        hosts: Iterable[str] = (),
        body_bytes: int = 64 * MIB,
        queue_bytes: int = 64 * MIB,
        derive_every_s: float = 60.0,
        open_timeout_s: float | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.path = Path(path)
        self.url = ""
        """Where it answers; known once the port is bound, and told to other processes by the owner file."""
        self.hosts = LOOPBACK_HOSTS.union(host.lower() for host in hosts)
        self.body_bytes = min(body_bytes, queue_bytes)
        self.intake = Intake()
        self.decoders = anyio.CapacityLimiter(_DECODERS)
        self._queue_bytes = queue_bytes
        self._derive_every_s = derive_every_s
        self._open_timeout_s = open_timeout_s
        self._clock = clock
        self._started_ns = 0
        self._open: tuple[Store, Writer] | None = None
        self._refused: Counter[str] = Counter()
        self._counting: asyncio.Task[None] | None = None

    def _parts(self) -> tuple[Store, Writer]:
        if self._open is None:
            raise RuntimeError("the collector is not open: run its lifespan around the application, or call open()")
        return self._open

    @property
    def store(self) -> Store:
        """The open store. Raises RuntimeError before `open` and after `close`."""
        return self._parts()[0]

    @property
    def writer(self) -> Writer:
        """The open store's one writer. Raises RuntimeError before `open` and after `close`."""
        return self._parts()[1]

    def open(self) -> None:
        """Open the file, judge the calls that were left open, and say in the owner file who holds it; once is enough.

        Raises StoreHeldError where another process holds the file, StoreVersionError where it is of another version.
        """
        if self._open is not None:
            return
        store = Store.open(self.path, clock=self._clock, open_timeout_s=self._open_timeout_s)
        store.derive_open()
        self._open = store, Writer(store, limit_bytes=self._queue_bytes)
        self._started_ns = self._clock()
        write_owner(self.path, self.url)
        decode_request(b"", PROTOBUF)  # the first use of each library is slow, and no sender should wait for it

    def close(self) -> None:
        """Store what was accepted, then let go of the file; closing twice is as good as once."""
        if self._open is None:
            return
        store, writer = self._open
        self._open = None
        writer.close()
        store.close()
        remove_owner(self.path)

    @asynccontextmanager
    async def lifespan(self, _app: object) -> AsyncIterator[None]:
        """What an ASGI application runs around its own life (Starlette's and Streamlit's `lifespan=`)."""
        await run_in_threadpool(self.open)
        timer = asyncio.create_task(self._derive_regularly())
        try:
            yield
        finally:
            timer.cancel()
            ending = [timer] if self._counting is None else [timer, self._counting]
            await asyncio.gather(*ending, return_exceptions=True)
            await run_in_threadpool(self.close)

    async def _derive_regularly(self) -> None:
        """Judge open calls again and again, since they age without any span arriving."""
        while True:
            await asyncio.sleep(self._derive_every_s)
            await _logged(self.store.derive_open)

    def count_refusal(self, reason: str) -> None:
        """Have a refusal counted soon: its answer must not wait for the store, least of all when that is busy."""
        self._refused[reason] += 1
        if self._counting is None or self._counting.done():
            self._counting = asyncio.create_task(self._count_refused())

    async def _count_refused(self) -> None:
        while self._refused:
            counts, self._refused = self._refused, Counter()
            await _logged(_count_each, self.store, counts)

    def health(self) -> dict[str, Any]:
        """What `/api/health` tells: that it is a toolwitness, which process and file, and the queries it knows."""
        return {
            "product": "toolwitness",
            "status": "ok",
            "pid": os.getpid(),
            "db": str(self.path.resolve()),
            "url": self.url,
            "started_ns": self._started_ns,
            "queries": sorted(queries.names()),
        }


def _count_each(store: Store, counts: Counter[str]) -> None:
    for reason in counts.elements():
        store.count_refusal(reason)


async def _logged(work: Callable[..., Any], *args: Any) -> None:
    """Do work of the store's whose failure must not change what else is going on; it is logged."""
    for error in await asyncio.gather(run_in_threadpool(work, *args), return_exceptions=True):
        if isinstance(error, Exception):
            _LOG.error("%s failed", getattr(work, "__name__", "work"), exc_info=error)
