"""A tool that a framework is about to run, refuse or hold back: the logical call that it does so for, and the agent's run."""

from __future__ import annotations

import json
from typing import Any, cast

from toolwitness.redaction import project
from toolwitness.sdk import context, setup
from toolwitness.sdk.calls import AttemptScope, CallScope
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.scope import NO_SCOPE
from toolwitness.sdk.scopes import RunScope


def agent_run(agent: str | None = None, *, session: str | None = None, **facts: Any) -> RunScope:
    """Begin the run of an agent that a framework starts; inside a run, a part of it.

    To be used as `with agent_run("desk"):`. `session` is the framework's conversation or thread. Where nothing is recorded, a
    scope that does nothing.
    """
    recorder = setup.active()
    if recorder is not None:
        with reading_guard:
            return recorder.run(agent=agent, session=session, **facts)
    return cast("RunScope", NO_SCOPE)


def call_of(tool: str, arguments: Any, *, id: str | None = None, server: str = "") -> CallScope:  # noqa: A002 -- the word that providers use
    """The logical call that a framework handles: the one that the model was seen to propose, else a new one.

    It is known by the provider's `id`; without one, by tool and arguments. One that an earlier run left pending goes on.
    The caller ends it by `close()`. Where nothing is recorded, a scope that does nothing.
    """
    recorder = setup.active()
    if recorder is not None:
        with reading_guard:
            copy = project(arguments)
            proposals = recorder.proposals
            found = proposals.find(id) if id is not None else proposals.of_tool(tool, copy.value, context.latest.get())
            if found is not None:
                return found
            pending = proposals.take_pending(id)
            if pending is not None:
                return CallScope(pending.run, pending.tool, copy, continues=pending, awaited=True, id=id)
            return recorder.call(tool, copy, server=server, awaited=True, id=id)
    return cast("CallScope", NO_SCOPE)


def refuse_arguments(call: CallScope, error: Any, arguments: Any = None) -> None:
    """Record that a framework refused a call's arguments, and end it.

    `error` is pydantic's ValidationError, of which places and keywords are kept and no values; another one tells nothing but
    that they were refused. `arguments` are the proposed ones, to tell text that is no JSON from data that does not fit.
    """
    with reading_guard:
        problems = _problems(error)
        if any(kind == "json_invalid" for _, kind in problems) or _unparsable(arguments):
            call.gate("parse", "deny", reason="invalid_json", contract="structure")
        else:
            call.gate(
                "input_validation",
                "deny",
                reason="invalid_arguments",
                contract="structure",
                pointers=[place for place, _ in problems],
                keywords=[kind for _, kind in problems],
            )
    call.close()


def _problems(error: Any) -> list[tuple[str, str]]:
    """JSON pointer and kind of each problem that pydantic found; none for another error."""
    if not hasattr(type(error), "errors"):
        return []
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [("".join(f"/{part}" for part in each["loc"]), each["type"]) for each in found]


def _unparsable(arguments: Any) -> bool:
    if type(arguments) is not str:
        return False
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return True
    return False


class Handling:
    """One tool call while a framework handles it that checks arguments, runs functions and words errors in different places."""

    __slots__ = ("_error", "call", "over")

    def __init__(self, call: CallScope) -> None:
        self.call = call
        self._error: BaseException | None = None
        self.over = False

    def passed(self) -> None:
        """The framework's validation let the arguments pass."""
        self.call.gate("input_validation", "allow", contract="structure")

    def refused(self, error: Exception) -> None:
        """It did not."""
        self.over = True
        refuse_arguments(self.call, error)

    def attempt(self) -> AttemptScope:
        """The tool's function is about to run: a physical try, of which there may be several."""
        retried = None if self._error is None else type(self._error).__name__
        self._error = None
        return self.call.attempt(unclaimed=True, retry_reason=retried)

    def failed(self, attempt: AttemptScope, error: BaseException) -> None:
        """The tool's function raised; what the framework makes of that is still to come."""
        self._error = error
        if interrupts(error):
            attempt.end("cancelled")

    def raised(self, error: BaseException) -> None:
        """The framework raises; where it interrupts itself to ask somebody, the call waits."""
        if self.over:
            return
        self.over = True
        with reading_guard:
            if interrupts(error):
                if not self.call.asked:
                    self.call.gate("confirmation", "needs_approval")
                return
            self.call.fail(error, final=True)
        self.call.close()

    def returned(self, value: Any, *, failed: bool) -> None:
        """The framework gives the model this; `failed` where it words an error."""
        if self.over:
            return
        self.over = True
        with reading_guard:
            if self.call.asked:  # the tool itself had asked somebody, and has its answer
                self.call.gate("confirmation", "allow")
            if failed and self._error is not None:
                status = "timeout" if isinstance(self._error, TimeoutError) else "raised"
                kind = type(self._error).__name__
                self.call.result(value, status=status, error_class="unclassified", error_type=kind)
            elif failed:
                self.call.result(value, status="error", error_class="unclassified")
            else:
                self.call.result(value)
        self.call.close()


def interrupts(error: BaseException) -> bool:
    """Whether this is LangGraph's way of stopping a graph to ask somebody, which is no failure."""
    return any(each.__name__ == "GraphBubbleUp" for each in type(error).__mro__)
