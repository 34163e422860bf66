"""Runs a redaction so that its own failure closes it: nothing is answered then, and the caller keeps nothing either."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["fails_closed"]

T = TypeVar("T")


def fails_closed(work: Callable[..., T], *given: Any) -> T | None:
    """Return what the work returns, or None where it raises; what it raised is dropped, since its text may quote the data."""
    try:
        return work(*given)
    except Exception:  # noqa: BLE001 - fails closed: whatever broke, the original must not leave
        return None
