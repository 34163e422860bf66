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
