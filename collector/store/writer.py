"""The one thread that writes: requests that arrive while a group commits form the next group by themselves.

There is no lingering: waiting for more requests was measured to cost both rate and latency.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from toolwitness.collector.store.columns import Row
from toolwitness.collector.store.receipt import Receipt
from toolwitness.collector.store.redactions import Redactions
from toolwitness.collector.store.store import Store
from toolwitness.model.exceptions import QueueFullError

_LIMIT_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class _Request:
    rows: list[Row]
    size: int
    rejected: Mapping[str, int]
    redactions: Redactions
    receipt: Future[Receipt]


class Writer:
    """Writes requests to a store in groups; `limit_bytes` bounds what waits or is being written."""

    def __init__(self, store: Store, *, limit_bytes: int = _LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._store = store
        self._queue: SimpleQueue[_Request | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._held_bytes = 0
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="toolwitness-writer", daemon=True)
        self._thread.start()

    def submit(
        self,
        rows: list[Row],
        *,
        size: int,
        rejected: Mapping[str, int] | None = None,
        redactions: Redactions | None = None,
    ) -> Future[Receipt]:
        """Hand in the rows of one request; the future has its receipt as soon as they are durable.

        `size` is what the request weighs in bytes, `rejected` counts what it lost before, `redactions` what the redactor
        made of it. Raises QueueFullError where the
        queue cannot hold it now, and ValueError for a request that no queue of this limit could ever hold.
        """
        if size > self.limit_bytes:
            raise ValueError(f"a request of {size} bytes never fits into a queue of {self.limit_bytes}; send it in parts")
        request = _Request(rows, size, rejected or {}, redactions or Redactions(), Future())
        request.receipt.set_running_or_notify_cancel()
        with self._lock:
            if self._is_closed or self._held_bytes + size > self.limit_bytes:
                state = "closed" if self._is_closed else f"full ({self._held_bytes} of {self.limit_bytes} bytes)"
                raise QueueFullError(f"the writer's queue is {state}; send the request again later")
            self._held_bytes += size
            self._queue.put(request)
        return request.receipt

    def close(self, timeout: float | None = None) -> bool:
        """Take no more requests and write those that wait; False where that took longer than `timeout` seconds."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._queue.put(None)
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        is_open = True
        while is_open:
            group, is_open = self._next_group()
            if group:
                self._write(group)

    def _next_group(self) -> tuple[list[_Request], bool]:
        """All that waits, once there is something; False where it ends with the end of the queue."""
        group: list[_Request] = []
        request = self._queue.get()
        while request is not None:
            group.append(request)
            try:
                request = self._queue.get_nowait()
            except Empty:
                return group, True
        return group, False

    def _write(self, group: list[_Request]) -> None:
        try:
            receipts = self._store.write_group(
                [r.rows for r in group], [r.rejected for r in group], [r.redactions for r in group]
            )
        except Exception as error:  # noqa: BLE001 -- whatever it is, each waiting request must hear of it
            for request in group:
                request.receipt.set_exception(error)
        else:
            for request, receipt in zip(group, receipts, strict=True):
                request.receipt.set_result(receipt)
        finally:
            with self._lock:
                self._held_bytes -= sum(request.size for request in group)
