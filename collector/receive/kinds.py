"""Which columns of a span of ours hold what: text of any content, lists of it, JSON, or a closed domain."""

from __future__ import annotations

import re
import typing
from enum import StrEnum
from typing import Any

from toolwitness.model.codec import COLUMNS, FIELDS_OF
from toolwitness.model.digest import KeyedDigest
from toolwitness.model.records import Json

HEX = re.compile(r"[0-9a-f]{16}(?:[0-9a-f]{16}){0,3}")
"""Ids and digests as the SDK makes them, which are no text."""

KEYS = frozenset({"run_id", "call_id", "decision_id", "session", "task"})
"""Columns that rows are joined and counted by: two masked values must stay two."""

KEY_LISTS = frozenset({"chosen", "answer_sources", "argument_sources"})
"""Columns that list such keys of other rows."""

_ANNOTATIONS: dict[str, Any] = {name: kind for fields in FIELDS_OF.values() for name, kind in fields.items()}


def _parts(name: str) -> set[Any]:
    """The types that a field's annotation is made of, without those inside of records."""
    kind = _ANNOTATIONS[name]
    return {kind, *typing.get_args(kind)}


def _is_closed(name: str) -> bool:
    if COLUMNS[name].sql_type in {"BOOLEAN", "BIGINT", "DOUBLE"}:
        return True
    enums = any(isinstance(part, type) and issubclass(part, StrEnum) for part in _parts(name))
    return enums or KeyedDigest in _parts(name)


CLOSED = frozenset(filter(_is_closed, COLUMNS))
"""Columns whose domain has no room for content: enums, numbers, truth values and keyed digests."""

LISTS = frozenset(name for name, column in COLUMNS.items() if column.sql_type == "VARCHAR[]") - CLOSED
"""Columns that are lists of text."""

JSON = (
    frozenset(name for name in COLUMNS if Json in _parts(name) or typing.get_origin(_ANNOTATIONS[name]) is tuple)
    - LISTS
    - CLOSED
)
"""Columns that are JSON text, lists of records among them."""

TEXTS = frozenset(COLUMNS) - CLOSED - LISTS
"""Columns that are one text of any content, JSON among them."""

DIGESTS = frozenset(name for name in TEXTS if name.endswith(("_id", "_digest"))) | KEY_LISTS
"""Columns in which hex digits are an id or digest; elsewhere they may be a card's number."""
