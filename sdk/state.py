"""What outlives the process on this machine: the key of keyed digests and the journal of attempts that may write."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import logging
import os
import secrets
import threading
import weakref
from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring_ascii as _text
from pathlib import Path
from typing import NamedTuple

from toolwitness.model.digest import KeyedDigest

logger = logging.getLogger("toolwitness")

_KEY_FILE = "digest.key"
_KEY_BYTES = 32
_RENEWED_BYTES = 1024 * 1024


def existing_digest_key(folder: Path) -> bytes | None:
    """The machine's key of keyed digests where there is one already; raises OSError where it cannot be read."""
    path = folder / _KEY_FILE
    return path.read_bytes() if path.exists() else None


def digest_key(folder: Path) -> bytes:
    """The machine's key of keyed digests, made once with mode 0600.

    Where the folder cannot be written, the key lives only as long as the process; digests then compare within it alone.
    """
    path = folder / _KEY_FILE
    try:
        if path.exists():
            return path.read_bytes()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Written whole under another name and linked into place, so that no other process reads half a key.
        draft = folder / f"digest.key.{secrets.token_hex(8)}"
        handle = os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
        return path.read_bytes()
    except OSError:
        return secrets.token_bytes(_KEY_BYTES)


_NOTHING_MORE = (None, None, None)


class OpenAttempt(NamedTuple):
    """What the journal keeps of an attempt that may write; no arguments. A line of the journal is its JSON array."""

    call_id: str
    run_id: str
    trace_id: str
    attempt_span_id: str
    start_span_id: str
    attempt_ordinal: int
    server: str
    tool: str
    started_ns: int
    decision_id: str | None = None
    call_ordinal: int | None = None
    side_effect: str = "unknown"
    subject: KeyedDigest | None = None
    key_digest: KeyedDigest | None = None
    action_id: str | None = None
    node: str | None = None
    owner: str | None = None
    settle_after_s: float | None = None

    def line(self) -> str:
        """The line of the journal, written by hand since a tool waits for it."""
        call, run, trace, attempt, start, ordinal, server, tool, started, decision, position, effect, subject, key = self[:14]
        rest = "null,null,null" if self[14:17] == _NOTHING_MORE else ",".join(map(_text_or_null, self[14:17]))
        return (
            f"[{_text(call)},{_text(run)},{_text(trace)},{_text(attempt)},{_text(start)},{ordinal},{_text(server)},{_text(tool)},"
            f"{started},{_text_or_null(decision)},{_number_or_null(position)},{_text(effect)},{_text_or_null(subject)},"
            f"{_text_or_null(key)},{rest},{_number_or_null(self.settle_after_s)}]\n"
        )


def _text_or_null(given: str | None) -> str:
    return "null" if given is None else _text(given)


def _number_or_null(given: float | None) -> str:
    return "null" if given is None else repr(given)


_handles: set[int] = set()
"""The open files of this process's journals, each with a lock on it."""


def _leave_to_parent() -> None:
    """Let go of the parent's files in a forked child: a lock that the child shared would outlive the parent."""
    for handle in _handles:
        with contextlib.suppress(OSError):
            os.close(handle)
    _handles.clear()


os.register_at_fork(after_in_child=_leave_to_parent)


class _File:
    """A file of this process with a lock on it, which tells that its process lives; a process id does not: those come again.

    It has its name only once it is locked, so that nobody takes it for one that a dead process left. What is not possible
    raises OSError.
    """

    def __init__(self, folder: Path, content: bytes = b"") -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        draft = self._path.with_suffix(".draft")
        self._handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
        _handles.add(self._handle)
        self.size = 0
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.append(content)
            draft.rename(self._path)
        except OSError:
            draft.unlink(missing_ok=True)
            self._close()
            raise

    def append(self, lines: bytes) -> None:
        """Write lines; where only a part finds room it is taken back, since half a line would spoil the next."""
        if os.write(self._handle, lines) != len(lines):
            os.ftruncate(self._handle, self.size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.size += len(lines)

    def remove(self) -> None:
        """Take the file away, while the lock still keeps others from it."""
        self._path.unlink(missing_ok=True)
        self._close()

    def _close(self) -> None:
        _handles.discard(self._handle)
        os.close(self._handle)


class Journal:
    """An append-only file of the attempts of one process that may write; survives `kill -9`, not a power loss.

    A line is one write before the tool runs. An attempt is open until its span was delivered; what is open when the process
    is gone, a later process takes over. Once a megabyte is written and less than half of it is open, the open attempts move
    to a new file. A line that cannot be written, and one beyond `most_bytes`, is counted in `failures` and never blocks. Files
    stand apart by `destination`, so that they are shipped where they belong.
    """

    def __init__(self, folder: Path, destination: str = "", *, most_bytes: int = 64 * 1024 * 1024) -> None:
        self._folder = folder / "journal" / hashlib.sha256(destination.encode("utf-8", "replace")).hexdigest()[:16]
        self._most_bytes = most_bytes
        self._reset()
        reset = weakref.WeakMethod(self._reset)  # the registration lasts as long as the process, the journal may not
        os.register_at_fork(after_in_child=lambda: (again := reset()) and again())

    def _reset(self) -> None:
        """Begin anew; after a fork the file and what is open in it are the parent's."""
        self._lock = threading.Lock()
        self._file: _File | None = None
        self._open: dict[str, bytes] = {}
        self._open_bytes = 0
        self.failures = 0
        self._told = False

    def started(self, attempt: OpenAttempt) -> bool:
        """Note that an attempt is about to be dispatched; False where that failed."""
        line = attempt.line().encode()
        try:
            with self._lock:
                file = self._file = self._file or _File(self._folder)
                if file.size + len(line) > self._most_bytes:
                    raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))  # noqa: TRY301 -- like a disk that is full
                file.append(line)
                self._open[attempt.attempt_span_id] = line
                self._open_bytes += len(line)
        except OSError:
            self.failures += 1
            return False
        return True

    def delivered(self, span_ids: Iterable[str]) -> None:
        """Note that the spans of these ids were delivered: the attempts among them are open no more."""
        self._tell_failures()
        if not self._open:
            return
        delivered = set(span_ids)
        try:
            with self._lock:
                ended = self._open.keys() & delivered
                if self._file is None or not ended:
                    return
                self._file.append("".join(f'"{each}"\n' for each in ended).encode())
                self._open_bytes -= sum(len(self._open.pop(each)) for each in ended)
                if self._file.size > max(_RENEWED_BYTES, 2 * self._open_bytes):
                    self._renew(self._file)
        except OSError:
            self.failures += 1

    def _tell_failures(self) -> None:
        """Say once that the journal fails; not where a tool waits, since what listens to logs is the application's."""
        if self.failures and not self._told:
            self._told = True
            logger.warning(
                "toolwitness cannot write its journal in %s: what a tool did may stay unknown where this process dies. "
                "Set TOOLWITNESS_STATE_DIR to a folder that can be written.",
                self._folder,
            )

    def _renew(self, old: _File) -> None:
        """Go on in a new file with what is open; where the process dies in between, both files tell the same."""
        self._file = _File(self._folder, b"".join(self._open.values()))
        old.remove()

    def close(self) -> None:
        """Remove the file, unless an attempt in it is open: then it stays this process's until that ends, for a later one."""
        with self._lock, contextlib.suppress(OSError):
            if self._file is not None and not self._open:
                file, self._file = self._file, None
                file.remove()

    def orphans(self) -> Iterator[OpenAttempt]:
        """What processes that are gone left open, file by file; it stands in our own file before theirs is removed."""
        for path in sorted(self._folder.glob("*.jsonl")):
            yield from self._taken_over(path)

    def _taken_over(self, path: Path) -> list[OpenAttempt]:
        """What is open in a file of a process that is gone; where we cannot keep that ourselves, the file stays as it is."""
        found: list[OpenAttempt] = []
        try:
            with _taken(path) as handle:
                if handle is not None:
                    found = _open_attempts(handle)
                    if all(self.started(each) for each in found):
                        path.unlink()
        except OSError:
            self.failures += 1
        return found


@contextlib.contextmanager
def _taken(path: Path) -> Iterator[int | None]:
    """A dead process's file, locked so that one process alone takes it over; None where its process lives or it is gone."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        yield None
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        yield None
        return
    try:
        # Whoever had it before us may have removed it while we waited.
        yield handle if os.fstat(handle).st_nlink else None
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # closing alone would leave it locked where a fork shares it
        os.close(handle)


def _open_attempts(handle: int) -> list[OpenAttempt]:
    """Attempts without an end; a last line that was cut by the crash is left out, since its attempt was not dispatched."""
    found: dict[str, OpenAttempt] = {}
    with open(handle, encoding="utf-8", errors="replace", closefd=False) as file:
        for line in file:
            with contextlib.suppress(ValueError, TypeError):
                entry = json.loads(line)
                if isinstance(entry, str):
                    found.pop(entry, None)
                elif isinstance(entry, list):
                    attempt = OpenAttempt(*entry[: len(OpenAttempt._fields)])  # a later release may tell more
                    found[attempt.attempt_span_id] = attempt
    return list(found.values())
