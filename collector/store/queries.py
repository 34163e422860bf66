"""Every SQL statement of the store is a file under `sql/`; this is where they are read, checked and found by name.

A file starts with a header of comments, `-- question: ...`; a metric also says its numerator, denominator, grain and what
it excludes. The header of a named query names its parameters as `$name`, and in a line `-- optional: name, ...` those that
may be left out, which bind as NULL then. All files are parsed when this module is imported, so that a broken one is found
before anything is stored.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb
import pyarrow as pa

from toolwitness.model.exceptions import UnknownQueryError

_SQL = Path(__file__).parent / "sql"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PARAMETER = re.compile(r"\$([a-z][a-z0-9_]*)")
_HEADER_LINE = re.compile(r"-- (?P<key>[a-z]+): (?P<text>.+)|--   (?P<more>.+)")
_METRIC_HEADERS = ("question", "numerator", "denominator", "grain", "excludes")
_PLAIN_HEADERS = ("question",)


class Write(StrEnum):
    """The statements in `sql/write/`, by file name."""

    BEGIN_READING = "begin_reading"
    CLEAR_RULES = "clear_rules"
    COUNT_INGEST = "count_ingest"
    COUNT_OVERDUE = "count_overdue"
    COUNT_REDACTIONS = "count_redactions"
    DERIVE_CALLS = "derive_calls"
    FILL_RULES = "fill_rules"
    FIND_DUPLICATES = "find_duplicates"
    FIND_KNOWN_DIGESTS = "find_known_digests"
    FIND_TOUCHED_RANGE = "find_touched_range"
    FIND_TOUCHED_SPANS = "find_touched_spans"
    FORGET_META = "forget_meta"
    FORGET_TOUCHED = "forget_touched"
    INSERT_SCHEMAS = "insert_schemas"
    INSERT_SPANS = "insert_spans"
    INSERT_TOOLSET_MEMBERS = "insert_toolset_members"
    INSERT_TOOLSETS = "insert_toolsets"
    JUDGE_ALL = "judge_all"
    JUDGE_OPEN = "judge_open"
    LIST_TABLES = "list_tables"
    MERGE_TRACE_LOC = "merge_trace_loc"
    OPTIMIZE = "optimize"
    PLAN_PLAINLY = "plan_plainly"
    READ_META = "read_meta"
    WRITE_META = "write_meta"


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL file: its text, the same parsed, its header by key, and the names of its `$parameters`, all and optional."""

    name: str
    text: str
    parsed: duckdb.Statement
    headers: Mapping[str, str]
    parameters: frozenset[str]
    optional: frozenset[str]


def read_headers(text: str) -> dict[str, str]:
    """The header of an SQL text: its first comment lines, where a line indented by three spaces goes on with the last."""
    headers: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        match = _HEADER_LINE.fullmatch(line)
        if match is None:
            break
        if match["key"]:
            key = match["key"]
            headers[key] = match["text"].strip()
        elif key:
            headers[key] += " " + match["more"].strip()
    return headers


def read_statement(path: Path, parser: duckdb.DuckDBPyConnection, needed: Iterable[str] = _PLAIN_HEADERS) -> Statement:
    """The statement in an SQL file, as any connection parses it.

    Raises ValueError, naming the file, where its name, its header or its SQL is not as it should be.
    """
    text = path.read_text(encoding="utf-8")
    headers = read_headers(text)
    missing = [key for key in needed if key not in headers]
    if missing or not _NAME.fullmatch(path.stem):
        raise ValueError(f"{path}: an SQL file has a snake_case name and a header of `-- key: text`; missing: {missing}")
    try:
        statements = parser.extract_statements(text)
    except duckdb.Error as error:
        raise ValueError(f"{path}: not SQL that DuckDB can parse: {error}") from error
    if len(statements) != 1:
        raise ValueError(f"{path}: one file holds one statement, this one holds {len(statements)}")
    (parsed,) = statements
    optional = frozenset(name.strip() for name in headers.get("optional", "").split(",") if name.strip())
    return Statement(path.stem, text, parsed, MappingProxyType(headers), frozenset(parsed.named_parameters), optional)


def read_folder(folder: Path, needed: Iterable[str] = _PLAIN_HEADERS) -> dict[str, Statement]:
    """All statements of a folder by name; raises ValueError as `read_statement` does."""
    # The module's own connection would keep its threads to the end, which a forked child cannot end.
    with duckdb.connect() as parser:
        return {path.stem: read_statement(path, parser, needed) for path in sorted(folder.glob("*.sql"))}


def check_names(folder: Path, expected: Iterable[str], found: Iterable[str]) -> None:
    """Raise ValueError where the files of a folder are not exactly those that the code knows."""
    difference = sorted(set(expected) ^ set(found))
    if difference:
        raise ValueError(f"{folder}: files and the names that the code knows differ in: {', '.join(difference)}")


def check_parameters(query: Statement) -> None:
    """Raise ValueError where the parameters that a query uses are not exactly those that its header names."""
    needed = frozenset(_PARAMETER.findall(" ".join(query.headers.values()))) - query.optional
    difference = sorted((needed | query.optional) ^ query.parameters)
    if difference:
        raise ValueError(
            f"{query.name}.sql: the header, which names needed parameters as $name and the others in `-- optional:`, "
            f"and the SQL differ in: {', '.join(difference)}"
        )


def read_queries(metrics: Path, replay: Path) -> dict[str, Statement]:
    """The named queries of both folders.

    Raises ValueError where a name stands in both or a header does not name just the parameters that its SQL uses.
    """
    first, second = read_folder(metrics, _METRIC_HEADERS), read_folder(replay)
    twice = sorted(first.keys() & second.keys())
    if twice:
        raise ValueError(f"{metrics} and {replay} both hold: {', '.join(twice)}")
    for query in (*first.values(), *second.values()):
        check_parameters(query)
    return first | second


def _read_ddl(folder: Path) -> list[Statement]:
    order = (folder / "_order").read_text(encoding="utf-8").split()
    found = read_folder(folder)
    check_names(folder, order, found)
    return [found[name] for name in order]


_QUERIES = read_queries(_SQL / "metrics", _SQL / "replay")
_WRITES = read_folder(_SQL / "write")
check_names(_SQL / "write", Write, _WRITES)
DDL = tuple(_read_ddl(_SQL / "ddl"))
"""The statements that make an empty file a store, in their order."""


def execute(
    cursor: duckdb.DuckDBPyConnection, name: Write, values: Mapping[str, Any] | None = None
) -> duckdb.DuckDBPyConnection:
    """Run a statement of the store's own; it was parsed at import, which is a tenth of what a small group costs."""
    return cursor.execute(_WRITES[name].parsed, values)


def fetch(cursor: duckdb.DuckDBPyConnection, name: Write, values: Mapping[str, Any]) -> pa.Table:
    """What a statement of the store's own answers, as one table."""
    return cursor.sql(_WRITES[name].text, params=values).to_arrow_table()


def names() -> list[str]:
    """The names of all named queries, sorted."""
    return sorted(_QUERIES)


def _find(name: str) -> Statement:
    if name not in _QUERIES:
        near = difflib.get_close_matches(name, names()) or names()
        raise UnknownQueryError(f"no named query '{name}'; did you mean one of: {', '.join(near)}?")
    return _QUERIES[name]


def text(name: str) -> str:
    """The SQL of a named query; raises UnknownQueryError, listing near names."""
    return _find(name).text


def headers(name: str) -> Mapping[str, str]:
    """The header of a named query by key; raises UnknownQueryError, listing near names."""
    return _find(name).headers


def parameters(name: str) -> frozenset[str]:
    """The names of a query's `$parameters`, optional ones too; raises UnknownQueryError, listing near names."""
    return _find(name).parameters


_LARGEST = 2**63 - 1
_TYPES: Mapping[str, type] = MappingProxyType(
    {"by_week": bool, **dict.fromkeys(("limit", "now_ns", "before_ns", "since_ns", "until_ns"), int)}
)
"""Parameters that are no text."""
_WORDS = {bool: "true or false", int: f"a whole number from 0 to {_LARGEST}", str: "text"}


def _fits(name: str, value: object) -> bool:
    """Whether a parameter's value is one that its SQL can be run with; None is, everywhere."""
    if value is None:
        return True
    wanted = _TYPES.get(name, str)
    if wanted is int:
        return type(value) is int and 0 <= value <= _LARGEST
    if wanted is str:
        # Half of a surrogate pair, which JSON can carry, is in no text that is stored.
        return isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value)
    return isinstance(value, wanted)


def bound(name: str, given: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """A named query's SQL and the parameters to run it with; optional ones that are not given are None.

    Raises UnknownQueryError where there is no such query, one that it needs is not given, or one given is not its own or of
    another type.
    """
    values = dict(given or {})
    query = _find(name)
    needed = query.parameters - query.optional
    if not needed <= values.keys() <= query.parameters:
        raise UnknownQueryError(
            f"query '{name}' needs the parameters {sorted(needed)} and may be given {sorted(query.optional)}, "
            f"given were {sorted(values)}; pass just those"
        )
    for parameter, value in values.items():
        if not _fits(parameter, value):
            wanted = _WORDS[_TYPES.get(parameter, str)]
            raise UnknownQueryError(
                f"query '{name}' takes {wanted} as '{parameter}', given was one of type {type(value).__name__} that is not"
            )
    return query.text, {**dict.fromkeys(query.optional), **values}
