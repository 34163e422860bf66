"""Which tool definitions and toolsets have to be sent: each with its first use, and again every ten minutes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolwitness.model.digest import canonical_json
from toolwitness.model.records import Json, Schema, Toolset
from toolwitness.redaction.definition import clean_definition
from toolwitness.sdk.clock import Clock
from toolwitness.sdk.labels import label
from toolwitness.sdk.shown import ToolView

_AGAIN_NS = 600 * 1_000_000_000


class Announcements:
    """Remembers by digest, which is the content's id, when each was sent last."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sent: dict[str, int] = {}

    def of(self, view: ToolView, common: dict[str, Any]) -> Iterator[tuple[Toolset | Schema, str]]:
        """The records of a toolset and its definitions that are due, each with its digest; `common` are fields of all."""
        if not self._due(view.digest):
            return
        yield Toolset(toolset_digest=view.digest, members=view.members, **common), view.digest
        for member in view.members:
            definition = view.by_identity[member.server, member.tool]
            if self._due(member.definition_digest):
                record = Schema(
                    definition_digest=member.definition_digest,
                    schema_digest=definition.schema_digest,
                    server=definition.server,
                    tool=definition.name,
                    tool_version=label(definition.version),
                    definition=Json(canonical_json(clean_definition(definition.content()))),
                    side_effect=definition.side_effect,
                    idempotent=definition.idempotent,
                    **common,
                )
                yield record, member.definition_digest

    def forget(self) -> None:
        """Send every definition again with its next use, since spans were dropped."""
        self._sent.clear()

    def _due(self, digest: str) -> bool:
        now, sent = self._clock(), self._sent.get(digest)
        if sent is not None and now - sent < _AGAIN_NS:
            return False
        self._sent[digest] = now
        return True
