"""JSON as copies are written: without white space, with every script as it is, and never with what JSON does not have."""

from __future__ import annotations

import json
from typing import Final

__all__ = ["compact_json"]

compact_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
"""Return a JSON-ready value as text; raises ValueError for NaN and infinity."""
