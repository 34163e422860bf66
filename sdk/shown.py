"""What a model was shown: tool objects brought to definitions, digested once, and sent with their first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolwitness.model.catalog import Member, ToolDefinition, members_of, read_definition, toolset_digest
from toolwitness.model.digest import canonical_json
from toolwitness.model.enums import Known, SideEffect
from toolwitness.redaction import project
from toolwitness.redaction.projection import Limits
from toolwitness.sdk.toolfunction import definition_of
from toolwitness.sdk.versions import SchemaVersions

_DEFINITION_LIMITS = Limits(string=64 * 1024, event=1024 * 1024)
_KEPT = 4096


@dataclass(frozen=True, slots=True)
class ToolView:
    """A set of tools by their digest; `complete` is False where some object in it could not be read as a tool."""

    digest: str
    members: tuple[Member, ...]
    by_identity: dict[tuple[str, str], ToolDefinition]
    by_name: dict[str, tuple[ToolDefinition, ...]]
    complete: bool

    def find(self, server: str, tool: str) -> ToolDefinition | None:
        """The tool's definition; without a server, the only tool of that name."""
        found = self.by_identity.get((server, tool))
        if found is None and not server:
            same_name = self.by_name.get(tool, ())
            return same_name[0] if len(same_name) == 1 else None
        return found


class Definitions:
    """Reads tool objects and keeps what was read, since digests cost more than all the rest of a decision.

    `versions` are the input schemas that were among them.
    """

    def __init__(self) -> None:
        self.versions = SchemaVersions()
        self._by_text: dict[str, ToolDefinition] = {}
        self._declared: dict[tuple[int, int], tuple[ToolDefinition, ...]] = {}
        self._views: dict[tuple[int, ...], tuple[ToolView, list[ToolDefinition]]] = {}

    def read(self, tool: Any) -> ToolDefinition | None:
        """The definition that a tool object is, None where it is no tool object that is known."""
        if type(tool) is ToolDefinition:
            return tool
        declared = definition_of(tool)
        if declared is not None:
            return declared
        if type(tool) is not dict:
            return None
        copy = project(tool, limits=_DEFINITION_LIMITS)
        text = canonical_json(copy.value)
        if text not in self._by_text:
            if len(self._by_text) >= _KEPT:
                self._by_text.clear()
            try:
                self._by_text[text] = read_definition(copy.value)
            except ValueError:
                return None
        return self._by_text[text]

    def declared(self, shown: ToolDefinition, own: ToolDefinition) -> ToolDefinition:
        """The definition as the model was shown it, with what the application itself declared about the tool."""
        key = (id(shown), id(own))
        if key not in self._declared:
            if len(self._declared) >= _KEPT:
                self._declared.clear()
            merged = replace(
                shown,
                classes=own.classes or shown.classes,
                side_effect=shown.side_effect if own.side_effect is SideEffect.UNKNOWN else own.side_effect,
                idempotent=shown.idempotent if own.idempotent is Known.UNKNOWN else own.idempotent,
            )
            # Both are kept too, so that an id in the key cannot be taken over by another object.
            self._declared[key] = (merged, shown, own)
        return self._declared[key][0]

    def view(self, tools: Sequence[Any]) -> ToolView:
        """The set that these tool objects are."""
        read = [self.read(tool) for tool in tools]
        definitions = [definition for definition in read if definition is not None]
        # The definitions are kept with the view, so that an id in the key cannot be taken over by another object.
        key = (len(read), *(id(definition) for definition in definitions))
        if key not in self._views:
            if len(self._views) >= _KEPT:
                self._views.clear()
            self._views[key] = (_view(definitions, complete=len(definitions) == len(read)), definitions)
            for definition in definitions:
                self.versions.remember(definition)
        return self._views[key][0]


def _view(definitions: list[ToolDefinition], *, complete: bool) -> ToolView:
    members = members_of(definitions)
    by_name: dict[str, tuple[ToolDefinition, ...]] = {}
    by_identity = {(definition.server, definition.name): definition for definition in definitions}
    for definition in by_identity.values():
        by_name[definition.name] = (*by_name.get(definition.name, ()), definition)
    return ToolView(toolset_digest(members), members, by_identity, by_name, complete)
