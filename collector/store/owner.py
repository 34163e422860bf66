"""`FILE.owner.json`: which process holds a database file for writing, and the URL it answers at.

DuckDB lets one process open a file for writing and then refuses all others, so whoever else wants to read or write goes
through that process.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that holds a database file; `started_ns` is when it said so (nanoseconds since 1970, UTC)."""

    pid: int
    url: str
    started_ns: int


def _owner_file(path: str | Path) -> Path:
    return Path(f"{path}.owner.json")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def write_owner(path: str | Path, url: str) -> Owner:
    """Say that this process holds the database `path` and answers at `url`."""
    owner = Owner(pid=os.getpid(), url=url, started_ns=time.time_ns())
    draft = Path(f"{_owner_file(path)}.{owner.pid}")
    draft.write_text(json.dumps(asdict(owner)), encoding="utf-8")
    draft.replace(_owner_file(path))
    return owner


def read_owner(path: str | Path) -> Owner | None:
    """The living process that says it holds the database `path`; None where there is none or the file is not ours."""
    try:
        given = json.loads(_owner_file(path).read_text(encoding="utf-8"))
        owner = Owner(pid=int(given["pid"]), url=str(given["url"]), started_ns=int(given["started_ns"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return owner if owner.pid > 0 and _is_alive(owner.pid) else None


def remove_owner(path: str | Path) -> None:
    """Take back what this process said by `write_owner`; another process's word is left alone."""
    owner = read_owner(path)
    if owner is not None and owner.pid == os.getpid():
        _owner_file(path).unlink(missing_ok=True)
