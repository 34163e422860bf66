"""Tool definitions in the shapes that providers use, brought to one, and their digests (A5, A6)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from toolwitness.model.declared import Declared
from toolwitness.model.digest import digest
from toolwitness.model.enums import Known, PrivacyClass, SideEffect


@dataclass(frozen=True, slots=True)
class Member:
    """One tool of a toolset; the digest is empty where the definition is not known."""

    server: str
    tool: str
    definition_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """One tool as a catalog declares it; server and name are its identity.

    `classes` maps paths such as `args.amount` or `result.items[].sku` to privacy classes. Enum members may be given by name.
    `owner` is who must act where a call of it is in doubt; `settle_after_s` is how many seconds after an attempt the service
    surely knows of it, so that "not found" proves that it took no effect; None where it is never sure.
    """

    name: str
    server: str = ""
    description: str | None = None
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] | None = None
    version: str | None = None
    side_effect: SideEffect = SideEffect.UNKNOWN
    idempotent: Known = Known.UNKNOWN
    owner: str | None = None
    settle_after_s: float | None = None
    classes: Mapping[str, Declared | PrivacyClass | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the names of enum members too; raises ValueError for one that does not exist, and for no name or no time."""
        object.__setattr__(self, "side_effect", SideEffect(self.side_effect))
        object.__setattr__(self, "idempotent", Known(self.idempotent))
        if self.owner is not None and not isinstance(self.owner, str):
            raise ValueError(f"the owner of a tool is a name, not {type(self.owner).__name__}")
        object.__setattr__(self, "settle_after_s", _seconds(self.settle_after_s))
        object.__setattr__(self, "classes", {path: Declared.of(cls) for path, cls in self.classes.items()})

    def content(self) -> dict[str, Any]:
        """What `definition_digest` covers: name, description, input, output and annotations."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "annotations": self.annotations,
        }

    @property
    def schema_digest(self) -> str | None:
        """SHA-256 of the input schema's canonical JSON; None where the schema is not known."""
        return None if self.input_schema is None else digest(self.input_schema)

    @property
    def definition_digest(self) -> str:
        """SHA-256 of the whole definition's canonical JSON."""
        return digest(self.content())


def _seconds(given: object) -> float | None:
    """A time in seconds; raises ValueError for what is no finite number from 0 on."""
    if given is None:
        return None
    if type(given) not in {int, float} or not 0 <= (seconds := float(cast("float", given))) < math.inf:
        raise ValueError(f"settle_after is a number of seconds from 0 on, not {given!r}")
    return seconds


def _side_effect(annotations: Mapping[str, Any] | None) -> SideEffect:
    """Side effect by MCP's hints: read-only, destructive, else unknown."""
    hints = annotations or {}
    if hints.get("readOnlyHint") is True:
        return SideEffect.READ
    return SideEffect.DESTRUCTIVE if hints.get("destructiveHint") is True else SideEffect.UNKNOWN


def read_definition(given: Mapping[str, Any], *, server: str = "") -> ToolDefinition:
    """A definition from an OpenAI, Anthropic or MCP tool object.

    Raises ValueError, naming the keys seen, where the object has no name.
    """
    inner = given.get("function", given)
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        raise ValueError(f"a tool object needs a string 'name'; seen keys: {sorted(map(str, given))}")
    given_hints = inner.get("annotations")
    annotations = given_hints if isinstance(given_hints, Mapping) else None
    schema = next((inner[key] for key in ("parameters", "input_schema", "inputSchema") if inner.get(key) is not None), None)
    output = next((inner[key] for key in ("output_schema", "outputSchema") if inner.get(key) is not None), None)
    return ToolDefinition(
        name=inner["name"],
        server=server,
        description=inner.get("description"),
        input_schema=schema,
        output_schema=output,
        annotations=annotations,
        side_effect=_side_effect(annotations),
        idempotent=Known.YES if (annotations or {}).get("idempotentHint") is True else Known.UNKNOWN,
    )


def members_of(definitions: Iterable[ToolDefinition]) -> tuple[Member, ...]:
    """The toolset's members in the order of server and name, each once."""
    found = {(d.server, d.name): d.definition_digest for d in definitions}
    return tuple(Member(server, tool, found[server, tool]) for server, tool in sorted(found))


def toolset_digest(members: tuple[Member, ...]) -> str:
    """SHA-256 over the sorted members."""
    return digest([[m.server, m.tool, m.definition_digest] for m in members])
