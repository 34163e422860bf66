"""Records to span attributes and back, and the one table of fields that the store's columns follow too.

`None`, empty tuples and empty strings in optional fields are not written: an absent attribute decodes to the field's
default, so `decode(encode(record)) == record` for every record.
"""

from __future__ import annotations

import dataclasses
import json
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from toolwitness.model import names
from toolwitness.model.digest import KeyedDigest
from toolwitness.model.enums import RecordKind
from toolwitness.model.records import RECORD_TYPES, Record

Attributes = dict[str, str | bool | int | float | tuple[str, ...]]

_KEYED_DIGEST = re.compile(r"[0-9a-f]{32}")
_OPERATION_OF = {RecordKind.RUN: "invoke_agent", RecordKind.DECISION: "chat", RecordKind.CALL: "execute_tool"}


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """One field as it travels and is stored.

    `sql_type` is its DuckDB type; `read` takes an attribute's value to the stored value and raises ValueError or TypeError
    where the value is outside the field's domain.
    """

    name: str
    attribute: str
    sql_type: str
    read: Callable[[Any], Any]
    free_text: bool = False


def _read_bool(value: object) -> bool:
    if type(value) is not bool:
        raise TypeError("a boolean is needed")
    return value


def _read_int(value: object) -> int:
    if type(value) is not int:
        raise TypeError("an integer is needed")
    return value


def _read_float(value: object) -> float:
    if type(value) not in {int, float}:
        raise TypeError("a number is needed")
    return float(typing.cast("float", value))


def _read_str(value: object) -> str:
    if type(value) is not str:
        raise TypeError("a string is needed")
    return value


def _read_json(value: object) -> str:
    text = _read_str(value)
    json.loads(text)
    return text


def _read_keyed_digest(value: object) -> str:
    text = _read_str(value)
    if not _KEYED_DIGEST.fullmatch(text):
        raise ValueError("32 hex digits are needed")
    return text


def _read_strings(value: object) -> list[str]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(type(item) is str for item in value):
        raise TypeError("an array of strings is needed")
    return list(value)


def _enum_reader(enum: type[StrEnum]) -> Callable[[Any], str]:
    def read(value: object) -> str:
        return enum(_read_str(value)).value

    return read


def _enums_reader(enum: type[StrEnum]) -> Callable[[Any], list[str]]:
    def read(value: object) -> list[str]:
        return [enum(item).value for item in _read_strings(value)]

    return read


def _without_none(annotation: Any) -> Any:
    if typing.get_origin(annotation) in {types.UnionType, typing.Union}:
        (inner,) = (part for part in typing.get_args(annotation) if part is not type(None))
        return inner
    return annotation


def _item_type(annotation: Any) -> Any:
    """The member type of `tuple[X, ...]`, else None."""
    return typing.get_args(annotation)[0] if typing.get_origin(annotation) is tuple else None


def _column(name: str, annotation: Any) -> Column:
    kind = _without_none(annotation)
    attribute = names.ATTRIBUTE_OF[name]
    item = _item_type(kind)
    if item is str:
        return Column(name, attribute, "VARCHAR[]", _read_strings)
    if isinstance(item, type) and issubclass(item, StrEnum):
        return Column(name, attribute, "VARCHAR[]", _enums_reader(item))
    if item is not None or getattr(kind, "__name__", "") == "Json":
        return Column(name, attribute, "VARCHAR", _read_json, free_text=item is None)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return Column(name, attribute, "VARCHAR", _enum_reader(kind))
    if kind is KeyedDigest:
        return Column(name, attribute, "VARCHAR", _read_keyed_digest)
    plain = {
        bool: ("BOOLEAN", _read_bool),
        int: ("BIGINT", _read_int),
        float: ("DOUBLE", _read_float),
        str: ("VARCHAR", _read_str),
    }
    sql_type, read = plain[kind]
    return Column(name, attribute, sql_type, read, free_text=kind is str)


def _hints(cls: type[Record]) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


FIELDS_OF: dict[RecordKind, dict[str, Any]] = {kind: _hints(cls) for kind, cls in RECORD_TYPES.items()}
COLUMNS: dict[str, Column] = {
    name: _column(name, annotation) for fields in FIELDS_OF.values() for name, annotation in fields.items()
}
"""Every record field by name, in the order of first use; also the typed columns of the store's `spans` table."""
COLUMN_OF_ATTRIBUTE: dict[str, Column] = {column.attribute: column for column in COLUMNS.values()}


def _members(item: Any) -> dict[str, Any]:
    """A record inside a record, for JSON."""
    return {name: getattr(item, name) for name in item.__slots__}


_LISTS = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_members)


class _Field(NamedTuple):
    attribute: str
    left_out: tuple[Any, ...]
    """Values that say no more than the attribute's absence."""


def _field(field: dataclasses.Field[Any]) -> _Field:
    return _Field(names.ATTRIBUTE_OF[field.name], (None, (), *([""] if field.default == "" else [])))


_FIELDS = {cls: tuple(map(_field, dataclasses.fields(cls))) for cls in RECORD_TYPES.values()}
_VALUES = {cls: operator.attrgetter(*(field.name for field in dataclasses.fields(cls))) for cls in RECORD_TYPES.values()}


def _write(value: Any) -> str | bool | int | float | tuple[str, ...]:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        if all(isinstance(item, str) for item in value):
            return tuple(item.value if isinstance(item, StrEnum) else item for item in value)
        return _LISTS.encode(value)
    return typing.cast("str | bool | int | float", value)


def encode(record: Record) -> Attributes:
    """The attributes of the span that `record` becomes."""
    attributes: Attributes = {names.RECORD: record.kind.value}
    operation = _OPERATION_OF.get(record.kind)
    if operation:
        attributes[names.OPERATION] = operation
    kind = type(record)
    for (attribute, left_out), value in zip(_FIELDS[kind], _VALUES[kind](record), strict=True):
        if value not in left_out:
            attributes[attribute] = value if type(value) is str else _write(value)
    return attributes


def _field_value(annotation: Any, stored: Any) -> Any:
    kind = _without_none(annotation)
    item = _item_type(kind)
    if item is str:
        return tuple(stored)
    if isinstance(item, type) and issubclass(item, StrEnum):
        return tuple(item(member) for member in stored)
    if item is not None:
        hints = typing.get_type_hints(item)
        return tuple(
            item(**{name: _field_value(hints[name], value) for name, value in member.items()})
            for member in (json.loads(stored) if isinstance(stored, str) else stored)  # a list where it stands inside another
        )
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(stored)
    return stored


def from_row(row: Mapping[str, Any]) -> Record:
    """The record that a stored row (`record` and the columns by name) is; columns of other records are ignored.

    Raises KeyError for an unknown record kind and TypeError where a field without default is missing.
    """
    kind = RecordKind(row["record"])
    fields = FIELDS_OF[kind]
    given = {name: _field_value(annotation, row[name]) for name, annotation in fields.items() if row.get(name) is not None}
    return RECORD_TYPES[kind](**given)


def decode(attributes: Mapping[str, Any]) -> Record:
    """The record that a span with these attributes is.

    Raises ValueError or TypeError where an attribute is outside its field's domain or a needed one is missing.
    """
    row: dict[str, Any] = {"record": attributes[names.RECORD]}
    for attribute, value in attributes.items():
        column = COLUMN_OF_ATTRIBUTE.get(attribute)
        if column is not None:
            row[column.name] = column.read(value)
    return from_row(row)


def span_name(record: Record) -> str:
    """The span's name; an unregistered tool's name is model text and stays out of it."""
    tool = getattr(record, "tool", "")
    if getattr(record, "registered", None) == "no":
        tool = names.UNREGISTERED
    prefix, subject = {
        RecordKind.RUN: ("invoke_agent", getattr(record, "agent", None)),
        RecordKind.DECISION: ("chat", getattr(record, "model", None)),
        RecordKind.CALL: ("execute_tool", tool),
        RecordKind.GATE: ("gate", getattr(record, "gate_kind", None)),
        RecordKind.ATTEMPT: ("attempt", getattr(record, "attempt_ordinal", None)),
        RecordKind.ATTEMPT_START: ("attempt_start", getattr(record, "attempt_ordinal", None)),
        RecordKind.RECONCILIATION: ("reconcile", tool),
        RecordKind.SCHEMA: ("schema", getattr(record, "definition_digest", None)),
        RecordKind.TOOLSET: ("toolset", getattr(record, "toolset_digest", None)),
    }[record.kind]
    return f"{prefix} {subject}" if subject else prefix
