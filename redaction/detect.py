"""Finds what values give away by their own form. Detectors only ever raise a class.

All texts of a payload are joined and looked at once. A first look over the whole says which rules can match at all: one
pass of an RE2 set where google-re2 is installed, a search for literals otherwise; what is found is the same either way.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from toolwitness.redaction.prefilter import Prefilter
from toolwitness.redaction.rule import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolwitness.redaction.rule import Rule

__all__ = ["Finding", "prefilter", "scan_text", "scan_texts"]

MAX_HITS: Final = 64
"""Hits of one rule in one text; the rest of a text with more of them counts as one hit."""

_MANY: Final = 256
"""Hits of one rule in all texts together, above which each text is looked at alone."""

_SHORTEST: Final = 4
"""Characters; nothing that a rule knows is shorter."""

_UNIT: Final = "\x1f"
"""Stands between two texts; no rule reaches across it."""


def scan_text(text: str) -> tuple[Finding, ...]:
    """Return what the detectors find in a text, in order of position.

    Fullwidth letters, typographic dashes and spaces and invisible characters are seen through. At most `MAX_HITS` findings
    a rule; when there are more, the last one reaches to the end of the text.
    """
    if len(text) < _SHORTEST or _PLAIN.fullmatch(text):
        return ()
    return _scan(text.replace(_UNIT, " "), MAX_HITS)


def scan_texts(texts: Sequence[str]) -> dict[int, list[Finding]]:
    """Return what the detectors find in each of several texts, by its place in the sequence; as `scan_text` of each."""
    joined = _UNIT.join(texts)
    if joined.count(_UNIT) >= len(texts):
        texts = [text.replace(_UNIT, " ") for text in texts]
        joined = _UNIT.join(texts)
    found = _scan(joined, _MANY)
    if found and found[-1].rule == _OVERFLOW:
        return {at: list(hits) for at, text in enumerate(texts) if (hits := scan_text(text))}
    out: dict[int, list[Finding]] = {}
    if found:
        starts = [0]
        for text in texts:
            starts.append(starts[-1] + len(text) + 1)
        for start, end, rule, cls in found:
            at = bisect_right(starts, start) - 1
            out.setdefault(at, []).append(Finding(start - starts[at], min(end - starts[at], len(texts[at])), rule, cls))
    return out


_OVERFLOW: Final = "~overflow"

_PLAIN: Final = re.compile(r"[A-Za-z_]{0,16}(?: [A-Za-z]{1,16}){0,2}")
"""A word or three of Latin letters alone, in which no rule finds anything."""


def _scan(text: str, most: int) -> tuple[Finding, ...]:
    folded, origin = (text, None) if text.isascii() else _fold(text)
    found: list[Finding] = []
    for rule in prefilter(folded):
        hits = list(islice(rule.find(folded), most + 1))
        if len(hits) > most:
            if most is _MANY:
                return (Finding(len(text), len(text), _OVERFLOW, hits[0].cls),)
            hits[-1] = hits[-1]._replace(end=len(folded))
        found += hits
    if origin is not None:
        found = [hit._replace(start=origin[hit.start], end=origin[hit.end - 1] + 1) for hit in found]
    found.sort()
    return tuple(found)


_LOOK_ALIKES: Final = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # fullwidth forms of ASCII
    | dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212), "-")
    | dict.fromkeys((0x00A0, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A), " ")
    | dict.fromkeys((0x202F, 0x205F, 0x3000), " ")
    | dict.fromkeys((0x201C, 0x201D, 0x201E), '"')
    | dict.fromkeys((0x2018, 0x2019, 0x201A), "'")
    | {0x0130: "I", 0x0131: "i", 0x017F: "s"}  # which patterns without case take for the plain letters
)
_FOREIGN: Final = re.compile(r"[^\x00-\x7f\u00c0-\u024f\u3000-\u9fff\uac00-\ud7a3]")
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)


def _fold(text: str) -> tuple[str, list[int] | None]:
    """Return the text as a reader sees it, and the original offset of each character where any were dropped."""
    folded = text.translate(_LOOK_ALIKES)
    if (odd := _FOREIGN.search(folded)) is None:
        return folded, None
    folded = folded[: odd.start()] + "".join(map(_as_ascii, folded[odd.start() :]))
    if not _INVISIBLE.search(folded):
        return folded, None
    origin = [at for at, char in enumerate(folded) if not _INVISIBLE.match(char)]
    return "".join(folded[at] for at in origin), origin


def _as_ascii(char: str) -> str:
    """Return the one ASCII letter, digit or sign that a mathematical, circled or foreign-digit form stands for."""
    if char.isascii():
        return char
    plain = unicodedata.normalize("NFKC", char)
    if len(plain) == 1 and plain.isascii():
        return plain
    digit = unicodedata.decimal(char, None)
    return char if digit is None else str(digit)


def _load() -> tuple[Rule, ...]:
    """Return all rules; loaded with the first text that is looked at, since to compile them takes a while."""
    credentials = importlib.import_module("toolwitness.redaction.credentials").CREDENTIALS
    named = importlib.import_module("toolwitness.redaction.spoken").NAMED
    identifiers = importlib.import_module("toolwitness.redaction.identifiers").IDENTIFIERS
    encoded: Any = importlib.import_module("toolwitness.redaction.encoded")
    return (*credentials, *named, *identifiers, *encoded.encoded_rules(_holds))


def _holds(text: str) -> bool:
    """Tell whether a text that was decoded from another holds anything; it is not decoded again."""
    text = text.replace(_UNIT, " ")
    folded = text if text.isascii() else _fold(text)[0]
    return any(next(rule.find(folded), None) is not None for rule in prefilter(folded) if not rule.decodes)


prefilter: Final = Prefilter(_load)
"""Which rules can find something in a text; tests and benchmarks switch RE2 off here."""
