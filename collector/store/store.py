"""The database file behind two doors: closures that read it, and groups of spans that are written to it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import duckdb
import pyarrow as pa

from toolwitness.collector.store import queries
from toolwitness.collector.store.columns import Row, table_of
from toolwitness.collector.store.draft import remove_draft
from toolwitness.collector.store.group import Times, count, store_group
from toolwitness.collector.store.owner import read_owner
from toolwitness.collector.store.queries import Write, execute
from toolwitness.collector.store.receipt import Receipt
from toolwitness.collector.store.redactions import Redactions
from toolwitness.collector.store.rules import refresh_rules
from toolwitness.collector.store.version import check_version, create, read_meta, write_meta
from toolwitness.model.exceptions import StoreHeldError, StoreMissingError, StoreVersionError

T = TypeVar("T")

NOT_STORABLE = "not_storable"
"""The reason under which spans are rejected whose values do not fit their columns."""

# The values are at fault, not the disk: to try again would change nothing. Arrow's errors derive from these too.
_BAD_DATA = (
    TypeError,
    ValueError,
    KeyError,
    OverflowError,
    duckdb.DataError,
    duckdb.IntegrityError,
    duckdb.InvalidInputException,
)
# Nothing is ever fetched from the network on the side.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_OPEN_TIMEOUT_KEY = "open_timeout_ns"
_OPEN_TIMEOUT_NS = 15 * 60 * 10**9
_MAGIC = b"DUCK"
_MAGIC_AT = 8
_PID = re.compile(r"\(PID (\d+)\)")

# DuckDB shares one database among all connections of a process, so its writers must share one lock too.
_write_locks: WeakValueDictionary[Path, threading.Lock] = WeakValueDictionary()


def _held(path: Path, error: duckdb.Error) -> StoreHeldError:
    owner = read_owner(path)
    if owner is not None:
        return StoreHeldError(
            f"{path} is held by process {owner.pid}, which answers at {owner.url}; ask it there, or stop it first"
        )
    found = _PID.search(str(error))
    holder = f"process {found[1]}" if found else "this process, in another mode"
    return StoreHeldError(f"{path} is held by {holder}; wait until it has closed the file, or stop it first")


def check_file(path: Path, *, read_only: bool) -> None:
    """Refuse what is no database; DuckDB would open a JSON or CSV file as a table in memory, and lose what is written.

    Raises StoreMissingError and StoreVersionError as `Store.open` does, and OSError where the file may not be read.
    """
    if not path.exists():
        if read_only:
            raise StoreMissingError(f"{path} does not exist; record or import into it first, or name another file")
        if not path.parent.is_dir():
            raise StoreMissingError(
                f"there is no folder {path.parent} to make {path.name} in; make it first, or name another file"
            )
        return
    if not path.is_file():
        seen = "a folder" if path.is_dir() else "a device or pipe"
        raise StoreVersionError(f"{path} is no database but {seen}; name another file")
    with path.open("rb") as file:
        head = file.read(_MAGIC_AT + len(_MAGIC))
    if head[_MAGIC_AT:] != _MAGIC:
        why = "it does not begin as one" if head else "it is empty"
        raise StoreVersionError(f"{path} is no database: {why}; name another file, toolwitness makes it where there is none")


def connect(path: Path, *, read_only: bool, **config: str) -> duckdb.DuckDBPyConnection:
    """A connection with further `config`; for the store itself, and for what rewrites its file. Raises as `Store.open` does."""
    check_file(path, read_only=read_only)
    try:
        return duckdb.connect(str(path), read_only=read_only, config=_CONFIG | config)
    except duckdb.ConnectionException as error:
        raise _held(path, error) from error
    except duckdb.Error as error:
        if "set lock on file" in str(error):
            raise _held(path, error) from error
        raise StoreVersionError(f"{path} cannot be opened as a database ({error}); name another file") from error


class Store:
    """One open database file. Use `Store.open`; it may be used from several threads.

    No connection ever leaves: readers hand in a closure, writers hand in rows.
    """

    def __init__(
        self,
        path: Path,
        connection: duckdb.DuckDBPyConnection,
        *,
        clock: Callable[[], int],
        open_timeout_s: float | None,
        read_only: bool = False,
    ) -> None:
        self.path = path
        self.read_only = read_only
        self._connection = connection
        self._clock = clock
        self._given_timeout_ns = None if open_timeout_s is None else round(open_timeout_s * 1e9)
        self._open_timeout_ns = _OPEN_TIMEOUT_NS
        self._lock = _write_locks.setdefault(path.resolve(), threading.Lock())
        self._process = os.getpid()
        leave = weakref.WeakMethod(self._leave_to_parent)  # the registration lasts as long as the process, the store may not
        os.register_at_fork(after_in_child=lambda: (again := leave()) and again())

    def _leave_to_parent(self) -> None:
        """In a forked child the database is the parent's; to destroy the connection here would end the child by a signal."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        read_only: bool = False,
        clock: Callable[[], int] = time.time_ns,
        open_timeout_s: float | None = None,
    ) -> Store:
        """Open a database file, and make it where there is none.

        `clock` gives nanoseconds since 1970 (UTC); an attempt that is open for longer than `open_timeout_s` seconds counts
        as given up. The file keeps that for those who open it without one; where nobody gave one it is a quarter of an hour.
        A read-only store works while no process has the file open for writing. Raises StoreHeldError, naming
        process and URL, where another has; StoreVersionError where the file is not a store of this schema version, or no
        file; and StoreMissingError where a file to be read only, or the folder of one to be made, does not exist.
        """
        path = Path(path)
        connection = connect(path, read_only=read_only)
        store = cls(path, connection, clock=clock, open_timeout_s=open_timeout_s, read_only=read_only)
        try:
            store._prepare(read_only=read_only)
        except BaseException:
            connection.close()
            raise
        return store

    @classmethod
    def try_to_judge(cls, path: str | Path, *, clock: Callable[[], int] = time.time_ns) -> None:
        """Judge the open calls of a file that nobody serves by the time that it is now, where it can be written at all."""
        with contextlib.suppress(StoreHeldError, StoreVersionError, duckdb.Error):
            cls.open(path, clock=clock).close()

    def _prepare(self, *, read_only: bool) -> None:
        if read_only:
            if not self.read(lambda cursor: check_version(cursor, self.path)):
                raise StoreMissingError(f"{self.path} holds no tables yet; record or import into it first")
            self.read(self._read_timeout)
            return
        remove_draft(self.path)
        self._transact(self._bring_up)
        # The first Arrow table of a process costs a quarter of a second, which no request should wait for.
        table_of([], 0)

    def _bring_up(self, cursor: duckdb.DuckDBPyConnection) -> None:
        if not check_version(cursor, self.path):
            create(cursor)
        if self._given_timeout_ns is not None:
            write_meta(cursor, _OPEN_TIMEOUT_KEY, str(self._given_timeout_ns))
        self._read_timeout(cursor)
        refresh_rules(cursor)
        self._judge_open(cursor)

    def _read_timeout(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Judge by what the file says, so that whoever opens it comes to the same."""
        kept = read_meta(cursor, _OPEN_TIMEOUT_KEY)
        self._open_timeout_ns = _OPEN_TIMEOUT_NS if kept is None else int(kept)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if self._process != os.getpid():
            raise StoreHeldError(
                f"{self.path} is open in process {self._process}, of which this one is a fork, and can be used by one of them; "
                "start `toolwitness up` and record to its endpoint instead"
            )
        return self._connection.cursor()

    def _transact(self, use: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Run `use` in one transaction: durable when this returns, undone when it raises."""
        cursor = self._cursor()
        with self._lock:
            try:
                cursor.begin()
                result = use(cursor)
                cursor.commit()
            finally:
                # An open transaction is rolled back with its connection.
                cursor.close()
            return result

    def read(self, use: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Let `use` read one state of the file; its cursor is closed afterwards, so it returns data and no relation."""
        cursor = self._cursor()
        try:
            execute(cursor, Write.BEGIN_READING)
            return use(cursor)
        finally:
            cursor.close()

    def query(self, name: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """The answer of a named query.

        Raises UnknownQueryError, listing near names, where there is no such query or `params` do not fit it.
        """
        text, values = queries.bound(name, params)
        return self.read(lambda cursor: cursor.sql(text, params=values).to_arrow_table())

    def write_group(
        self,
        batches: Sequence[list[Row]],
        rejected: Sequence[Mapping[str, int]] | None = None,
        redactions: Sequence[Redactions] | None = None,
    ) -> list[Receipt]:
        """Store the batches in one transaction and return one receipt a batch; they are durable then.

        `rejected` counts, a batch, what was lost before it came here, `redactions` what the redactor made of it. A batch with
        values that do not fit their columns is rejected as `not_storable` and the others are stored. Any other error (such as
        a full disk) is raised; the batches may be sent again, since what was stored falls out as duplicate.
        """
        lost: Sequence[Mapping[str, int]] = [{} for _ in batches] if rejected is None else rejected
        seen = [Redactions()] * len(batches) if redactions is None else redactions
        times = Times(now=self._clock(), open_timeout=self._open_timeout_ns)
        try:
            return self._transact(lambda cursor: store_group(cursor, batches, lost, times, seen))
        except _BAD_DATA:
            if len(batches) == 1:
                return [self._reject(batches[0], lost[0], seen[0])]
        parts = zip(batches, lost, seen, strict=True)
        return [self.write_group([batch], [before], [looked])[0] for batch, before, looked in parts]

    def _reject(self, batch: list[Row], lost: Mapping[str, int], seen: Redactions) -> Receipt:
        times = Times(now=self._clock(), open_timeout=self._open_timeout_ns)
        reasons = {**lost, NOT_STORABLE: len(batch) + lost.get(NOT_STORABLE, 0)}
        return self._transact(lambda cursor: store_group(cursor, [[]], [reasons], times, [seen]))[0]

    def count_refusal(self, reason: str) -> None:
        """Count a request that was refused before its spans were read."""
        self._transact(lambda cursor: count(cursor, {}, {reason: 1}))

    def derive_open(self) -> int:
        """Judge again the calls whose last attempt is open, by the time that it is now; the number that changed."""
        return self._transact(self._judge_open)

    def _judge_open(self, cursor: duckdb.DuckDBPyConnection) -> int:
        values = {"now": self._clock(), "open_timeout": self._open_timeout_ns}
        return int(execute(cursor, Write.JUDGE_OPEN, values).fetchall()[0][0])

    def overdue(self) -> int:
        """How many calls are said to be pending although their last attempt is open for too long by now."""
        values = {"now": self._clock(), "open_timeout": self._open_timeout_ns}
        return self.read(lambda cursor: int(execute(cursor, Write.COUNT_OVERDUE, values).fetchall()[0][0]))

    def close(self) -> None:
        """Close the file; what was written stays. A second call does nothing."""
        if self._process == os.getpid():
            self._connection.close()
