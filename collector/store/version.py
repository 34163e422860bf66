"""Which schema version a database file has: checked before anything is created or read."""

from __future__ import annotations

from pathlib import Path

import duckdb

from toolwitness.collector.store.queries import DDL, Write, execute
from toolwitness.model.exceptions import StoreVersionError

SCHEMA_VERSION = "3"
"""Raised whenever a table or view changes its shape or meaning."""

_KEY = "schema_version"


def read_meta(cursor: duckdb.DuckDBPyConnection, key: str) -> str | None:
    """What the file says of itself under a key."""
    found = execute(cursor, Write.READ_META, {"key": key}).fetchall()
    return str(found[0][0]) if found else None


def write_meta(cursor: duckdb.DuckDBPyConnection, key: str, value: str) -> None:
    """Let the file say something of itself, in place of what it said before."""
    execute(cursor, Write.FORGET_META, {"key": key})
    execute(cursor, Write.WRITE_META, {"key": key, "value": value})


def _is_empty(cursor: duckdb.DuckDBPyConnection, path: Path) -> bool:
    tables = {row[0] for row in execute(cursor, Write.LIST_TABLES).fetchall()}
    if tables and not {"meta", "spans"} <= tables:
        raise StoreVersionError(
            f"{path} is a DuckDB file of something else (its tables: {', '.join(sorted(tables)[:5])}); "
            "name another file, toolwitness makes it where there is none"
        )
    return not tables


def check_version(cursor: duckdb.DuckDBPyConnection, path: Path) -> bool:
    """Whether the file is a store of this schema version; False where it holds nothing yet.

    Raises StoreVersionError, naming the file and the remedy, where it is anything else.
    """
    if _is_empty(cursor, path):
        return False
    found = read_meta(cursor, _KEY)
    if found != SCHEMA_VERSION:
        raise StoreVersionError(
            f"{path} has schema version {found}, this toolwitness reads and writes version {SCHEMA_VERSION}; "
            "open it with the toolwitness release that wrote it, or record and import into a new file"
        )
    return True


def create(cursor: duckdb.DuckDBPyConnection) -> None:
    """Make an empty file a store, in the caller's transaction."""
    for statement in DDL:
        cursor.execute(statement.text)
    write_meta(cursor, _KEY, SCHEMA_VERSION)
