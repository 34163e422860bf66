"""Decides the privacy class of one place in a payload.

The voices are asked in order of precedence: the application's policy, the tool's schema, the field's name. The first that
answers decides; a place for which none does is `unknown`. The value detectors come after this and may only raise the class.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.names import name_class
from toolwitness.redaction.policy import ANY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolwitness.redaction.policy import Table

__all__ = ["UNKNOWN", "Judgement", "Place", "Source", "classify", "inheritable", "step_into"]

_CLASSES: Final = {cls.value: cls for cls in PrivacyClass}

_MAX_BRANCHES: Final = 32
"""Sub-schemas that are looked at for one place; a schema is someone else's text and may refer to itself."""

_OVERFLOW: Final[tuple[Mapping[str, Any], bool]] = ({"x-privacy": PrivacyClass.SENSITIVE.value}, True)
"""Stands for the sub-schemas beyond that number, which may have said anything."""

_FORMATS: Final = {
    "password": PrivacyClass.SECRET,
    "email": PrivacyClass.PERSONAL,
    "idn-email": PrivacyClass.PERSONAL,
    "phone": PrivacyClass.PERSONAL,
    "tel": PrivacyClass.PERSONAL,
    "ipv4": PrivacyClass.PERSONAL,
    "ipv6": PrivacyClass.PERSONAL,
}


class Source(IntEnum):
    """Who decided, the stronger voice being the larger number."""

    DEFAULT = 0
    VALUE = 1
    NAME = 2
    SCHEMA = 3
    POLICY = 4


class Judgement(NamedTuple):
    """A class with its reason; `why` names a rule and never quotes the payload."""

    cls: PrivacyClass
    why: str
    source: Source

    @property
    def protects(self) -> bool:
        """Whether the class is above unknown: someone or something said that this must not be shown."""
        cls = self.cls
        return cls is PrivacyClass.PERSONAL or cls is PrivacyClass.SENSITIVE or cls is PrivacyClass.SECRET


UNKNOWN: Final = Judgement(PrivacyClass.UNKNOWN, "default", Source.DEFAULT)


class Schema(NamedTuple):
    """The sub-schemas that may describe a place, with the whole schema, which local references point into."""

    root: Mapping[str, Any]
    branches: tuple[Mapping[str, Any], ...]


class Place(NamedTuple):
    """One place in a payload: path such as `args.items[].sku`, own key (None at the top and in arrays), schema, value."""

    path: str
    key: str | None
    schema: Schema | None
    value: Any


Voice = tuple[PrivacyClass, str] | None


def classify(place: Place, tables: Sequence[Table], inherited: Judgement | None) -> Judgement:
    """Return the class of a place, given the policy's tables for its tool and the class its parent hands down.

    A child may raise what it inherits; it may lower it only where a policy or schema declares the child itself, and not
    where a stronger voice declared the parent.
    """
    for source, ask in _CHAIN:
        if (voice := ask(place, tables)) is not None:
            own = Judgement(*voice, source)
            break
    else:
        return inherited or UNKNOWN
    if inherited is None or own.cls.rank >= inherited.cls.rank:
        return own
    declared = own.source >= Source.SCHEMA and own.source >= inherited.source
    return own if declared else inherited


def inheritable(judgement: Judgement) -> Judgement | None:
    """Return what a container hands down to its members: what was declared, or is above unknown.

    An operational name clears a container of nothing: `status` may well hold a whole customer.
    """
    return judgement if judgement.protects or judgement.source >= Source.SCHEMA else None


def by_policy(place: Place, tables: Sequence[Table]) -> Voice:
    """Ask the application's own declarations, the most particular tool first."""
    for table in tables:
        if (cls := table.get(place.path)) is not None:
            return cls, "policy"
    if "." in place.path or "[" in place.path:
        return None
    return next(((table[ANY], "policy") for table in tables if ANY in table), None)


def by_schema(place: Place, _tables: Sequence[Table]) -> Voice:
    """Ask the tool's schema: `x-privacy` first, then what its keywords imply."""
    if place.schema is None:
        return None
    voices = [_declared(node, place.value, option=option) for node, option in _spread(place.schema)]
    return max((voice for voice in voices if voice is not None), key=lambda voice: voice[0].rank, default=None)


def by_name(place: Place, _tables: Sequence[Table]) -> Voice:
    """Ask the vocabulary of field names."""
    named = None if place.key is None else name_class(place.key)
    return None if named is None else (named[0], f"name:{named[1]}")


_CHAIN: Final[tuple[tuple[Source, Callable[[Place, Sequence[Table]], Voice]], ...]] = (
    (Source.POLICY, by_policy),
    (Source.SCHEMA, by_schema),
    (Source.NAME, by_name),
)


def _declared(node: Mapping[str, Any], value: Any, *, option: bool) -> Voice:
    """Return what one schema object says of its value.

    Listed values are public because the schema shows them to everyone, so the value must really be one of them. One option
    among several (`anyOf`) cannot call a value public, since the value may belong to another option.
    """
    if "x-privacy" in node:
        # A misspelt class was meant to protect something.
        cls = _CLASSES.get(str(node["x-privacy"]), PrivacyClass.SENSITIVE)
        lowers = cls.rank < PrivacyClass.UNKNOWN.rank
        return None if option and lowers else (cls, "schema:x-privacy")
    if node.get("writeOnly") is True:
        return PrivacyClass.SECRET, "schema:writeOnly"
    style = node.get("format")
    if isinstance(style, str) and style in _FORMATS:
        return _FORMATS[style], f"schema:format-{style}"
    listed = node.get("enum", [node["const"]] if "const" in node else None)
    if isinstance(listed, list) and any(type(entry) is type(value) and entry == value for entry in listed):
        return PrivacyClass.PUBLIC, "schema:enum"
    if node.get("type") == "boolean" and type(value) is bool:
        return PrivacyClass.PUBLIC, "schema:boolean"
    return None


def step_into(schema: Schema | None, key: str | None) -> tuple[Schema | None, bool]:
    """Return the schema of a member (`key`) or of an array's items (None), and whether the schema names that key."""
    if schema is None:
        return None, False
    found: list[Mapping[str, Any]] = []
    named = False
    for node, _ in _spread(schema):
        properties = node.get("properties")
        if key is None:
            child = node.get("items")
        elif isinstance(properties, Mapping) and key in properties:
            child, named = properties[key], True
        else:
            child = node.get("additionalProperties")
        if isinstance(child, Mapping):
            found.append(child)
    return (Schema(schema.root, tuple(found)) if found else None), named


def _spread(schema: Schema) -> list[tuple[Mapping[str, Any], bool]]:
    """Return the schema objects that may describe the place: itself, what it refers to, and (marked) its options."""
    out: list[tuple[Mapping[str, Any], bool]] = []
    waiting = [(branch, False) for branch in schema.branches]
    while waiting:
        if len(out) == _MAX_BRANCHES:
            return [*out, _OVERFLOW]
        node, option = waiting.pop(0)
        out.append((node, option))
        target = _resolve(schema.root, node.get("$ref"))
        if target is not None:
            waiting.append((target, option))
        for word in ("anyOf", "oneOf", "allOf"):
            options = node.get(word)
            if isinstance(options, list):
                waiting.extend((entry, True) for entry in options if isinstance(entry, Mapping))
    return out


def _resolve(root: Mapping[str, Any], reference: Any) -> Mapping[str, Any] | None:
    """Follow a reference inside the same schema; nothing is ever fetched."""
    if not (isinstance(reference, str) and reference.startswith("#/")):
        return None
    node: Any = root
    for step in reference[2:].split("/"):
        node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
    return node if isinstance(node, Mapping) else None
