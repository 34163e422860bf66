"""What each keyword of a JSON Schema says of a part of a redacted copy: yes, no, or open.

A keyword that cannot be answered from what is left is open, and so is every keyword that has no rule here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, Protocol

from toolwitness.model.records import Failure
from toolwitness.model.validity import Checker, resolve
from toolwitness.redaction.sketch import Hidden, Items, Members, Sketch

__all__ = ["ABOUT", "RULES", "RULES_OF_TYPES", "SINCE", "YES", "Answer", "Judge", "Spot", "Touched", "all_of"]

Touched = Hidden | Members | Items
"""A part that redaction took something from."""

_NUMBERS: Final = frozenset({"integer", "number"})
_STRING: Final = frozenset({"string"})
_ARRAY: Final = frozenset({"array"})
_OBJECT: Final = frozenset({"object"})
ABOUT: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"), _STRING),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _NUMBERS),
    **dict.fromkeys(("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"), _ARRAY),
    **dict.fromkeys(("minItems", "maxItems", "uniqueItems"), _ARRAY),
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties", "propertyNames"), _OBJECT),
    **dict.fromkeys(("required", "minProperties", "maxProperties", "unevaluatedProperties"), _OBJECT),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "dependencies"), _OBJECT),
}
"""Keywords that say something of some types only, and those types."""

_SHAPES: Final = frozenset({"uuid", "date", "date-time"})
"""Formats of which a text has one at most."""
_KINDS: Final = {str: "string", bool: "boolean", type(None): "null", list: "array", dict: "object", int: "integer"}


class Answer(NamedTuple):
    """Yes, no or open (None), with the places that make it so."""

    fits: bool | None
    places: tuple[Failure, ...] = ()


YES: Final = Answer(fits=True)


def all_of(answers: Iterable[Answer]) -> Answer:
    """No where one is no, else open where one is open."""
    given = list(answers)
    for fits in (False, None):
        places = [answer.places for answer in given if answer.fits is fits]
        if places:
            return Answer(fits, sum(places, ()))
    return YES


class Spot(NamedTuple):
    """A schema with its own pointer, and the path of the value that it is held against."""

    schema: Any
    at: str
    path: tuple[str | int, ...]

    def inner(self, *steps: str | int) -> Spot:
        """A schema inside this one, for the same value."""
        schema = self.schema
        for step in steps:
            schema = schema[step]
        return Spot(schema, self.at + "".join(f"/{_escaped(str(step))}" for step in steps), self.path)

    def under(self, step: str | int) -> Spot:
        """The same schema, for a member or an item of the value."""
        return self._replace(path=(*self.path, step))

    @property
    def accepts_all(self) -> bool:
        """Whether the schema says nothing."""
        return self.schema is True or self.schema == {}


class Judge(Protocol):
    """The check that a rule is part of."""

    checker: Checker

    def held(self, spot: Spot, sketch: Sketch) -> Answer:
        """Hold a schema against a part."""

    def told(self, spot: Spot, keyword: str, fits: bool | None) -> Answer:
        """An answer with its place."""


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _between(least: float, most: float | None, limit: float) -> bool | None:
    """Whether a size from `least` to `most` (None: without end) is at least `limit`."""
    if least >= limit:
        return True
    return False if most is not None and most < limit else None


def _inverse(fits: bool | None) -> bool | None:
    return None if fits is None else not fits


# -- any type ----------------------------------------------------------------------------------------------------------


def _reference(judge: Judge, spot: Spot, part: Touched) -> Answer:
    reference = spot.schema["$ref"]
    target = resolve(judge.checker.schema, reference)
    return judge.told(spot, "$ref", None) if target is None else judge.held(Spot(target, reference[1:], spot.path), part)


def _type(judge: Judge, spot: Spot, part: Touched) -> Answer:
    given = spot.schema["type"]
    wanted = {given} if isinstance(given, str) else set(given)
    fitting = {kind for kind in part.types if kind in wanted or (kind == "integer" and "number" in wanted)}
    # What is written with a fraction may be a whole number all the same.
    perhaps = fitting or ("number" in part.types and "integer" in wanted)
    return judge.told(spot, "type", True if fitting == part.types else None if perhaps else False)


def _listed(judge: Judge, spot: Spot, part: Touched, keyword: str, entries: list[Any]) -> Answer:
    """No, where nothing that is listed is of the part's type."""
    kinds = {_KINDS.get(type(entry), "number") for entry in entries}
    possible = part.types | _NUMBERS if part.types & _NUMBERS else part.types
    return judge.told(spot, keyword, None if kinds & possible else False)


def _enum(judge: Judge, spot: Spot, part: Touched) -> Answer:
    return _listed(judge, spot, part, "enum", spot.schema["enum"])


def _const(judge: Judge, spot: Spot, part: Touched) -> Answer:
    return _listed(judge, spot, part, "const", [spot.schema["const"]])


def _branches(judge: Judge, spot: Spot, part: Touched, word: str) -> list[Answer]:
    return [judge.held(spot.inner(word, place), part) for place in range(len(spot.schema[word]))]


def _all(judge: Judge, spot: Spot, part: Touched) -> Answer:
    return all_of(_branches(judge, spot, part, "allOf"))


def _any(judge: Judge, spot: Spot, part: Touched) -> Answer:
    answers = {answer.fits for answer in _branches(judge, spot, part, "anyOf")}
    return judge.told(spot, "anyOf", True if True in answers else None if None in answers else False)


def _one(judge: Judge, spot: Spot, part: Touched) -> Answer:
    answers = [answer.fits for answer in _branches(judge, spot, part, "oneOf")]
    if answers.count(True) > 1:
        return judge.told(spot, "oneOf", fits=False)
    return judge.told(spot, "oneOf", None if None in answers else True in answers)


def _not(judge: Judge, spot: Spot, part: Touched) -> Answer:
    return judge.told(spot, "not", _inverse(judge.held(spot.inner("not"), part).fits))


def _if(judge: Judge, spot: Spot, part: Touched) -> Answer:
    condition = judge.held(spot.inner("if"), part).fits
    ways = [word for word, way in (("then", True), ("else", False)) if condition in {way, None}]
    answers = [judge.held(spot.inner(word), part) if word in spot.schema else YES for word in ways]
    if condition is not None:
        return answers[0]
    (fits, *others) = {answer.fits for answer in answers}
    return judge.told(spot, "if", None if others else fits)


# -- texts -------------------------------------------------------------------------------------------------------------


def _min_length(judge: Judge, spot: Spot, text: Hidden) -> Answer:
    return judge.told(spot, "minLength", _between(text.least, text.most, spot.schema["minLength"]))


def _max_length(judge: Judge, spot: Spot, text: Hidden) -> Answer:
    return judge.told(spot, "maxLength", _inverse(_between(text.least, text.most, spot.schema["maxLength"] + 1)))


def _format(judge: Judge, spot: Spot, text: Hidden) -> Answer:
    """A placeholder names the shape that its whole text has; what looks like a date may still be none of the calendar."""
    name = spot.schema["format"]
    if not judge.checker.knows_format(name) or (name == "uuid" and name in text.formats):
        return YES
    return judge.told(spot, "format", False if name in _SHAPES and text.formats & (_SHAPES - {name}) else None)


# -- arrays and objects ------------------------------------------------------------------------------------------------


def _length(part: Items | Members) -> tuple[int, int | None]:
    return len(part.of), None if part.open else len(part.of)


def _at_least(keyword: str) -> Rule:
    def rule(judge: Judge, spot: Spot, part: Items | Members) -> Answer:
        return judge.told(spot, keyword, _between(*_length(part), spot.schema[keyword]))

    return rule


def _at_most(keyword: str) -> Rule:
    def rule(judge: Judge, spot: Spot, part: Items | Members) -> Answer:
        return judge.told(spot, keyword, _inverse(_between(*_length(part), spot.schema[keyword] + 1)))

    return rule


def _items(judge: Judge, spot: Spot, array: Items) -> Answer:
    if isinstance(spot.schema["items"], list) or "prefixItems" in spot.schema:
        return judge.told(spot, "items", None)
    inner = spot.inner("items")
    rest = judge.told(spot, "items", None) if array.open and not inner.accepts_all else YES
    return all_of([*(judge.held(inner.under(place), item) for place, item in enumerate(array.of)), rest])


def _properties(judge: Judge, spot: Spot, members: Members) -> Answer:
    answers = []
    for name in spot.schema["properties"]:
        inner = spot.inner("properties", name).under(name)
        if name in members.of:
            answers.append(judge.held(inner, members.of[name]))
        elif members.open and not inner.accepts_all:
            answers.append(judge.told(inner, "properties", None))
    return all_of(answers)


def _additional(judge: Judge, spot: Spot, members: Members) -> Answer:
    inner = spot.inner("additionalProperties")
    if inner.accepts_all:
        return YES
    if "patternProperties" in spot.schema:
        return judge.told(spot, "additionalProperties", None)
    more = [name for name in members.of if name not in spot.schema.get("properties", {})]
    if inner.schema is False:
        return judge.told(spot, "additionalProperties", False if more else None if members.open else True)
    rest = judge.told(spot, "additionalProperties", None) if members.open else YES
    return all_of([*(judge.held(inner.under(name), members.of[name]) for name in more), rest])


def _required(judge: Judge, spot: Spot, members: Members) -> Answer:
    missing = any(name not in members.of for name in spot.schema["required"])
    return judge.told(spot, "required", True if not missing else None if members.open else False)


Rule = Callable[[Judge, Spot, Any], Answer]
RULES: Final[dict[str, Rule]] = {
    "$ref": _reference,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "allOf": _all,
    "anyOf": _any,
    "oneOf": _one,
    "not": _not,
    "if": _if,
}
"""Keywords that say something of every type; one that is neither here nor in `ABOUT` says nothing, as `title`."""
SINCE: Final = {"const": 6, "if": 7}
"""The first draft that has a keyword, of those that have a rule and are not in every draft."""
RULES_OF_TYPES: Final[dict[tuple[str, type], Rule]] = {
    ("minLength", Hidden): _min_length,
    ("maxLength", Hidden): _max_length,
    ("format", Hidden): _format,
    ("items", Items): _items,
    ("minItems", Items): _at_least("minItems"),
    ("maxItems", Items): _at_most("maxItems"),
    ("properties", Members): _properties,
    ("additionalProperties", Members): _additional,
    ("required", Members): _required,
    ("minProperties", Members): _at_least("minProperties"),
    ("maxProperties", Members): _at_most("maxProperties"),
}
"""Keywords of one type that can be answered of a part; the others are open."""
