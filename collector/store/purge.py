"""Takes whole runs out of a database file for good: what stays is written to a new file, which then takes its place.

DELETE leaves the bytes in the file, and neither CHECKPOINT nor VACUUM overwrites them. Nothing is deleted here: the old file is
only read, table by table, into a new one. COPY FROM DATABASE would copy what goes as well, unless it were deleted first, which
would leave neither the old file nor the new one behind a crash.

What goes together: a run with all its spans, its calls, and the spans of other instrumentations in traces that hold no run
which stays. Schemas and toolsets go where no run that stays uses them; else they stay as if that run had sent them first.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from toolwitness.collector.store.draft import Witnessed, draft_of, inherit, remove_draft, spill_of, stamp_of, swap, sync
from toolwitness.collector.store.queries import DDL, check_names, read_folder
from toolwitness.collector.store.store import check_file, connect
from toolwitness.collector.store.version import check_version, create
from toolwitness.model.exceptions import PurgeError, StoreHeldError, StoreMissingError

_SQL = Path(__file__).parent / "sql" / "purge"
_PLACES_AT_ONCE = 4 * 122_880
"""Spans a step: some of DuckDB's row groups, so that each step reads its own part of the file and progress can be told."""
_WITNESSES = 8
_SPARE_BYTES = 32 * 1024 * 1024
_GROWTH = 1.25
_MIB = 1024 * 1024


class _Purge(StrEnum):
    """The statements in `sql/purge/`, by file name."""

    ATTACH_DRAFT = "attach_draft"
    CHECK_DRAFT = "check_draft"
    CHECKPOINT = "checkpoint"
    CHOOSE_CALLS = "choose_calls"
    CHOOSE_CONTENT = "choose_content"
    CHOOSE_HEIRS = "choose_heirs"
    CHOOSE_RUNS = "choose_runs"
    CHOOSE_SPANS = "choose_spans"
    CHOOSE_TRACES = "choose_traces"
    CHOOSE_USES = "choose_uses"
    COUNT_ALL = "count_all"
    COUNT_GONE = "count_gone"
    DETACH_DRAFT = "detach_draft"
    FIND_WITNESSES = "find_witnesses"
    KEEP_CALLS = "keep_calls"
    KEEP_HEIRS = "keep_heirs"
    KEEP_INGEST = "keep_ingest"
    KEEP_META = "keep_meta"
    KEEP_OUTCOME_RULE = "keep_outcome_rule"
    KEEP_REDACTIONS = "keep_redactions"
    KEEP_SCHEMAS = "keep_schemas"
    KEEP_SPANS = "keep_spans"
    KEEP_TOOLSET_MEMBERS = "keep_toolset_members"
    KEEP_TOOLSETS = "keep_toolsets"
    KEEP_TRACE_LOC = "keep_trace_loc"
    LIST_NAMES = "list_names"


_CHOICES = (
    _Purge.CHOOSE_RUNS,
    _Purge.CHOOSE_CALLS,
    _Purge.CHOOSE_TRACES,
    _Purge.CHOOSE_SPANS,
    _Purge.CHOOSE_USES,
    _Purge.CHOOSE_CONTENT,
    _Purge.CHOOSE_HEIRS,
)
# Behind `spans`, of which some are made.
_KEEPERS = (
    _Purge.KEEP_HEIRS,
    _Purge.KEEP_CALLS,
    _Purge.KEEP_TOOLSETS,
    _Purge.KEEP_TOOLSET_MEMBERS,
    _Purge.KEEP_SCHEMAS,
    _Purge.KEEP_TRACE_LOC,
    _Purge.KEEP_INGEST,
    _Purge.KEEP_REDACTIONS,
    _Purge.KEEP_META,
    _Purge.KEEP_OUTCOME_RULE,
)
KEPT = frozenset(name.removeprefix("keep_") for name in (_Purge.KEEP_SPANS, *_KEEPERS) if name is not _Purge.KEEP_HEIRS)
"""The tables of which it is said what stays: every one of the store's (a test compares)."""

_STATEMENTS = read_folder(_SQL)
check_names(_SQL, _Purge, _STATEMENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which runs are to go: those older than a time, those of some ids, or those of a subject. One of the three is given.

    A run is older than `before_ns` (nanoseconds since 1970, UTC) where its every span began before that; one whose times
    stand for an order only has no age. `subject` is a keyed digest.
    """

    before_ns: int | None = None
    runs: tuple[str, ...] = ()
    subject: str | None = None

    def __post_init__(self) -> None:
        """Refuse what selects nothing or could mean two things."""
        if sum((self.before_ns is not None, bool(self.runs), self.subject is not None)) != 1:
            raise ValueError("a selection is by age, by runs or by subject: give just one of the three")


@dataclass(frozen=True, slots=True)
class Losses:
    """What a purge takes away. Times are the first and the last start of a span that goes, in nanoseconds since 1970 (UTC).

    `foreign_left` counts spans of other instrumentations that stay although a run of their trace goes, since another run of
    that trace stays and they name neither, or since they are newer.
    """

    runs: int
    calls: int
    spans: int
    oldest_ns: int | None
    newest_ns: int | None
    foreign_left: int


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge took away, and the file before and after; `witnessed` is None where nothing went and nothing was done.

    The new file was compared before the swap: it holds `spans_left` spans, and none of a run that went.
    """

    losses: Losses
    spans_left: int
    bytes_before: int
    bytes_after: int
    witnessed: Witnessed | None


class _Sizes(NamedTuple):
    """How large the old file's tables are; `places` is one more than where its last span stands."""

    spans: int
    places: int
    calls: int


class Step(StrEnum):
    """What a purge does next."""

    CHOOSE = "choosing"
    COPY = "copying"
    CHECK = "checking"
    SWAP = "swapping"
    CLEAN = "cleaning up"


Progress = Callable[[Step, int, int], None]
"""Is told a step with what of it is done and how much there is, before it goes on."""


def _no_progress(_step: Step, _done: int, _total: int) -> None:
    """Tell nobody."""


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _run(connection: duckdb.DuckDBPyConnection, name: _Purge, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    return connection.execute(_STATEMENTS[name].text, values).fetchall()


@contextmanager
def _opened(path: Path, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """The file for this process alone: under settings of its own, so that nobody in this process shares it either.

    DuckDB's errors become PurgeError, since the file is as it was.
    """
    check_file(path, read_only=True)
    try:
        connection = connect(path, read_only=read_only, temp_directory=str(spill_of(path)))
    except StoreHeldError as held:
        raise StoreHeldError(
            f"{held}. A purge rewrites the whole file, so nobody else may have it open: `toolwitness down --db {path}`, "
            "purge, and start it again"
        ) from held
    try:
        if not check_version(connection, path):
            raise StoreMissingError(f"{path} holds no tables yet, so there is nothing to purge")
        yield connection
    except duckdb.Error as error:
        raise PurgeError(f"the purge of {path} failed, which is as it was: {error}") from error
    finally:
        connection.close()


def _choose(connection: duckdb.DuckDBPyConnection, selection: Selection, progress: Progress) -> Losses:
    """Fill the temporary tables of what goes."""
    values = {"before": selection.before_ns, "runs": list(selection.runs), "subject": selection.subject}
    for done, name in enumerate(_CHOICES):
        progress(Step.CHOOSE, done, len(_CHOICES))
        _run(connection, name, {key: values[key] for key in _STATEMENTS[name].parameters})
    (counts,) = _run(connection, _Purge.COUNT_GONE)
    return Losses(*counts)


def plan(path: str | Path, selection: Selection) -> Losses:
    """What a purge would take away; nothing is changed. Raises as `Store.open` does for a file that is only read."""
    with _opened(Path(path), read_only=True) as connection:
        return _choose(connection, selection, _no_progress)


def purge(
    path: str | Path,
    selection: Selection,
    *,
    progress: Progress = _no_progress,
    free_bytes: Callable[[Path], int] = _free_bytes,
    places_at_once: int = _PLACES_AT_ONCE,
) -> Purged:
    """Take the selected runs out of a database file for good.

    `free_bytes` tells how many bytes the disk of a folder has left. Whatever happens at whichever moment, the file is whole:
    the old one, or the new one. Raises PurgeError where it is the old one, StoreHeldError where a process has the file open,
    StoreMissingError where there is none, and StoreVersionError where it is of another version.
    """
    path = Path(path)
    with _opened(path, read_only=False) as connection:
        try:
            remove_draft(path)  # of a purge before that did not end
            _refuse_others(connection, path)
            _run(connection, _Purge.CHECKPOINT)
            seen = stamp_of(path)
            losses = _choose(connection, selection, progress)
            sizes = _Sizes(*_run(connection, _Purge.COUNT_ALL)[0])
            if not losses.spans:
                return Purged(losses, sizes.spans, seen.size, seen.size, None)
            spans_left = sizes.spans - losses.spans
            _refuse_full_disk(path, seen.size * spans_left / sizes.spans, free_bytes)
            witnesses = [str(span).encode() for (span,) in _run(connection, _Purge.FIND_WITNESSES, {"limit": _WITNESSES})]
            _write_draft(connection, path, sizes, progress, places_at_once)
            _check_draft(connection, path, (spans_left, sizes.calls - losses.calls, 0, 0), progress)
            progress(Step.SWAP, 0, 1)
            connection.close()
            witnessed = swap(path, seen, witnesses)
            progress(Step.CLEAN, 0, 1)
            return Purged(losses, spans_left, seen.size, stamp_of(path).size, witnessed)
        except BaseException:
            connection.close()
            remove_draft(path)
            raise


def _refuse_others(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    ours = {statement.name for statement in DDL}
    others = sorted({name for (name,) in _run(connection, _Purge.LIST_NAMES)} - ours)
    if others:
        raise PurgeError(
            f"{path} also holds tables or views that are none of toolwitness's ({', '.join(others)}), "
            "which a purge would lose; move them to a file of their own first"
        )


def _refuse_full_disk(path: Path, size: float, free_bytes: Callable[[Path], int]) -> None:
    """Raise PurgeError where a new file of about `size` bytes is not sure to fit beside the old one."""
    needed = round(size * _GROWTH) + _SPARE_BYTES
    folder = draft_of(path).parent
    free = free_bytes(folder)
    if free < needed:
        raise PurgeError(
            f"what stays is written beside {path} first, which may take {needed // _MIB} MiB, and {folder} has "
            f"{free // _MIB} MiB free; make room there, and purge again"
        )


def _write_draft(
    connection: duckdb.DuckDBPyConnection, path: Path, sizes: _Sizes, progress: Progress, places_at_once: int
) -> None:
    """Write what stays to a new file beside the old one, which stays attached."""
    draft = draft_of(path)
    with duckdb.connect(str(draft)) as empty:
        create(empty)
    inherit(path)
    _run(connection, _Purge.ATTACH_DRAFT, {"draft": str(draft)})
    for place in range(0, sizes.places, places_at_once):
        progress(Step.COPY, place, sizes.places)
        _run(connection, _Purge.KEEP_SPANS, {"lo": place, "hi": place + places_at_once})
    for name in _KEEPERS:
        progress(Step.COPY, sizes.places, sizes.places)
        _run(connection, name)


def _check_draft(
    connection: duckdb.DuckDBPyConnection, path: Path, expected: tuple[int, int, int, int], progress: Progress
) -> None:
    """Compare the new file's spans, calls, and those of either that are of a run which goes; then bring it to the disk."""
    progress(Step.CHECK, 0, 1)
    found = _run(connection, _Purge.CHECK_DRAFT)[0]
    if found != expected:
        raise PurgeError(f"the new file of {path} does not hold what it should ({found}, not {expected}), so the old one stays")
    _run(connection, _Purge.DETACH_DRAFT)
    sync(draft_of(path))
