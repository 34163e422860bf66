"""The bounded structural copy that is taken on the agent's own thread.

Two promises: the copy costs a bounded time whatever it is given, and it never runs code of the value's own (no `repr`,
`len`, `==`, iteration or attribute access on anything whose exact type is not known). The copy still holds originals:
only what `clean` makes of it may leave the process.
"""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict, deque
from enum import EnumMeta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolwitness.redaction.foreign import exact_text, says_all, stored_fields, type_name

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CUT", "DEFAULT_LIMITS", "Limits", "Projection", "project"]

CUT: Final = "<cut>"
"""Stands for what a limit left out; a string that lost its end has it as its own end."""

_SHORT = 1024
"""Strings up to this many characters are copied inline, which is what keeps the usual payload fast."""

_LONG_INT = 1 << 63
_MIN_INT = -_LONG_INT
_MAX_INT_BITS = 4096
_BYTES_PER_NODE = 8


class Limits(NamedTuple):
    """Where the copy stops."""

    depth: int = 24
    """Containers inside containers."""
    nodes: int = 5_000
    """Members of all containers together."""
    string: int = 16 * 1024
    """Characters of one string."""
    event: int = 64 * 1024
    """Approximate bytes of the whole copy."""


DEFAULT_LIMITS: Final = Limits()


class Projection:
    """A JSON-ready copy of a value, still with its originals in it.

    `value` holds nothing but exact dict (with str keys), list, str, int, float, bool and None. `size` is its approximate
    size in bytes, at least 1. `truncated` says that something was left out, cut or changed in type, so that a schema
    cannot be checked against the copy. `exact` says that another value has another copy: what JSON has no type for may only be
    a text that is always the same, such as a decimal number or a date.
    """

    __slots__ = ("exact", "size", "truncated", "value")

    def __init__(self, value: Any, size: int, truncated: bool, *, exact: bool = True) -> None:
        self.value = value
        self.size = size
        self.truncated = truncated
        self.exact = exact and not truncated

    def __repr__(self) -> str:
        """Return a text without the value, since reprs end up in logs and tracebacks."""
        return f"Projection(size={self.size}, truncated={self.truncated})"


class _Walk:
    """What is left of the limits during one copy."""

    __slots__ = ("above", "cut", "depth", "exact", "left", "nodes", "string")

    def __init__(self, limits: Limits) -> None:
        self.depth = limits.depth
        self.nodes = limits.nodes
        self.string = limits.string
        self.left = limits.event
        self.above: set[int] = set()
        self.cut = False
        self.exact = True

    def stop(self, marker: str) -> str:
        """Note that something is missing and return what stands in its place."""
        self.cut = True
        return marker


def project(value: Any, *, limits: Limits = DEFAULT_LIMITS) -> Projection:
    """Copy a value of any kind into a bounded, JSON-ready `Projection`, without running code of its own.

    Foreign objects and subclasses become the name of their type in angle brackets; dataclasses, pydantic models, enum
    members and a few exact standard types are read. Never raises an ordinary exception.
    """
    walk = _Walk(limits)
    try:
        copied = _copy(value, 0, walk)
    except (RuntimeError, MemoryError):
        # The agent may stand at the end of its own stack or memory already.
        copied = walk.stop("<unreadable>")
    return Projection(copied, max(1, limits.event - walk.left), walk.cut, exact=walk.exact)


def _copy(value: Any, depth: int, walk: _Walk) -> Any:
    kind = type(value)
    if kind is dict:
        return _object(value, depth, walk)
    if kind is list or kind is tuple:
        return _array(value, depth, walk)
    if kind is str:
        return _text(value, walk)
    if value is None or kind is bool:
        return value
    if kind is int:
        return _integer(value, walk)
    if kind is float:
        return value if value - value == 0.0 else _not_finite(value, walk)
    return _other(value, depth, walk)


def _refused(value: Any, depth: int, walk: _Walk) -> str | None:
    """Return the marker for a container that must not be entered, or None."""
    if depth >= walk.depth:
        return walk.stop("<depth>")
    if id(value) in walk.above:
        return walk.stop("<cycle>")
    return walk.stop(CUT) if walk.left <= 0 else None


def _object(value: dict[Any, Any], depth: int, walk: _Walk) -> Any:  # noqa: C901, PLR0912 - atoms in line: a call each would double the cost on the agent's thread
    """Copy a mapping."""
    mark = id(value)
    if depth >= walk.depth or walk.left <= 0 or mark in walk.above:
        return _refused(value, depth, walk)
    walk.above.add(mark)
    count = len(value)
    pairs: Iterable[tuple[Any, Any]] = value.items()
    taken = count
    if count > walk.nodes:
        taken = walk.nodes
        pairs = islice(pairs, taken)
    walk.nodes -= taken
    left = walk.left - taken * _BYTES_PER_NODE
    out: dict[str, Any] = {}
    try:
        for key, item in pairs:
            if left <= 0:
                break
            if type(key) is str and (size := len(key)) <= _SHORT and key.isascii():
                name = key
                left -= size
            else:
                walk.left = left
                name = _key(key, walk)
                left = walk.left
            kind = type(item)
            if kind is str and (size := len(item)) <= _SHORT and item.isascii():
                left -= size
                out[name] = item
            elif item is None or kind is bool:
                out[name] = item
            elif kind is int:
                out[name] = item if _MIN_INT <= item < _LONG_INT else _integer(item, walk)
            elif kind is float:
                out[name] = item if item - item == 0.0 else _not_finite(item, walk)
            else:
                walk.left = left
                reader = _object if kind is dict else _array if kind is list else _copy
                out[name] = reader(item, depth + 1, walk)
                left = walk.left
    except RuntimeError:
        # Another thread changed the size meanwhile; what was read so far is still true.
        walk.cut = True
    walk.left = left
    walk.above.discard(mark)
    if len(out) != count:
        walk.cut = True
    return out


def _array(value: list[Any] | tuple[Any, ...], depth: int, walk: _Walk) -> Any:
    """Copy a sequence; a slice is taken first, because another thread may append without end."""
    mark = id(value)
    if depth >= walk.depth or walk.left <= 0 or mark in walk.above:
        return _refused(value, depth, walk)
    walk.above.add(mark)
    count = len(value)
    items = value[: walk.nodes]
    walk.nodes -= len(items)
    left = walk.left - len(items) * _BYTES_PER_NODE
    out: list[Any] = []
    for item in items:
        if left <= 0:
            break
        kind = type(item)
        if kind is str and (size := len(item)) <= _SHORT and item.isascii():
            left -= size
            out.append(item)
        elif item is None or kind is bool or (kind is int and _MIN_INT <= item < _LONG_INT):
            out.append(item)
        else:
            walk.left = left
            out.append(_object(item, depth + 1, walk) if kind is dict else _copy(item, depth + 1, walk))
            left = walk.left
    walk.left = left
    walk.above.discard(mark)
    if len(out) != count:
        walk.cut = True
    return out


def _text(text: str, walk: _Walk) -> str:
    limit = min(walk.string, max(walk.left, 0))
    cut = len(text) > limit
    if cut:
        text = text[:limit]
    if text.isascii():
        walk.left -= len(text)
        return text + walk.stop(CUT) if cut else text
    try:
        coded = text.encode()
    except UnicodeEncodeError:
        # Lone surrogates cannot leave as UTF-8.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        coded = text.encode()
        walk.cut = True
    if len(coded) > walk.left:
        coded = coded[: max(walk.left, 0)]
        text, cut = coded.decode(errors="ignore"), True
    walk.left -= len(coded)
    return text + walk.stop(CUT) if cut else text


def _integer(value: int, walk: _Walk) -> int | str:
    if _MIN_INT <= value < _LONG_INT:
        return value
    # Decimal digits of a huge integer cost quadratic time.
    return walk.stop(str(value) if value.bit_length() <= _MAX_INT_BITS else "<int>")


def _not_finite(value: float, walk: _Walk) -> str:
    return walk.stop("<NaN>" if math.isnan(value) else "<Infinity>" if value > 0 else "<-Infinity>")


def _key(key: Any, walk: _Walk) -> str:
    kind = type(key)
    if kind is str:
        text = _text(key, walk)
        return text if len(text) <= _SHORT else text[:_SHORT] + walk.stop(CUT)
    walk.exact = False  # 1 and "1" are two keys
    if key is None or kind is bool:
        return str(key).lower().replace("none", "null")
    if kind is int or kind is float:
        return str(_copy(key, 0, walk))
    read = exact_text(key, kind)
    return walk.stop(type_name(kind)) if read is None else _text(read, walk)


def _other(value: Any, depth: int, walk: _Walk) -> Any:
    kind = type(value)
    if kind is set or kind is frozenset or kind is deque:
        walk.exact = walk.exact and kind is deque
        return _unordered(value, depth, walk)
    if kind is OrderedDict or kind is defaultdict:
        return _object(value, depth, walk)
    if kind is bytes or kind is bytearray:
        return walk.stop(f"<bytes {len(value)}>")
    read = exact_text(value, kind)
    if read is not None:
        walk.exact = walk.exact and says_all(value, kind)
        return _text(read, walk)
    fields = stored_fields(value, kind)
    if fields is None:
        return walk.stop(type_name(kind))
    if issubclass(type(kind), EnumMeta):
        walk.exact = walk.exact and issubclass(kind, str | int)  # those are their values
        return _copy(fields["_value_"], depth + 1, walk) if depth < walk.depth else walk.stop("<depth>")
    walk.exact = False  # the copy does not say of what class it is
    return _object_of(value, fields, depth, walk)


def _unordered(value: Any, depth: int, walk: _Walk) -> Any:
    count = len(value)
    try:
        items = list(islice(value, walk.nodes + 1))
    except RuntimeError:
        return walk.stop(CUT)
    if type(value) is not deque and all(type(item) is str for item in items):
        items.sort()  # the order of a set of strings differs from one process to the next
    if len(items) < count:
        walk.cut = True
    return _array(items, depth, walk)


def _object_of(value: Any, fields: dict[str, Any], depth: int, walk: _Walk) -> Any:
    """Copy an object's fields, watching for cycles through the object itself: its field dict is new each time."""
    if (refused := _refused(value, depth, walk)) is not None:
        return refused
    walk.above.add(id(value))
    out = _object(fields, depth, walk)
    walk.above.discard(id(value))
    return out
