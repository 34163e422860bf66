"""Whether a value fits a JSON Schema: valid, invalid, or indeterminate where nobody can tell (A5, B4).

What comes out are JSON pointers and schema keywords; a validator's own messages quote the value and are never kept. A schema
is a tool server's text and a value a model's: nothing is fetched, patterns match in linear time (so that one with lookaround
cannot be used), and what would take too long is indeterminate.
"""

from __future__ import annotations

import functools
import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from toolwitness.model.digest import canonical_json
from toolwitness.model.enums import Validity
from toolwitness.model.records import Failure

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["MAX_FAILURES", "Check", "Checker", "Checkers", "check", "resolve"]

MAX_FAILURES: Final = 32
"""Failures that one check tells."""

_LONGEST_SCHEMA: Final = 256 * 1024
"""Characters of a schema's canonical JSON."""
_MOST_PATTERNS: Final = 256
_LARGEST_PATTERN: Final = 1024 * 1024
"""Bytes that one compiled pattern may take."""
_DEEPEST_VALUE: Final = 200
_MOST_VALUES: Final = 20_000
_MOST_VISITS: Final = 10_000
"""Schema objects that are looked at for one value, its members included, when the work of a check is estimated."""
_MOST_WORK: Final = 2_000_000
"""Schema objects times values of one check; the validator holds the interpreter for about 50 ns each."""
_MOST_LISTED_WORK: Final = 20_000
"""Up to here every failure is listed, which costs far more than to find that there is one; beyond, the first."""

_HERE_ONE: Final = ("not", "if", "then", "else", "propertyNames")
_HERE_MANY: Final = ("allOf", "anyOf", "oneOf")
_BELOW_ONE: Final = (
    *("additionalProperties", "unevaluatedProperties"),
    *("items", "additionalItems", "unevaluatedItems", "contains"),
)
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")

_UNREADABLE: Final = (ValueError, TypeError, OverflowError, RecursionError)
"""What the validator raises for schemas and values that are none."""


@dataclass(frozen=True, slots=True)
class Check:
    """A verdict with at most `MAX_FAILURES` places.

    Where it is invalid these are the places that do not fit; where it is indeterminate, those that are open, as far as known.
    """

    verdict: Validity
    failures: tuple[Failure, ...] = ()


_VALID: Final = Check(Validity.VALID)
_INDETERMINATE: Final = Check(Validity.INDETERMINATE)


def check(schema: Any, value: Any) -> Check:
    """Check a raw value once. Never raises and never fetches; a schema that cannot be used is indeterminate."""
    return Checker(schema).check(value)


def resolve(root: Any, reference: Any) -> Any:
    """What a reference inside the same schema (`#`, `#/$defs/a`) points to, else None."""
    if reference == "#":
        return root
    if not (isinstance(reference, str) and reference.startswith("#/")):
        return None
    node = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(name)
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        else:
            return None
    return node


class Checker:
    """A schema, compiled once for many checks. Draft by its `$schema`, else 2020-12; `format` is checked in every draft.

    `usable` is False for a schema that is broken, too large, or refers to another document: every check of it is
    indeterminate. `schema` is a copy of it, `text` its canonical JSON.
    """

    def __init__(self, schema: Any) -> None:
        self.text = _canonical(schema)
        self.schema: Any = None
        self.names: frozenset[str] = frozenset()
        self._nodes = 0
        self._work: dict[int, int] = {}
        self._whole = None if self.text is None else self._compiled(self.text)

    @property
    def usable(self) -> bool:
        """Whether values can be checked against this schema at all."""
        return self._whole is not None

    def _compiled(self, text: str) -> jsonschema_rs.Validator | None:
        self.schema = json.loads(text)
        self.names, patterns, self._nodes = _surveyed(self.schema)
        if patterns > _MOST_PATTERNS:
            return None
        import jsonschema_rs  # noqa: PLC0415 -- 40 ms, which an agent that checks nothing should not pay

        try:
            return jsonschema_rs.validator_for(text, **_options())
        except (*_UNREADABLE, jsonschema_rs.ReferencingError):
            return None

    @functools.cached_property
    def draft(self) -> int:
        """The schema's draft: 4, 6, 7, 2019 or 2020."""
        import jsonschema_rs as rs  # noqa: PLC0415 -- as above

        old = {4: rs.Draft4Validator, 6: rs.Draft6Validator, 7: rs.Draft7Validator, 2019: rs.Draft201909Validator}
        return next((draft for draft, kind in old.items() if isinstance(self._whole, kind)), 2020)

    def knows_format(self, name: str) -> bool:
        """Whether the schema's draft has a `format` of that name; others mean nothing to it."""
        import jsonschema_rs  # noqa: PLC0415 -- as above

        draft = {"$schema": self.schema["$schema"]} if "$schema" in self.schema else {}
        try:
            jsonschema_rs.validator_for({**draft, "format": name}, **_options(), ignore_unknown_formats=False)
        except _UNREADABLE:
            return False
        return True

    def check(self, value: Any) -> Check:
        """Check a raw value. Never raises."""
        return _INDETERMINATE if self._whole is None else self._answer(self._whole, value)

    def check_part(self, pointer: str, value: Any) -> Check:
        """Check a raw value against the part of the schema at a JSON pointer; the pointers of its failures start there."""
        part = None if self._parts is None else self._parts.get(f"#{pointer}")
        return _INDETERMINATE if part is None else self._answer(part, value)

    @functools.cached_property
    def _parts(self) -> jsonschema_rs.ValidatorMap | None:
        """A validator for each part of the schema; only redacted copies need them."""
        if self.text is None or self._whole is None:
            return None
        import jsonschema_rs  # noqa: PLC0415 -- as above

        return jsonschema_rs.validator_map_for(self.text, **_options())

    def _answer(self, validator: jsonschema_rs.Validator, value: Any) -> Check:
        extent = _extent(value)
        if extent is None:
            return _INDETERMINATE
        depth, values = extent
        work = self._work_of(depth) * values
        if work > _MOST_WORK:
            return _INDETERMINATE
        try:
            if validator.is_valid(value):
                return _VALID
            errors = validator.iter_errors(value) if work <= _MOST_LISTED_WORK else _first(validator, value)
            found = dict.fromkeys(Failure(self.pointer(error.instance_path), _keyword(error)) for error in errors)
        except _UNREADABLE:
            return _INDETERMINATE
        return Check(Validity.INVALID, tuple(islice(found, MAX_FAILURES)))

    def pointer(self, path: Iterable[str | int]) -> str:
        """A place as a JSON pointer; `*` stands for a name that the schema does not declare."""
        return "".join(f"/{step if isinstance(step, int) else self._step(step)}" for step in path)

    def _step(self, name: str) -> str:
        return name.replace("~", "~0").replace("/", "~1") if name in self.names else "*"

    def _work_of(self, depth: int) -> int:
        """How many schema objects one value, of so many levels, may be held against."""
        if depth not in self._work:
            self._work[depth] = _visits(self.schema, depth) if _refers(self.text or "") else self._nodes
        return self._work[depth]


class Checkers:
    """Checkers by the digest of their schema, the least recently used of them forgotten."""

    def __init__(self, most: int = 512) -> None:
        self._most = most
        self._kept: OrderedDict[str, Checker] = OrderedDict()

    def of(self, digest: str, schema: Any) -> Checker:
        """The checker of the schema that has this digest."""
        found = self._kept.get(digest)
        if found is None:
            found = self._kept[digest] = Checker(schema)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(digest)
        return found


@functools.cache
def _options() -> dict[str, Any]:
    import jsonschema_rs  # noqa: PLC0415 -- as above

    patterns = jsonschema_rs.RegexOptions(size_limit=_LARGEST_PATTERN)
    return {"validate_formats": True, "offline": True, "pattern_options": patterns}


def _canonical(schema: Any) -> str | None:
    """The canonical JSON of a schema, None for what is none or is too large."""
    if not isinstance(schema, dict | bool):
        return None
    try:
        text = canonical_json(schema)
    except _UNREADABLE:
        return None
    return text if len(text) <= _LONGEST_SCHEMA else None


def _first(validator: jsonschema_rs.Validator, value: Any) -> list[jsonschema_rs.ValidationError]:
    """The first failure of a value that is invalid."""
    import jsonschema_rs  # noqa: PLC0415 -- as above

    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []


def _keyword(error: jsonschema_rs.ValidationError) -> str:
    """The keyword that a value failed by, the same whether or not an object that is closed has properties."""
    closed = error.kind.name == "falseSchema" and error.schema_path[-1:] == ["additionalProperties"]
    return "additionalProperties" if closed else error.kind.name


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object in a schema, data in it included."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _surveyed(schema: Any) -> tuple[frozenset[str], int, int]:
    """The names that a schema declares, how many patterns it has, and how many objects."""
    names: set[str] = set()
    patterns = nodes = 0
    for node in _objects(schema):
        nodes += 1
        declared, keyed = node.get("properties"), node.get("patternProperties")
        names.update(declared if isinstance(declared, dict) else ())
        patterns += ("pattern" in node) + (len(keyed) if isinstance(keyed, dict) else 0)
    return frozenset(names), patterns, nodes


def _refers(text: str) -> bool:
    return any(f'"{word}":' in text for word in _REFERENCES)


def _extent(value: Any) -> tuple[int, int] | None:
    """How many levels and how many values there are, None where it is more than is checked; cycles end there too."""
    depth = values = 0
    level: list[Any] = [value]
    while level:
        depth += 1
        values += len(level)
        inside: list[Any] = []
        for outer in level:
            if isinstance(outer, dict):
                inside.extend(outer.values())
            elif isinstance(outer, list | tuple):
                inside.extend(outer)
            if values + len(inside) > _MOST_VALUES:
                return None
        if depth > _DEEPEST_VALUE:
            return None
        level = inside
    return depth, values


def _visits(root: Any, depth: int) -> int:
    """How many schema objects a value of so many levels may meet in a schema whose references may come back to themselves.

    A reference that comes back to where it is, on the same level, ends there, as it does in the validator.
    """
    visits = 0
    waiting: list[tuple[Any, int, frozenset[int]]] = [(root, depth, frozenset())]
    while waiting and visits < _MOST_VISITS:
        node, left, above = waiting.pop()
        if not isinstance(node, dict) or id(node) in above:
            continue
        visits += 1
        here, below = _here(root, node), _below(node) if left > 1 else ()
        within = above | {id(node)}
        waiting.extend((inner, left, within) for inner in here)
        waiting.extend((inner, left - 1, frozenset()) for inner in below)
    return visits if visits < _MOST_VISITS else _MOST_WORK + 1


def _here(root: Any, node: dict[str, Any]) -> Iterator[Any]:
    """The schemas that are held against the same value."""
    for word in _REFERENCES:
        if word in node:
            # An anchor may be anywhere, so that it is taken for the whole.
            target = resolve(root, node[word])
            yield root if target is None else target
    yield from (node[word] for word in _HERE_ONE if word in node)
    for word in _HERE_MANY:
        yield from node[word] if isinstance(node.get(word), list) else ()
    for word in ("dependentSchemas", "dependencies"):
        yield from node[word].values() if isinstance(node.get(word), dict) else ()


def _below(node: dict[str, Any]) -> Iterator[Any]:
    """The schemas that are held against members and items."""
    yield from (node[word] for word in _BELOW_ONE if word in node)
    for word in ("properties", "patternProperties"):
        yield from node[word].values() if isinstance(node.get(word), dict) else ()
    for word in ("prefixItems", "items"):
        yield from node[word] if isinstance(node.get(word), list) else ()
