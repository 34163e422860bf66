"""What the settings say of tools, over what decorators and tool servers say of them (A6, A13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import Known, SideEffect

_KEPT = 4096


class ToolFacts:
    """The tools of the settings, by `server/name` or by name alone; what they say counts, and what they leave open does not."""

    def __init__(self, told: Mapping[str, ToolDefinition]) -> None:
        self._told = told
        self._made: dict[tuple[str, str, int], tuple[ToolDefinition | None, ToolDefinition]] = {}

    def over(self, server: str, tool: str, definition: ToolDefinition | None) -> ToolDefinition | None:
        """The definition of a tool with what the settings say of it; None where neither is known."""
        if not self._told:
            return definition
        told = self._told.get(f"{server}/{tool}") or self._told.get(tool)
        if told is None:
            return definition
        key = (server, tool, id(definition))
        if key not in self._made:
            if len(self._made) >= _KEPT:
                self._made.clear()
            # The definition is kept too, so that its id cannot be taken over by another object.
            self._made[key] = definition, _over(told, definition or replace(told, server=server))
        return self._made[key][1]


def _over(told: ToolDefinition, definition: ToolDefinition) -> ToolDefinition:
    return replace(
        definition,
        side_effect=definition.side_effect if told.side_effect is SideEffect.UNKNOWN else told.side_effect,
        idempotent=definition.idempotent if told.idempotent is Known.UNKNOWN else told.idempotent,
        owner=told.owner or definition.owner,
        settle_after_s=definition.settle_after_s if told.settle_after_s is None else told.settle_after_s,
    )


def first_told(definitions: Iterable[ToolDefinition | None], name: str) -> Any:
    """A field of the first of the definitions that tells it; None where none does."""
    told = (getattr(definition, name, None) for definition in definitions)
    return next((value for value in told if value is not None), None)
