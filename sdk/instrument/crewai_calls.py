"""A tool call while crewai handles it, which decides in several places whether its tool runs, and may run it several times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

from toolwitness.sdk.calls import AttemptScope, CallScope, timed_out
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.observed import said
from toolwitness.sdk.instrument.tools import call_of, refuse_arguments

_REFUSALS = {
    "unknown_tool": "catalog",
    "usage_limit": "budget",
    "repeated_call": "policy",
    "blocked_by_hook": "policy",
}
"""Why crewai does not run a tool, and the gate that this is; `invalid_input` beside them."""
_WORDS = re.compile(
    r"(?P<unknown_tool>Tool not found\Z)"
    r"|(?P<blocked_by_hook>Tool execution blocked by hook\. Tool: )"
    r"|(?P<invalid_input>Error: Failed to parse tool arguments as JSON: )"
    r"|(?P<usage_limit>Tool '[^']*' has reached its (?:maximum )?usage limit .*cannot be used anymore\.\Z)"
)
"""What crewai tells the model then. Newer versions say so in an object as well."""
_NOTHING = object()


def handle(tool: str, arguments: Any, id: str | None = None) -> Handling | None:  # noqa: A002 -- the word that providers use
    """What crewai is about to do with a call; None where nothing is recorded.

    A call that has an `id` runs a tool of this very name; in the text format, a tool of a similar name is run as well.
    """
    call = call_of(tool, arguments, id=id)
    return Handling(call, arguments, None if id is None else tool) if isinstance(call, CallScope) else None


class Handling:
    """One call while the framework handles it; inside `with`, the one that a tool runs for."""

    __slots__ = (
        "_attempt",
        "_name",
        "_passed",
        "_token",
        "arguments",
        "cached",
        "call",
        "error",
        "over",
        "refusal",
        "trying",
        "value",
    )

    def __init__(self, call: CallScope, arguments: Any, name: str | None) -> None:
        self.call, self.arguments, self._name = call, arguments, name
        self.refusal: str | None = None
        self.cached: Any = _NOTHING
        self.value: Any = None
        self.error: BaseException | None = None
        self.over = False
        self._passed: dict[str, Any] | None = None
        self.trying = False  # whether a tool is asked to run now, so that what happens may be that tool's own doing
        self._attempt: AttemptScope | None = None
        self._token: Token[Handling | None] | None = None

    def __enter__(self) -> None:
        """Let tools, caches and hooks find this call."""
        self._token = current.set(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """No longer; an exception that leaves the framework goes on as it is."""
        if self._token is not None:
            current.reset(self._token)
        if error is not None:
            self._broken_off(error)

    # -- trying ----------------------------------------------------------------------------------------------------

    @property
    def known(self) -> bool:
        """Whether it is known already what became of the call."""
        return self.call.begun or self.refusal is not None or self.cached is not _NOTHING or self.error is not None

    def tries(self, tool: str) -> bool:
        """Whether this call is what a tool of that name is now asked to run for.

        Not so within another tool's run, nor where a hook runs a tool of its own. Of two tools of one name, the second is
        called by a number behind it.
        """
        return not self.trying and (self._name is None or self._name.startswith(tool))

    @contextmanager
    def attempting(self) -> Iterator[None]:
        """The framework asks a tool to run: it checks arguments and limits, and then its function runs."""
        self.trying = True
        try:
            yield
        except BaseException as error:
            if type(error).__name__ == "ToolUsageLimitExceededError":
                self.refusal = "usage_limit"
            if self._attempt is not None or not self.call.begun:
                self.error = error  # of the last time that its function ran, if it ever did
            self._end(error)
            raise
        else:
            self.error = None
            self._end(None)
        finally:
            self.trying = False

    def passed(self, arguments: dict[str, Any]) -> None:
        """The arguments passed."""
        if self.trying and self._attempt is None:
            self._passed = arguments

    def begin(self) -> None:
        """The function runs next."""
        with reading_guard:
            if not self.trying or self._attempt is not None:
                return
            if self._passed is not None:
                if not self.call.begun:
                    self.call.gate("input_validation", "allow", contract="structure")
                self.call.executed(self._passed)
            retried = None if self.error is None else type(self.error).__name__
            self._attempt = self.call.attempt(unclaimed=True, retry_reason=retried)
            self._attempt.enter()

    def _end(self, error: BaseException | None) -> None:
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            attempt.leave()
            if error is not None:
                attempt.fail(error)
            attempt.close()

    # -- the end ---------------------------------------------------------------------------------------------------

    def heard(self, text: Any) -> None:
        """What crewai makes of the call before hooks may change the words; they tell nothing where more is known."""
        worded = _WORDS.match(text) if type(text) is str and not self.known else None
        if worded is not None:
            self.refusal = worded.lastgroup

    def told(self, text: Any) -> None:
        """The model is told this, in words of the framework's where no tool answered."""
        if self.over:
            return
        self.over = True
        with reading_guard:
            self.heard(text)
            if self.call.begun:
                self._ran(text)
            elif self.refusal == "invalid_input":
                refuse_arguments(self.call, None, self.arguments)
            elif self.refusal is not None:
                self.call.gate(_REFUSALS[self.refusal], "deny", reason=self.refusal)
            elif self.cached is not _NOTHING:
                self.call.gate("idempotency", "skip", reason="cached")
                self.call.result(self.cached)
            elif self.error is not None:
                refuse_arguments(self.call, self.error.__cause__, self.arguments)
            else:  # a tool that brings a way of its own to run
                self.call.result(text, **said(text).facts())
        self.call.close()
        self._let_go()

    def _ran(self, text: Any) -> None:
        error, value = self.error, self.value
        if self.call.answered:  # the decorator has refused a placeholder
            return
        if error is not None:
            status = "timeout" if timed_out(error) else "raised"
            self.call.result(text, status=status, error_class="unclassified", error_type=type(error).__name__)
        elif type(value).__name__ == "ToolFailure":  # the tool's own word
            self.call.result(text, status="error", error_class="unclassified", vendor_code=value.code)
        else:
            self.call.result(value)

    def _broken_off(self, error: BaseException) -> None:
        """The run ends by this: a hook that aborts it, a policy that makes an end of it when a tool fails, the application."""
        name = type(error).__name__
        with reading_guard:
            if name == "ToolExecutionFailedError":
                self.told(error.record.failure.message)  # type: ignore[attr-defined]  # crewai's own exception
            elif name == "HookAborted":
                self.refusal = self.refusal if self.known else "blocked_by_hook"
                self.told(None)
            elif not self.over:
                self.over = True
                self.call.fail(error)
        self.call.close()
        self._let_go()

    def _let_go(self) -> None:
        """Keep nothing of the application's alive; an exception holds frames that hold this object."""
        self.error = self.value = self.arguments = self._passed = None
        self.cached = _NOTHING


current: ContextVar[Handling | None] = ContextVar("toolwitness_crewai", default=None)
"""The call that is handled; tools that it runs in other threads of the framework's find it, since those copy the context."""
