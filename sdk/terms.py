"""What an approval names, read on the agent's thread (A8)."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any, NamedTuple

from toolwitness.model.enums import Verdict
from toolwitness.redaction import Projection, project
from toolwitness.sdk.guard import UnknownWordError, reading_guard

PROPOSED: Any = ...
"""Stands for the arguments as the call was proposed."""
GRANTS = frozenset({Verdict.ALLOW, Verdict.MODIFY})
"""The verdicts by which a call may run."""
_MOST_ITEMS = 1000
_NS = 1_000_000_000


class Terms(NamedTuple):
    """What a person's verdict is about.

    `arguments` is a copy of those approved, or None where they are those proposed; `edited` says that they were changed and
    perhaps not told. `expires_ns` is in nanoseconds since 1970 (UTC). `begun`: an attempt had begun before.
    """

    granted: bool
    edited: bool
    arguments: Projection | None
    approval_id: str | None
    expires_ns: int | None
    resource_version: str | None
    items: tuple[Any, ...]
    begun: bool


def read_terms(verdict: Verdict, told: tuple[Any, Any, Any, Any, Any], *, begun: bool) -> Terms:
    """The terms of a confirmation: `told` are arguments, approval id, expiry, version of the resource and items."""
    arguments, approval_id, expires_at, resource_version, items = told
    copy = None
    if arguments is not PROPOSED:
        copy = arguments if type(arguments) is Projection else project(arguments)
    expires_ns: int | None = None
    if expires_at is not None:
        with reading_guard:  # one that cannot be read is not known, and the verdict is
            expires_ns = _moment(expires_at)
    return Terms(
        granted=verdict in GRANTS,
        edited=verdict is Verdict.MODIFY,
        arguments=copy,
        approval_id=named(approval_id),
        expires_ns=expires_ns,
        resource_version=named(resource_version),
        items=tuple(items[:_MOST_ITEMS]) if type(items) in {list, tuple} else (),
        begun=begun,
    )


def named(given: Any) -> str | None:
    """A name or number that the application gives, as text; None for anything else."""
    return str(given) if type(given) in {str, int} else None


def _moment(given: Any) -> int:
    """Nanoseconds since 1970. Raises UnknownWordError for what is no moment."""
    if isinstance(given, datetime):
        given = datetime.timestamp(given)  # one without a zone is local time, as everywhere in Python
    if type(given) not in {int, float} or not math.isfinite(given):
        raise UnknownWordError(f"expires_at is a datetime or seconds since 1970, not a {type(given).__name__}")
    return int(given) * _NS + int((given - int(given)) * _NS)
