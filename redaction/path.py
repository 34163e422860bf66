"""How a place in a payload is written: `args.items[].sku`, with keys that hold path signs in quotes."""

from __future__ import annotations

import json
import re
from typing import Final

__all__ = ["step", "steps"]

_STEP: Final = re.compile(r'\.(?P<key>[^.\[]*)|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|(?P<item>\[\])')


def step(key: str | None) -> str:
    """Return a key's step in a path; None is an array's items.

    A key that contains path signs is quoted, so that it cannot pose as a longer path.
    """
    if key is None:
        return "[]"
    return f"[{json.dumps(key)}]" if "." in key or "[" in key else f".{key}"


def steps(path: str) -> tuple[str, list[str | None]] | None:
    """Return a path's part and the keys below it (None for an array's items), or None where it is no path."""
    part = re.match(r"[^.\[]+", path)
    if part is None:
        return None
    rest, keys = path[part.end() :], []
    while rest:
        found = _STEP.match(rest)
        if found is None:
            return None
        keys.append(json.loads(found["quoted"]) if found["quoted"] else found["key"])
        rest = rest[found.end() :]
    return part[0], keys
