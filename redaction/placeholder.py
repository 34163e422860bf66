"""What stands in the place of a redacted value: a tagged object that no tool's schema accepts as an argument."""

from __future__ import annotations

import re
from typing import Any, Final

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.projection import CUT

__all__ = ["ESCAPED", "SIZE_CLASSES", "TAG", "formats", "is_placeholder", "is_well_formed", "placeholder", "size_class"]

TAG: Final = "$tw:redacted"
ESCAPED: Final = "$tw:escaped"
"""Replaces the tag where a payload has it as a key of its own."""

_DATE_LENGTH, _UUID_LENGTH, _MOMENT_LENGTHS = 10, 36, range(16, 36)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]{5,15}(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?")

_WORD: Final = re.compile(r"[a-z0-9-]{1,24}(?::[\w:-]{1,32})?", re.IGNORECASE)
_FINGERPRINT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,15}:[0-9a-f]{32}")
_BUCKET: Final = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9}|\+)?")
_TYPES: Final = frozenset({"string", "integer", "number"})
_CLASSES: Final = frozenset(cls.value for cls in PrivacyClass)
_FIELDS: Final = frozenset({"c", "t", "len", "fmt", "fp", "why"})


def placeholder(
    value: str | float,
    cls: PrivacyClass,
    why: str,
    fmt: tuple[str, ...] = (),
    *,
    fingerprint: str | None = None,
    bare: bool = False,
    typed: bool = True,
) -> dict[str, Any]:
    """Return the object that stands for a value: class, JSON type, size class, formats, fingerprint and the rule's name.

    The size class is given for strings alone, and not where the value stays `bare`, as for a secret, whose length helps
    whoever guesses.
    """
    body: dict[str, Any] = {"c": cls.value}
    text = type(value) is str
    if typed:
        body["t"] = "string" if text else "integer" if type(value) is int else "number"
    if text and not bare and cls is not PrivacyClass.SECRET:
        body["len"] = size_class(str(value))
    if fmt:
        body["fmt"] = list(fmt)
    if fingerprint is not None:
        body["fp"] = fingerprint
    body["why"] = why
    return {TAG: body}


_MOST_FORMATS: Final = 8


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
    if type(words) is not list or len(words) > _MOST_FORMATS:
        return False
    return (
        _fits(_WORD, body.get("c"))
        and body["c"] in _CLASSES
        and body.get("t", "string") in _TYPES
        and _fits(_FINGERPRINT, body.get("fp", "k:" + "0" * 32))
        and _fits(_BUCKET, body.get("len", "0"))
        and _fits(_WORD, body.get("why"))
        and all(_fits(_WORD, word) for word in words)
    )


def formats(text: str) -> tuple[str, ...]:
    """Return the JSON Schema formats that a text has, as far as they tell nothing but its kind."""
    length = len(text)
    if length == _DATE_LENGTH:
        return ("date",) if _DATE.fullmatch(text) else ()
    if length == _UUID_LENGTH and _UUID.fullmatch(text):
        return ("uuid",)
    return ("date-time",) if length in _MOMENT_LENGTHS and _MOMENT.fullmatch(text) else ()


def _fits(pattern: re.Pattern[str], text: Any) -> bool:
    return type(text) is str and pattern.fullmatch(text) is not None


def size_class(text: str) -> str:
    """Return the length's range between powers of two (`9-16`), open upwards where the end was cut."""
    length = len(text)
    if length < _TABLED and text[-1:] != ">":
        return SIZE_CLASSES[length]
    return f"{length - len(CUT)}+" if text.endswith(CUT) else _range(length)


def _range(length: int) -> str:
    if length <= 1:
        return str(length)
    upper = 1 << (length - 1).bit_length()
    lower = upper // 2 + 1
    return str(upper) if lower == upper else f"{lower}-{upper}"


_TABLED: Final = 1024
SIZE_CLASSES: Final = tuple(map(_range, range(_TABLED)))
"""Size classes of short texts by their length."""
