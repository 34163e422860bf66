"""The one background thread: takes notes off a bounded queue, lets the assembler make spans of them, and exports those.

The SDK's own batch processor is not used: it blocks the end of a process for seconds against a dead collector and drops
bursts. Here the exporter is called directly, a failed batch is kept and tried again, the end waits a bounded time, and not at
all where the last export failed.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any, Literal, Protocol

from toolwitness.sdk.exporting import our_export
from toolwitness.sdk.guard import Guard, worker_guard
from toolwitness.sdk.late import late_imports

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

    from toolwitness.sdk.assemble import Assembler

logger = logging.getLogger("toolwitness")

_BATCH = 512
_BATCH_CHARACTERS = 512 * 1024
_PENDING = 20_000
_NOTES_A_BREATH = 8
_BREATH_S = 50e-6
_LONGEST_PAUSE_S = 30.0
_LEAVING_S = 0.5


Note = Literal[
    "adopted",
    "amended",
    "answered",
    "attempt_started",
    "attempted",
    "call_ended",
    "call_proposed",
    "decision_ended",
    "decision_started",
    "executed",
    "gated",
    "message",
    "run_ended",
    "run_started",
]
"""What a note says happened: a method of `Assembler`, by its name, since the agent's thread has no need of the rest of it."""


class Sink(Protocol):
    """Where scopes put their notes."""

    @property
    def dropped(self) -> int:
        """How many notes and spans were dropped because too many waited."""

    def put(self, size: int, note: Note, *arguments: Any) -> bool:
        """Take a note of about `size` bytes with its arguments; False where there is no room."""

    def flush(self, timeout_s: float) -> bool:
        """Wait until everything so far is exported; False where that did not happen."""

    def close(self, timeout_s: float) -> bool:
        """Flush and stop; False where something was left undelivered."""


Delivered = Callable[[Sequence["ReadableSpan"]], None]
"""Is told each batch that the exporter took."""


class Outbox:
    """Spans that wait for their export, oldest first; a failed batch stays and is tried again.

    What the exporter raises is raised.
    """

    def __init__(
        self, make_exporter: Callable[[], SpanExporter], assembler: Assembler, delivered: Delivered | None = None
    ) -> None:
        self._make_exporter, self._assembler, self._delivered = make_exporter, assembler, delivered
        self._exporter: SpanExporter | None = None
        self._pending: deque[ReadableSpan] = deque()
        self._most = _BATCH
        self.failed = 0
        self.dropped = 0
        self.abandoned = self.exporting = False

    def collect(self) -> None:
        """Take over what the assembler made."""
        self._pending.extend(self._assembler.out)
        self._assembler.out.clear()
        excess = len(self._pending) - _PENDING
        if excess > 0:
            for _ in range(excess):
                self._pending.popleft()
            self.dropped += excess
            self._assembler.forget_announcements()

    def __len__(self) -> int:
        """How many spans wait."""
        return len(self._pending)

    def send(self) -> bool:
        """Export everything in batches; stops at the first that fails, and where it is abandoned."""
        while self._pending and not self.abandoned:
            batch = self._batch()
            if not self._export(batch):
                self.failed += 1
                # What was too much for the time or for the other side is tried in smaller parts.
                self._most = max(1, len(batch) // 2)
                return False
            for _ in batch:
                self._pending.popleft()
            self._tell(batch)
            self.failed = 0
            self._most = min(_BATCH, self._most + max(1, self._most // 8))
        return not self._pending

    def _tell(self, batch: list[ReadableSpan]) -> None:
        if self._delivered is not None:
            with worker_guard:
                self._delivered(batch)

    def _batch(self) -> list[ReadableSpan]:
        """The oldest spans, limited in number and in characters; at least one."""
        batch: list[ReadableSpan] = []
        room = _BATCH_CHARACTERS
        for span in itertools.islice(self._pending, self._most):
            room -= sum(len(value) for value in (span.attributes or {}).values() if type(value) is str)
            if batch and room < 0:
                break
            batch.append(span)
        return batch

    def _export(self, batch: list[ReadableSpan]) -> bool:
        with our_export():
            # Made when there is something to export: where that fails (a file that is held), the next batch tries again.
            self._exporter = self._exporter or self._make_exporter()
            self.exporting = True
            try:
                return getattr(self._exporter.export(batch), "name", None) == "SUCCESS"
            finally:
                self.exporting = False

    def shutdown(self) -> None:
        """Close the exporter."""
        with worker_guard, our_export():
            if self._exporter is not None:
                self._exporter.shutdown()


class AgentOutbox(Outbox):
    """The outbox beside an agent: what the exporter raises is a failed export, told once."""

    def __init__(
        self, make_exporter: Callable[[], SpanExporter], assembler: Assembler, delivered: Delivered | None = None
    ) -> None:
        super().__init__(make_exporter, assembler, delivered)
        self._exporting = Guard(everything=True, reports=False)
        self.warned = False

    def prepare(self) -> None:
        """Make the exporter, so that the first batch, which may be that of the process's end, does not wait for its imports."""
        with self._exporting, our_export():
            self._exporter = self._make_exporter()

    def _export(self, batch: list[ReadableSpan]) -> bool:
        with self._exporting:
            if super()._export(batch):
                return True
        if not self.warned:
            self.warned = True
            raised = self._exporting.last
            # A logging handler of the application may raise, which must not end our thread.
            with worker_guard:
                logger.warning(
                    "toolwitness cannot deliver its spans%s; the agent is not affected, and delivery is tried again. "
                    "Start a collector with `toolwitness up`, or set TOOLWITNESS_ENDPOINT to where one runs.",
                    "" if raised is None else f" ({raised.__name__})",
                )
        return False


class Worker:
    """A `Sink` with a thread of its own, started by `start` or the first note, and after a fork by the first note."""

    def __init__(
        self,
        make_exporter: Callable[[], SpanExporter],
        make_assembler: Callable[[], Assembler],
        delivered: Delivered | None = None,
        *,
        queue_bytes: int,
        interval_s: float,
    ) -> None:
        self._make_exporter, self._make_assembler, self._delivered = make_exporter, make_assembler, delivered
        self._limit, self._interval = queue_bytes, interval_s
        self._notes_dropped = 0
        self._reset()
        reset = weakref.WeakMethod(self._reset)  # the registration lasts as long as the process, the worker may not
        os.register_at_fork(after_in_child=lambda: (again := reset()) and again())

    def _reset(self) -> None:
        """Begin anew; after a fork the parent's thread, locks and sockets are not ours."""
        self._notes: deque[tuple[Any, ...]] = deque()  # size, note, its arguments: one object each
        self._bytes = 0
        self._lock = threading.Lock()
        self._asleep = False
        self._wake = threading.Event()
        self._urgent = threading.Event()
        self._flushes: deque[_Flush] = deque()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._outbox: AgentOutbox | None = None

    def put(self, size: int, note: Note, *arguments: Any) -> bool:
        """Take a note; the only thing that the agent's thread waits for is a lock held for an addition."""
        with self._lock:
            if self._bytes + size > self._limit or self._stopping:
                self._notes_dropped += 1
                return False
            self._bytes += size
        self._notes.append((size, note, *arguments))
        if self._asleep:
            self._wake.set()
        elif self._thread is None:
            self.start()
        return True

    @property
    def dropped(self) -> int:
        """How many notes and spans were dropped because too many waited."""
        return self._notes_dropped + (0 if self._outbox is None else self._outbox.dropped)

    def start(self) -> None:
        """Start the thread, if it does not run yet."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="toolwitness", daemon=True)
                Context().run(self._thread.start)  # it belongs to no call, though one may have put the first note

    def _run(self) -> None:
        assembler = self._make_assembler()
        outbox = self._outbox = AgentOutbox(self._make_exporter, assembler, self._delivered)
        outbox.prepare()
        while not (outbox.abandoned or (self._stopping and not self._notes)):
            pause = min(self._interval * 2**outbox.failed, _LONGEST_PAUSE_S)
            self._sleep(pause if outbox else None)
            # Notes gather for one interval, longer after failures. Working them off at once would take the interpreter
            # from the agent at every call.
            self._urgent.wait(pause)
            self._urgent.clear()
            flushes = [self._flushes.popleft() for _ in range(len(self._flushes))]
            self._drain(assembler, outbox, hurry=bool(flushes))
            outbox.collect()
            delivered = outbox.send()
            for flush in flushes:
                flush.delivered = delivered
                flush.done.set()
        outbox.shutdown()

    def _sleep(self, pause: float | None) -> None:
        """Wait for a note, or for the time to try a failed batch again."""
        self._asleep = True
        if not (self._notes or self._flushes or self._stopping):
            self._wake.wait(pause)
        self._asleep = False
        self._wake.clear()

    def _drain(self, assembler: Assembler, outbox: Outbox, *, hurry: bool) -> None:
        """Work through the notes that are there.

        After every millisecond or so the interpreter is the agent's, unless somebody waits for us: giving it up for no time at
        all would not do, since a thread that waits for it needs longer than that to wake up.
        """
        for done in range(len(self._notes)):
            if outbox.abandoned:
                return
            size, note, *arguments = self._notes.popleft()
            with worker_guard, late_imports:
                getattr(assembler, note)(*arguments)
            with self._lock:
                self._bytes -= size
            if done % _NOTES_A_BREATH == 0 and not (hurry or self._stopping or self._flushes):
                time.sleep(_BREATH_S)

    def flush(self, timeout_s: float) -> bool:
        """Wait until everything so far is exported; False where that did not happen in time or an export failed."""
        if self._thread is None:
            return True
        flush = _Flush()
        self._flushes.append(flush)
        self._urgent.set()
        self._wake.set()
        flush.done.wait(timeout_s)
        return flush.delivered

    def close(self, timeout_s: float) -> bool:
        """Flush and stop; does not wait for a collector that did not take the last batch.

        Where time runs out the thread is told to leave what there is. It must not be in the middle of working off or importing
        when Python ends: coming back from C++ or Rust then, it would take the process down. Waiting for a socket does no harm.
        """
        thread, outbox = self._thread, self._outbox
        self._stopping = True
        if thread is None:
            return True
        self._urgent.set()
        self._wake.set()
        thread.join(0.1 if outbox is not None and outbox.failed else timeout_s)
        outbox = self._outbox
        if thread.is_alive() and outbox is not None:
            outbox.abandoned = True
        if outbox is None or not outbox.exporting:
            thread.join(_LEAVING_S)
        delivered = not (thread.is_alive() or outbox is None or outbox or self._notes)
        if not delivered and (outbox is None or not outbox.warned):
            logger.warning(
                "toolwitness ran out of time at the end of the process: not everything was delivered. The next process that "
                "records to the same place tells which writes are missing, as unknown commits; TOOLWITNESS_EXIT_TIMEOUT gives "
                "it longer"
            )
        return delivered


class _Flush:
    """Somebody who waits until everything so far is exported."""

    __slots__ = ("delivered", "done")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.delivered = False


class InlineSink:
    """A `Sink` without a thread, for importers and tests: notes are worked off at once, spans exported in batches."""

    def __init__(self, exporter: SpanExporter, assembler: Assembler, delivered: Delivered | None = None) -> None:
        self._assembler = assembler
        self._outbox = Outbox(lambda: exporter, assembler, delivered)

    @property
    def dropped(self) -> int:
        """How many spans were dropped because too many waited."""
        return self._outbox.dropped

    def put(self, size: int, note: Note, *arguments: Any) -> bool:  # noqa: ARG002 -- a Sink's signature
        """Work the note off."""
        getattr(self._assembler, note)(*arguments)
        if len(self._assembler.out) >= _BATCH:
            self.flush(0)
        return True

    def flush(self, timeout_s: float) -> bool:  # noqa: ARG002 -- a Sink's signature
        """Export what there is."""
        self._outbox.collect()
        return self._outbox.send()

    def close(self, timeout_s: float) -> bool:
        """Export what there is; the exporter belongs to the caller."""
        return self.flush(timeout_s)


class SilentSink:
    """A `Sink` where nothing is recorded."""

    dropped = 0

    def put(self, size: int, note: Note, *arguments: Any) -> bool:  # noqa: ARG002 -- a Sink's signature
        """Take a note and keep nothing of it."""
        return True

    def flush(self, timeout_s: float) -> bool:  # noqa: ARG002 -- a Sink's signature
        """Nothing waits."""
        return True

    def close(self, timeout_s: float) -> bool:  # noqa: ARG002 -- a Sink's signature
        """Nothing waits."""
        return True
