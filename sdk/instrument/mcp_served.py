"""A `tools/call` while this process serves it: a call with one attempt, in a run of its own.

Where the client is in this process too, its attempt is the one, and the server only adds what the client cannot see.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import AttemptStatus
from toolwitness.redaction import Projection, project
from toolwitness.sdk import context, setup
from toolwitness.sdk.calls import AttemptScope, CallScope
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.mcp_messages import answers, take_result, value
from toolwitness.sdk.instrument.mcp_waiting import Request, take
from toolwitness.sdk.instrument.tools import refuse_arguments
from toolwitness.sdk.recorder import Recorder
from toolwitness.sdk.scope import Scope
from toolwitness.sdk.scopes import RunScope


class Served:
    """One request; inside `with` it is what runs for it, found by `current`. The caller tells what came of it.

    `request` is the one of a client in this process, `call` ours. Without both it stands inside the attempt of the same tool.
    """

    __slots__ = ("_attempt", "_call", "_entered", "_over", "_request", "_token", "begun", "error")

    def __init__(self, *, request: Request | None = None, call: CallScope | None = None) -> None:
        self._request, self._call = request, call
        self._attempt: AttemptScope | None = None
        self._entered: Token[Scope | None] | None = None
        self._token: Token[Served | None] | None = None
        self._over = self.begun = False
        self.error: BaseException | None = None

    def unknown(self) -> None:
        """The server has no such tool."""
        if self._call is not None:
            self._over = True
            self._call.gate("catalog", "deny", reason="unknown_tool")
            self._call.close()

    def begin(self, *, checked: bool = True) -> None:
        """The tool's function runs next, in this context; `checked` says whether its arguments passed a validation."""
        self.begun = True
        if self._request is not None:
            self._entered = context.enter(self._request.attempt)
        if self._call is not None:
            if checked:
                self._call.gate("input_validation", "allow", contract="structure")
            self._attempt = self._call.attempt(unclaimed=True)
            self._attempt.enter()

    def __enter__(self) -> None:
        """Let the function find this."""
        self._token = current.set(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """It is over; the exception goes on as it is."""
        context.leave(self._token)
        context.leave(self._entered)
        with reading_guard:
            if error is not None:
                self._raised(error)
        if self._attempt is not None:
            self._attempt.leave()
            self._attempt.close()
        if self._call is not None:
            self._call.close()

    def _raised(self, error: BaseException) -> None:
        """The server raises this, or makes a text of it; the function itself may have raised its cause."""
        own = self._own(error)
        if self._request is not None and self.begun:
            self._request.error = own
        if self._call is None or self._over:
            return
        if self._attempt is not None:
            self._attempt.fail(own)
            self._call.fail(own)
        elif type(error.__cause__).__name__ == "ValidationError":
            refuse_arguments(self._call, error.__cause__)
        else:
            self._call.fail(own)

    def _own(self, error: BaseException) -> BaseException:
        """What the function raised itself, out of what the server made of it; one that ran out of time was only cancelled."""
        seen = None if isinstance(self.error, asyncio.CancelledError) else self.error
        own = seen or error
        worded = type(own).__name__ in (_MARKS if seen is not None else _WORDS)
        return own.__cause__ if worded and own.__cause__ is not None else own

    def returned(self, result: Any) -> None:
        """The server answers by this."""
        with reading_guard:
            if self._call is None:
                return
            if type(result).__name__ in _ASKS:
                if self._attempt is not None:
                    self._attempt.end(AttemptStatus.CANCELLED)
            elif answers(result):
                take_result(self._call, result)
            else:
                self._call.result(_said(result))


_MARKS = frozenset({"_ToolBodyError"})
"""By this fastmcp tells a function's errors from its own."""
_WORDS = frozenset({"ToolError", "UnexpectedToolError"}) | _MARKS
"""What servers make of what a function raised, before it becomes text."""
_BLOCKS = ("Content", "EmbeddedResource", "ResourceLink")
"""How the types of blocks of content are called."""
_ASKS = frozenset({"InputRequiredResult", "InputRequiredToolResult"})
"""A server asks for input instead of answering."""
current: ContextVar[Served | None] = ContextVar("toolwitness_mcp_served", default=None)
"""The request that is served here."""


@contextmanager
def function_of(served: Served | None) -> Iterator[None]:
    """Where the function of a request runs; does nothing for another function, or outside of any request."""
    if served is None or served.begun:
        yield
        return
    served.begin()
    try:
        yield
    except BaseException as error:
        served.error = error
        raise


def _said(result: Any) -> Any:
    """A result in the shapes that functions and servers may give it: blocks, structured content, both or anything else."""
    if type(result) is tuple and len(result) == 2 and type(result[0]) is list:  # noqa: PLR2004 -- both
        return value(*result)
    if type(result) is list and all(type(block).__name__.endswith(_BLOCKS) for block in result):
        return value(result, None)
    return result


def serve(tool: str, arguments: Mapping[str, Any], *, server: str, definition: ToolDefinition | None = None) -> Served:
    """Begin to serve a request; its tool's function does not run yet."""
    recorder, scope = setup.active(), context.current.get()
    if recorder is None:
        return Served()
    copy = project(arguments)
    request = take(tool, copy.value)
    if request is not None:
        return Served(request=request)
    inside = isinstance(scope, Scope) and scope.recorder is recorder and not scope.over
    if inside and isinstance(scope, AttemptScope) and scope.call.tool == tool:
        return Served()
    found = None if inside else recorder.proposals.of_tool(tool, copy.value, context.latest.get())
    return Served(call=found or _call(recorder, tool, copy, server, definition, inside=inside))


def _call(
    recorder: Recorder, tool: str, copy: Projection, server: str, definition: ToolDefinition | None, *, inside: bool
) -> CallScope:
    """A call of its own. Outside of any scope its run is its own too, although a client's trace may go on in it."""
    if inside:
        return recorder.call(tool, copy, server=server, definition=definition)
    trace_id = context.application_trace_id() or recorder.ids.trace_id()
    run = RunScope(recorder, trace_id=trace_id, id=recorder.ids.trace_id(), inferred=True)
    return CallScope(run, tool, copy, server=server, definition=definition)
