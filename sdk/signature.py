"""Makes a JSON Schema of a function's parameters, for looking at its fields; no model is ever shown it."""

from __future__ import annotations

import inspect
import typing
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final

import pydantic

__all__ = ["signature_schema", "structure"]

_OF_NAMES: Final = ("properties", "$defs")
_OF_SEVERAL: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_OF_ONE: Final = ("items", "additionalProperties")
_BOUND: Final = ("self", "cls")


def signature_schema(function: Callable[..., Any], *, in_class: bool = False) -> dict[str, Any]:
    """The schema of a function's arguments as the recorder sees them: by parameter, further positional ones under `*`.

    What an annotation means is pydantic's answer; a parameter without one, or with one that has no JSON form, may be anything.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # some builtins do not tell
        return {"type": "object"}
    if in_class and parameters and parameters[0].name in _BOUND:
        parameters = parameters[1:]
    properties, definitions = _schemas(_annotations(function, parameters))
    properties = {
        ("*" if one.kind is one.VAR_POSITIONAL else one.name): (
            {"type": "array", "items": properties[one.name]} if one.kind is one.VAR_POSITIONAL else properties[one.name]
        )
        for one in parameters
        if one.kind is not one.VAR_KEYWORD
    }
    is_open = any(one.kind is one.VAR_KEYWORD for one in parameters)
    return {"type": "object", "properties": properties, "additionalProperties": is_open, **definitions}


def structure(schema: Any) -> Any:
    """The members and types of a schema, without anything that says what class a value has."""
    if not isinstance(schema, Mapping):
        return schema
    kept: dict[str, Any] = {}
    for word, value in schema.items():
        if word in {"type", "$ref"}:
            kept[word] = value
        elif word in _OF_NAMES:
            kept[word] = {name: structure(child) for name, child in value.items()}
        elif word in _OF_SEVERAL:
            kept[word] = [structure(child) for child in value]
        elif word in _OF_ONE:
            kept[word] = structure(value)
    return kept


def _annotations(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> dict[str, Any]:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError):  # names that exist for type checkers alone
        hints = {}
    return {one.name: hints.get(one.name, Any) for one in parameters}


def _schemas(annotations: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema of each annotation, and the definitions that they share."""
    adapters = {name: _adapter(annotation) for name, annotation in annotations.items()}
    inputs = [(name, "validation", adapter) for name, adapter in adapters.items() if adapter is not None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about defaults that have no JSON form
        found, definitions = pydantic.TypeAdapter.json_schemas(inputs)  # type: ignore[arg-type] # keys are any hashable
    by_name = {name: schema for (name, _), schema in found.items()}
    return {name: by_name.get(name, {}) for name in annotations}, definitions


def _adapter(annotation: Any) -> pydantic.TypeAdapter[Any] | None:
    """What pydantic knows of an annotation; None where it has no JSON form."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(annotation)
            adapter.json_schema()
        except pydantic.PydanticUserError:
            return None
    return adapter
