"""Opens a database for reading, wherever it is: in this process, in a file, or behind a running toolwitness."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast

import polars as pl
import pyarrow as pa

from toolwitness.collector.store.remote import running
from toolwitness.collector.store.store import Store
from toolwitness.model.exceptions import StoreHeldError, StoreMissingError

_PATIENCE_S = 1.0
_PAUSE_S = 0.05
_LOG = logging.getLogger("toolwitness")


class Answering(Protocol):
    """Something that answers named queries: a `Store` or a `RemoteStore`."""

    def query(self, name: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """The rows of the named query."""
        ...


class Source:
    """Where figures are read from; `where` says it to a person (a file's path or a URL)."""

    def __init__(self, backend: Answering, where: str) -> None:
        self.backend = backend
        self.where = where

    def query(self, name: str, **params: object) -> pl.DataFrame:
        """The rows of the named query; parameters by name.

        Raises UnknownQueryError where there is no such query or the parameters do not fit.
        """
        return cast("pl.DataFrame", pl.from_arrow(self.backend.query(name, params)))


def _from_running(db: Path) -> Source | None:
    remote = running(db)
    return None if remote is None else Source(remote, remote.url)


def _refuse_missing(db: Path) -> None:
    if not db.exists():
        raise StoreMissingError(
            f"there is no database at {db}; `toolwitness import PATH --db {db}` makes one from recorded runs, "
            f"`toolwitness up --db {db}` one from running agents, and `make demo` one with demo data"
        )


def _judged(path: Path, clock: Callable[[], int]) -> Store:
    """The file, read-only. Where a call in it is pending although nobody waits for it any more, it is judged before.

    Where the file cannot be written the answers are those of an earlier time, which a warning says.
    """
    store = Store.open(path, read_only=True, clock=clock)
    if not store.overdue():
        return store
    store.close()
    Store.try_to_judge(path, clock=clock)
    store = Store.open(path, read_only=True, clock=clock)
    overdue = store.overdue()
    if overdue:
        _LOG.warning(
            "%s cannot be written now, so its calls are shown as they were judged last: %d of those that are pending there are "
            "open for too long by now, and whether they took effect is not known",
            path,
            overdue,
        )
    return store


def _open(path: Path, clock: Callable[[], int]) -> tuple[Source, Callable[[], None]]:
    """A source and what ends it. Waits a moment for a file that is held, since another reader may just be judging its calls."""
    end = time.monotonic() + _PATIENCE_S
    while True:
        source = _from_running(path)
        if source is not None:
            return source, lambda: None
        _refuse_missing(path)
        try:
            store = _judged(path, clock)
        except StoreHeldError:
            if time.monotonic() > end:
                raise
            time.sleep(_PAUSE_S)
        else:
            return Source(store, str(path)), store.close


@contextmanager
def open_source(db: str | Path, *, clock: Callable[[], int] = time.time_ns) -> Iterator[Source]:
    """A source for the database file `db`, for the time of the `with` block.

    Where a running toolwitness holds the file, its named queries answer, else the file is opened read-only, after its open
    calls were judged by the `clock` (nanoseconds since 1970). Raises StoreMissingError where there is no file and
    StoreHeldError where a process that answers no queries holds it.
    """
    source, close = _open(Path(db), clock)
    try:
        yield source
    finally:
        close()


@contextmanager
def open_ledger(db: str | Path) -> Iterator[Source]:
    """As `open_source`, for a database that findings are to be stored in too.

    Where no toolwitness is running, the file is held for writing meanwhile. Raises StoreMissingError where there is no
    file and StoreHeldError where another process holds it.
    """
    path = Path(db)
    source = _from_running(path)
    if source is not None:
        yield source
        return
    _refuse_missing(path)
    store = Store.open(path)
    try:
        yield Source(store, str(path))
    finally:
        store.close()


_in_use: list[Source] = []
_in_use_lock = threading.Lock()


def use(source: Source | None) -> None:
    """Make `source` the one that `current()` gives, in every thread of this process; None takes it away again."""
    with _in_use_lock:
        _in_use[:] = [] if source is None else [source]


def current() -> Source:
    """The source that this process reads, for pages that have no way to be handed one.

    Raises StoreMissingError where `use()` has not been called.
    """
    with _in_use_lock:
        if not _in_use:
            raise StoreMissingError("no database is in use in this process; start the pages with `toolwitness up --db FILE`")
        return _in_use[0]
