"""The columns of the `spans` table: the span's envelope and every record field, and rows as an Arrow table of them."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from toolwitness.model.codec import COLUMNS

Row = dict[str, Any]
"""One span: the columns that are not null, by name."""

ENVELOPE = {
    "trace_id": "VARCHAR",
    "span_id": "VARCHAR",
    "parent_span_id": "VARCHAR",
    "name": "VARCHAR",
    "start_ns": "BIGINT",
    "end_ns": "BIGINT",
    "received_ns": "BIGINT",
    "week": "VARCHAR",
    "service": "VARCHAR",
    "scope": "VARCHAR",
    "status_code": "VARCHAR",
    "record": "VARCHAR",
    "links": "VARCHAR[]",
    "rest": "VARCHAR",
}
"""What every span has, ours or not, with its DuckDB type.

Ids are hex text; `received_ns` and `week` are the store's own; `record` is null for a foreign span; a link is
`trace:span`; `rest` is JSON of the redacted attributes that have no column.
"""

TYPES = ENVELOPE | {name: column.sql_type for name, column in COLUMNS.items()}
"""Every column of `spans` in its order, with its DuckDB type."""

UNKNOWN_WEEK = "unknown"
_ARROW_TYPES = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR[]": pa.list_(pa.string()),
}
SCHEMA = pa.schema([(name, _ARROW_TYPES[sql_type]) for name, sql_type in TYPES.items()])
# What the statements in sql/write/ read of a group, whether or not one of its rows has it.
_ALWAYS = frozenset(
    {"trace_id", "span_id", "start_ns", "received_ns", "week", "record", "toolset_digest", "members", "definition_digest"}
    | {"schema_digest", "server", "tool", "tool_version", "definition", "side_effect", "idempotent"}
)
_NS_PER_DAY = 86_400 * 10**9


@functools.lru_cache(maxsize=4096)
def _week_of_day(day: int) -> str:
    year, week, _ = (dt.date(1970, 1, 1) + dt.timedelta(days=day)).isocalendar()
    return f"{year:04}-W{week:02}"


def week_of(start_ns: int, *, time_known: bool = True) -> str:
    """The ISO week (UTC) of a time, such as `2026-W48`; `unknown` where the time stands for an order only.

    Raises OverflowError for a time outside of the years 1 to 9999.
    """
    return _week_of_day(start_ns // _NS_PER_DAY) if time_known else UNKNOWN_WEEK


def _values(name: str, rows: Sequence[Mapping[str, Any]], received_ns: int) -> list[Any]:
    if name == "received_ns":
        return [received_ns] * len(rows)
    if name == "week":
        return [week_of(row["start_ns"], time_known=row.get("time_known") is not False) for row in rows]
    return [row.get(name) for row in rows]


def table_of(rows: Sequence[Mapping[str, Any]], received_ns: int) -> pa.Table:
    """The rows as an Arrow table, without the columns that no row has; `received_ns` and `week` are filled here.

    Raises KeyError for a name that is no column, and TypeError, ValueError or OverflowError for a value that its
    column's type cannot hold.
    """
    present = _ALWAYS.union(*rows)
    unknown = present - TYPES.keys()
    if unknown:
        raise KeyError(f"no columns of spans: {sorted(unknown)}; known are the envelope and the record fields")
    fields = [field for field in SCHEMA if field.name in present]
    arrays = [pa.array(_values(field.name, rows, received_ns), type=field.type) for field in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
