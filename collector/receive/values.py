"""OTLP values as Python has them, no more of them than a redacted copy would hold."""

from __future__ import annotations

from typing import Any

MOST_NODES = 5_000
"""Members of all lists and maps of one span's attributes; the redactor's own copy holds no more."""
MOST_LINKS = 1_000
"""Links of one span."""


class Values:
    """Reads the values of one span's attributes; `cut` says that something was left out."""

    def __init__(self) -> None:
        self.cut = False
        self._left = MOST_NODES

    def read(self, value: Any) -> Any:
        """One value; bytes stay bytes, of which redaction leaves the size class."""
        kind = value.WhichOneof("value")
        if kind is None:
            return None
        inner = getattr(value, kind)
        if kind == "array_value":
            return [self.read(item) for item in self._some(inner.values)]
        if kind == "kvlist_value":
            return {pair.key: self.read(pair.value) for pair in self._some(inner.values)}
        return inner

    def _some(self, members: Any) -> Any:
        taken = members[: max(0, self._left)]
        self._left -= len(taken)
        self.cut = self.cut or len(taken) < len(members)
        return taken
