"""Makes the copy that may leave the process: `Clean`, or `Minimal` where no clean copy could be made.

Nothing here hands an original through by default. A value is kept where a class allows it and no detector objects; in
every other case, errors included, what leaves says only what kind of value there was.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from toolwitness.redaction.classify import Schema
from toolwitness.redaction.policy import RedactionPolicy
from toolwitness.redaction.projection import Projection, project
from toolwitness.redaction.walk import OverLimitError, Walk

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Clean", "Minimal", "Reason", "clean", "failures"]

Reason = Literal["error", "size", "time", "depth"]
"""Why there is no clean copy: the redactor failed, or the value was beyond one of its limits."""

_DEFAULT_POLICY = RedactionPolicy()


@dataclass(frozen=True, slots=True)
class Clean:
    """A copy that may leave."""

    value: Any
    """JSON-ready: dict with str keys, list, str, finite number, bool or None."""
    redacted: int
    """In how many places something was taken out: placeholders, masked spans and masked keys."""
    truncated: bool
    """Something was left out or changed in type, so a schema cannot be checked against this copy."""

    def json(self) -> str:
        """Return the value as compact JSON text."""
        return json.dumps(self.value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True)
class Minimal:
    """The answer when no clean copy could be made; it holds no content at all."""

    reason: Reason


class _Failures:
    """Counts across threads."""

    __slots__ = ("_lock", "count")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def add(self) -> None:
        """Count one more."""
        with self._lock:
            self.count += 1


_failures = _Failures()


def failures() -> int:
    """Return how often this process answered `Minimal` so far."""
    return _failures.count


def clean(
    value: Any,
    *,
    tool: str | None = None,
    schema: Mapping[str, Any] | None = None,
    policy: RedactionPolicy | None = None,
    part: str = "args",
    again: bool = False,
) -> Clean | Minimal:
    """Return a redacted copy of a value. Never raises an ordinary exception and never changes the value.

    Args:
        value: Anything, or a `Projection` of it that was taken earlier.
        tool: Name of the tool, `server/tool` or `tool`; selects among the policy's declarations.
        schema: JSON Schema of this part of the tool.
        policy: What the application declared; by default nothing, so that unclassified values lose their content.
        part: First step of every path: `args`, `result` or `error`.
        again: The value was cleaned before, so its placeholders stay as they are. Otherwise they are the tool's or
            model's own text, and are escaped.

    Returns:
        `Clean`, or `Minimal` when the value is beyond the limits or the redactor itself fails; `failures` counts those.
    """
    reason: Reason
    try:
        walk = Walk(policy or _DEFAULT_POLICY, tool, again=again)
        return _clean(value, walk, part, schema)
    except OverLimitError as error:
        reason = error.limit
    except RecursionError:
        reason = "depth"
    except Exception:  # noqa: BLE001 - fails closed: whatever broke, the original must not leave
        reason = "error"
    _failures.add()
    return Minimal(reason)


def _clean(value: Any, walk: Walk, part: str, schema: Mapping[str, Any] | None) -> Clean:
    projection = value if type(value) is Projection else project(value)
    cleaned = walk.top(projection.value, part, None if schema is None else Schema(schema, (schema,)))
    return Clean(cleaned, walk.redacted, projection.truncated or walk.truncated)
