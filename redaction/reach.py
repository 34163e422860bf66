"""Tells whether a selector's path leads to a place that a tool's schemas allow."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from toolwitness.redaction.describe import schema_of
from toolwitness.redaction.path import step, steps
from toolwitness.redaction.policy import ANY
from toolwitness.redaction.structure import Shape, shape_of

if TYPE_CHECKING:
    from toolwitness.model.catalog import ToolDefinition

__all__ = ["unreachable"]

_PARTS = ("args", "result", "error")
_OF_SPANS = "attributes"
_MOST_NAMES = 8


def unreachable(definition: ToolDefinition, path: str) -> str | None:
    """Why no value of the tool can stand at a path; None where one can, or where that is not known.

    Texts may hold JSON, into which the redactor looks, so that a path may go on below a text.
    """
    if path == ANY:
        return None
    parsed = steps(path)
    if parsed is not None and parsed[0] == _OF_SPANS:
        return None  # for a RedactingSpanExporter, which no catalog knows
    if parsed is None or parsed[0] not in _PARTS:
        return "a path begins with args, result or error, and goes on as in args.items[].sku"
    part, keys = parsed
    schema = schema_of(definition, part)
    shape = None if schema is None else shape_of(schema)
    at = part
    for key in keys:
        if shape is None:
            return None
        reached = _below(shape, key)
        if isinstance(reached, str):
            return f"{at} {reached}"
        shape, at = reached, f"{at}{step(key)}"
    return None


def _below(shape: Shape, key: str | None) -> Shape | str | None:
    """What is below a place: its shape, None where anything may be, or what is wrong with going there."""
    if "string" in shape.kinds:
        return None
    if key is None:
        return shape.items() if "array" in shape.kinds else "is no array"
    members = shape.members()
    if key in members:
        return members[key]
    others = shape.others()
    if key != ANY and (others is not None or shape.is_open):
        return others
    return _no_member(shape, key, list(members))


def _no_member(shape: Shape, key: str, members: list[str]) -> str:
    if "object" not in shape.kinds:
        return "is no object; a path goes through an array by []" if "array" in shape.kinds else "is no object"
    if key == ANY:
        return "has no member '*': a path has no wildcards, so name the members, or the object that holds them"
    near = get_close_matches(key, members, n=1)
    if near:
        return f"has no member {key!r}; did you mean {near[0]!r}?"
    listed = ", ".join([*members[:_MOST_NAMES], *(["..."] if len(members) > _MOST_NAMES else [])])
    return f"has no member {key!r}; it has {listed or 'none'}"
