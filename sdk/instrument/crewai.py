"""crewai: crews and agents as runs, and what becomes of each tool call: refused, answered from the cache, tried once or more.

Model steps are recorded where the model's client is asked. A native call is found by the provider's id. In the text format the
model only writes what it wants to do, so the call is opened where crewai has read that.
"""

from __future__ import annotations

import asyncio
import functools
import sys
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any, cast

from toolwitness.sdk import context
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.crewai_calls import Handling, current, handle
from toolwitness.sdk.instrument.crewai_steps import Batch, batch
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.instrument.tools import agent_run
from toolwitness.sdk.scope import NO_SCOPE
from toolwitness.sdk.scopes import RunScope

_EXECUTORS = {
    "crewai.agents.agent_executor": "AgentExecutor",
    "crewai.experimental.agent_executor": "AgentExecutor",
    "crewai.agents.crew_agent_executor": "CrewAgentExecutor",
}
"""What handles native calls, by module; until 1.15.28 crews had one of their own."""


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap crews, agents, tools and what decides whether tools run."""
    patches.methods(module.Crew, {"kickoff": _crew, "akickoff": _acrew})
    patches.methods(module.Agent, {"kickoff": _agent, "kickoff_async": _aagent, "execute_task": _task, "aexecute_task": _atask})
    for name, executor in _EXECUTORS.items():
        patches.when_imported(name, functools.partial(_executor, patches, executor))
    patches.when_imported("crewai.agents.step_executor", lambda found: _steps(patches, found))
    patches.when_imported("crewai.tools.tool_usage", lambda found: _usage(patches, found))
    patches.when_imported("crewai.tools.base_tool", lambda found: _tools(patches, found))
    patches.when_imported("crewai.tools.structured_tool", lambda found: _structured(patches, found))
    patches.when_imported(
        "crewai.agents.cache.cache_handler", lambda found: patches.method(found.CacheHandler, "read", _cached)
    )
    patches.when_imported(
        "crewai.hooks.tool_hooks", lambda found: patches.method(found.ToolCallHookContext, "__init__", _hooked)
    )


def _executor(patches: Patches, name: str, module: ModuleType) -> None:
    patches.method(getattr(module, name), "_execute_single_native_tool_call", _native)


def _steps(patches: Patches, module: ModuleType) -> None:
    patches.method(module.StepExecutor, "_execute_native_tool_calls", _step)


def _usage(patches: Patches, module: ModuleType) -> None:
    patches.methods(
        module.ToolUsage,
        {
            "parse_tool_calling": _parse,
            "_select_tool": _noting("unknown_tool"),
            "_validate_tool_input": _noting("invalid_input"),
            "_check_tool_repeated_usage": _checking("repeated_call"),
            "_check_usage_limit": _checking("usage_limit"),
            "use": _use,
            "ause": _ause,
        },
    )


def _tools(patches: Patches, module: ModuleType) -> None:
    for owner in (module.BaseTool, module.Tool):
        patches.methods(owner, {"run": _try, "arun": _atry})
    patches.methods(module.BaseTool, {"_validate_kwargs": _passed, "_claim_usage": _claimed})


def _structured(patches: Patches, module: ModuleType) -> None:
    patches.methods(
        module.CrewStructuredTool,
        {"invoke": _try, "ainvoke": _atry, "_parse_args": _passed, "_increment_usage_count": _claimed},
    )


# -- runs ----------------------------------------------------------------------------------------------------------


def _crew_run(crew: Any) -> RunScope:
    """The run of a crew; one that streams comes back to its method in a thread or task, with streaming off."""
    with reading_guard:
        if not crew.stream:
            return agent_run(crew.name)
    return cast("RunScope", NO_SCOPE)


def _crew(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with _crew_run(instance):
        return wrapped(*args, **kwargs)


async def _acrew(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with _crew_run(instance):
        return await wrapped(*args, **kwargs)


def _inside_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _agent_run(agent: Any) -> RunScope:
    with reading_guard:
        return agent_run(agent.role)
    return cast("RunScope", NO_SCOPE)


def _agent(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An agent by itself; inside a loop it only gives the coroutine of its asynchronous method."""
    if _inside_loop():
        return wrapped(*args, **kwargs)
    with _agent_run(instance):
        return wrapped(*args, **kwargs)


async def _aagent(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with _agent_run(instance):
        return await wrapped(*args, **kwargs)


def _task(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A task that is executed by itself; in a crew it is a part of the crew's run."""
    with _agent_run(instance) if context.current.get() is None else NO_SCOPE:
        return wrapped(*args, **kwargs)


async def _atask(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with _agent_run(instance) if context.current.get() is None else NO_SCOPE:
        return await wrapped(*args, **kwargs)


# -- native calls --------------------------------------------------------------------------------------------------


def _read(tool_call: Any) -> Any:
    """Id, tool and arguments of a call in any provider's shape, as the framework itself reads them; None for other things."""
    return sys.modules["crewai.utilities.agent_utils"].extract_tool_call_info(tool_call)


def _native(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    handling: Handling | None = None
    with reading_guard:
        if "call_id" in kwargs:  # until 1.15.28
            told = kwargs["call_id"], kwargs["func_name"], kwargs["func_args"]
        else:
            told = _read(argument(args, kwargs, 0, "tool_call"))
        handling = None if told is None else handle(told[1], told[2], id=told[0])
    if handling is None:
        return wrapped(*args, **kwargs)
    with handling:
        result = wrapped(*args, **kwargs)
    with reading_guard:
        handling.told(result["result"])
    return result


def _step(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    step: Batch | None = None
    with reading_guard:
        calls = map(_read, argument(args, kwargs, 0, "tool_calls"))
        step = Batch([told for told in calls if told is not None])
    if step is None:
        return wrapped(*args, **kwargs)
    with step:
        return wrapped(*args, **kwargs)


# -- calls as text -------------------------------------------------------------------------------------------------

_by_usage: weakref.WeakKeyDictionary[Any, Handling] = weakref.WeakKeyDictionary()
"""What was read and is not used yet."""
_unused: ContextVar[Handling | None] = ContextVar("toolwitness_crewai_unused", default=None)
"""The last of these in this context: a hook may keep it from being used at all."""
_noted: ContextVar[str | None] = ContextVar("toolwitness_crewai_noted", default=None)
"""Why the text cannot be read."""


def _parse(wrapped: Callable[..., Any], usage: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    token = _noted.set(None)
    try:
        calling = wrapped(*args, **kwargs)
        refusal = _noted.get()
    finally:
        _noted.reset(token)
    with reading_guard:
        action, unread = usage.action, type(calling).__name__ == "ToolUsageError"
        handling = handle(action.tool if unread else calling.tool_name, action.tool_input)
        if handling is None:
            return calling
        if unread:
            handling.refusal = refusal or "invalid_input"
            handling.told(calling.message)
        else:
            _by_usage[usage] = handling
            _unused.set(handling)
    return calling


def _noting(refusal: str) -> Callable[..., Any]:
    """Notes why the text cannot be read, where this method raises."""

    def wrapper(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        del instance
        try:
            return wrapped(*args, **kwargs)
        except Exception:
            _noted.set(refusal)
            raise

    return wrapper


def _checking(refusal: str) -> Callable[..., Any]:
    """Notes that the tool is not run, where this check finds something."""

    def wrapper(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        del instance
        found = wrapped(*args, **kwargs)
        handling = current.get()
        if handling is not None and (found is True or type(found) is str):
            handling.refusal = refusal
        return found

    return wrapper


def _use(wrapped: Callable[..., Any], usage: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    handling = _by_usage.pop(usage, None)
    if handling is None:  # also where crewai tries again by itself
        return wrapped(*args, **kwargs)
    with handling:
        result = wrapped(*args, **kwargs)
    handling.told(result)
    return result


async def _ause(wrapped: Callable[..., Any], usage: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    handling = _by_usage.pop(usage, None)
    if handling is None:
        return await wrapped(*args, **kwargs)
    with handling:
        result = await wrapped(*args, **kwargs)
    handling.told(result)
    return result


def _hooked(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What hooks are shown before and after a call; the latter also where one of them kept the tool from running."""
    del instance
    with reading_guard:
        text, step = kwargs.get("tool_result"), batch.get()
        if text is not None:
            _heard(text)
        if step is not None and text is None:
            step.asked(kwargs["tool_name"])
        elif step is not None:
            step.told(text)
    return wrapped(*args, **kwargs)


def _heard(text: Any) -> None:
    handling, read = current.get(), _unused.get()
    if handling is not None and not handling.trying:
        handling.heard(text)
    elif read is not None and not read.over:  # it was read, and then not used
        read.told(text)


# -- tools ---------------------------------------------------------------------------------------------------------


def _tried(tool: Any) -> Handling | None:
    """The call that a tool is asked to run for."""
    handling = current.get()
    with reading_guard:
        names = sys.modules["crewai.utilities.string_utils"]
        if handling is not None and handling.tries(names.sanitize_tool_name(tool.name)):
            return handling
    return None


def _try(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    handling = _tried(instance)
    if handling is None:
        return wrapped(*args, **kwargs)
    with handling.attempting():
        result = handling.value = wrapped(*args, **kwargs)
    return result


async def _atry(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    handling = _tried(instance)
    if handling is None:
        return await wrapped(*args, **kwargs)
    with handling.attempting():
        result = handling.value = await wrapped(*args, **kwargs)
    return result


def _passed(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    arguments = wrapped(*args, **kwargs)
    handling = current.get()
    if handling is not None:
        handling.passed(arguments)
    return arguments


def _claimed(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The last that a tool does before its function; where its limit is reached, it gives words for the model instead."""
    del instance
    refused = wrapped(*args, **kwargs)
    handling = current.get()
    if handling is not None and handling.trying:
        if refused is None:
            handling.begin()
        elif not handling.call.open_attempts:
            handling.refusal = "usage_limit"
    return refused


def _cached(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the framework finds in its cache it does not run a tool for."""
    del instance
    found = wrapped(*args, **kwargs)
    handling = current.get()
    if handling is not None and not handling.trying and found is not None:
        handling.cached = found
    return found
