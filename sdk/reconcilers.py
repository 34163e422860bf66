"""`toolwitness.reconciler`: the application's own question to a service whether a call in doubt took effect (A13).

Nothing here runs inside an agent's call: what is registered is asked by `toolwitness reconcile --run`, in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.reconciling import UnknownCommit
from toolwitness.sdk.toolfunction import definition_of

StatusQuery = Callable[[UnknownCommit], Any]
Q = TypeVar("Q", bound=StatusQuery)

_registered: dict[str, StatusQuery] = {}


def reconciler(tool: object) -> Callable[[Q], Q]:
    """Register a function that asks the tool's service whether a call took effect.

    To be used as `@toolwitness.reconciler(pay)`, where `pay` is a decorated tool, a `ToolDefinition`, or a name: `"pay"`, or
    `"server/pay"` where the tool has a server. The function, plain or async, is given an `UnknownCommit` and answers in a word:

    - `"committed"`: it was done
    - `"not_committed"`: it was not done and, of what had been sent by now, never will be
    - `"not_found"`: the service knows nothing of it; this settles only after the tool's `settle_after`
    - `"still_unknown"`: the service cannot tell

    or in a mapping `{"answer": word}` with `reason`, `remote_reference` or `commit_level` beside it. It is asked by
    `toolwitness reconcile MODULE --run`; the last one that is registered for a tool counts.

    Raises ValueError for what names no tool.
    """
    name = _name(tool)

    def register(query: Q) -> Q:
        _registered[name] = query
        return query

    return register


def reconciler_of(server: str, tool: str) -> StatusQuery | None:
    """What is registered for a tool; None where nothing is."""
    return _registered.get(_full(server, tool))


def registered() -> tuple[str, ...]:
    """The tools, by name or `server/name`, that something is registered for."""
    return tuple(_registered)


def _name(tool: object) -> str:
    definition = tool if isinstance(tool, ToolDefinition) else definition_of(tool)
    if definition is not None:
        return _full(definition.server, definition.name)
    if isinstance(tool, str) and tool.strip("/"):
        return tool
    raise ValueError(
        f"a {type(tool).__name__} names no tool; give @toolwitness.reconciler a decorated tool, its name, or 'server/name'"
    )


def _full(server: str, tool: str) -> str:
    return f"{server}/{tool}" if server else tool
