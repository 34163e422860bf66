"""Finds a redaction placeholder in a value that is about to be used: a copy made for telemetry has flowed back.

The search is bounded and runs no code of the value's own, as the projection does.
"""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict, deque
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from toolwitness.redaction.foreign import stored_fields
from toolwitness.redaction.placeholder import TAG

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MOST_NODES", "holds_placeholder"]

MOST_NODES: Final = 2_000
"""Members of all containers together that are looked at, those nearest to the top first."""

_PLAIN: Final = frozenset({type(None), bool, int, float, complex})
_MAPPINGS: Final = frozenset({OrderedDict, defaultdict})
_SEQUENCES: Final = frozenset({set, frozenset, deque})


_IN_TEXT: Final = re.compile(r"""(?:\$|\\{1,8}u0024)tw:redacted\\{0,8}["']\s{0,8}:\s{0,8}\{""")
"""The tag as a key of an object, in JSON, in JSON inside JSON, or as Python writes a dict."""


def holds_placeholder(value: Any, *, most: int = MOST_NODES) -> bool:  # noqa: C901 - in line: it runs before every tool
    """Tell whether a placeholder stands in a value, at any depth within `most` members.

    An object with the placeholder's tag among its keys counts, even where a model has altered it, and so does a text in which
    such an object is written; other texts may speak of the tag.
    """
    waiting = [value]
    for item in waiting:  # it grows on the way, so that what is nearest to the top comes first
        kind = type(item)
        if kind is str:
            if "tw:redacted" in item and _IN_TEXT.search(item):
                return True
        elif kind is bytes or kind is bytearray:
            if b"tw:redacted" in item and _IN_TEXT.search(item.decode("utf-8", "replace")):
                return True
        elif kind is dict:
            if _is_tagged(item):
                return True
            if (left := most - len(waiting)) > 0:
                waiting += item.values() if len(item) <= left else islice(item.values(), left)
        elif kind is tuple or kind is list:
            if (left := most - len(waiting)) > 0:
                waiting += item if len(item) <= left else item[:left]
        elif kind not in _PLAIN:
            members = _of_other(item, kind, most - len(waiting))
            if members is None:
                return True
            waiting += members
    return False


def _is_tagged(mapping: dict[Any, Any]) -> bool:
    """Tell whether the tag is one of the first keys; they are compared one by one, without their own classes' comparison."""
    try:
        for key in mapping if len(mapping) <= MOST_NODES else islice(mapping, MOST_NODES):
            if type(key) is str and key == TAG:
                return True
    except RuntimeError:
        return False  # another thread changed its size meanwhile
    return False


def _of_other(item: Any, kind: type, most: int) -> Iterable[Any] | None:
    """Return what an item of another kind holds, at most so many, or None where it is a tagged object itself."""
    try:
        if kind in _SEQUENCES:
            return list(islice(item, max(0, most)))
        fields = item if kind in _MAPPINGS else stored_fields(item, kind)
        if fields is None:
            return ()
        return None if _is_tagged(fields) else list(islice(fields.values(), max(0, most)))
    except RuntimeError:
        return ()  # as above
