"""fastmcp servers: each tool that they run, from where its function is about to run. Its clients go through those of `mcp`.

The framework checks arguments and runs the function in one step of pydantic's, perhaps in a thread. What lies between is the
function that it makes of a tool's to mark its errors.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.mcp_messages import arguments_of
from toolwitness.sdk.instrument.mcp_served import Served, current, function_of, serve
from toolwitness.sdk.instrument.mcp_server import definition_of_tool, is_frameworks
from toolwitness.sdk.instrument.patching import Patches, argument

_KEPT = 4096


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap servers, their tools and what tools run."""
    del module
    patches.when_imported("fastmcp.server.server", lambda found: patches.method(found.FastMCP, "call_tool", _called))
    patches.when_imported("fastmcp.tools.base", lambda found: patches.method(found.Tool, "_run", _run))
    for name in ("function_tool", "tool_transform"):
        patches.when_imported(f"fastmcp.tools.{name}", lambda found: patches.method(found, "_wrap_body_errors", _marked))


async def _called(wrapped: Callable[..., Any], server: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The framework calls this twice for a request, inside its middleware the second time."""
    try:
        return await wrapped(*args, **kwargs)
    except Exception as error:
        if kwargs.get("run_middleware") is False and type(error).__name__ == "NotFoundError":
            with reading_guard:
                _not_found(server, error, args, kwargs)
        raise


def _not_found(server: Any, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    name = argument(args, kwargs, 0, "name")
    if error.args == (f"Unknown tool: {name!r}",):
        serve(name, arguments_of(args, kwargs), server=server.name).unknown()


async def _run(wrapped: Callable[..., Any], tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    served: Served | None = None
    with reading_guard:
        server = _server()
        served = serve(
            tool.name, argument(args, kwargs, 0, "arguments"), server=server, definition=definition_of_tool(tool, server)
        )
    if served is None:
        return await wrapped(*args, **kwargs)
    with served:
        if not _runs_function(tool):
            served.begin(checked=False)
        result = await wrapped(*args, **kwargs)
        served.returned(result)
    return result


def _runs_function(tool: Any) -> bool:
    """Whether the framework checks arguments before this tool's own function runs; other kinds do as they like."""
    return any(each.__name__ in {"FunctionTool", "TransformedTool"} for each in type(tool).__mro__)


def _server() -> str:
    """The name of the server that this request is for."""
    context = sys.modules["fastmcp.server.context"]._current_context.get(None)  # noqa: SLF001 -- the public function raises outside of a request
    return "" if context is None else cast("str", context.fastmcp.name)


def _marked(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The framework makes this of a tool's function once, and of what supplies its dependencies once more."""
    del instance
    made = wrapped(*args, **kwargs)
    return _watched(made) if kwargs.get("materialize_generators") and not is_frameworks(made) else made


@functools.lru_cache(maxsize=_KEPT)
def _watched(made: Callable[..., Any]) -> Callable[..., Any]:
    """The same, beginning the attempt of the request that it runs for."""
    if inspect.iscoroutinefunction(made):

        @functools.wraps(made)
        async def watched(*args: Any, **kwargs: Any) -> Any:
            with function_of(current.get()):
                return await made(*args, **kwargs)

        return watched

    @functools.wraps(made)
    def watched_plain(*args: Any, **kwargs: Any) -> Any:
        with function_of(current.get()):
            return made(*args, **kwargs)

    return watched_plain
