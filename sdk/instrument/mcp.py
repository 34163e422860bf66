"""MCP clients: what servers declare of their tools, and each `tools/call` as a physical try of a logical call.

A request inside an attempt that is open, such as a framework's, is how that attempt travels and no attempt of its own. The
package emits spans by itself, which are the application's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import replace
from types import ModuleType
from typing import Any, cast
from weakref import WeakKeyDictionary

from toolwitness.model.enums import AttemptStatus, ErrorClass, Known, ObservationStatus, SideEffect
from toolwitness.redaction import Projection, project
from toolwitness.sdk import context, setup
from toolwitness.sdk.calls import AttemptScope, CallScope
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument import mcp_server
from toolwitness.sdk.instrument.mcp_messages import answers, arguments_of, definition, take_result
from toolwitness.sdk.instrument.mcp_waiting import Request, waits
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.recorder import Recorder
from toolwitness.sdk.scope import Scope

TRANSPORT = "mcp"
_CLOSED = ("BrokenResourceError", "ClosedResourceError")
"""What a stream raises that did not take a message."""
_infos: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""What servers said of themselves, which sessions of the first major version do not keep."""


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap client sessions and servers."""
    del module
    patches.when_imported("mcp.client.session", lambda found: _client(patches, found))
    mcp_server.instrument(patches)


def _client(patches: Patches, module: ModuleType) -> None:
    patches.methods(module.ClientSession, {"list_tools": _listed, "call_tool": _called})
    if not hasattr(module.ClientSession, "server_info"):
        patches.method(module.ClientSession, "initialize", _initialized)


# -- what servers declare ------------------------------------------------------------------------------------------


async def _initialized(wrapped: Callable[..., Any], session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = await wrapped(*args, **kwargs)
    with reading_guard:
        _infos[session] = result.serverInfo
    return result


def _server_of(session: Any) -> str:
    """The name that a server gave itself; empty where it was not heard."""
    info = session.server_info if hasattr(type(session), "server_info") else _infos.get(session)
    return "" if info is None else cast("str", info.name)


async def _listed(wrapped: Callable[..., Any], session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make the tools known that a server lists; what the application declared itself stands."""
    trial = _current.get()
    if trial is not None:  # the session looks up how the result of a call must be
        trial.answered = True
    result = await wrapped(*args, **kwargs)
    recorder = setup.active()
    with reading_guard:
        own = {(each.server, each.name) for each in setup.declared()}
        for tool in result.tools:
            shown = definition(tool, _server_of(session))
            if recorder is not None and (shown.server, shown.name) not in own:
                recorder.register(shown)
    return result


# -- calls ---------------------------------------------------------------------------------------------------------


async def _called(wrapped: Callable[..., Any], session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    trial: _Trial | None = None
    with reading_guard:
        trial = _trial(session, args, kwargs)
    if trial is None:
        return await wrapped(*args, **kwargs)
    with trial, waits(trial.request):
        result = await wrapped(*args, **kwargs)
        trial.returned(result)
    return result


def _trial(session: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Trial | None:
    recorder = setup.active()
    if recorder is None:
        return None
    tool = argument(args, kwargs, 0, "name")
    copy = project(arguments_of(args, kwargs))
    # The dispatcher of the second major version knows that it is closed; the first one's stream says so when it is asked.
    closed = getattr(getattr(session, "_dispatcher", None), "_closed", False) is True
    scope = context.current.get()
    if isinstance(scope, AttemptScope) and scope.recorder is recorder and not scope.over:
        return _Trial(Request(tool, copy.value, scope), closed=closed)
    call, owned = _call(recorder, scope, _server_of(session), tool, copy)
    attempt = call.attempt(transport=TRANSPORT, unclaimed=True)
    return _Trial(Request(tool, copy.value, attempt), call, closed=closed, owned=owned)


def _call(recorder: Recorder, scope: Scope | None, server: str, tool: str, copy: Projection) -> tuple[CallScope, bool]:
    """The call that a request is a try of, and whether it is ours to end."""
    found: CallScope | None = None
    if not isinstance(scope, CallScope) or scope.recorder is not recorder or scope.over:
        found = _proposed(recorder, tool, copy)
    elif _is_called(scope.tool, tool):
        found = scope
    if found is None:
        return recorder.call(tool, copy, server=server), True
    listed = recorder.definition(server, tool)
    if listed is not None and found.side_effect is SideEffect.UNKNOWN:
        # Models are shown tools without the server's hints.
        found.definition = listed if found.definition is None else replace(found.definition, side_effect=listed.side_effect)
    found.executed(copy)
    return found, False


def _proposed(recorder: Recorder, tool: str, copy: Projection) -> CallScope | None:
    """The call that a model was seen to propose, by the server's name of the tool or the only one that it has with a prefix."""
    latest = context.latest.get()
    found = recorder.proposals.of_tool(tool, copy.value, latest)
    if found is not None or latest is None:
        return found
    own = (call for call in list(latest.run.open_calls.values()) if call.decision is latest)
    names = {call.tool for call in own if _is_called(call.tool, tool)}
    return recorder.proposals.of_tool(names.pop(), copy.value, latest) if len(names) == 1 else None


def _is_called(name: str, tool: str) -> bool:
    """Whether a model's name for a tool is the server's, perhaps after a prefix that tells servers apart."""
    return name == tool or (name.endswith(tool) and not name[-len(tool) - 1].isalnum())


class _Trial:
    """One request while it is on its way; without a `call` its attempt is another's, which learns how it travelled."""

    __slots__ = ("_before", "_call", "_closed", "_owned", "_tokens", "answered", "request")

    def __init__(self, request: Request, call: CallScope | None = None, *, closed: bool, owned: bool = False) -> None:
        self.request = request
        self._call, self._closed, self._owned = call, closed, owned
        self._before = sys.exception()  # the application may be handling one, which then is the context of what is raised here
        self._tokens: list[Token[Any]] = []
        self.answered = False

    def __enter__(self) -> None:
        """The request is about to be sent."""
        with reading_guard:
            self._tokens.append(_current.set(self))
            if self._call is None:
                self.request.attempt.learn(transport=TRANSPORT)
            else:
                self._tokens.append(context.enter(self.request.attempt))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """It is over; the exception goes on as it is."""
        attempt, call = self.request.attempt, self._call
        for token in reversed(self._tokens):
            context.leave(token)
        with reading_guard:
            code = None if error is None else _code(error)
            if call is None:
                attempt.learn(transport=TRANSPORT, vendor_code=code)
                return
            if error is not None:
                self._failed(call, error, code)
        attempt.close()
        if call is not None and self._owned:
            call.close()

    def returned(self, result: Any) -> None:
        """The server answered."""
        with reading_guard:
            if self._call is None:
                return
            self.request.attempt.sent(Known.YES)
            if not answers(result):
                # It asks for input; what it did until then is not known, and the answer belongs to another request.
                self.request.attempt.end(AttemptStatus.CANCELLED)
                return
            take_result(self._call, result, self.request.error)
            if self.request.error is not None:
                self.request.attempt.fail(self.request.error)

    def _failed(self, call: CallScope, error: BaseException, code: str | None) -> None:
        attempt = self.request.attempt
        attempt.fail(error)
        call.fail(error, final=True)
        if self.answered:
            attempt.sent(Known.YES)
        elif self._closed or type(error).__name__ in _CLOSED or self._handled(error) in _CLOSED:
            attempt.sent(Known.NO)
        if code is not None:
            kind = type(error).__name__
            facts: dict[str, Any] = {"error_class": ErrorClass.UNCLASSIFIED, "error_type": kind, "vendor_code": code}
            timed_out = self._handled(error) == "TimeoutError"
            attempt.end(AttemptStatus.TIMEOUT if timed_out else AttemptStatus.ERROR, **facts)
            call.result(None, status=ObservationStatus.TIMEOUT if timed_out else ObservationStatus.RAISED, **facts)

    def _handled(self, error: BaseException) -> str:
        """The type of what the package itself handled when it raised this."""
        return "" if error.__context__ is self._before else type(error.__context__).__name__


def _code(error: BaseException) -> str | None:
    """The code of a JSON-RPC error, which the package also raises for a time that ran out and a closed connection."""
    if any(each.__name__ in {"McpError", "MCPError"} for each in type(error).__mro__):
        return str(cast("Any", error).error.code)
    return None


_current: ContextVar[_Trial | None] = ContextVar("toolwitness_mcp", default=None)
"""The request that the session handles here."""
