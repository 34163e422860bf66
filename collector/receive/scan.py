"""The collector's second look at what an SDK says it has redacted: all text is joined and scanned once a request."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from toolwitness.collector.receive.kinds import DIGESTS, HEX, JSON, KEY_LISTS, KEYS, LISTS, TEXTS
from toolwitness.collector.receive.shrink import hashed
from toolwitness.collector.store.columns import Row
from toolwitness.redaction import scan_text
from toolwitness.redaction.closed import fails_closed
from toolwitness.redaction.detect import scan_texts
from toolwitness.redaction.placeholder import is_well_formed

_PIECE = 256 * 1024
_LONGEST = 2 * 1024 * 1024
"""Characters of one text; an SDK of ours sends at most half as many."""

_WHOLE_DIGEST = re.compile(r"[0-9a-f]{64}")
_DIGESTS_IN_JSON = frozenset({"definition_digest", "schema_digest"})

_FRAMES = "error_frames"
"""A column of `module:function:line`, in which a colon assigns nothing: `auth:login:12` is no credential."""


@functools.lru_cache(maxsize=4096)
def masked(text: str) -> str:
    """The text, or the name of the rule that objects to it in its place."""
    found = scan_text(text)
    return f"[{found[0].rule}]" if found else text


def _leaf(key: str, value: Any) -> Any:
    """A value that is no container, masked where it is found beside its key (`"password": "..."`)."""
    if value is None or isinstance(value, bool):
        return value
    if key in _DIGESTS_IN_JSON and type(value) is str and _WHOLE_DIGEST.fullmatch(value):
        return value
    found = scan_text(json.dumps({key: value}, ensure_ascii=False))
    return f"[{found[0].rule}]" if found else value


def _masked_tree(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        if is_well_formed(value):
            return value
        return {masked(name): _masked_tree(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [_masked_tree(member, key) for member in value]
    return _leaf(key, value)


def _masked_json(text: str) -> str:
    """The JSON text with each objectionable leaf masked."""
    try:
        parsed = json.loads(text)
        tree = _masked_tree(parsed)
    except RecursionError:
        return '"[unreadable]"'
    # Written again even where nothing was masked: of two equal keys the text holds what the tree does not.
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


class Failed(NamedTuple):
    """A row of which some text could not be looked at, and why."""

    row: Row
    reason: str


class Scan:
    """Collects the texts of a request's own rows, then masks in place what the detectors object to."""

    def __init__(self) -> None:
        self._places: list[tuple[Row, str, int | None]] = []
        """Row, column, and the place in the column's list where it is one."""
        self._texts: list[str] = []

    def add(self, row: Row) -> None:
        """Look at all texts of the row too; ids and digests in hex are no text."""
        for column, value in row.items():
            if column in LISTS:
                for at, item in enumerate(value):
                    self._add(row, column, at, item)
            elif column in TEXTS or column == "name":
                self._add(row, column, None, value)

    def _add(self, row: Row, column: str, at: int | None, text: str) -> None:
        if text and not (column in DIGESTS and HEX.fullmatch(text)):
            self._places.append((row, column, at))
            self._texts.append(text.replace(":", " ") if column == _FRAMES else text)

    def mask(self, is_late: Callable[[], bool]) -> list[Failed]:
        """Scan everything and mask what is found; returns the rows that nobody can vouch for, a row perhaps twice.

        `is_late` says whether the time for that is over; it is asked between pieces of some hundred thousand characters.
        """
        failed: list[Failed] = []
        for piece in self._pieces():
            if is_late():
                failed += (self._failed(at, "time") for at in piece)
            else:
                failed += self._mask_piece(piece)
        return failed

    def _failed(self, at: int, reason: str) -> Failed:
        return Failed(self._places[at][0], reason)

    def _pieces(self) -> Iterator[range]:
        """The places, so many at a time that their texts are not too long together; a single one may be."""
        begin = length = 0
        for at, text in enumerate(self._texts):
            if length and length + len(text) > _PIECE:
                yield range(begin, at)
                begin, length = at, 0
            length += len(text)
        if self._texts:
            yield range(begin, len(self._texts))

    def _mask_piece(self, piece: range) -> list[Failed]:
        texts = [self._texts[at] for at in piece]
        if any(len(text) > _LONGEST for text in texts):
            return [self._failed(at, "size") for at in piece]
        found = fails_closed(scan_texts, texts)
        if found is None:
            # One text that breaks the scan of all must not cost the others.
            return [self._failed(at, "error") for at in piece if not fails_closed(self._look, at)]
        hits = (piece.start + hit for hit in found)
        return [self._failed(at, "error") for at in hits if not fails_closed(self._mask, at)]

    def _look(self, at: int) -> bool:
        return not scan_text(self._texts[at]) or self._mask(at)

    def _mask(self, at: int) -> bool:
        row, column, place = self._places[at]
        text = row[column] if place is None else row[column][place]
        if column in KEYS or column in KEY_LISTS:
            shown = hashed(text)
        elif column in JSON:
            shown = _masked_json(text)
        else:
            looked = self._texts[at]
            shown = text if masked(looked) == looked else masked(looked)
        if place is None:
            row[column] = shown
        else:
            row[column][place] = shown
        return True
