"""Finds what was meant to say something about privacy and is not heard: misspelt, or where nobody looks.

The redactor follows `properties`, `additionalProperties`, `patternProperties`, `items`, `prefixItems`, the options of `anyOf`,
`oneOf` and `allOf`, and `$ref` inside the same schema. A test holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.schema import SHOWN_BY_SCHEMAS, resolve

__all__ = ["Misplaced", "misplaced", "strays"]

_CLASS: Final = "x-privacy"
_REASON: Final = "x-privacy-reason"
_WRITE_ONLY: Final = "writeOnly"
_RIGHT_FORMS: Final = {"xprivacy": _CLASS, "xprivacyreason": _REASON, "writeonly": _WRITE_ONLY}
_NEAR: Final = 0.8
"""How like the right word one must be to count as misspelt (difflib's ratio)."""
_SHORT_FORMS: Final = frozenset({"privacy", "privacyclass", "xprivacyclass"})
_CLASSES: Final = tuple(cls.value for cls in PrivacyClass)
_LOWERING: Final = tuple(cls.value for cls in PrivacyClass if cls.rank < PrivacyClass.UNKNOWN.rank)

_OF_NAMES: Final = ("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions")
"""Keywords whose value maps names to schemas."""
_OF_SEVERAL: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_OF_ONE: Final = (
    *("items", "additionalProperties", "additionalItems", "contains", "not", "if", "then", "else", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_OLD_DRAFTS: Final = ("draft-03", "draft-04", "draft-06", "draft-07")


class Misplaced(NamedTuple):
    """One annotation that is not heard: where it stands (a JSON pointer), why it is not heard, and what to do."""

    pointer: str
    message: str
    fix: str


class _Around(NamedTuple):
    """What is known on the way down to a schema object."""

    heard: Mapping[int, bool]
    """The objects that the redactor looks at, by id; true for those that are but one option."""
    old_draft: bool
    ignored_by: str | None = None
    """The keyword above that the redactor does not follow."""


def misplaced(schema: Mapping[str, Any]) -> tuple[Misplaced, ...]:
    """What a schema says about privacy where nobody hears it."""
    draft = str(schema.get("$schema", ""))
    around = _Around(_heard(schema), any(old in draft for old in _OLD_DRAFTS))
    return tuple(_in_schema(schema, "", around))


def strays(value: Any) -> tuple[Misplaced, ...]:
    """What stands outside of a tool's schemas and looks as if it should say something about privacy."""
    fix = "write it into the schema of the field, or declare the field in the policy"
    return tuple(
        Misplaced(pointer, f"{key} stands outside of the schemas, where it is not read", fix)
        for pointer, key in _in_data(value, "")
    )


def _heard(schema: Mapping[str, Any]) -> dict[int, bool]:
    found: dict[int, bool] = {}
    waiting: list[tuple[Any, bool]] = [(schema, False)]
    while waiting:
        node, option = waiting.pop()
        if not isinstance(node, Mapping) or found.get(id(node)) in {False, option}:
            continue
        found[id(node)] = option
        waiting.append((resolve(schema, node.get("$ref")), option))
        for word in ("anyOf", "oneOf", "allOf"):
            waiting.extend((child, True) for child in _several(node.get(word)))
        below = [node.get("items"), node.get("additionalProperties"), *_several(node.get("prefixItems"))]
        below += [child for word in ("properties", "patternProperties") for child in _named(node.get(word)).values()]
        waiting.extend((child, False) for child in below)
    return found


def _in_schema(node: Mapping[str, Any], pointer: str, around: _Around) -> Iterator[Misplaced]:
    yield from _at(node, pointer, around)
    for word, value in node.items():
        at = f"{pointer}/{_escaped(word)}"
        inner = around if word not in {"not", "if", "then", "else"} else around._replace(ignored_by=word)
        if word in _OF_NAMES:
            yield from _in_names(value, at, word, inner)
        elif word in _OF_SEVERAL or (word == "items" and isinstance(value, list)):
            for number, child in enumerate(_several(value)):
                if isinstance(child, Mapping):
                    yield from _in_schema(child, f"{at}/{number}", inner)
        elif word in _OF_ONE and isinstance(value, Mapping):
            yield from _in_schema(value, at, inner if id(value) in around.heard else inner._replace(ignored_by=word))
        elif word not in _OF_ONE:
            yield from _in_other(value, at, word)


def _in_names(value: Any, pointer: str, word: str, around: _Around) -> Iterator[Misplaced]:
    for name, child in _named(value).items():
        at = f"{pointer}/{_escaped(name)}"
        if isinstance(child, Mapping):
            unused = word in {"$defs", "definitions", "dependentSchemas", "dependencies"} and id(child) not in around.heard
            yield from _in_schema(child, at, around._replace(ignored_by=word) if unused else around)
        elif word == "properties" and isinstance(child, str) and (form := _form(name, child)) is not None:
            fix = f"move {form} out of properties, beside it"
            yield Misplaced(at, f"{name} stands among the properties, where it is the name of one", fix)


def _in_other(value: Any, pointer: str, word: str) -> Iterator[Misplaced]:
    kind = "which holds values and no schema" if word in SHOWN_BY_SCHEMAS else "which is no keyword of JSON Schema"
    for at, key in _in_data(value, pointer):
        yield Misplaced(at, f"{key} stands inside {word}, {kind}", "move it to the schema of the field that it is about")


def _at(node: Mapping[str, Any], pointer: str, around: _Around) -> Iterator[Misplaced]:
    """What one schema object says itself."""
    for key, value in node.items():
        at = f"{pointer}/{_escaped(key)}"
        form = _form(key, value)
        if form is None:
            continue
        if key != form:
            yield Misplaced(at, f"{key} is not the name of the keyword", f"write {form}")
        elif (wrong := _wrong_value(node, key, value)) is not None:
            yield Misplaced(at, *wrong)
        elif key != _REASON and value is not False and (unheard := _unheard(node, value, around)) is not None:
            yield Misplaced(at, f"{key} {unheard[0]}", unheard[1])


def _wrong_value(node: Mapping[str, Any], key: str, value: Any) -> tuple[str, str] | None:
    if key == _CLASS and value not in _CLASSES:
        shown = value if isinstance(value, str) else type(value).__name__
        return f"x-privacy names no privacy class: {shown!r} (taken for sensitive)", f"use one of {', '.join(_CLASSES)}"
    if key == _WRITE_ONLY and not isinstance(value, bool):
        return "writeOnly is neither true nor false and has no effect", "write true, without quotes"
    if key == _REASON and _CLASS not in node:
        return "x-privacy-reason stands without x-privacy", "put it beside the x-privacy that it explains"
    return None


def _unheard(node: Mapping[str, Any], value: Any, around: _Around) -> tuple[str, str] | None:
    option = around.heard.get(id(node))
    if option is None:
        return _not_looked_at(around.ignored_by)
    if "$ref" in node and around.old_draft:
        return "stands beside $ref, and drafts before 2019-09 ignore what stands there", "write it into what $ref refers to"
    if node.get("not") in ({}, True):
        return "is about values that the schema does not allow (not: {})", "remove it, or allow the values"
    if option and value in _LOWERING:
        return f"is one of several options, which cannot make a value {value}", "write it beside anyOf, oneOf or allOf"
    return None


def _not_looked_at(word: str | None) -> tuple[str, str]:
    if word in {"$defs", "definitions"}:
        return f"stands in {word} that nothing refers to", "refer to it by $ref, or remove it"
    return f"stands below {word or 'a keyword'}, which is not read for classes", "write it into properties, items or $defs"


def _in_data(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Places and names of annotations among values."""
    for key, child in value.items() if isinstance(value, Mapping) else enumerate(_several(value)):
        at = f"{pointer}/{_escaped(str(key))}"
        if isinstance(key, str) and _form(key, child) in {_CLASS, _REASON}:
            yield at, key
        yield from _in_data(child, at)


def _form(key: str, value: Any) -> str | None:
    """The keyword that a key is meant to be, or None for another key."""
    squeezed = re.sub(r"[-_ .]", "", key).casefold()
    if squeezed in _SHORT_FORMS:
        return _CLASS if value in _CLASSES else None
    if squeezed in _RIGHT_FORMS or not key.lower().startswith("x-"):
        return _RIGHT_FORMS.get(squeezed)
    near = get_close_matches(squeezed, _RIGHT_FORMS, 1, _NEAR)
    return _RIGHT_FORMS[near[0]] if near else None


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _named(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
