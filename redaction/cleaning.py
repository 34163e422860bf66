"""Makes the copy that may leave the process: `Clean`, or `Minimal` where no clean copy could be made.

Nothing here hands an original through by default. A value is kept where a class allows it and no detector objects; in
every other case, errors included, what leaves says only what kind of value there was.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from toolwitness.redaction.compact import compact_json
from toolwitness.redaction.fields import Field, root
from toolwitness.redaction.policy import RedactionPolicy
from toolwitness.redaction.projection import Projection, project
from toolwitness.redaction.walk import OverLimitError, Walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolwitness.redaction.fingerprint import FingerprintKey

__all__ = ["Clean", "Minimal", "Reason", "clean", "failures"]

Reason = Literal["error", "size", "time", "depth"]
"""Why there is no clean copy: the redactor failed, or the value was beyond one of its limits."""

_DEFAULT_POLICY = RedactionPolicy()


@dataclass(frozen=True, slots=True)
class Clean:
    """A copy that may leave."""

    value: Any
    """JSON-ready: dict with str keys, list, str, finite number, bool or None. Not to be changed: equal placeholders may be
    one object, in this copy and in others."""
    redacted: int
    """In how many places something was taken out: placeholders, masked spans and masked keys."""
    truncated: bool
    """Something was left out or changed in type, so a schema cannot be checked against this copy."""

    def json(self) -> str:
        """Return the value as compact JSON text."""
        return compact_json(self.value)


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
    fingerprints: FingerprintKey | None = None,
) -> Clean | Minimal:
    """Return a redacted copy of a value. Never raises an ordinary exception and never changes the value.

    Args:
        value: Anything, or a `Projection` of it that was taken earlier.
        tool: Name of the tool, `server/tool` or `tool`, either with `@version`; selects among the policy's declarations.
        schema: JSON Schema of this part of the tool. It is read once, so it must not be changed afterwards.
        policy: What the application declared; by default nothing, so that unclassified values lose their content.
        part: First step of every path: `args`, `result` or `error`.
        again: The value was cleaned before, so its placeholders stay as they are. Otherwise they are the tool's or
            model's own text, and are escaped.
        fingerprints: The key of the fingerprints that the policy asks for; without one there are none.

    Returns:
        `Clean`, or `Minimal` when the value is beyond the limits or the redactor itself fails; `failures` counts those.
    """
    reason: Reason
    try:
        used = policy or _DEFAULT_POLICY
        walk = Walk(used, again=again, fingerprints=fingerprints)
        return _clean(value, walk, root(used, tool, part, schema))
    except OverLimitError as error:
        reason = error.limit
    except RecursionError:
        reason = "depth"
    except Exception:  # noqa: BLE001 - fails closed: whatever broke, the original must not leave
        reason = "error"
    _failures.add()
    return Minimal(reason)


def _clean(value: Any, walk: Walk, field: Field) -> Clean:
    projection = value if type(value) is Projection else project(value)
    cleaned = walk.top(projection.value, field)
    return Clean(cleaned, walk.redacted, projection.truncated or walk.truncated)
