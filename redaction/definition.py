"""The copy of a tool's definition that may leave: its structure and words stay, the values that it shows are redacted.

Names such as `password` are structure in a schema. What stands under `default`, `examples`, `const` and `enum` is a value of
the place that is described there, and loses its content where the place's name or annotation protects it.
"""

from __future__ import annotations

from typing import Any, Final

from toolwitness.redaction.detect import scan_text
from toolwitness.redaction.fields import Judgement, Source
from toolwitness.redaction.mask import masked
from toolwitness.redaction.names import name_class
from toolwitness.redaction.placeholder import placeholder
from toolwitness.redaction.projection import Limits, project
from toolwitness.redaction.schema import PROPERTY_MAPS, SHOWN_BY_SCHEMAS, Schema, spoken

__all__ = ["clean_definition"]

_LIMITS: Final = Limits(depth=64, nodes=20_000, string=64 * 1024, event=1024 * 1024)
_SHORTEST_NUMBER: Final = 1_000_000_000


def clean_definition(content: Any) -> Any:
    """Return the copy, JSON-ready; what is beyond the limits (64 deep, 1 MiB) is cut and says so."""
    return _node(project(content, limits=_LIMITS).value, None)


def _node(value: Any, place: Judgement | None) -> Any:
    """Return the copy of a part of a schema that describes a place."""
    if type(value) is dict:
        out: dict[str, Any] = {}
        for key, item in value.items():
            name = _text(key)
            if key in PROPERTY_MAPS and type(item) is dict:
                out[name] = {_text(member): _node(schema, _judge(member, schema)) for member, schema in item.items()}
            elif key in SHOWN_BY_SCHEMAS and place is not None:
                out[name] = _hidden(item, place)
            else:
                out[name] = _node(item, place)
        return out
    if type(value) is list:
        return [_node(item, place) for item in value]
    return _text(value) if type(value) is str else _number(value)


def _judge(name: str, schema: Any) -> Judgement | None:
    """Return the class of a place that its name or annotation protects, the higher of the two; else None."""
    found: list[Judgement] = []
    if (named := name_class(name)) is not None:
        found.append(Judgement(named[0], f"name:{named[1]}", Source.NAME))
    if type(schema) is dict and (voice := spoken(Schema(schema, (schema,)))) is not None:
        found.append(Judgement(voice.cls, voice.why, Source.SCHEMA))
    protecting = [judgement for judgement in found if judgement.protects]
    return max(protecting, key=lambda judgement: judgement.cls.rank, default=None)


def _hidden(value: Any, place: Judgement) -> Any:
    """Return the placeholder of a shown value, or of each of several."""
    if type(value) is dict:
        return {_text(key): _hidden(item, place) for key, item in value.items()}
    if type(value) is list:
        return [_hidden(item, place) for item in value]
    if value is None or value == "" or type(value) is bool:
        return value
    return placeholder(value, place.cls, place.why)


def _text(text: str) -> str:
    return masked(text, scan_text(text))


def _number(value: Any) -> Any:
    if type(value) is int and abs(value) >= _SHORTEST_NUMBER and (found := scan_text(str(abs(value)))):
        return f"[{found[0].rule}]"
    return value
