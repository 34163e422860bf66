"""Reads what can be read of objects without running their code.

Attribute access, `isinstance`, hashing and comparing may all call into an object's class or metaclass. Here only the slots
of `type` itself, exact standard types and the descriptors that the interpreter made are used.
"""

from __future__ import annotations

import sys
from enum import EnumMeta
from types import GetSetDescriptorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["exact_text", "says_all", "stored_fields", "type_name"]

_LONGEST_NAME = 256


# Attribute access on a class may run its metaclass; these read the slots of `type` itself.
_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_name = type.__dict__["__name__"].__get__


def exact_text(value: Any, kind: type) -> str | None:
    """Return the text of a value of an exact standard type, or None for any other type."""
    if type(kind) is not type:
        return None  # a metaclass may bring its own hash, which the table below would call
    reader = _readers.get(kind)
    if reader is None:
        module = _namespace(kind).get("__module__", _BUILT_IN)
        if type(module) is not str or module not in _STANDARD:
            return None
        _read_standard()
        reader = _readers.get(kind)
    return None if reader is None else reader(value)


_BUILT_IN: Final = "datetime"
"""Types written in C have their module in their name alone; of those that are read, only the ones of datetime and decimal."""
_STANDARD: Final = frozenset({"datetime", "decimal", "uuid", "pathlib", "pathlib._local"})
_readers: dict[type, Callable[[Any], str | None]] = {}


def _read_standard() -> None:
    """Fill the table from the modules that are loaded: a value of a type exists only where its module does."""
    for module, names in (
        ("datetime", ("date", "timedelta")),
        ("decimal", ("Decimal",)),
        ("uuid", ("UUID",)),
        ("pathlib", ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")),
    ):
        for name in names if module in sys.modules else ():
            _readers[getattr(sys.modules[module], name)] = str
    if (dt := sys.modules.get("datetime")) is not None:
        _readers[dt.datetime] = _readers[dt.time] = _moment
        _readers[dt.date] = dt.date.isoformat


def _moment(value: Any) -> str | None:
    """Return the ISO 8601 form, unless a foreign time zone class would be asked for its offset."""
    zone = type(value.tzinfo)
    known = {sys.modules["datetime"].timezone, getattr(sys.modules.get("zoneinfo"), "ZoneInfo", None)}
    if value.tzinfo is None or any(zone is one for one in known):
        text: str = value.isoformat()
        return text
    return _moment(value.replace(tzinfo=None))


def says_all(value: Any, kind: type) -> bool:
    """Tell whether the text of a value of an exact standard type says all of it; that of a time may leave out its zone."""
    dt = sys.modules.get("datetime")
    if dt is None or (kind is not dt.datetime and kind is not dt.time):
        return True
    zone = type(value.tzinfo)
    if value.tzinfo is None:
        return not value.fold
    return zone is dt.timezone or (kind is dt.datetime and zone is getattr(sys.modules.get("zoneinfo"), "ZoneInfo", None))


def type_name(kind: type) -> str:
    """Return the name of a class in angle brackets, or `<object>` where the name is no plain text."""
    name = _name(kind)
    return f"<{name[:_LONGEST_NAME]}>" if type(name) is str and name.isascii() else "<object>"


def _static(kind: type, name: str) -> Any:
    """Look an attribute up on a class without running any descriptor or metaclass."""
    for base in _mro(kind):
        space = _namespace(base)
        if name in space:
            return space[name]
    return None


def stored_fields(value: Any, kind: type) -> dict[str, Any] | None:
    """Return the stored fields of a dataclass instance, pydantic model or enum member, else None."""
    if issubclass(type(kind), EnumMeta):
        names: Any = {"_value_": None}
    else:
        names = _static(kind, "__pydantic_fields__") or _static(kind, "__dataclass_fields__")
        if type(names) is not dict:
            return None
    own = _static(kind, "__dict__")
    stored = own.__get__(value) if type(own) is GetSetDescriptorType else {}
    out: dict[str, Any] = {}
    for name in names:
        if name in stored:
            out[name] = stored[name]
        elif type(slot := _static(kind, name)) is MemberDescriptorType:
            try:
                out[name] = slot.__get__(value)
            except AttributeError:
                continue  # a slot that was never filled
    return out if out or not issubclass(type(kind), EnumMeta) else None
