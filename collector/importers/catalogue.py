"""The tool catalogue of a recorded benchmark, read from a file of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import Known


@dataclass(frozen=True, eq=False)
class Catalogue:
    """All tools that a benchmark offers; `candidates` adds what its agent can call besides."""

    definitions: tuple[ToolDefinition, ...]
    candidates: tuple[ToolDefinition, ...]

    @cached_property
    def _by_identity(self) -> dict[tuple[str, str], ToolDefinition]:
        return {(tool.server, tool.name): tool for tool in self.definitions}

    def find(self, server: str, name: str) -> ToolDefinition | None:
        """The definition of that identity, if the catalogue has it."""
        return self._by_identity.get((server, name))


def find_in(catalogue: Catalogue | None, server: str, name: str) -> tuple[ToolDefinition | None, Known]:
    """The tool's definition and whether it is registered, which is unknown without a catalogue."""
    if catalogue is None:
        return None, Known.UNKNOWN
    definition = catalogue.find(server, name)
    return definition, Known.NO if definition is None else Known.YES
