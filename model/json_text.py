"""JSON text that may be none, or nested too deeply to read."""

from __future__ import annotations

import json
from typing import Any


def json_or(text: str, otherwise: Any) -> Any:
    """The data that a text is, or `otherwise` where it is no JSON that can be read."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def parsed(value: Any) -> Any:
    """A text that is a JSON object or array, as data; models send arguments and tools send results that way."""
    return json_or(value, value) if type(value) is str and value[:1] in {"{", "["} else value
