"""What is still known of a value when only its redacted copy is left: exact parts, and for the others a type or a size."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from toolwitness.redaction.placeholder import TAG, is_placeholder
from toolwitness.redaction.projection import CUT

__all__ = ["ANYTHING", "Hidden", "Items", "Known", "Members", "Sketch", "read"]

ANYTHING: Final = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})
"""Every JSON type. `number` is one that is written with a fraction, which may be zero."""

_ATOMS: Final = frozenset({"string", "integer", "number"})
"""What a placeholder may stand for."""

_MASK: Final = re.compile(r"\[[\w:-]{1,48}\]")
"""What a detector left in the place of a text, or of a part of it."""
_CHANGED_NAME: Final = re.compile(r"[\[<\ufffd]|\$tw:")
"""A sign of a key that is not the original's, or is only perhaps."""
_BOUNDS: Final = re.compile(r"(?P<least>[0-9]{1,9})(?:-(?P<most>[0-9]{1,9}))?")


@dataclass(frozen=True, slots=True)
class Known:
    """A part that is exactly the original's."""

    value: Any


@dataclass(frozen=True, slots=True)
class Hidden:
    """A value of one of these JSON types; its length and formats as far as they are told."""

    types: frozenset[str]
    least: int = 0
    most: int | None = None
    formats: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Members:
    """An object; where it is `open`, more members may stand in it, under names that are not known."""

    of: dict[str, Sketch]
    open: bool = False
    types: frozenset[str] = field(default=frozenset({"object"}), init=False)


@dataclass(frozen=True, slots=True)
class Items:
    """An array; where it is `open`, more items may follow."""

    of: list[Sketch]
    open: bool = False
    types: frozenset[str] = field(default=frozenset({"array"}), init=False)


Sketch = Known | Hidden | Members | Items


def read(copy: Any, *, truncated: bool) -> Sketch:
    """The sketch of a redacted copy.

    In a truncated one any text may stand for something that was left out, and any object or array may lack its end.
    """
    kind = type(copy)
    if copy is None or kind is bool or kind is int or kind is float:
        return Known(copy)
    if kind is str:
        return _text(copy, truncated=truncated)
    if is_placeholder(copy):
        return _placeholder(copy[TAG], truncated=truncated)
    if kind is dict:
        return _object(copy, truncated=truncated)
    return _array(copy, truncated=truncated) if kind is list else Hidden(ANYTHING)


def _text(text: str, *, truncated: bool) -> Sketch:
    # A collector masks what it finds in the copy whole, of whatever type it was.
    if truncated or _MASK.fullmatch(text):
        return Hidden(ANYTHING)
    # A text that is JSON was written again, so that its length and its letters are not the original's.
    changed = text.lstrip()[:1] in {"{", "["} or text.endswith(CUT) or _MASK.search(text)
    return Hidden(frozenset({"string"})) if changed else Known(text)


def _placeholder(body: Any, *, truncated: bool) -> Hidden:
    if type(body) is not dict or truncated:
        return Hidden(ANYTHING)
    told = body.get("t")
    if told is None:
        return Hidden(_ATOMS)
    if told != "string":
        return Hidden(frozenset({told}) if told in _ATOMS else ANYTHING)
    bounds = _BOUNDS.fullmatch(str(body.get("len", "")))
    least = 0 if bounds is None else int(bounds["least"])
    most = None if bounds is None else int(bounds["most"] or least)
    formats = body.get("fmt", [])
    named = frozenset(word for word in formats if type(word) is str) if type(formats) is list else frozenset[str]()
    return Hidden(frozenset({"string"}), least, most, named)


def _object(copy: dict[str, Any], *, truncated: bool) -> Sketch:
    members = {name: read(value, truncated=truncated) for name, value in copy.items() if not _CHANGED_NAME.search(name)}
    changed = truncated or len(members) < len(copy)
    if not changed and all(type(member) is Known for member in members.values()):
        return Known(copy)
    return Members(members, changed)


def _array(copy: list[Any], *, truncated: bool) -> Sketch:
    items = [read(item, truncated=truncated) for item in copy]
    if not truncated and all(type(item) is Known for item in items):
        return Known(copy)
    return Items(items, truncated)
