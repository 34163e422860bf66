"""Whether the arguments that a tool ran with are those that somebody approved: yes, no, or nobody can tell (A8).

Between approval and execution applications fill in defaults, turn texts into numbers and dates, and add what no model proposes.
None of it may be called a change, and none of it proves that there was none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from toolwitness.model.digest import canonical_json
from toolwitness.model.enums import Known
from toolwitness.model.json_text import json_or
from toolwitness.redaction.projection import CUT

_BEYOND = "*"
"""Where a decorated function's arguments beyond its names stand."""


def same_arguments(approved: Any, ran: Any, schema: Any, *, whole: bool) -> Known:
    """Whether two bounded copies are of the same arguments under a schema that may declare defaults.

    `whole` says that nothing was cut or changed in type when they were copied.
    """
    found = _same(approved, ran, schema, whole=whole)
    if found is Known.NO and type(ran) is dict and len(ran) == 1:
        (inner,) = ran.values()  # a function that takes all of them as one object
        if type(inner) is dict and type(approved) is dict and not approved.keys() & ran.keys():
            found = _same(approved, inner, schema, whole=whole)
    return Known.UNKNOWN if found is Known.YES and not whole else found


def _same(approved: Any, ran: Any, schema: Any, *, whole: bool) -> Known:
    if type(approved) is dict and type(ran) is dict:
        return _all(_members(approved, ran, _properties(schema), whole=whole))
    if type(approved) is list and type(ran) is list:
        if len(approved) != len(ran):
            return Known.NO if whole else Known.UNKNOWN
        items = schema.get("items") if isinstance(schema, Mapping) else None
        return _all(_same(one, other, items, whole=whole) for one, other in zip(approved, ran, strict=True))
    return _same_leaf(approved, ran, whole=whole)


def _members(approved: dict[str, Any], ran: dict[str, Any], properties: Mapping[str, Any], *, whole: bool) -> Iterable[Known]:
    for name, value in approved.items():
        if name in ran:
            yield _same(value, ran[name], properties.get(name), whole=whole)
        else:
            yield _left_out(value, properties.get(name), told=whole and _BEYOND not in ran)
    for name, value in ran.items():
        if name not in approved:
            yield _added(value, properties.get(name))


def _left_out(value: Any, declared: Any, *, told: bool) -> Known:
    """An approved argument that the tool did not get."""
    if isinstance(declared, Mapping) and "default" in declared and _equal(declared["default"], value):
        return Known.YES
    return Known.UNKNOWN if value is None or not told else Known.NO


def _added(value: Any, declared: Any) -> Known:
    """An argument that nobody approved: a declared default, something else in its place, or the application's own."""
    if not isinstance(declared, Mapping) or "default" not in declared:
        return Known.UNKNOWN
    return Known.YES if _equal(declared["default"], value) else Known.NO


def _same_leaf(approved: Any, ran: Any, *, whole: bool) -> Known:
    if _equal(approved, ran):
        return Known.YES
    if type(ran) is dict or type(approved) is dict or type(ran) is list or type(approved) is list:
        return Known.UNKNOWN if _equal(_data(approved), _data(ran)) or not whole else Known.NO
    if not whole and any(type(one) is str and (one.endswith((CUT, ">"))) for one in (approved, ran)):
        return Known.UNKNOWN
    return Known.UNKNOWN if _reading(approved) & _reading(ran) else Known.NO


def _equal(one: Any, other: Any) -> bool:
    """Equal as JSON: 5 is 5.0, and true is not 1."""
    return canonical_json(_plain(one)) == canonical_json(_plain(other))


def _plain(value: Any) -> Any:
    if type(value) is dict:
        return {name: _plain(inner) for name, inner in value.items()}
    if type(value) is list:
        return [_plain(inner) for inner in value]
    return int(value) if type(value) is float and value.is_integer() else value


def _data(value: Any) -> Any:
    return json_or(value, value) if type(value) is str else value


def _reading(value: Any) -> set[Any]:
    """What a value may be read as, where texts become numbers and moments on the way to a tool."""
    if value is None:
        return {"none", "null", ""}
    text = str(int(value) if type(value) is bool else value).strip().casefold()
    found: set[Any] = {text, str(value).casefold()}
    with contextlib.suppress(ArithmeticError):
        number = Decimal(text)
        found |= {number} if number.is_finite() else set()
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return found
    return found | {moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)}


def _properties(schema: Any) -> Mapping[str, Any]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _all(parts: Iterable[Known]) -> Known:
    """No where a part says no, yes where all say yes."""
    found = set(parts)
    if Known.NO in found:
        return Known.NO
    return Known.UNKNOWN if Known.UNKNOWN in found else Known.YES
