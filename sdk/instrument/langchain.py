"""LangChain's tools and LangGraph's agents: runs, and what becomes of each tool call.

Model steps are recorded where the model's client is asked; the provider's call ids are the framework's own. A tool of LangChain
checks its arguments in `_parse_input` and calls its function in `_run` or `_arun`, so an attempt begins only there.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from toolwitness.sdk import context
from toolwitness.sdk.calls import AttemptScope
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument import langgraph
from toolwitness.sdk.instrument.langchain_calls import Handling, current
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.instrument.tools import call_of


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap tools, and LangGraph where it is."""
    del module
    patches.when_imported("langchain_core.tools.base", lambda found: _base(patches, found))
    patches.when_imported("langchain_core.tools.simple", lambda found: _functions(patches, found.Tool))
    patches.when_imported("langchain_core.tools.structured", lambda found: _functions(patches, found.StructuredTool))
    langgraph.instrument(patches)


def _base(patches: Patches, module: ModuleType) -> None:
    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        begun = _begin(patches, instance, args, kwargs)
        if begun is None:
            return wrapped(*args, **kwargs)
        with begun:
            result = wrapped(*args, **kwargs)
        begun.returned(result)
        return result

    async def arun(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        begun = _begin(patches, instance, args, kwargs)
        if begun is None:
            return await wrapped(*args, **kwargs)
        with begun:
            result = await wrapped(*args, **kwargs)
        begun.returned(result)
        return result

    patches.methods(module.BaseTool, {"run": run, "arun": arun, "_parse_input": _parse})


def _watch_class(patches: Patches, cls: type) -> None:
    """An application's own class of tools has functions of its own, which are wrapped when such a tool first runs."""
    for name, wrapper in (("_run", _execute), ("_arun", _aexecute)):
        owner = next((each for each in cls.__mro__ if name in vars(each)), None)
        if owner is not None and owner.__module__ != "langchain_core.tools.base":
            patches.method(owner, name, wrapper)


def _functions(patches: Patches, cls: type) -> None:
    patches.methods(cls, {"_run": _execute, "_arun": _aexecute})


def _begin(patches: Patches, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Handling | None:
    """A tool that is run outside of a tool node; None where somebody handles the call already."""
    with reading_guard:
        _watch_class(patches, type(tool))
    with reading_guard:
        given = argument(args, kwargs, 0, "tool_input")
        handled = current.get()
        if handled is not None and not handled.over and handled.call.tool == tool.name:
            return None
        return Handling(call_of(tool.name, given, id=kwargs.get("tool_call_id")))
    return None


def _parse(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    handled = current.get()
    try:
        parsed = wrapped(*args, **kwargs)
    except Exception as error:
        if handled is not None:
            handled.refused(error)
        raise
    with reading_guard:
        if handled is not None and isinstance(instance.args_schema, type):  # a schema that is data is not checked by it
            handled.passed()
        if handled is not None and handled.call.approved:
            handled.call.executed(parsed)
    return parsed


def _execute(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    handled = _to_run_for()
    if handled is None:
        return wrapped(*args, **kwargs)
    with handled.attempt():
        return wrapped(*args, **kwargs)


async def _aexecute(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    handled = _to_run_for()
    if handled is None:
        return await wrapped(*args, **kwargs)
    with handled.attempt():
        return await wrapped(*args, **kwargs)


def _to_run_for() -> Handling | None:
    """The call that a tool's function runs for; None inside of its attempt, where one calls that of its base class."""
    with reading_guard:
        handled, scope = current.get(), context.current.get()
        if handled is None or (isinstance(scope, AttemptScope) and scope.call is handled.call):
            return None
        return handled
    return None
