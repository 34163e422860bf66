"""Reads a file of what tools do and whose they are, TOML. Whatever it does not understand it refuses.

A tool that is passed over in silence may have been meant to be known as one that writes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import Known
from toolwitness.sdk.toml_file import read_toml

__all__ = ["load_tools"]

_KEYS: Final = ("side_effect", "idempotent", "owner", "settle_after")


def load_tools(path: str | os.PathLike[str]) -> dict[str, ToolDefinition]:
    """What the file says, by `server/name` or by the name alone, which then is meant on every server.

    Raises SettingsError, which names file, tool, what was seen and what would be right.
    """
    return read_toml(path, "file of tools", _tools)


def _tools(data: Mapping[str, Any]) -> dict[str, ToolDefinition]:
    given = data.get("tools")
    if not isinstance(given, Mapping) or len(data) != 1:
        raise ValueError("it must hold tables [tools.NAME] or [tools.'SERVER/NAME'], and nothing else")
    return {name: _tool(name, told) for name, told in given.items()}


def _tool(identity: str, told: Any) -> ToolDefinition:
    server, _, name = identity.rpartition("/")
    strange = sorted(set(told) - set(_KEYS)) if isinstance(told, Mapping) else ["no table"]
    if strange or not name:
        raise ValueError(f"tool {identity!r} has {', '.join(strange) or 'no name'}; allowed are {', '.join(_KEYS)}")
    idempotent = told.get("idempotent")
    if idempotent not in {None, True, False}:
        raise ValueError(f"tool {identity!r}: idempotent is true or false, not {idempotent!r}")
    try:
        return ToolDefinition(
            name=name,
            server=server,
            side_effect=told.get("side_effect", "unknown"),
            idempotent={None: Known.UNKNOWN, True: Known.YES, False: Known.NO}[idempotent],
            owner=told.get("owner"),
            settle_after_s=told.get("settle_after"),
        )
    except ValueError as error:
        raise ValueError(f"tool {identity!r}: {error}") from error
