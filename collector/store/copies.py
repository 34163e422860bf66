"""Copies of what a database holds that a purge cannot reach: those that can be seen, and the exports that were written.

Exports are noted in `FILE.exports.jsonl`. It stands beside the file and not in it, since an export also reads through a running
toolwitness, which alone may write the file, and since the path of an export may tell what is in it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from toolwitness.collector.store.draft import draft_of

_OWN_ENDS = ("", ".wal", ".owner.json", ".exports.jsonl")


@dataclass(frozen=True, slots=True)
class Export:
    """A file that was written from a database: where, when (nanoseconds since 1970, UTC), and how many spans.

    Which subject or run it was is not kept.
    """

    path: str
    written_ns: int
    spans: int


@dataclass(frozen=True, slots=True)
class Copy:
    """A file that may hold what a purge takes out of a database; `exported_ns` is set where it is known to be an export."""

    path: str
    why: str
    exported_ns: int | None = None


def _exports_file(db: Path) -> Path:
    return Path(f"{db.resolve()}.exports.jsonl")


def note_export(db: Path, export: Export) -> None:
    """Note an export, for the owner of the note alone to read. Raises OSError where the folder cannot be written."""
    _write(_exports_file(db), [export], os.O_APPEND)


def exports_of(db: Path) -> list[Export]:
    """The exports of a database that are still where they were written, oldest first; a broken line is none."""
    try:
        lines = _exports_file(db).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [found for found in map(_read, lines) if found is not None and Path(found.path).exists()]


def forget_gone_exports(db: Path) -> None:
    """Forget the exports that are no longer there, and what their paths told."""
    noted = _exports_file(db)
    if noted.exists():
        draft = noted.with_name(f"{noted.name}.{os.getpid()}")
        _write(draft, exports_of(db), os.O_TRUNC)
        draft.replace(noted)


def _write(path: Path, exports: Iterable[Export], flag: int) -> None:
    text = "".join(json.dumps(asdict(export)) + "\n" for export in exports)
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | flag, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


def _read(line: str) -> Export | None:
    try:
        given = json.loads(line)
        return Export(path=str(given["path"]), written_ns=int(given["written_ns"]), spans=int(given["spans"]))
    except (ValueError, TypeError, KeyError):
        return None


def copies_of(db: Path) -> list[Copy]:
    """What may hold the same runs as the database and can be seen: its exports, other names of it, and files named like it.

    A copy elsewhere, or a backup of the disk, cannot be seen.
    """
    exports = [Copy(export.path, "exported", export.written_ns) for export in exports_of(db)]
    told = {str(Path(export.path).resolve()) for export in exports}
    return [*exports, *(copy for copy in (*_links(db), *_named_alike(db)) if copy.path not in told)]


def _links(db: Path) -> Iterator[Copy]:
    """Another name of the old file keeps its bytes when the new one takes its place."""
    names = db.stat().st_nlink
    if names > 1:
        yield Copy(str(db.resolve()), f"had {names} names (hard links); the others still name the old file")


def _named_alike(db: Path) -> Iterator[Copy]:
    real, draft = db.resolve(), draft_of(db).name
    own = {f"{real.name}{end}" for end in _OWN_ENDS}
    # `agents.duckdb` has `agents.duckdb.bak` and `agents-copy.duckdb` beside it, but `agents2.duckdb` is another one.
    alike = re.compile(rf"{re.escape(real.stem)}(?![^\W_])")
    for path in sorted(real.parent.iterdir()):
        if alike.match(path.name) and path.name not in own and not path.name.startswith(draft):
            yield Copy(str(path), "is named like the database")
