"""The attributes of a span of anybody's, redacted: conventions first, then the engine for everything else."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolwitness.redaction.cleaning import Minimal, clean
from toolwitness.redaction.conventions import keeps, type_name
from toolwitness.redaction.frames import frames_of
from toolwitness.redaction.mask import free_name
from toolwitness.redaction.path import step
from toolwitness.redaction.policy import ANY, RedactionPolicy
from toolwitness.redaction.template import message_template

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolwitness.redaction.mask import free_name
from toolwitness.redaction.policy import Table

__all__ = ["MOST_ATTRIBUTES", "PART", "CleanAttributes", "clean_attributes"]

MOST_ATTRIBUTES: Final = 1_000
"""Attributes of one span, event or link that are looked at; OpenTelemetry's own limit is 128."""

PART: Final = "attributes"
"""First step of the paths by which a policy names attributes: `*:attributes["user.id"]`."""

_DEFAULT: Final = RedactionPolicy()

_WORD: Final = r"(?:[^\W\d_]{1,48}(?:[0-9]{1,3}[^\W\d_]{0,48})?|[0-9]{1,4})"
_NAME: Final = re.compile(rf"_{{0,2}}{_WORD}(?:[._/:@#+-]{{1,2}}{_WORD}){{0,24}}_{{0,2}}")
"""A name that a programmer gave: words with a number here and there, and no id, hash or key among them."""


class CleanAttributes(NamedTuple):
    """Attributes that may leave, as JSON-ready values."""

    values: dict[str, Any]
    left_out: int
    """How many were beyond the limit and were not looked at."""


def clean_attributes(given: Mapping[str, Any], policy: RedactionPolicy | None = None) -> CleanAttributes | Minimal:
    """Return the attributes as far as they may leave, or `Minimal` where no clean copy of them could be made.

    What the policy itself declares goes through the engine whatever its name. Otherwise an attribute that a convention knows
    keeps a value of its domain, messages become templates and stack traces frames, and the engine redacts the rest.
    """
    if not given:
        return CleanAttributes({}, 0)
    policy = policy or _DEFAULT
    declared = policy.tables(None)
    out: dict[str, Any] = {}
    data: dict[str, Any] = {}
    for name, value in islice(given.items(), MOST_ATTRIBUTES):
        if declared and _is_declared(name, declared):
            data[name] = value
        elif keeps(name, value):
            out[name] = value
        elif name in _REWRITTEN and type(value) is str:
            out[name] = _REWRITTEN[name](value)
        else:
            data[name] = value
    if data:
        copy = clean(data, policy=policy, part=PART)
        if isinstance(copy, Minimal):
            return copy
        if len(copy.value) != len(data):
            return Minimal("size")  # long names that begin alike have become one
        for name, (shown, value) in zip(data, copy.value.items(), strict=True):
            plain = shown != name or _NAME.fullmatch(name) is not None or (declared and _is_declared(name, declared))
            out[shown if plain else free_name("[key]", out)] = value
    return CleanAttributes(out, max(0, len(given) - MOST_ATTRIBUTES))


_REWRITTEN: Final[dict[str, Callable[[str], str]]] = {
    **dict.fromkeys(("exception.message", "error.message", "otel.status_description"), message_template),
    "exception.type": type_name,
    "exception.stacktrace": frames_of,
}


def _is_declared(name: str, tables: tuple[Table, ...]) -> bool:
    path = f"{PART}{step(name)}"
    return any(path in table or PART in table or ANY in table for table in tables)
