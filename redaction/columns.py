"""Finds the columns of a table in a text whose heading names what must not be shown: CSV, TSV and Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.checks import names_a_value
from toolwitness.redaction.names import name_class
from toolwitness.redaction.rule import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["columns"]

_HEADING: Final = re.compile(r"[ ]{0,8}[\"']?[A-Za-z_][\w .-]{0,40}[\"']?[ ]{0,8}")
_LINE: Final = re.compile(r"[^\n\r\x1f]{3,4096}")
_MOST_ROWS: Final = 1000
_MOST_CELLS: Final = 64


def _cells(line: str, sign: str) -> list[tuple[int, int]]:
    """Return start and end of each cell of a line, without its spaces and quotes."""
    out: list[tuple[int, int]] = []
    at = 0
    for cell in line.split(sign, _MOST_CELLS):
        bare = cell.strip(" \"'")
        start = at + (cell.find(bare) if bare else 0)
        out.append((start, start + len(bare)))
        at += len(cell) + len(sign)
    return out


def _protected(line: str, sign: str) -> dict[int, PrivacyClass]:
    """Return the columns, with their classes, of a line that is a table's heading; none where it is not."""
    names = line.split(sign, _MOST_CELLS)
    if len(names) < 2 or not all(_HEADING.fullmatch(name) or not name.strip() for name in names):  # noqa: PLR2004 - one column is no table
        return {}
    found: dict[int, PrivacyClass] = {}
    for at, name in enumerate(names):
        named = name_class(name.strip(" \"'"))
        if named is not None and named[0].rank > PrivacyClass.UNKNOWN.rank:
            found[at] = named[0]
    return found


def columns(text: str) -> Iterator[Finding]:
    """Find the cells under such a heading, down to the first line with another number of cells."""
    lines = list(_LINE.finditer(text)) if any(sign in text for sign in "\t|,;") else []
    at = 0
    while at < len(lines) - 1:
        head = lines[at]
        at += 1
        sign = next((sign for sign in ("\t", "|", ",", ";") if sign in head[0]), None)
        under = {} if sign is None else _protected(head[0], sign)
        if sign is None or not under:
            continue
        count = head[0].count(sign)
        for row in lines[at : at + _MOST_ROWS]:
            if row[0].count(sign) != count or text[row.start() - 1] == "\x1f":
                break
            at += 1
            cells = _cells(row[0], sign)
            for column, cls in under.items():
                start, end = cells[column]
                value = row[0][start:end]
                if value.strip("-: ") and not names_a_value(value):
                    yield Finding(row.start() + start, row.start() + end, "column", cls)
