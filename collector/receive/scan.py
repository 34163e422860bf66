"""The collector's second look at what an SDK says it has redacted: free text is joined and scanned once a request."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import typing
from collections.abc import Iterable
from typing import Any

from toolwitness.collector.store.columns import Row
from toolwitness.model.codec import COLUMNS, FIELDS_OF
from toolwitness.model.records import Json
from toolwitness.redaction import is_placeholder, scan_text

_HEX = re.compile(r"[0-9a-f]{16}(?:[0-9a-f]{16}){0,3}")
_KEYS = frozenset({"run_id", "call_id", "decision_id", "session", "task"})
"""Columns that rows are joined and counted by: two masked values must stay two."""
_DIGESTS = frozenset(name for name in COLUMNS if name.endswith(("_id", "_digest")))
_JSON = frozenset(
    name for fields in FIELDS_OF.values() for name, kind in fields.items() if Json in {kind, *typing.get_args(kind)}
)
TEXTS = frozenset({"name", *(name for name, column in COLUMNS.items() if column.free_text)})
"""The columns of a span of ours that hold text of any content."""


@functools.lru_cache(maxsize=4096)
def masked(text: str) -> str:
    """The text, or the name of the rule that objects to it in its place."""
    found = scan_text(text)
    return f"[{found[0].rule}]" if found else text


def _leaf(key: str, value: Any) -> Any:
    """A value that is no container, masked where it is found beside its key (`"password": "..."`)."""
    if value is None or isinstance(value, bool):
        return value
    found = scan_text(json.dumps({key: value}, ensure_ascii=False))
    return f"[{found[0].rule}]" if found else value


def _masked_tree(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        if is_placeholder(value):
            return value
        return {masked(name): _masked_tree(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [_masked_tree(member, key) for member in value]
    return _leaf(key, value)


def _masked_json(text: str) -> str:
    """The JSON text with each objectionable leaf masked; the text itself where only placeholders looked like secrets."""
    try:
        parsed = json.loads(text)
        tree = _masked_tree(parsed)
    except RecursionError:
        return '"[unreadable]"'
    return text if tree == parsed else json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


class Scan:
    """Collects the free text of a request's rows, then masks in place what the detectors object to."""

    def __init__(self) -> None:
        self._places: list[tuple[Row, str]] = []

    def add(self, row: Row, columns: Iterable[str]) -> None:
        """Look at these texts of the row too; ids and digests in hex are no text."""
        for column in columns:
            text = row[column]
            if text and not (column in _DIGESTS and _HEX.fullmatch(text)):
                self._places.append((row, column))

    def mask(self) -> None:
        """Scan everything at once; only where something is found, look for it value by value."""
        if not scan_text("\n".join(row[column] for row, column in self._places)):
            return
        for row, column in self._places:
            text = row[column]
            if not scan_text(text):
                continue
            if column in _KEYS:
                row[column] = f"redacted-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
            else:
                row[column] = _masked_json(text) if column in _JSON else masked(text)
