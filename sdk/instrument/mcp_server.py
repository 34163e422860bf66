"""MCP servers: each `tools/call` that this process serves, from where the tool's function is about to run.

The package turns what a function raises into text, and checks arguments before it runs it; so an attempt begins only at the
function, and its own exception is what is recorded.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any, cast

from toolwitness.model.catalog import ToolDefinition, read_definition
from toolwitness.sdk.context import leave
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.mcp_messages import arguments_of
from toolwitness.sdk.instrument.mcp_messages import definition as definition_of_listed
from toolwitness.sdk.instrument.mcp_served import Served, current, function_of, serve
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.toolfunction import definition_of

_CALL = "tools/call"
_FRAMEWORKS = ("mcp", "fastmcp")
_asked: ContextVar[bool] = ContextVar("toolwitness_mcp_asked", default=False)
"""Whether a runner of the second major version is about to look for what handles a call."""


def instrument(patches: Patches) -> None:
    """Wrap the tools of both major versions' servers, which differ in names, and the low-level servers."""
    for name in ("fastmcp", "mcpserver"):
        patches.when_imported(f"mcp.server.{name}.tools.tool_manager", lambda found: _manager(patches, found))
        patches.when_imported(f"mcp.server.{name}.utilities.func_metadata", lambda found: _function(patches, found))
    patches.when_imported("mcp.server.lowlevel.server", lambda found: _lowlevel(patches, found))
    patches.when_imported("mcp.server.runner", lambda found: patches.method(found.ServerRunner, "_on_request", _requested))


def _manager(patches: Patches, module: ModuleType) -> None:
    patches.method(module.ToolManager, "call_tool", _called)


def _function(patches: Patches, module: ModuleType) -> None:
    if hasattr(module.FuncMetadata, "call_fn"):
        patches.method(module.FuncMetadata, "call_fn", _run)
    else:
        patches.method(module.ArgModelBase, "model_dump_one_level", _validated)


def _lowlevel(patches: Patches, module: ModuleType) -> None:
    if hasattr(module.Server, "get_request_handler"):
        patches.method(module.Server, "get_request_handler", _looked_up)
    else:
        patches.method(module.Server, "call_tool", _registered)


# -- servers that call functions -----------------------------------------------------------------------------------


async def _called(wrapped: Callable[..., Any], manager: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    served: Served | None = None
    with reading_guard:
        served = _serve(manager, args, kwargs)
    if served is None:
        return await wrapped(*args, **kwargs)
    with served:
        result = await wrapped(*args, **kwargs)
        served.returned(result)
    return result


def _serve(manager: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Served:
    name = argument(args, kwargs, 0, "name")
    server = _server_of(kwargs.get("context", args[2] if len(args) > 2 else None))  # noqa: PLR2004 -- the third argument
    tool = manager.get_tool(name)
    known = None if tool is None else definition_of_tool(tool, server)
    served = serve(name, arguments_of(args, kwargs), server=server, definition=known)
    if tool is None:
        served.unknown()
    return served


def _server_of(context: Any) -> str:
    """The name of the server that a request's context tells, by the names of both major versions."""
    holder = getattr(context, "_fastmcp", getattr(context, "_mcp_server", None))
    return "" if holder is None else cast("str", holder.name)


_definitions: dict[tuple[str, str, int, int], tuple[ToolDefinition, Any]] = {}
_KEPT = 1024


def definition_of_tool(tool: Any, server: str) -> ToolDefinition:
    """The definition of a server's tool, read once; what a decorator says of its function counts."""
    key = (server, tool.name, id(tool.parameters), id(tool.annotations))
    kept = _definitions.get(key)
    if kept is None:
        if len(_definitions) >= _KEPT:
            _definitions.clear()
        # The tool is kept too, so that no id in the key can be taken over by another object.
        kept = _definitions[key] = (_read(tool, server), tool)
    return kept[0]


def _read(tool: Any, server: str) -> ToolDefinition:
    hints = None if tool.annotations is None else tool.annotations.model_dump(by_alias=True, exclude_none=True)
    given = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.parameters,
        "outputSchema": tool.output_schema,
        "annotations": hints,
    }
    shown = read_definition(given, server=server)
    own = definition_of(getattr(tool, "fn", None))
    if own is None:
        return shown
    return dataclasses.replace(shown, side_effect=own.side_effect, idempotent=own.idempotent, classes=own.classes)


async def _run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    with function_of(current.get()):
        return await wrapped(*args, **kwargs)


def _validated(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments passed, and the function comes next; what it raises is the cause of what the server raises."""
    del instance
    dumped = wrapped(*args, **kwargs)
    served = current.get()
    if served is not None and not served.begun:
        served.begin()
    return dumped


# -- low-level servers ---------------------------------------------------------------------------------------------


def is_frameworks(function: Any) -> bool:
    """Whether it is a framework's own, which runs a function of the application's in its turn."""
    module = getattr(function, "__module__", None)
    return type(module) is str and module.partition(".")[0] in _FRAMEWORKS


def _registered(wrapped: Callable[..., Any], server: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The first major version: `@server.call_tool()`; its function runs after the server's own validation."""
    register = wrapped(*args, **kwargs)
    checks = kwargs.get("validate_input") is not False

    @functools.wraps(register)
    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        if is_frameworks(function):
            return cast("Callable[..., Any]", register(function))

        @functools.wraps(function)
        async def watched(name: str, arguments: Any) -> Any:
            known: ToolDefinition | None = None
            with reading_guard:
                listed = server._tool_cache.get(name)  # noqa: SLF001 -- what the server itself validates by
                known = None if listed is None else definition_of_listed(listed, server.name)
            run = functools.partial(function, name, arguments)
            return await _handle(run, name, arguments, server, known, checked=checks and known is not None)

        register(watched)
        return function

    return decorator


async def _requested(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    token = _asked.set(argument(args, kwargs, 1, "method") == _CALL)
    try:
        return await wrapped(*args, **kwargs)
    finally:
        leave(token)


def _looked_up(wrapped: Callable[..., Any], server: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The second major version: what the runner finds to handle a call, which nothing has validated."""
    entry = wrapped(*args, **kwargs)
    if not _asked.get() or entry is None or is_frameworks(entry.handler):
        return entry
    _asked.set(False)

    async def watched(context: Any, params: Any) -> Any:
        arguments = {} if params.arguments is None else params.arguments
        run = functools.partial(entry.handler, context, params)
        return await _handle(run, params.name, arguments, server, None, checked=False)

    return dataclasses.replace(entry, handler=watched)


async def _handle(
    run: Callable[[], Any], name: str, arguments: Any, server: Any, known: ToolDefinition | None, *, checked: bool
) -> Any:
    served: Served | None = None
    with reading_guard:
        served = serve(name, arguments, server=server.name, definition=known)
    if served is None:
        return await run()
    with served:
        served.begin(checked=checked)
        result = await run()
        served.returned(result)
    return result
