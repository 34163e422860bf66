"""What outlives the process on this machine: the key of keyed digests and the journal of attempts that may write."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import threading
import weakref
from collections.abc import Iterator
from json.encoder import encode_basestring_ascii as _text
from pathlib import Path
from typing import NamedTuple

from toolwitness.model.digest import KeyedDigest

_KEY_FILE = "digest.key"
_KEY_BYTES = 32
_LONGEST_BYTES = 1024 * 1024


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

    def line(self) -> str:
        """The line of the journal, written by hand since a tool waits for it."""
        call, run, trace, attempt, start, ordinal, server, tool, started, decision, position, effect, subject, key = self
        return (
            f"[{_text(call)},{_text(run)},{_text(trace)},{_text(attempt)},{_text(start)},{ordinal},{_text(server)},{_text(tool)},"
            f"{started},{_text_or_null(decision)},{'null' if position is None else position},{_text(effect)},"
            f"{_text_or_null(subject)},{_text_or_null(key)}]\n"
        )


def _text_or_null(given: str | None) -> str:
    return "null" if given is None else _text(given)


class Orphan(NamedTuple):
    """The file of a process that is gone, and the attempts that never ended in it."""

    path: Path
    attempts: list[OpenAttempt]


class Journal:
    """An append-only file of the attempts of one process; survives `kill -9`, not a power loss.

    One `O_APPEND` write a line, before the tool runs. A failure is counted in `failures` and never blocks. The file is
    emptied whenever it has grown past a megabyte and nothing in it is open. A lock on it tells that its process lives, which
    a process id does not: those come again. Files stand apart by `destination`, so that they are shipped where they belong.
    """

    def __init__(self, folder: Path, destination: str = "") -> None:
        self._folder = folder / "journal" / hashlib.sha256(destination.encode("utf-8", "replace")).hexdigest()[:16]
        self._reset()
        reset = weakref.WeakMethod(self._reset)  # the registration lasts as long as the process, the journal may not
        os.register_at_fork(after_in_child=lambda: (again := reset()) and again())

    def _reset(self) -> None:
        """Begin anew; after a fork the open file is the parent's, and its lock lasts while the parent holds it."""
        self._lock = threading.Lock()
        self._path = self._folder / f"{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        self._handle: int | None = None
        self._open = 0
        self._written = 0
        self.failures = 0

    def _descriptor(self) -> int:
        """The open and locked file of this process."""
        if self._handle is None:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._handle = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self._handle

    def _write(self, line: str, opened: int) -> None:
        try:
            with self._lock:
                self._open += opened
                self._written += os.write(self._descriptor(), line.encode("utf-8", "backslashreplace"))
                if self._open == 0 and self._written > _LONGEST_BYTES:
                    os.ftruncate(self._descriptor(), 0)
                    self._written = 0
        except OSError:
            self.failures += 1

    def started(self, attempt: OpenAttempt) -> None:
        """Note that an attempt is about to be dispatched."""
        self._write(attempt.line(), 1)

    def ended(self, attempt_span_id: str) -> None:
        """Note that the attempt ended, however."""
        self._write(f'"{attempt_span_id}"\n', -1)

    def close(self) -> None:
        """Remove this process's file; only to be called when every ended attempt was delivered."""
        with self._lock, contextlib.suppress(OSError):
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None
                self._path.unlink()

    def orphans(self) -> Iterator[Orphan]:
        """The files of processes that are gone, each with the attempts that never ended in it."""
        if not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob("*.jsonl")):
            if not _locked(path):
                yield Orphan(path, _open_attempts(path))


def _locked(path: Path) -> bool:
    """Whether a living process holds the file."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _open_attempts(path: Path) -> list[OpenAttempt]:
    """Attempts without an end; a last line that was cut by the crash is left out."""
    found: dict[str, OpenAttempt] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        with contextlib.suppress(ValueError, TypeError):
            entry = json.loads(line)
            if isinstance(entry, str):
                found.pop(entry, None)
            elif isinstance(entry, list):
                attempt = OpenAttempt(*entry)
                found[attempt.attempt_span_id] = attempt
    return list(found.values())
