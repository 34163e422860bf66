"""Tells, for each field that a tool's schemas declare, what class it has, who decided so and what leaves of its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolwitness.model.catalog_file import identity
from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.fields import UNKNOWN, Field, Judgement, Source, root
from toolwitness.redaction.path import step, steps
from toolwitness.redaction.policy import Action, Handling, RedactionPolicy
from toolwitness.redaction.structure import LISTED, Shape, shape_of

if TYPE_CHECKING:
    from toolwitness.model.catalog import ToolDefinition

__all__ = ["ANY_OTHER", "MAX_SPOTS", "PARTS", "FieldReport", "Spot", "describe", "policy_for", "schema_of", "spots"]

PARTS: Final = ("args", "result")
"""The parts of a tool that have schemas."""

MAX_SPOTS: Final = 5000
"""Places of one schema that are looked at; a schema is someone else's text."""

ANY_OTHER: Final = "\u2026"
"""Stands for a member that the schema does not name; no vocabulary knows it."""

_BOOLEAN: Final = Judgement(PrivacyClass.PUBLIC, "schema:boolean", Source.SCHEMA)
_USUAL: Final = Handling()


@dataclass(frozen=True, slots=True)
class FieldReport:
    """One field: where it is, its class, the rule that gave it and whose rule it is, and what follows from the class.

    `path` is written as selectors write it; `.*` stands for members that the schema does not name.
    """

    path: str
    cls: PrivacyClass
    why: str
    source: Source
    action: Action
    retention_days: int | None
    access: tuple[str, ...]
    reason: str | None
    """Why the class is lower than schema, name or parent say, as it was given."""


class Spot(NamedTuple):
    """A place of a schema, with what the redactor knows of it: as a value of its own, and as a container."""

    path: str
    shape: Shape
    atom: Field
    box: Field

    @property
    def judgement(self) -> Judgement:
        """The judgement of the values that stand here themselves."""
        if self.shape.holds_values:
            return (self.box if self.shape.is_container else self.atom).judgement
        if LISTED in self.shape.kinds:
            return self.atom.if_listed
        return _BOOLEAN if self.atom.judgement == UNKNOWN else self.atom.judgement

    @property
    def is_boolean(self) -> bool:
        """Whether the values are true, false and null alone, in which there is nothing to hide."""
        return not self.shape.holds_values and not self.shape.is_container and LISTED not in self.shape.kinds

    @property
    def is_field(self) -> bool:
        """Whether values stand here, and not only what has fields of its own."""
        no_arguments = self.path == "args" and self.shape.is_container
        return not no_arguments and (self.shape.holds_values or not self.shape.is_container)


def schema_of(definition: ToolDefinition, part: str) -> Mapping[str, Any] | None:
    """The schema of a part of a tool, where there is one."""
    return definition.input_schema if part == "args" else definition.output_schema if part == "result" else None


def policy_for(definition: ToolDefinition, policy: RedactionPolicy) -> RedactionPolicy:
    """The policy with the tool's own classes under it, as the recorder puts them."""
    return policy.with_tool(definition.name, definition.classes)


def describe(definition: ToolDefinition, policy: RedactionPolicy) -> tuple[FieldReport, ...]:
    """The fields of a tool, arguments first, in the order of its schemas; a part without a schema is one field.

    Behind them stand the fields that only a declaration names, below places whose schema does not tell its members.
    """
    own = policy_for(definition, policy)
    told = [spot for part in PARTS for spot in spots(definition, part, own)]
    declared = _only_declared(definition, own, {spot.path for spot in told})
    return tuple(_report(spot, own) for spot in (*(spot for spot in told if spot.is_field), *declared))


def _only_declared(definition: ToolDefinition, policy: RedactionPolicy, told: set[str]) -> Iterator[Spot]:
    for_all = policy.tables(None)
    for table in policy.tables(identity(definition)):
        for path in () if table in for_all else table:
            parsed = steps(path)
            if path in told or parsed is None or parsed[0] not in PARTS:
                continue
            told.add(path)
            part, keys = parsed
            place = root(policy, identity(definition), part, schema_of(definition, part))
            for key in keys:
                place = place.item(container=False) if key is None else place.member(key)
            yield Spot(path, shape_of({}), place, place)


def spots(definition: ToolDefinition, part: str, policy: RedactionPolicy) -> Iterator[Spot]:
    """Every place of a part's schema, from the outside inwards; at most `MAX_SPOTS`.

    `policy` is the tool's, as `policy_for` gives it. A schema that refers to itself is followed once: below, its places are
    described by the same objects again.
    """
    schema = schema_of(definition, part)
    place = root(policy, identity(definition), part, schema)
    waiting: list[tuple[Spot, frozenset[frozenset[int]]]] = [(Spot(part, shape_of(schema or {}), place, place), frozenset())]
    count = 0
    while waiting and count < MAX_SPOTS:
        spot, above = waiting.pop()
        count += 1
        yield spot
        if spot.shape.mark not in above:
            inner = above | {spot.shape.mark}
            waiting.extend((child, inner) for child in reversed(list(_children(spot))))


def _children(spot: Spot) -> Iterator[Spot]:
    for key, shape in spot.shape.members().items():
        member = spot.box.member(key)
        yield Spot(f"{spot.path}{step(key)}", shape, member, member)
    if (others := spot.shape.others()) is not None:
        member = spot.box.member(ANY_OTHER)
        yield Spot(f"{spot.path}.*", others, member, member)
    if (items := spot.shape.items()) is not None:
        yield Spot(f"{spot.path}{step(None)}", items, spot.box.item(container=False), spot.box.item(container=True))


def _report(spot: Spot, policy: RedactionPolicy) -> FieldReport:
    judgement = spot.judgement
    handling = policy.handling.get(judgement.cls, _USUAL)
    return FieldReport(
        path=spot.path,
        cls=judgement.cls,
        why=judgement.why,
        source=judgement.source,
        action=Action.KEEP if spot.is_boolean else policy.action(judgement.cls),
        retention_days=handling.retention_days,
        access=handling.access,
        reason=spot.atom.reason,
    )
