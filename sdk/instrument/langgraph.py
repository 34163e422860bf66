"""LangGraph: a graph's run, its tool node, and the approvals of LangChain's human-in-the-loop middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, cast

from toolwitness.sdk import context
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.langchain_calls import Handling, call_of_message, interrupts, words_error
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.instrument.tools import agent_run, stop_proposed
from toolwitness.sdk.scope import NO_SCOPE
from toolwitness.sdk.scopes import RunScope


def instrument(patches: Patches) -> None:
    """Wrap graphs, tool nodes and approvals."""
    patches.when_imported(
        "langgraph.pregel.main", lambda found: patches.methods(found.Pregel, {"stream": _stream, "astream": _astream})
    )
    patches.when_imported(
        "langgraph.prebuilt.tool_node",
        lambda found: patches.methods(found.ToolNode, {"_run_one": _run_one, "_arun_one": _arun_one}),
    )
    patches.when_imported("langchain.agents.middleware.human_in_the_loop", lambda found: _approvals(patches, found))
    patches.when_imported(
        "langchain.agents.middleware.tool_call_limit",
        lambda found: patches.method(found.ToolCallLimitMiddleware, "_separate_tool_calls", _limited),
    )


# -- runs ----------------------------------------------------------------------------------------------------------


def _begin_run(graph: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunScope:
    """The run of an outermost graph; one inside it is a part of it, and so is one inside a run of the application."""
    with reading_guard:
        if context.current.get() is not None:
            return cast("RunScope", NO_SCOPE)
        config = kwargs.get("config", args[1] if len(args) > 1 else None) or {}
        thread = (config.get("configurable") or {}).get("thread_id")
        return agent_run(graph.name, session=None if thread is None else str(thread))
    return cast("RunScope", NO_SCOPE)


@contextmanager
def _graph_run(graph: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[RunScope]:
    """The run while the graph's steps are made; current only while `enter` says so, since it stands around a generator's yield.

    A graph may stop before its tools; where it has a thread, another run may go on with them.
    """
    run = _begin_run(graph, args, kwargs)
    try:
        yield run
    except Exception as error:
        with reading_guard:
            if not interrupts(error):
                run.finish("failure")
            if type(error).__name__ == "GraphRecursionError" and isinstance(run, RunScope) and run.session is None:
                stop_proposed(run, "budget", "recursion_limit")
        raise
    finally:
        with reading_guard:
            if isinstance(run, RunScope) and run.session is not None:
                for call in run.open_calls.values():
                    if not call.begun:
                        call.hold()
        run.close()


def _stream(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _steps(wrapped(*args, **kwargs), instance, args, kwargs)


def _steps(inner: Iterator[Any], graph: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    """The graph's own steps; the run begins with the first."""
    with _graph_run(graph, args, kwargs) as run:
        try:
            while True:
                run.enter()
                try:
                    item = next(inner)
                except StopIteration:
                    return
                finally:
                    run.leave()
                yield item
        finally:
            close = getattr(inner, "close", None)
            if close is not None:
                close()


def _astream(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _asteps(wrapped(*args, **kwargs), instance, args, kwargs)


async def _asteps(inner: AsyncIterator[Any], graph: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsyncIterator[Any]:
    """As `_steps`."""
    with _graph_run(graph, args, kwargs) as run:
        try:
            while True:
                run.enter()
                try:
                    item = await anext(inner)
                except StopAsyncIteration:
                    return
                finally:
                    run.leave()
                yield item
        finally:
            close = getattr(inner, "aclose", None)
            if close is not None:
                await close()


# -- calls ---------------------------------------------------------------------------------------------------------


def _begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Handling | None:
    with reading_guard:
        return Handling(call_of_message(argument(args, kwargs, 0, "call")))
    return None


def _run_one(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The tool node: one call each, however often its tool is tried."""
    begun = _begin(args, kwargs)
    if begun is None:
        return wrapped(*args, **kwargs)
    with begun:
        result = wrapped(*args, **kwargs)
    _answered(begun, instance, result)
    return result


async def _arun_one(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As `_run_one`."""
    begun = _begin(args, kwargs)
    if begun is None:
        return await wrapped(*args, **kwargs)
    with begun:
        result = await wrapped(*args, **kwargs)
    _answered(begun, instance, result)
    return result


def _answered(begun: Handling, node: Any, result: Any) -> None:
    with reading_guard:
        if words_error(result) and not begun.call.begun and begun.call.tool not in node.tools_by_name:
            begun.call.gate("catalog", "deny", reason="unknown_tool")
            begun.call.close()
            return
        if not begun.call.begun and not begun.over and not begun.call.asked:
            # Middleware answered in the tool's place, whatever it did for that.
            verdict = "deny" if words_error(result) else "skip"
            begun.call.gate("policy", verdict, reason="answered_by_middleware", observed=True)
        begun.returned(result)


# -- approvals -----------------------------------------------------------------------------------------------------


def _approvals(patches: Patches, module: ModuleType) -> None:
    review = module.HumanInTheLoopMiddleware
    patches.methods(review, {"_create_action_and_config": _asked, "_process_decision": _decided})
    if hasattr(review, "_resolve_per_call"):  # since 1.5
        patches.method(review, "_resolve_per_call", _resolved)


def _asked(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    with reading_guard:
        tool_call = argument(args, kwargs, 0, "tool_call")
        call = call_of_message(tool_call)
        if not call.asked:  # it is asked again when the graph goes on with the answer
            call.gate("confirmation", "needs_approval")
    return wrapped(*args, **kwargs)


def _decided(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One decision of a batch; the framework refuses those that are not allowed."""
    del instance
    decided = wrapped(*args, **kwargs)
    with reading_guard:
        decision = argument(args, kwargs, 0, "decision")
        edited = decision["edited_action"]["args"] if decision["type"] == "edit" else None
        _decide(argument(args, kwargs, 1, "tool_call"), allowed=decided[1] is None, edited=edited)
    return decided


def _resolved(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One decision of one call; it interrupts the graph where there is none yet."""
    del instance
    resolved = wrapped(*args, **kwargs)
    with reading_guard:
        request = argument(args, kwargs, 0, "request")
        call = call_of_message(request.tool_call)
        if call.asked and type(resolved).__name__ == "ToolMessage":
            _decide(request.tool_call, allowed=False)
        elif call.asked:
            _decide(request.tool_call, allowed=True, edited=None if resolved[1] is None else resolved[1]["args"])
    return resolved


def _limited(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The calls that a limit stopped are the second part; the model is told words for them."""
    del instance
    parts = wrapped(*args, **kwargs)
    with reading_guard:
        for tool_call in parts[1]:
            call = call_of_message(tool_call)
            call.gate("budget", "deny", reason="tool_call_limit")
            call.close()
    return parts


def _decide(tool_call: Any, *, allowed: bool, edited: Any = None) -> None:
    """Record what a person decided; `edited` are the arguments that stand in the place of those proposed."""
    call = call_of_message(tool_call)
    if allowed and edited is not None:
        call.gate("confirmation", "modify", arguments=edited)
        return
    call.gate("confirmation", "allow" if allowed else "deny")
    if not allowed:
        call.close()
