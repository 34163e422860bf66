"""A tool call while LangChain or LangGraph handles it: what tools, tool nodes and approvals share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

from toolwitness.sdk.calls import AttemptScope, CallScope, timed_out
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.tools import call_of, refuse_arguments


def call_of_message(tool_call: Any) -> CallScope:
    """The logical call that an entry of a message's `tool_calls` is."""
    return call_of(tool_call["name"], tool_call["args"], id=tool_call["id"])


class Handling:
    """One tool call while the framework handles it, which checks arguments, runs tools and words errors in different places.

    Inside `with` it is the one that tools run for; what is raised there ends the call.
    """

    __slots__ = ("_error", "_token", "call", "over")

    def __init__(self, call: CallScope) -> None:
        self.call = call
        self._error: BaseException | None = None
        self._token: Token[Handling | None] | None = None
        self.over = False

    def __enter__(self) -> None:
        """Let tools find this call."""
        self._token = current.set(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """No longer; the exception goes on as it is."""
        if self._token is not None:
            current.reset(self._token)
        if error is not None:
            self._raised(error)

    def passed(self) -> None:
        """The framework's validation let the arguments pass."""
        self.call.gate("input_validation", "allow", contract="structure")

    def refused(self, error: Exception) -> None:
        """It did not."""
        self.over = True
        refuse_arguments(self.call, error)

    @contextmanager
    def attempt(self) -> Iterator[AttemptScope]:
        """The tool's function runs: a physical try, of which there may be several; what it raises is worded later."""
        retried = None if self._error is None else type(self._error).__name__
        self._error = None
        with self.call.attempt(unclaimed=True, retry_reason=retried) as attempt:
            try:
                yield attempt
            except BaseException as error:
                self._error = error
                if interrupts(error):
                    attempt.end("cancelled")
                raise

    def _raised(self, error: BaseException) -> None:
        """The framework raises; where it interrupts itself to ask somebody, the call waits."""
        if self.over:
            return
        self.over = True
        with reading_guard:
            if interrupts(error):
                if not self.call.asked:
                    self.call.gate("confirmation", "needs_approval")
                return
            if isinstance(error, PermissionError) and not self.call.begun:
                self.call.gate("authorization", "deny", reason="permission_error")
            else:
                self.call.fail(error, final=True)
        self.call.close()

    def returned(self, result: Any) -> None:
        """The framework gives the model this: a tool message, which may word an error, or what the tool itself gave."""
        if self.over:
            return
        self.over = True
        with reading_guard:
            value, failed = (result.content, words_error(result)) if is_message(result) else (result, False)
            if self.call.asked:  # the tool itself had asked somebody, and has its answer
                self.call.gate("confirmation", "allow")
            if failed and self._error is not None:
                status = "timeout" if timed_out(self._error) else "raised"
                kind = type(self._error).__name__
                self.call.result(value, status=status, error_class="unclassified", error_type=kind)
            elif failed:
                self.call.result(value, status="error", error_class="unclassified")
            else:
                self.call.result(value)
        self.call.close()


current: ContextVar[Handling | None] = ContextVar("toolwitness_langchain", default=None)
"""The call that a tool runs for, shared by everything the framework does for it."""


def is_message(result: Any) -> bool:
    """Whether the framework made a tool message of what a tool gave or raised."""
    return type(result).__name__ == "ToolMessage"


def words_error(result: Any) -> bool:
    """Whether it is one that words an error."""
    return is_message(result) and result.status == "error"


def interrupts(error: BaseException) -> bool:
    """Whether this is LangGraph's way of stopping a graph to ask somebody, which is no failure."""
    return any(each.__name__ == "GraphBubbleUp" for each in type(error).__mro__)
