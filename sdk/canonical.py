"""Arguments as one text that is equal for equal arguments and, where it is given, different for different ones."""

from __future__ import annotations

import json
from decimal import Decimal, DecimalException
from typing import Any, NoReturn

from toolwitness.redaction import Projection


def exact_arguments(copy: Projection) -> str | None:
    """The canonical text of arguments; None where other arguments might have the same.

    Order of members, white space and the way in which a number is written make no difference (`5`, `5.0` and `5e0` are one
    number). JSON text of an object or array, as models send it, is what it says; numbers in it are read without rounding.
    """
    if not copy.exact:
        return None
    try:
        return _text(_data(copy.value))
    except (_AmbiguousError, RecursionError, DecimalException):
        return None


class _AmbiguousError(Exception):
    """JSON text that two readers may read differently."""


def _data(value: Any) -> Any:
    if type(value) is not str or value.lstrip()[:1] not in {"{", "["}:
        return value
    try:
        return json.loads(value, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_members)
    except ValueError:
        return value  # a text, and told apart from every other one as such


def _no_constant(name: str) -> NoReturn:
    raise _AmbiguousError(name)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _AmbiguousError("a member stands there twice")
    return members


def _text(value: Any) -> str:
    kind = type(value)
    if kind is dict:
        return "{" + ",".join(f"{json.dumps(name)}:{_text(value[name])}" for name in sorted(value)) + "}"
    if kind is list:
        return "[" + ",".join(map(_text, value)) + "]"
    if kind is int or kind is float or kind is Decimal:
        return _number(value)
    return json.dumps(value)


def _number(value: float | Decimal) -> str:
    """Digits without trailing zeros, and an exponent."""
    sign, digits, exponent = Decimal(repr(value) if type(value) is float else value).as_tuple()
    written = "".join(map(str, digits)).lstrip("0")
    kept = written.rstrip("0")
    return f"{'-' * sign}{kept}e{int(exponent) + len(written) - len(kept)}" if kept else "0"
