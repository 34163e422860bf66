"""What a tool's JSON Schema says about the privacy of its places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.words import words_of

__all__ = [
    "FORMATS",
    "PROPERTY_MAPS",
    "SHOWN_BY_SCHEMAS",
    "Schema",
    "Voice",
    "is_property_map",
    "listed",
    "resolve",
    "spoken",
    "step_into",
]

PROPERTY_MAPS: Final = frozenset({"properties", "$defs", "definitions", "securitySchemes", "securityDefinitions"})
"""Keys under which a schema that is itself a payload lists places by name."""

SHOWN_BY_SCHEMAS: Final = frozenset({"default", "example", "examples", "const", "enum"})
"""Words of a schema that hold values of the place that it describes."""

_WORDS: Final = SHOWN_BY_SCHEMAS | words_of(
    """
    $ref $defs definitions type title description format pattern minLength maxLength minimum maximum exclusiveMinimum
    exclusiveMaximum multipleOf items prefixItems minItems maxItems uniqueItems properties required additionalProperties
    patternProperties minProperties maxProperties anyOf oneOf allOf not nullable readOnly writeOnly deprecated
    contentEncoding contentMediaType x-privacy x-privacy-reason in name scheme bearerFormat flows openIdConnectUrl
    """
)


def is_property_map(value: Mapping[str, Any]) -> bool:
    """Tell a schema's map of names to schemas from an object that merely has such a key."""
    return all(type(node) is dict and node.keys() <= _WORDS for node in value.values())


_CLASSES: Final = {cls.value: cls for cls in PrivacyClass}

_MAX_BRANCHES: Final = 32
"""Sub-schemas that are looked at for one place; a schema is someone else's text and may refer to itself."""

FORMATS: Final = {
    "password": PrivacyClass.SECRET,
    "email": PrivacyClass.PERSONAL,
    "idn-email": PrivacyClass.PERSONAL,
    "phone": PrivacyClass.PERSONAL,
    "tel": PrivacyClass.PERSONAL,
    "ipv4": PrivacyClass.PERSONAL,
    "ipv6": PrivacyClass.PERSONAL,
}
"""Classes that a JSON Schema `format` implies."""


class Schema(NamedTuple):
    """The sub-schemas that may describe a place, with the whole schema, which local references point into."""

    root: Mapping[str, Any]
    branches: tuple[Mapping[str, Any], ...]
    maybe: tuple[Mapping[str, Any], ...] = ()
    """Sub-schemas that describe the place only where a pattern or position fits, which is not looked at: they may raise a
    class, and neither lower one nor list public values."""


class Voice(NamedTuple):
    """A class, the rule that gave it, and the reason that came with it."""

    cls: PrivacyClass
    why: str
    reason: str | None = None


_OVERFLOW: Final[tuple[Mapping[str, Any], bool]] = ({"x-privacy": PrivacyClass.SENSITIVE.value}, True)
"""Stands for the sub-schemas beyond the limit, which may have said anything."""


def spoken(schema: Schema | None) -> Voice | None:
    """Return what the schema says of every value of a place: the highest of what its branches say."""
    if schema is None:
        return None
    voices = [_declared(node, option=option) for node, option in _spread(schema)]
    return max((voice for voice in voices if voice is not None), key=lambda voice: voice.cls.rank, default=None)


def listed(schema: Schema | None) -> tuple[Any, ...]:
    """Return the values that the schema lists by `enum` or `const`; those are public, since it shows them to everyone."""
    if schema is None:
        return ()
    out: list[Any] = []
    for node, _ in _spread(schema._replace(maybe=())):
        entries = node.get("enum", [node["const"]] if "const" in node else None)
        if isinstance(entries, list):
            out.extend(entries)
    return tuple(out)


def _declared(node: Mapping[str, Any], *, option: bool) -> Voice | None:
    """Return what one schema object says: `x-privacy` first, then what its keywords imply.

    One option among several (`anyOf`) cannot call a value public, since the value may belong to another option.
    """
    if "x-privacy" in node:
        # A misspelt class was meant to protect something.
        cls = _CLASSES.get(str(node["x-privacy"]), PrivacyClass.SENSITIVE)
        lowers = cls.rank < PrivacyClass.UNKNOWN.rank
        reason = node.get("x-privacy-reason")
        return None if option and lowers else Voice(cls, "schema:x-privacy", reason if isinstance(reason, str) else None)
    if node.get("writeOnly") is True:
        return Voice(PrivacyClass.SECRET, "schema:writeOnly")
    style = node.get("format")
    if isinstance(style, str) and style in FORMATS:
        return Voice(FORMATS[style], f"schema:format-{style}")
    return None


def step_into(schema: Schema | None, key: str | None) -> tuple[Schema | None, bool]:
    """Return the schema of a member (`key`) or of an array's items (None), and whether the schema names that key."""
    if schema is None:
        return None, False
    found: list[Any] = []
    maybe: list[Any] = []
    named = False
    for node, _ in _spread(schema):
        properties, patterns, tuples = (node.get(word) for word in ("properties", "patternProperties", "prefixItems"))
        if key is None:
            found.append(node.get("items"))
            maybe += tuples if isinstance(tuples, list) else ()
            continue
        maybe += patterns.values() if isinstance(patterns, Mapping) else ()
        if isinstance(properties, Mapping) and key in properties:
            named = True
            found.append(properties[key])
        else:
            found.append(node.get("additionalProperties"))
    certain, possible = (tuple(child for child in children if isinstance(child, Mapping)) for children in (found, maybe))
    return (Schema(schema.root, certain, possible) if certain or possible else None), named


def _spread(schema: Schema) -> list[tuple[Mapping[str, Any], bool]]:
    """Return the schema objects that may describe the place: itself, what it refers to, and (marked) its options."""
    out: list[tuple[Mapping[str, Any], bool]] = []
    waiting = [(branch, len(schema.branches) > 1) for branch in schema.branches]
    waiting += [(branch, True) for branch in schema.maybe]
    while waiting:
        if len(out) == _MAX_BRANCHES:
            return [*out, _OVERFLOW]
        node, option = waiting.pop(0)
        out.append((node, option))
        target = resolve(schema.root, node.get("$ref"))
        if target is not None:
            waiting.append((target, option))
        for word in ("anyOf", "oneOf", "allOf"):
            options = node.get(word)
            if isinstance(options, list):
                waiting.extend((entry, True) for entry in options if isinstance(entry, Mapping))
    return out


def resolve(root: Mapping[str, Any], reference: Any) -> Mapping[str, Any] | None:
    """Follow a reference inside the same schema; nothing is ever fetched."""
    if not (isinstance(reference, str) and reference.startswith("#/")):
        return None
    node: Any = root
    for step in reference[2:].split("/"):
        node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
    return node if isinstance(node, Mapping) else None
