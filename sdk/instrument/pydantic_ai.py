"""pydantic-ai: runs, and what becomes of each tool call: validated, refused, held back for approval, executed.

Model steps are recorded where the model's client is asked. The provider's call ids are the framework's own, so a call that a
client saw proposed and the one that is handled here are one.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any

import wrapt

from toolwitness.sdk.calls import CallScope
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.instrument.tools import agent_run, call_of, refuse_arguments, stop_proposed
from toolwitness.sdk.scopes import RunScope

_INVALID_JSON = "INVALID_JSON"
"""Where the framework puts arguments that are no JSON."""


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap runs and the tool manager."""
    patches.method(module.Agent, "iter", _iter)
    patches.when_imported("pydantic_ai.tool_manager", lambda found: _tool_manager(patches, found))
    patches.when_imported("pydantic_ai._agent_graph", lambda found: _graph(patches, found))


def _tool_manager(patches: Patches, module: ModuleType) -> None:
    patches.method(module.ToolManager, "validate_tool_call", _validate)
    patches.method(module.ToolManager, "_make_validation_failure", _fail)
    patches.method(module.ToolManager, "_raw_execute", _execute)


def _graph(patches: Patches, module: ModuleType) -> None:
    patches.method(module.UserPromptNode, "_handle_deferred_tool_results", _answers)


def _iter(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    entered = wrapped(*args, **kwargs)
    with reading_guard:
        return _InRun(entered, agent_run(instance.name, session=kwargs.get("conversation_id")))
    return entered


class _InRun(wrapt.ObjectProxy[Any]):
    """The context of an agent's run, inside a run of ours."""

    def __init__(self, entered: Any, run: RunScope) -> None:
        super().__init__(entered)
        self._self_run = run

    async def __aenter__(self) -> Any:
        """Begin both."""
        self._self_run.__enter__()
        try:
            return await self.__wrapped__.__aenter__()
        except BaseException as error:
            self._self_run.__exit__(type(error), error, error.__traceback__)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        """End both; only an error that leaves the framework is the run's."""
        try:
            swallowed = await self.__wrapped__.__aexit__(kind, error, trace)
        except BaseException as raised:
            self._end(type(raised), raised, raised.__traceback__)
            raise
        if swallowed:
            self._end(None, None, None)
        else:
            self._end(kind, error, trace)
        return swallowed

    def _end(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if type(error).__name__ == "UsageLimitExceeded":
            stop_proposed(self._self_run, "budget", "usage_limit")
        self._self_run.__exit__(kind, error, trace)


def _call(part: Any) -> CallScope:
    arguments = part.args
    if type(arguments) is dict and _INVALID_JSON in arguments:
        arguments = arguments[_INVALID_JSON]
    return call_of(part.tool_name, arguments, id=part.tool_call_id)


async def _validate(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    call: CallScope | None = None
    with reading_guard:
        call = _call(argument(args, kwargs, 0, "call"))
    try:
        validated = await wrapped(*args, **kwargs)
    except Exception as error:
        if call is not None:
            _refused(call, error)
        raise
    with reading_guard:
        if call is not None:
            _judged(call, validated, approved=kwargs.get("approved") is True)
    return validated


def _judged(call: CallScope, validated: Any, *, approved: bool) -> None:
    """Record what validation came to, and whether the call is held back."""
    if call.closed:
        return
    if not validated.args_valid:
        _refused(call, validated.validation_error)
        return
    call.gate("input_validation", "allow", contract="structure")
    kind = getattr(validated.tool.tool_def, "kind", None)
    deferral = getattr(validated, "deferral", None)  # older versions have none
    if approved:
        # Who approves may put other arguments in the place of those proposed.
        call.gate("confirmation", "allow", arguments=validated.call.args or {})
    elif kind == "unapproved" or type(deferral).__name__ == "ApprovalRequired":
        call.gate("confirmation", "needs_approval")
    elif kind == "external" or deferral is not None:
        call.hold()


def _fail(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The one place where the framework holds the call and what is wrong with it at once."""
    del instance
    with reading_guard:
        known = argument(args, kwargs, 2, "tool") is not None
        _refused(_call(argument(args, kwargs, 1, "call")), argument(args, kwargs, 4, "error"), known=known)
    return wrapped(*args, **kwargs)


def _refused(call: CallScope, error: BaseException, *, known: bool = True) -> None:
    """End a call that is not executed, by the framework's own exceptions, some of which have no public name.

    Older versions have no exception of its own for a tool that is not `known`.
    """
    name = type(error).__name__
    if not known or name in {"_UnknownTool", "_ToolUnavailable"}:
        call.gate("catalog", "deny", reason="unavailable_tool" if name == "_ToolUnavailable" else "unknown_tool")
        call.close()
    else:
        refuse_arguments(call, error)


async def _execute(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    call: CallScope | None = None
    with reading_guard:
        validated = argument(args, kwargs, 0, "validated")
        call = _call(validated.call)
        call.executed(validated.validated_args)
    if call is None:
        return await wrapped(*args, **kwargs)
    try:
        with call.attempt(unclaimed=True):
            result = await wrapped(*args, **kwargs)
    except BaseException as error:
        with reading_guard:
            _raised(call, error)
        raise
    with reading_guard:
        # A tool may wrap what it returns, to tell the model something else as well.
        call.result(getattr(result, "return_value", result) if type(result).__name__ == "ToolReturn" else result)
    call.close()
    return result


def _raised(call: CallScope, error: BaseException) -> None:
    """End the call by what its tool raised; one that asks for approval has only been held back."""
    name = type(error).__name__
    if name in {"ApprovalRequired", "CallDeferred"}:
        if name == "ApprovalRequired":
            call.gate("confirmation", "needs_approval")
        call.hold()
        return
    if name in {"ToolRetryError", "ModelRetry", "ToolFailedError", "ToolFailed"}:
        own = error.__cause__ if name in {"ToolRetryError", "ToolFailedError"} and error.__cause__ is not None else error
        # Said by the tool itself it is an answer; raised while it handled another error it proves nothing.
        status = "error" if own.__cause__ is None and own.__context__ is None else "raised"
        call.result(None, status=status, error_class="unclassified", error_type=type(own).__name__)
    else:
        call.fail(error)
    call.close()


def _answers(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    with reading_guard:
        answers = argument(args, kwargs, 0, "deferred_tool_results")
        history = argument(args, kwargs, 1, "messages")
        names = {part.tool_call_id: part for message in history[-2:] for part in getattr(message, "tool_calls", ())}
        for call_id, answer in answers.approvals.items():
            if (answer is False or type(answer).__name__ == "ToolDenied") and call_id in names:
                call = _call(names[call_id])
                call.gate("confirmation", "deny")
                call.close()
    return wrapped(*args, **kwargs)
