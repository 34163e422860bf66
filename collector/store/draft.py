"""The file that a purge writes beside the database, and the moment at which it takes the database's place.

Up to `os.replace` the old file is whole and the new one a draft; from then on the new one is whole. Whatever a crash leaves
behind is a draft, which the next purge or the next opening for writing removes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from toolwitness.model.exceptions import PurgeError, StoreHeldError

_PIECE_BYTES = 4 * 1024 * 1024
_WAL_ENDS = (".wal", ".wal.checkpoint", ".wal.recovery")


class Stamp(NamedTuple):
    """What tells that a file is the one that was read, unchanged."""

    inode: int
    size: int
    modified_ns: int


class Witnessed(NamedTuple):
    """Of how many values that went the bytes were searched, and how many stood in the old and in the new file."""

    sought: int
    found_before: int
    found_after: int


def draft_of(path: Path) -> Path:
    """Where the new file is written: beside the real file, so that it can be renamed over it."""
    real = path.resolve()
    return real.with_name(f"{real.name}.purge")


def spill_of(path: Path) -> Path:
    """The folder for what does not fit into memory while a purge runs."""
    draft = draft_of(path)
    return draft.with_name(f"{draft.name}.tmp")


def remove_draft(path: Path) -> None:
    """Remove what a purge that did not end has left; only to be called while this process holds the database."""
    draft = draft_of(path)
    for end in ("", *_WAL_ENDS):
        draft.with_name(f"{draft.name}{end}").unlink(missing_ok=True)
    shutil.rmtree(spill_of(path), ignore_errors=True)


def stamp_of(path: Path) -> Stamp:
    """The file as it is now."""
    seen = path.stat()
    return Stamp(seen.st_ino, seen.st_size, seen.st_mtime_ns)


def inherit(path: Path) -> None:
    """Give the draft the old file's owner and mode. Raises PurgeError where that is not allowed."""
    old, draft = path.stat(), draft_of(path)
    new = draft.stat()
    try:
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            os.chown(draft, old.st_uid, old.st_gid)
        draft.chmod(old.st_mode & 0o7777)
    except PermissionError as error:
        raise PurgeError(f"{path} belongs to another user, who alone can purge it; run the command as that user") from error


def sync(path: Path) -> None:
    """Bring a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def logs_of(path: Path) -> list[Path]:
    """The write-ahead logs that DuckDB would read with the file, by the name given and by its real one."""
    names = {f"{given}{end}" for given in (path, path.resolve()) for end in _WAL_ENDS}
    return sorted(log for log in map(Path, names) if log.exists())


def swap(path: Path, seen: Stamp, witnesses: Sequence[bytes]) -> Witnessed:
    """Let the draft take the place of the file that was `seen`, and search the bytes of both for the witnesses.

    The file is locked as DuckDB locks it, so that nobody opens it in between. Raises StoreHeldError where somebody has it
    already, and PurgeError where it is no longer as it was seen.
    """
    real, draft = path.resolve(), draft_of(path)
    handle = os.open(real, os.O_RDWR)
    try:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreHeldError(f"another process took {path} before the purge was done; stop it, and purge again") from error
        if stamp_of(real) != seen or logs_of(path) or not draft.exists():
            raise PurgeError(f"{path} was changed by another process before the purge was done; it is whole, purge it again")
        found = Witnessed(len(witnesses), _found(handle, witnesses), _found_in(draft, witnesses))
        draft.replace(real)
        sync(real.parent)
    finally:
        os.close(handle)
    return found


def _found_in(path: Path, witnesses: Sequence[bytes]) -> int:
    with path.open("rb") as file:
        return _found(file.fileno(), witnesses)


def _found(handle: int, witnesses: Sequence[bytes]) -> int:
    """How many of the witnesses stand in the open file's bytes.

    Read piece by piece: a memory map has a descriptor of its own, and closing that would give up this process's lock.
    """
    found: set[bytes] = set()
    overlap = max(map(len, witnesses), default=1) - 1
    position, tail = 0, b""
    while piece := os.pread(handle, _PIECE_BYTES, position):
        content = tail + piece
        found.update(witness for witness in witnesses if witness in content)
        tail = content[len(content) - overlap :]
        position += len(piece)
    return len(found)
