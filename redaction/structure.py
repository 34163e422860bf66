"""Which places a JSON Schema describes, and of what kind their values are.

This looks at more keywords than the redactor does (`if`, `dependentSchemas`, arrays as `items`): a field that only such a
keyword describes is a field all the same, and `toolwitness check` must name it. What class a place has is never decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from toolwitness.redaction.schema import resolve

__all__ = ["LISTED", "Document", "Shape", "shape_of"]

LISTED: Final = "listed"
"""The kind of values that `enum` or `const` lists."""

_CONTAINERS: Final = frozenset({"object", "array"})
_QUIET: Final = frozenset({"boolean", "null", LISTED})
_ANYTHING: Final = _CONTAINERS | {"string", "number", "integer", "boolean", "null"}
_OBJECT_WORDS: Final = frozenset({"properties", "additionalProperties", "patternProperties", "required"})
_ARRAY_WORDS: Final = frozenset({"items", "prefixItems", "contains"})
_REST_WORDS: Final = ("additionalProperties", "unevaluatedProperties")
_TYPES: Final = {
    "number": ("number", "integer"),
    # Names of types that people write and no validator knows.
    "dict": ("object",),
    "list": ("array",),
    "tuple": ("array",),
    "str": ("string",),
    "int": ("integer",),
    "float": ("number", "integer"),
    "bool": ("boolean",),
}
_FREE: Final[Mapping[str, Any]] = {}
"""The schema `true`."""


class Document:
    """A whole schema, with what was found out about the objects in it, each once however they refer to each other."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self._kinds: dict[int, frozenset[str]] = {}
        self._closed: dict[int, bool] = {}

    def kinds(self, node: Mapping[str, Any]) -> frozenset[str]:
        """The types that a value may have by one schema object."""
        known = self._kinds.get(id(node))
        if known is None:
            self._kinds[id(node)] = _ANYTHING  # what one that refers to itself says meanwhile
            known = _stated(node)
            for needed in self._needed(node):
                known = _both(known, self.kinds(needed))
            for options in _options(node):
                known = _both(known, frozenset().union(*map(self.kinds, options)))
            self._kinds[id(node)] = known
        return known

    def closed(self, node: Mapping[str, Any]) -> bool:
        """Whether a schema object says something of every member that an object may have."""
        known = self._closed.get(id(node))
        if known is None:
            self._closed[id(node)] = False
            known = (
                "object" not in self.kinds(node)
                or any(given is False or (isinstance(given, Mapping) and given) for given in map(node.get, _REST_WORDS))
                or any(self.closed(needed) for needed in self._needed(node))
                or any(all(map(self.closed, options)) for options in _options(node))
            )
            self._closed[id(node)] = known
        return known

    def beside(self, node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The further objects that describe the place of one."""
        yield from self._needed(node)
        for options in _options(node):
            yield from options
        for word in ("if", "then", "else"):
            if isinstance(node.get(word), Mapping):
                yield node[word]
        yield from (child for child in _mapping(node.get("dependentSchemas")).values() if isinstance(child, Mapping))

    def _needed(self, node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        target = resolve(self.root, node.get("$ref"))
        if target is not None:
            yield target
        yield from _schemas(node.get("allOf"))


class Shape(NamedTuple):
    """The schema objects that stand at one place; several where options or patterns overlap."""

    document: Document
    entries: tuple[Mapping[str, Any], ...]

    @property
    def mark(self) -> frozenset[int]:
        """Tells whether two places are described by the very same objects."""
        return frozenset(map(id, self.entries))

    @property
    def kinds(self) -> frozenset[str]:
        """The JSON types that a value may have; `LISTED` stands for listed values, of whatever type."""
        return frozenset().union(*map(self.document.kinds, self.entries)) or _ANYTHING

    @property
    def is_open(self) -> bool:
        """Whether an object here may have members of which the schema says nothing at all."""
        return "object" in self.kinds and not all(map(self.document.closed, self.entries))

    @property
    def holds_values(self) -> bool:
        """Whether values stand here that a class decides about: texts, numbers, and containers of anything."""
        kinds = self.kinds
        free_object = self.is_open and not self.members() and self.others() is None
        return bool(kinds - _CONTAINERS - _QUIET) or free_object or ("array" in kinds and self.items() is None)

    @property
    def is_container(self) -> bool:
        """Whether only objects and arrays stand here."""
        return self.kinds <= _CONTAINERS

    def nodes(self) -> list[Mapping[str, Any]]:
        """The objects that describe the place: the entries, what they refer to, and their options."""
        found: dict[int, Mapping[str, Any]] = {}
        waiting = list(self.entries)
        while waiting:
            node = waiting.pop(0)
            if id(node) not in found:
                found[id(node)] = node
                waiting.extend(self.document.beside(node))
        return list(found.values())

    def members(self) -> dict[str, Shape]:
        """The members that the schema names, in its order."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for node in self.nodes():
            for key, child in _mapping(node.get("properties")).items():
                if child is True or isinstance(child, Mapping):
                    found.setdefault(str(key), []).append(_FREE if child is True else child)
        return {key: self._replace(entries=tuple(children)) for key, children in found.items()}

    def others(self) -> Shape | None:
        """What members are that the schema does not name, where it says anything of them."""
        given = [
            child
            for node in self.nodes()
            for child in (*map(node.get, _REST_WORDS), *_mapping(node.get("patternProperties")).values())
        ]
        return self._of(given)

    def items(self) -> Shape | None:
        """What an array's items are, where the schema says anything of them."""
        given: list[Any] = []
        for node in self.nodes():
            for word in ("items", "prefixItems", "additionalItems"):
                child = node.get(word)
                given.extend(child if isinstance(child, list) else [child])
        return self._of(given)

    def _of(self, given: list[Any]) -> Shape | None:
        entries = tuple(child for child in given if isinstance(child, Mapping) and child)
        return self._replace(entries=entries) if entries else None


def shape_of(schema: Mapping[str, Any]) -> Shape:
    """The place that a whole schema describes."""
    return Shape(Document(schema), (schema,))


def _stated(node: Mapping[str, Any]) -> frozenset[str]:
    """What an object's own `type`, or the keywords that only one type has, say of the types."""
    if "enum" in node or "const" in node:
        return frozenset({LISTED})
    given = node.get("type")
    names = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    if names:
        return frozenset(kind for name in names for kind in _TYPES.get(str(name), (str(name),)))
    implied = ({"object"} if node.keys() & _OBJECT_WORDS else set()) | ({"array"} if node.keys() & _ARRAY_WORDS else set())
    return frozenset(implied) or _ANYTHING


def _both(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """What two statements allow together; values that either lists are listed."""
    return (one & other) | ((one | other) & {LISTED})


def _options(node: Mapping[str, Any]) -> Iterator[list[Mapping[str, Any]]]:
    yield from filter(None, (_schemas(node.get(word)) for word in ("anyOf", "oneOf")))


def _schemas(given: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in given if isinstance(entry, Mapping)] if isinstance(given, list) else []


def _mapping(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}
