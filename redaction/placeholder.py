"""What stands in the place of a redacted value: a tagged object that no tool's schema accepts as an argument."""

from __future__ import annotations

import re
from typing import Any, Final

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.projection import CUT

__all__ = ["ESCAPED", "TAG", "formats", "is_placeholder", "is_well_formed", "placeholder"]

TAG: Final = "$tw:redacted"
ESCAPED: Final = "$tw:escaped"
"""Replaces the tag where a payload has it as a key of its own."""

_LONGEST_FORMAT: Final = 64
_FORMATS: Final = (
    ("uuid", re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")),
    ("date", re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")),
    ("date-time", re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]{5,15}(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?")),
)

_WORD: Final = re.compile(r"[\w:-]{1,48}")
_BUCKET: Final = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9}|\+)?")
_TYPES: Final = frozenset({"string", "integer", "number"})
_CLASSES: Final = frozenset(cls.value for cls in PrivacyClass)
_FIELDS: Final = frozenset({"c", "t", "len", "fmt", "why"})


def placeholder(value: str | float, cls: PrivacyClass, why: str, fmt: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the object that stands for a value: its class, JSON type, size class and formats, and the rule's name.

    The size class is given for strings alone, and never for a secret, whose length helps whoever guesses.
    """
    kind = "string" if type(value) is str else "integer" if type(value) is int else "number"
    body: dict[str, Any] = {"c": cls.value, "t": kind}
    if type(value) is str and cls is not PrivacyClass.SECRET:
        body["len"] = _bucket(value)
    if fmt:
        body["fmt"] = list(fmt)
    body["why"] = why
    return {TAG: body}


def is_placeholder(value: Any) -> bool:
    """Tell whether a value is a redaction placeholder, even one that a model has altered."""
    return type(value) is dict and len(value) == 1 and TAG in value


def is_well_formed(value: Any) -> bool:
    """Tell whether a value is a placeholder exactly as this package makes them, with no room for other content."""
    if not is_placeholder(value):
        return False
    body = value[TAG]
    if type(body) is not dict or not body.keys() <= _FIELDS:
        return False
    words = body.get("fmt", [])
    return (
        _fits(_WORD, body.get("c"))
        and body["c"] in _CLASSES
        and _fits(_WORD, body.get("t"))
        and body["t"] in _TYPES
        and _fits(_BUCKET, body.get("len", "0"))
        and _fits(_WORD, body.get("why"))
        and type(words) is list
        and all(_fits(_WORD, word) for word in words)
    )


def formats(text: str) -> tuple[str, ...]:
    """Return the JSON Schema formats that a text has, as far as they tell nothing but its kind."""
    if len(text) > _LONGEST_FORMAT or "-" not in text:
        return ()
    return tuple(name for name, pattern in _FORMATS if pattern.fullmatch(text))


def _fits(pattern: re.Pattern[str], text: Any) -> bool:
    return type(text) is str and pattern.fullmatch(text) is not None


def _bucket(text: str) -> str:
    """Return the length's range between powers of two (`9-16`), open upwards where the end was cut."""
    if text.endswith(CUT):
        return f"{len(text) - len(CUT)}+"
    if len(text) <= 1:
        return str(len(text))
    upper = 1 << (len(text) - 1).bit_length()
    lower = upper // 2 + 1
    return str(upper) if lower == upper else f"{lower}-{upper}"
