"""LangChain's tools and LangGraph's agents: runs, and what becomes of each tool call.

Model steps are recorded where the model's client is asked; the provider's call ids are the framework's own. A tool of LangChain
checks its arguments in `_parse_input` and calls its function in `_run` or `_arun`, so an attempt begins only there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from toolwitness.sdk import context
from toolwitness.sdk.calls import AttemptScope
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument import langgraph
from toolwitness.sdk.instrument.patching import Patches
from toolwitness.sdk.instrument.tools import Handling, call_of

handling: ContextVar[Handling | None] = ContextVar("toolwitness_langchain", default=None)
"""The call that a tool runs for, shared by everything the framework does for it."""


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap tools, and LangGraph where it is."""
    del module
    patches.when_imported("langchain_core.tools.base", lambda found: _base(patches, found))
    patches.when_imported("langchain_core.tools.simple", lambda found: _functions(patches, found.Tool))
    patches.when_imported("langchain_core.tools.structured", lambda found: _functions(patches, found.StructuredTool))
    langgraph.instrument(patches, handling)


def _base(patches: Patches, module: ModuleType) -> None:
    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with reading_guard:
            _watch_class(patches, type(instance))
        return _run(wrapped, instance, args, kwargs)

    def arun(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with reading_guard:
            _watch_class(patches, type(instance))
        return _arun(wrapped, instance, args, kwargs)

    patches.methods(module.BaseTool, {"run": run, "arun": arun, "_parse_input": _parse})


def _watch_class(patches: Patches, cls: type) -> None:
    """An application's own class of tools has functions of its own, which are wrapped when such a tool first runs."""
    for name, wrapper in (("_run", _execute), ("_arun", _aexecute)):
        owner = next((each for each in cls.__mro__ if name in vars(each)), None)
        if owner is not None and owner.__module__ != "langchain_core.tools.base":
            patches.method(owner, name, wrapper)


def _functions(patches: Patches, cls: type) -> None:
    patches.methods(cls, {"_run": _execute, "_arun": _aexecute})


def _begin(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Handling | None:
    """A tool that is run outside of a tool node; None where somebody handles the call already."""
    with reading_guard:
        given = kwargs["tool_input"] if "tool_input" in kwargs else args[0]
        current = handling.get()
        if current is not None and not current.over and current.call.tool == tool.name:
            return None
        return Handling(call_of(tool.name, given, id=kwargs.get("tool_call_id")))
    return None


def _run(wrapped: Callable[..., Any], tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    begun = _begin(tool, args, kwargs)
    if begun is None:
        return wrapped(*args, **kwargs)
    token = handling.set(begun)
    try:
        result = wrapped(*args, **kwargs)
    except BaseException as error:
        begun.raised(error)
        raise
    finally:
        handling.reset(token)
    returned(begun, result)
    return result


async def _arun(wrapped: Callable[..., Any], tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    begun = _begin(tool, args, kwargs)
    if begun is None:
        return await wrapped(*args, **kwargs)
    token = handling.set(begun)
    try:
        result = await wrapped(*args, **kwargs)
    except BaseException as error:
        begun.raised(error)
        raise
    finally:
        handling.reset(token)
    returned(begun, result)
    return result


def returned(begun: Handling, result: Any) -> None:
    """End a call by what the framework made of it: a tool message with a status, or what the tool gave."""
    with reading_guard:
        is_message = type(result).__name__ == "ToolMessage"
        begun.returned(result.content if is_message else result, failed=is_message and result.status == "error")


def _parse(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    current = handling.get()
    try:
        parsed = wrapped(*args, **kwargs)
    except Exception as error:
        if current is not None:
            current.refused(error)
        raise
    with reading_guard:
        if current is not None and isinstance(instance.args_schema, type):  # a schema that is data is not checked by it
            current.passed()
    return parsed


def _execute(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    current = _current()
    if current is None:
        return wrapped(*args, **kwargs)
    with current.attempt() as attempt:
        try:
            return wrapped(*args, **kwargs)
        except BaseException as error:
            current.failed(attempt, error)
            raise


def _aexecute(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    return _aexecuting(wrapped, args, kwargs)


async def _aexecuting(wrapped: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    current = _current()
    if current is None:
        return await wrapped(*args, **kwargs)
    with current.attempt() as attempt:
        try:
            return await wrapped(*args, **kwargs)
        except BaseException as error:
            current.failed(attempt, error)
            raise


def _current() -> Handling | None:
    """The call that a tool's function runs for; None inside of its attempt, where one calls that of its base class."""
    with reading_guard:
        current, scope = handling.get(), context.current.get()
        if current is None or (isinstance(scope, AttemptScope) and scope.call is current.call):
            return None
        return current
    return None
