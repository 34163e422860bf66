"""LangGraph: a graph's run, its tool node, and the approvals of LangChain's human-in-the-loop middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from toolwitness.sdk import context
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.patching import Patches
from toolwitness.sdk.instrument.tools import Handling, agent_run, call_of, interrupts
from toolwitness.sdk.scopes import RunScope


def instrument(patches: Patches, handling: ContextVar[Handling | None]) -> None:
    """Wrap graphs, tool nodes and approvals; `handling` is where tools find the call that they run for."""
    nodes = _Nodes(handling)
    patches.when_imported(
        "langgraph.pregel.main", lambda found: patches.methods(found.Pregel, {"stream": _stream, "astream": _astream})
    )
    patches.when_imported(
        "langgraph.prebuilt.tool_node",
        lambda found: patches.methods(found.ToolNode, {"_run_one": nodes.run_one, "_arun_one": nodes.arun_one}),
    )
    patches.when_imported("langchain.agents.middleware.human_in_the_loop", lambda found: _approvals(patches, found))
    patches.when_imported(
        "langchain.agents.middleware.tool_call_limit",
        lambda found: patches.method(found.ToolCallLimitMiddleware, "_separate_tool_calls", _limited),
    )


# -- runs ----------------------------------------------------------------------------------------------------------


def _begin_run(graph: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunScope | None:
    """The run of an outermost graph; one inside it is a part of it, and so is one inside a run of the application."""
    with reading_guard:
        if context.current.get() is not None:
            return None
        config = kwargs.get("config", args[1] if len(args) > 1 else None) or {}
        thread = (config.get("configurable") or {}).get("thread_id")
        return agent_run(graph.name, session=None if thread is None else str(thread))
    return None


def _stream(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _steps(wrapped(*args, **kwargs), instance, args, kwargs)


def _steps(inner: Iterator[Any], graph: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    """The graph's own steps; our run is current only while one is made, and begins with the first."""
    run = _begin_run(graph, args, kwargs)
    if run is None:
        yield from inner
        return
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
    except Exception as error:
        _failed(run, error)
        raise
    finally:
        close = getattr(inner, "close", None)
        if close is not None:
            close()
        _end_run(run)


def _astream(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _asteps(wrapped(*args, **kwargs), instance, args, kwargs)


async def _asteps(inner: AsyncIterator[Any], graph: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsyncIterator[Any]:
    """As `_steps`."""
    run = _begin_run(graph, args, kwargs)
    try:
        while True:
            if run is not None:
                run.enter()
            try:
                item = await anext(inner)
            except StopAsyncIteration:
                return
            finally:
                if run is not None:
                    run.leave()
            yield item
    except Exception as error:
        if run is not None:
            _failed(run, error)
        raise
    finally:
        close = getattr(inner, "aclose", None)
        if close is not None:
            await close()
        if run is not None:
            _end_run(run)


def _failed(run: RunScope, error: Exception) -> None:
    with reading_guard:
        if not interrupts(error):
            run.finish("failure")


def _end_run(run: RunScope) -> None:
    """A graph may stop before its tools; where it has a thread, another run may go on with them."""
    with reading_guard:
        if run.session is not None:
            for call in run.open_calls.values():
                if not call.begun:
                    call.hold()
    run.close()


# -- calls ---------------------------------------------------------------------------------------------------------


class _Nodes:
    """The tool node: one call each, however often its tool is tried."""

    def __init__(self, handling: ContextVar[Handling | None]) -> None:
        self._handling = handling

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Handling | None:
        with reading_guard:
            given = kwargs["call"] if "call" in kwargs else args[0]
            return Handling(call_of(given["name"], given["args"], id=given["id"]))
        return None

    def run_one(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Handle one call."""
        begun = self._begin(args, kwargs)
        if begun is None:
            return wrapped(*args, **kwargs)
        token = self._handling.set(begun)
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            begun.raised(error)
            raise
        finally:
            self._handling.reset(token)
        _answered(begun, instance, result)
        return result

    def arun_one(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """As `run_one`."""
        return self._arunning(wrapped, instance, args, kwargs)

    async def _arunning(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        begun = self._begin(args, kwargs)
        if begun is None:
            return await wrapped(*args, **kwargs)
        token = self._handling.set(begun)
        try:
            result = await wrapped(*args, **kwargs)
        except BaseException as error:
            begun.raised(error)
            raise
        finally:
            self._handling.reset(token)
        _answered(begun, instance, result)
        return result


def _answered(begun: Handling, node: Any, result: Any) -> None:
    with reading_guard:
        failed = type(result).__name__ == "ToolMessage" and result.status == "error"
        if failed and not begun.call.begun and begun.call.tool not in node.tools_by_name:
            begun.call.gate("catalog", "deny", reason="unknown_tool")
            begun.call.close()
        else:
            begun.returned(result.content if type(result).__name__ == "ToolMessage" else result, failed=failed)


# -- approvals -----------------------------------------------------------------------------------------------------


def _approvals(patches: Patches, module: ModuleType) -> None:
    review = module.HumanInTheLoopMiddleware
    patches.methods(review, {"_create_action_and_config": _asked, "_process_decision": _decided})
    if hasattr(review, "_resolve_per_call"):  # since 1.5
        patches.method(review, "_resolve_per_call", _resolved)


def _asked(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    with reading_guard:
        tool_call = kwargs["tool_call"] if "tool_call" in kwargs else args[0]
        call = call_of(tool_call["name"], tool_call["args"], id=tool_call["id"])
        if not call.asked:  # it is asked again when the graph goes on with the answer
            call.gate("confirmation", "needs_approval")
    return wrapped(*args, **kwargs)


def _decided(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One decision of a batch; the framework refuses those that are not allowed."""
    del instance
    decided = wrapped(*args, **kwargs)
    with reading_guard:
        given = dict(zip(("decision", "tool_call", "config"), args, strict=False)) | kwargs
        _decide(given["tool_call"], allowed=decided[1] is None)
    return decided


def _resolved(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One decision of one call; it interrupts the graph where there is none yet."""
    del instance
    resolved = wrapped(*args, **kwargs)
    with reading_guard:
        request = kwargs["request"] if "request" in kwargs else args[0]
        call = call_of(request.tool_call["name"], request.tool_call["args"], id=request.tool_call["id"])
        if call.asked:
            _decide(request.tool_call, allowed=type(resolved).__name__ != "ToolMessage")
    return resolved


def _limited(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The calls that a limit stopped are the second part; the model is told words for them."""
    del instance
    parts = wrapped(*args, **kwargs)
    with reading_guard:
        for tool_call in parts[1]:
            call = call_of(tool_call["name"], tool_call["args"], id=tool_call["id"])
            call.gate("budget", "deny", reason="tool_call_limit")
            call.close()
    return parts


def _decide(tool_call: Any, *, allowed: bool) -> None:
    call = call_of(tool_call["name"], tool_call["args"], id=tool_call["id"])
    call.gate("confirmation", "allow" if allowed else "deny")
    if not allowed:
        call.close()
