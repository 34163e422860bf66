"""Which payments of a run were asked a key for, and how that ended, so that a second one does not get the key of the first.

For a run that has an id of the application's it is kept in the state folder, so that it outlives the process: one file a run,
append-only, digests only. Every process that works on the run reads what the others wrote before it answers.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolwitness.model.exceptions import IdempotencyKeyError

if TYPE_CHECKING:
    from toolwitness.sdk.calls import CallScope

_MOST = 10_000
"""Different payments and nodes of one run that are remembered; none is ever forgotten, so one more gets no key."""
_KEPT_S = 30 * 86_400.0

lock = threading.RLock()
"""Held while a book is read or written. A fork waits for it, or its child would find it held for ever."""
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


class Ending(StrEnum):
    """How a call that had a key ended, where that is certain."""

    DONE = "done"
    """It took effect, so its key is used up."""
    REFUSED = "refused"
    """It took none: its key is used up where no other call that has it may still take effect."""


@dataclass(slots=True)
class _Twins:
    """Equal calls of a run."""

    ordinal: int = 0
    """How many of their keys are used up."""
    open: set[str] = field(default_factory=set)
    """The calls that have the key of this ordinal and did not end for certain."""
    refused: bool = False

    def ask(self, ordinal: int, call: str) -> None:
        if ordinal > self.ordinal:  # the line that told of the end before it could not be written
            self._begin(ordinal)
        if ordinal == self.ordinal:
            self.open.add(call)

    def end(self, ordinal: int, call: str, ending: str) -> None:
        if ordinal != self.ordinal:
            return
        self.open.discard(call)
        self.refused = True
        if ending == Ending.DONE or not self.open:
            self._begin(ordinal + 1)

    def _begin(self, ordinal: int) -> None:
        self.ordinal, self.open, self.refused = ordinal, set(), False


class Book:
    """The memory of one run; in a file where there is a `path`. One that `forgets` drops the oldest where it has too much.

    Raises OSError where the file cannot be read or written.
    """

    def __init__(self, path: Path | None = None, *, forgets: bool = False) -> None:
        self._path, self._forgets = path, forgets
        self.waiting: dict[str, dict[str, CallScope]] = {}
        """The calls of this process that have a key and are not over, by what is equal in twins."""
        self._twins: dict[str, _Twins] = {}
        self._bound: OrderedDict[str, str] = OrderedDict()
        self._handle: int | None = None
        self._file = -1
        self._read = 0

    def ask(self, twin: str, call: str) -> int:
        """The ordinal of the key of a call, by what is equal in all its twins. Raises IdempotencyKeyError for one too many."""
        with self._opened():
            known = self._twins.get(twin)
            if known is None:
                self._make_room()
            ordinal = 0 if known is None else known.ordinal
            self._write("asked", twin, ordinal, call)
        return ordinal

    def end(self, twin: str, ordinal: int, call: str, ending: Ending) -> None:
        """Remember how a call ended, also where it cannot be written."""
        try:
            with self._opened():
                self._write("ended", twin, ordinal, call, ending)
        except OSError:
            with lock:
                self._apply("ended", twin, ordinal, call, ending)
            raise

    def bind(self, name: str, arguments: str) -> bool:
        """Remember with what arguments a node or key is used; False where it was used with others.

        Raises IdempotencyKeyError for one too many.
        """
        with self._opened():
            bound = self._bound.get(name)
            if bound is None:
                self._make_room()
                self._write("bound", name, arguments)
        return bound in {None, arguments}

    def _make_room(self) -> None:
        if len(self._twins) + len(self._bound) < _MOST:
            return
        if not self._forgets:
            raise IdempotencyKeyError(
                f"there are {_MOST:,} different payments with a key in this run, and no more are kept in mind"
            )
        self._bound.popitem(last=False)

    def _write(self, *entry: Any) -> None:
        if self._handle is not None:
            line = json.dumps(entry).encode() + b"\n"
            if os.write(self._handle, line) != len(line):
                os.ftruncate(self._handle, self._read)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._read += len(line)
        self._apply(*entry)

    def _apply(self, kind: str, name: str, *more: Any) -> None:
        if kind == "asked":
            self._twins.setdefault(name, _Twins()).ask(*more)
        elif kind == "ended":
            self._twins.setdefault(name, _Twins()).end(*more)
        elif kind == "bound":
            self._bound.setdefault(name, *more)

    @contextmanager
    def _opened(self) -> Iterator[None]:
        """Hold the book, with everything in it that other processes wrote."""
        with lock:
            # Python may let go of a generator here, and that of a tool ends its call: the second lock would wait for the first.
            if self._path is None or self._handle is not None:
                yield
                return
            self._handle = _locked(self._path)
            try:
                self._catch_up(self._handle)
                yield
            finally:
                os.close(self._handle)  # which lets go of the lock
                self._handle = None

    def _catch_up(self, handle: int) -> None:
        """Read what is new; a last line without an end was cut by a crash before anybody got an answer by it."""
        status = os.fstat(handle)
        if status.st_ino != self._file:  # the first time, or it was removed for its age
            self._file, self._read = status.st_ino, 0
        text = os.pread(handle, status.st_size - self._read, self._read) if status.st_size > self._read else b""
        self._read += len(text)
        if text and not text.endswith(b"\n"):
            self._read += os.write(handle, b"\n")
        for line in text.splitlines():
            with contextlib.suppress(ValueError, TypeError):
                self._apply(*json.loads(line))


def _locked(path: Path) -> int:
    """The open file, which no other process reads or writes meanwhile, and which was not removed while we waited for it."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if _is(path, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _is(path: Path, handle: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(handle).st_ino
    except FileNotFoundError:
        return False


def prune(folder: Path, *, older_than_s: float = _KEPT_S) -> None:
    """Remove the files of runs that asked for no key for so long."""
    oldest = time.time() - older_than_s
    for path in folder.glob("*.jsonl"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if os.fstat(handle).st_mtime < oldest:
                        path.unlink()
                finally:
                    os.close(handle)
