"""openai-agents: runs, and what becomes of each function tool call: refused, held back for approval, executed.

Model steps are recorded where the model's client is asked. The framework turns what a tool raises into text for the model, and
its own spans look executed where nothing was; so an attempt begins only where the tool's function is about to run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from toolwitness.sdk.calls import CALLED_OFF, AttemptScope, CallScope, timed_out
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.instrument.tools import agent_run, call_of, refuse_arguments, stop_proposed
from toolwitness.sdk.scopes import RunScope


class _Running:
    """One tool call while the framework handles it; shared by the tasks that it makes for it."""

    __slots__ = ("arguments", "attempt", "call", "error", "invoking")

    def __init__(self, call: CallScope, arguments: str) -> None:
        self.call, self.arguments = call, arguments
        self.attempt: AttemptScope | None = None
        self.error: Exception | None = None
        self.invoking = False

    def begin(self, *, checked: bool) -> None:
        """The tool's function is about to run; `checked` tells whether its arguments passed the framework's validation."""
        if self.attempt is None:
            if checked:
                self.call.gate("input_validation", "allow", contract="structure")
            self.attempt = self.call.attempt(unclaimed=True)
            self.attempt.enter()

    def end(self, error: BaseException | None) -> None:
        """It has returned or raised, or was never reached."""
        if self.attempt is not None and not self.attempt.ended:
            self.attempt.leave()
            if error is not None:
                self.attempt.fail(error)
            self.attempt.close()


_STOPS = {"MaxTurnsExceeded": ("budget", "max_turns"), "InputGuardrailTripwireTriggered": ("policy", "input_guardrail")}
"""What ends a run before calls that were proposed in it, by the framework's exception."""
_CHECKS = "agents.tool"
"""The module of the implementation that checks its arguments."""
_running: ContextVar[_Running | None] = ContextVar("toolwitness_openai_agents", default=None)


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap runs, the executor of function tools and what invokes their functions.

    A package of the application may be called `agents` too; it has no such runner.
    """
    if not hasattr(module, "FunctionTool"):
        return
    patches.when_imported("agents.run", lambda found: _run(patches, found))
    patches.when_imported("agents.tool", lambda found: _tool(patches, found))
    patches.when_imported("agents.function_schema", lambda found: _schema(patches, found))
    patches.when_imported("agents.run_internal.tool_execution", lambda found: _executor(patches, found))


def _run(patches: Patches, module: ModuleType) -> None:
    patches.methods(module.AgentRunner, {"run": _awaited, "run_streamed": _streamed})


def _tool(patches: Patches, module: ModuleType) -> None:
    def invoker(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        del instance
        if "invoke_tool_impl" in kwargs:
            return wrapped(*args, **{**kwargs, "invoke_tool_impl": _watched(kwargs["invoke_tool_impl"])})
        return wrapped(_watched(args[0]), *args[1:], **kwargs)

    patches.method(module._FailureHandlingFunctionToolInvoker, "__init__", invoker)  # noqa: SLF001 -- the only place that sees what a tool raises before it becomes text


def _schema(patches: Patches, module: ModuleType) -> None:
    patches.method(module.FuncSchema, "to_call_args", _validated)


def _executor(patches: Patches, module: ModuleType) -> None:
    executor = module._FunctionToolBatchExecutor  # noqa: SLF001 -- the framework has no public name for what runs a call
    patches.methods(
        executor,
        {
            "_run_single_tool": _handle,
            "_maybe_execute_tool_approval": _approve,
            "_invoke_tool_and_run_post_invoke": _invoke,
        },
    )


# -- runs ----------------------------------------------------------------------------------------------------------


def _begin_run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunScope | None:
    with reading_guard:
        agent = argument(args, kwargs, 0, "starting_agent")
        session = getattr(kwargs.get("session"), "session_id", None) or kwargs.get("conversation_id")
        return agent_run(getattr(agent, "name", None), session=session)
    return None


async def _awaited(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    run = _begin_run(args, kwargs)
    if run is None:
        return await wrapped(*args, **kwargs)
    with run:
        try:
            return await wrapped(*args, **kwargs)
        except Exception as error:
            _stopped(run, error)
            raise


def _stopped(run: RunScope, error: Exception) -> None:
    with reading_guard:
        _unknown_tools(run, error)
        if type(error).__name__ in _STOPS:
            stop_proposed(run, *_STOPS[type(error).__name__])


def _unknown_tools(run: RunScope, error: Exception) -> None:
    """The framework ends the run where the model calls a tool that the agent does not have."""
    if type(error).__name__ == "ModelBehaviorError":
        for call in list(run.open_calls.values()):
            if error.args and f"Tool {call.tool} not found in agent" in error.args[0]:
                call.gate("catalog", "deny", reason="unknown_tool")
                call.close()


def _streamed(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The run goes on in a task of its own, which inherits what is current here."""
    del instance
    run = _begin_run(args, kwargs)
    if run is None:
        return wrapped(*args, **kwargs)
    run.enter()
    try:
        streamed = wrapped(*args, **kwargs)
    except BaseException:
        run.leave()
        run.close()
        raise
    run.leave()
    with reading_guard:
        streamed.run_loop_task.add_done_callback(functools.partial(_over, run))
    return streamed


def _over(run: RunScope, task: Any) -> None:
    with reading_guard:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            _stopped(run, error)
            run.finish("failure")
    run.close()


# -- calls ---------------------------------------------------------------------------------------------------------


async def _handle(wrapped: Callable[..., Any], executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    running: _Running | None = None
    with reading_guard:
        tool_call = kwargs["tool_call"]
        call = call_of(kwargs["func_tool"].name, tool_call.arguments, id=tool_call.call_id)
        running = _Running(call, tool_call.arguments)
    if running is None:
        return await wrapped(*args, **kwargs)
    token = _running.set(running)
    try:
        result = await wrapped(*args, **kwargs)
    except BaseException as error:
        with reading_guard:
            _raised(running, error)
        raise
    finally:
        _running.reset(token)
    with reading_guard:
        _returned(running, executor, kwargs, result)
    return result


def _raised(running: _Running, error: BaseException) -> None:
    """The run ends by this: a guardrail, or what the tool raised where nothing turns it into text."""
    call, name = running.call, type(error).__name__
    if name == "ToolInputGuardrailTripwireTriggered":
        call.gate("policy", "deny", reason="tool_input_guardrail")
    elif name == "ToolOutputGuardrailTripwireTriggered":
        call.gate("output_validation", "deny", reason="tool_output_guardrail")
    elif running.attempt is None and running.error is not None:
        refuse_arguments(call, running.error.__cause__, running.arguments)
    elif running.attempt is None and isinstance(error, Exception):
        call.gate("policy", "deny", reason="hook")  # all else that may raise before the tool is invoked
    elif running.attempt is None and isinstance(error, CALLED_OFF):
        call.cancel()  # every invocation of its function would have been an attempt
    else:
        call.fail(running.error or error)
    call.close()


def _returned(running: _Running, executor: Any, kwargs: dict[str, Any], result: Any) -> None:
    call = running.call
    if call.held or call.closed:  # asked for approval, or refused
        return
    if running.error is not None and running.attempt is None:
        refuse_arguments(call, running.error.__cause__, running.arguments)
    elif running.error is not None:
        # The framework told the model in words of its own; the tool did not answer.
        status = "timeout" if timed_out(running.error) else "raised"
        call.result(result, status=status, error_class="unclassified", error_type=type(running.error).__name__)
    elif id(kwargs["task_state"].tool_run) in executor.schema_bypassed_tool_runs:
        # The result is the framework's own words.
        if running.attempt is None:
            call.gate("policy", "deny", reason="tool_input_guardrail")
        else:
            call.result(result, status="raised", error_class="unclassified")
    else:
        call.result(result)
    call.close()
    running.error = None  # its traceback holds frames that hold this object


async def _approve(wrapped: Callable[..., Any], executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    running = _running.get()
    checked: int | None = None
    with reading_guard:
        checked = len(executor.tool_input_guardrail_results)
    answer = await wrapped(*args, **kwargs)
    with reading_guard:
        if running is not None:
            guarded = len(executor.tool_input_guardrail_results) != checked
            _approved(running, answer, guarded=guarded)
    return answer


def _approved(running: _Running, answer: Any, *, guarded: bool) -> None:
    call = running.call
    if answer is None:
        if call.held:
            call.gate("confirmation", "allow")
    elif type(answer.run_item).__name__ == "ToolApprovalItem":
        call.gate("confirmation", "needs_approval")
    else:
        kind, reason = ("policy", "tool_input_guardrail") if guarded else ("confirmation", "rejected")
        call.gate(kind, "deny", reason=reason)
        call.close()


async def _invoke(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The tool is invoked; one of the framework's own making checks its arguments first, if that was not done before."""
    del instance
    running = _running.get()
    with reading_guard:
        if running is not None:
            running.invoking = True
            implementation = getattr(kwargs["func_tool"].on_invoke_tool, "_invoke_tool_impl", None)
            checks = getattr(implementation, "__module__", None) == _CHECKS
            prepared = getattr(kwargs["tool_context"], "_function_tool_arguments", None) is not None
            if prepared or not checks:
                running.begin(checked=prepared)
    try:
        result = await wrapped(*args, **kwargs)
    except BaseException as error:
        with reading_guard:
            if running is not None:
                running.end(error)
        raise
    with reading_guard:
        if running is not None:
            running.end(running.error)
    return result


def _watched(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """What invokes a tool's function, with an eye on what it raises before that becomes text."""

    @functools.wraps(implementation)
    async def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            return await implementation(*args, **kwargs)
        except Exception as error:
            running = _running.get()
            if running is not None:
                running.error = error
            raise

    return watched


def _validated(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments passed; in a tool's own invocation its function comes next."""
    del instance
    prepared = wrapped(*args, **kwargs)
    running = _running.get()
    with reading_guard:
        if running is not None and running.invoking:
            running.begin(checked=True)
    return prepared
