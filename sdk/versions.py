"""Which versions of a tool's input schema this process knows, and what each says of a call's raw arguments (A5).

The verdicts are taken where the raw arguments are at hand, so that they outlast redaction. Only digests of schemas, JSON
pointers and keywords leave.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import Validity
from toolwitness.model.records import ArgumentCheck, Failure
from toolwitness.model.validity import Check, Checkers

_VERSIONS_KEPT = 16
_TOOLS_KEPT = 1024
_DIGESTS_KEPT = 4096
_NO_OBJECT = Check(Validity.INVALID, (Failure("", "type"),))
_UNKNOWN = Check(Validity.INDETERMINATE)

Identity = tuple[str, str]
"""Server and tool."""


class SchemaVersions:
    """The input schemas by which each tool was shown to a model or declared by the application, by their digests.

    The 16 of a tool that came last are kept, and those of the 1,024 tools that were last shown, declared or called.
    """

    def __init__(self) -> None:
        self._tools: OrderedDict[Identity, OrderedDict[str, Mapping[str, Any]]] = OrderedDict()
        self._digests: dict[int, tuple[ToolDefinition, str | None]] = {}

    def digest(self, definition: ToolDefinition) -> str | None:
        """The digest of a definition's input schema, worked out once; None where it has none."""
        kept = self._digests.get(id(definition))
        if kept is None:
            if len(self._digests) >= _DIGESTS_KEPT:
                self._digests.clear()
            # The definition is kept too, so that its id cannot be taken over by another object.
            kept = self._digests[id(definition)] = (definition, definition.schema_digest)
        return kept[1]

    def remember(self, definition: ToolDefinition) -> None:
        """Keep the input schema of a definition as a version of its tool."""
        digest = self.digest(definition)
        if digest is None or definition.input_schema is None:
            return
        identity = (definition.server, definition.name)
        versions = self._tools.setdefault(identity, OrderedDict())
        self._tools.move_to_end(identity)
        versions.setdefault(digest, definition.input_schema)
        if len(versions) > _VERSIONS_KEPT:
            versions.popitem(last=False)
        if len(self._tools) > _TOOLS_KEPT:
            self._tools.popitem(last=False)

    def of(self, identity: Identity) -> dict[str, Mapping[str, Any]]:
        """The versions of a tool by their digests, the one that came last first."""
        return dict(reversed(self._tools.get(identity, OrderedDict()).items()))


class ArgumentChecks:
    """Holds raw arguments against every known version of a tool's schema."""

    def __init__(self, versions: SchemaVersions) -> None:
        self._versions = versions
        self._checkers = Checkers()

    def of(
        self, arguments: Any, identity: Identity, definitions: tuple[ToolDefinition | None, ...], *, whole: bool
    ) -> tuple[ArgumentCheck, ...]:
        """What each version says, first those of the definitions; the call was made under the first of them.

        Where the recording cut the arguments or was not told them, no version can tell. Arguments that are no object, such as
        text that is no JSON, fit none.
        """
        told = [definition for definition in definitions if definition is not None]
        known: dict[str, Mapping[str, Any]] = {}
        for definition in told:
            self._versions.remember(definition)
            digest = self._versions.digest(definition)
            if digest is not None and definition.input_schema is not None:
                known.setdefault(digest, definition.input_schema)
        for of_tool in dict.fromkeys([*((definition.server, definition.name) for definition in told), identity]):
            known |= self._versions.of(of_tool)
        return tuple(self._check(digest, schema, arguments, whole=whole) for digest, schema in known.items())

    def _check(self, digest: str, schema: Mapping[str, Any], arguments: Any, *, whole: bool) -> ArgumentCheck:
        if not whole or arguments is None:
            found = _UNKNOWN
        elif type(arguments) is not dict:
            found = _NO_OBJECT
        else:
            found = self._checkers.of(digest, schema).check(arguments)
        return ArgumentCheck(digest, found.verdict, found.failures)
