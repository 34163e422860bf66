"""Finds what a tool catalog leaves undecided about privacy, and what was decided in vain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from toolwitness.model.catalog_file import identity, versioned
from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.annotations import Misplaced, misplaced, strays
from toolwitness.redaction.baseline import Baseline, baseline_of, names_in
from toolwitness.redaction.describe import ANY_OTHER, MAX_SPOTS, PARTS, Spot, policy_for, schema_of, spots
from toolwitness.redaction.fields import Judgement, Source
from toolwitness.redaction.policy import ANY
from toolwitness.redaction.reach import unreachable

if TYPE_CHECKING:
    from toolwitness.model.catalog import ToolDefinition
    from toolwitness.redaction.policy import RedactionPolicy

__all__ = ["Code", "Finding", "lint", "names_of"]


class Code(StrEnum):
    """What can be wrong; these words are stable."""

    UNCLASSIFIED = "unclassified"
    """Nobody says anything of a field, so that only the shape of its values leaves."""
    MISPLACED_ANNOTATION = "misplaced-annotation"
    """Something in a schema was meant to say something about privacy, and is not heard."""
    UNREACHABLE_SELECTOR = "unreachable-selector"
    """A declaration matches no tool, version or path."""
    LOWERED_WITHOUT_REASON = "lowered-without-reason"
    """A declaration gives a lower class than others do, and no reason."""
    NEW_FIELD = "new-field"
    REMOVED_FIELD = "removed-field"
    CHANGED_CLASS = "changed-class"
    UNCHECKED = "unchecked"
    """A schema has more places than are looked at."""
    OPEN_OBJECT = "open-object"
    """An object may have members that the schema does not name; their class is unknown."""
    NO_OUTPUT_SCHEMA = "no-output-schema"
    """Nothing is known of a tool's results, which therefore keep only their shape."""


_WARNINGS: Final = frozenset({Code.OPEN_OBJECT, Code.NO_OUTPUT_SCHEMA})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: where, what, and how to put it right."""

    code: Code
    tool: str
    """`server/tool@version`, or the tool of a selector as the policy writes it."""
    path: str
    """As selectors write it; for annotations the part with a JSON pointer, `args#/properties/to/x_privacy`."""
    message: str
    fix: str
    warning: bool = False
    """Told, but no reason to fail."""


def lint(
    definitions: Sequence[ToolDefinition],
    policy: RedactionPolicy,
    baseline: Baseline | None = None,
    *,
    unread: Mapping[str, Any] | None = None,
) -> tuple[Finding, ...]:
    """What is wrong in a catalog under a policy, tool by tool; then the policy's own selectors, then the baseline.

    `unread` is what stood around each tool's schemas, by the tool's identity. Without a `baseline` nothing is compared.
    """
    found: list[Finding] = []
    for definition in definitions:
        found += _of_tool(definition, policy)
        found += (_misplaced(identity(definition), "tool", one) for one in strays((unread or {}).get(identity(definition))))
    found += _selectors(definitions, policy)
    if baseline is not None:
        found += _against(baseline, definitions, policy)
    return tuple(dict.fromkeys(found))


def _finding(code: Code, tool: str, path: str, message: str, fix: str) -> Finding:
    return Finding(code, tool, path, message, fix, warning=code in _WARNINGS)


def _misplaced(tool: str, part: str, one: Misplaced) -> Finding:
    return _finding(Code.MISPLACED_ANNOTATION, tool, f"{part}#{one.pointer}", one.message, one.fix)


def _of_tool(definition: ToolDefinition, policy: RedactionPolicy) -> Iterator[Finding]:
    tool, own = identity(definition), policy_for(definition, policy)
    for part in PARTS:
        schema = schema_of(definition, part)
        looked_at = list(spots(definition, part, own))
        for spot in looked_at:
            yield from _of_spot(definition, spot, known=schema is not None)
        if len(looked_at) >= MAX_SPOTS:
            message = f"the schema has {MAX_SPOTS} places or more; those beyond are not checked"
            yield _finding(Code.UNCHECKED, tool, part, message, "make the schema smaller, or give the whole part a class")
        if schema is not None:
            yield from (_misplaced(tool, part, one) for one in misplaced(schema))
    for path in definition.classes:
        if (why := unreachable(definition, path)) is not None:
            yield _finding(Code.UNREACHABLE_SELECTOR, tool, path, why, "correct the path in the tool's classes, or remove it")


def _of_spot(definition: ToolDefinition, spot: Spot, *, known: bool) -> Iterator[Finding]:
    tool = identity(definition)
    selector = f'"{identity(replace(definition, version=None))}:{spot.path.removesuffix(".*")}"'
    for place in (spot.atom, spot.box):
        if place.lowered is not None and not place.reason:
            yield _lowered(tool, spot.path, place.judgement, place.lowered)
    judgement = spot.judgement
    if spot.is_field and judgement.source is Source.DEFAULT and judgement.cls is PrivacyClass.UNKNOWN:
        yield _unclassified(tool, spot.path, selector, known=known)
    elif known and spot.shape.is_open and spot.box.member(ANY_OTHER).judgement.source is Source.DEFAULT:
        message = "further members are allowed, and their class is unknown"
        fix = f'say "additionalProperties": false, or declare {selector} in the policy'
        yield _finding(Code.OPEN_OBJECT, tool, spot.path, message, fix)


def _unclassified(tool: str, path: str, selector: str, *, known: bool) -> Finding:
    if not known and path == "result":
        message = "there is no output schema, so its results are of unknown class"
        return _finding(Code.NO_OUTPUT_SCHEMA, tool, path, message, f"declare an output schema, or {selector} in the policy")
    if not known:
        fix = f"declare an input schema, or {selector} in the policy"
        return _finding(Code.UNCLASSIFIED, tool, path, "there is no input schema", fix)
    fix = f"add x-privacy to its schema, or {selector} to the policy"
    return _finding(Code.UNCLASSIFIED, tool, path, "nothing says what class it has", fix)


def _lowered(tool: str, path: str, judgement: Judgement, over: Judgement) -> Finding:
    if judgement.why.startswith("no-reason:"):
        message = f"the policy lowers it below {over.cls.value} ({over.why}) without a reason, so it stays {over.cls.value}"
        fix = "give the reason: {class: ..., reason: ...} in a policy file, Declared(..., reason=...) in code"
    else:
        message = f"its schema makes it {judgement.cls.value} though {over.why} says {over.cls.value}, without a reason"
        fix = "add x-privacy-reason beside x-privacy, or declare it in the policy with a reason"
    return _finding(Code.LOWERED_WITHOUT_REASON, tool, path, message, fix)


def _selectors(definitions: Sequence[ToolDefinition], policy: RedactionPolicy) -> Iterator[Finding]:
    for tool, path, _ in policy.selectors():
        matched = [definition for definition in definitions if tool in names_of(definition)]
        if not matched:
            yield _no_such_tool(definitions, tool, path)
            continue
        answers = [unreachable(definition, path) for definition in matched]
        if all(answers):
            why = answers[0] if len(answers) == 1 else f"none of {len(answers)} tools has this path"
            yield _finding(Code.UNREACHABLE_SELECTOR, tool, path, str(why), "correct the path, or remove the selector")


def names_of(definition: ToolDefinition) -> set[str]:
    """Every way in which a selector may name a tool."""
    bare, whole = definition.name, f"{definition.server}/{definition.name}" if definition.server else definition.name
    return {ANY, bare, whole, versioned(bare, definition.version), versioned(whole, definition.version)}


def _no_such_tool(definitions: Iterable[ToolDefinition], tool: str, path: str) -> Finding:
    name, at, version = tool.rpartition("@")
    same = [one for one in definitions if at and name in names_of(one)]
    if any(one.version is None for one in same):
        message = f"the catalog gives {name} no version, so whether {version} is in use cannot be told"
        return Finding(Code.UNREACHABLE_SELECTOR, tool, path, message, 'add "version" to the tool in the catalog', warning=True)
    if same:
        there = ", ".join(sorted(str(one.version) for one in same))
        return _finding(
            Code.UNREACHABLE_SELECTOR, tool, path, f"{name} has no version {version} here, but {there}", "correct or remove it"
        )
    near = get_close_matches(tool, [name for one in definitions for name in sorted(names_of(one) - {ANY})], n=1)
    fix = f"did you mean {near[0]}?" if near else "correct the name, or remove the selector"
    return _finding(Code.UNREACHABLE_SELECTOR, tool, path, "no such tool is in the catalog", fix)


def _against(baseline: Baseline, definitions: Sequence[ToolDefinition], policy: RedactionPolicy) -> Iterator[Finding]:
    now = baseline_of(definitions, policy)
    seen: set[str] = set()
    for name, definition in names_in(definitions):
        known_as = next((known for known in (identity(definition), name, name.rpartition("@")[0]) if known in baseline), None)
        if known_as is None:
            yield _drift(Code.NEW_FIELD, name, ANY, f"the whole tool is new: {_fields(len(now[name]))}")
            continue
        seen.add(known_as)
        yield from _compared(name, baseline[known_as], now[name])
    for name in baseline.keys() - seen:
        yield _drift(Code.REMOVED_FIELD, name, ANY, f"the whole tool is gone, with {_fields(len(baseline[name]))}")


def _compared(tool: str, before: Mapping[str, PrivacyClass], now: Mapping[str, PrivacyClass]) -> Iterator[Finding]:
    for path, cls in now.items():
        if path not in before:
            yield _drift(Code.NEW_FIELD, tool, path, f"new since the baseline, as {cls.value}")
        elif before[path] is not cls:
            yield _drift(Code.CHANGED_CLASS, tool, path, f"was {before[path].value} in the baseline, is now {cls.value}")
    for path in before:
        if path not in now:
            yield _drift(Code.REMOVED_FIELD, tool, path, "in the baseline, but no longer in the schema")


def _drift(code: Code, tool: str, path: str, message: str) -> Finding:
    return _finding(code, tool, path, message, "if that is meant: --update-baseline, and commit the difference")


def _fields(count: int) -> str:
    return f"{count} field" if count == 1 else f"{count} fields"
