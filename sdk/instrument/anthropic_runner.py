"""Anthropic's beta tool runner: what becomes of each call that it handles.

It turns what a tool raises into text for the model, and checks arguments in the same method that runs the tool's function. So
the tool that it is about to run has a stand-in: its function begins the attempt, and what it raises is seen before it is text.
"""

from __future__ import annotations

import functools
import inspect
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import ModuleType, TracebackType
from typing import Any, cast

import pydantic
import wrapt

from toolwitness.sdk import setup
from toolwitness.sdk.calls import AttemptScope, CallScope, timed_out
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.observed import said, said_as_error
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.instrument.stainless import field
from toolwitness.sdk.instrument.tools import call_of, refuse_arguments
from toolwitness.sdk.scope import NO_SCOPE


def instrument(patches: Patches) -> None:
    """Wrap what handles calls in the runner and in toolsets."""
    patches.when_imported("anthropic.lib.tools._beta_runner", lambda module: _runner(patches, module))
    patches.when_imported("anthropic.lib.tools._toolsets._runnable", lambda module: _toolsets(patches, module))


def _runner(patches: Patches, module: ModuleType) -> None:
    base = module.BaseToolRunner
    patches.method(module.BaseSyncToolRunner, "_run_tool", _run)
    patches.method(module.BaseAsyncToolRunner, "_run_tool", _arun)
    patches.method(base, "append_messages", _appended)
    if hasattr(base, "_append_tool_results"):  # in 2.0 the loop itself used the public method
        patches.method(base, "_append_tool_results", _appended)


def _toolsets(patches: Patches, module: ModuleType) -> None:
    patches.method(module.BetaRunnableToolset, "tool_result", _member)
    patches.method(module.BetaAsyncRunnableToolset, "tool_result", _amember)


def content_of(content: Any) -> Any:
    """What a tool result says: a single text as such, else its blocks."""
    if type(content) is list and len(content) == 1 and field(content[0], "type") == "text":
        return field(content[0], "text")
    return content


class _Running:
    """One call while its tool is run; inside `with`, the one that the tool's function is run for."""

    __slots__ = ("_token", "call", "error", "function")

    def __init__(self, call: CallScope) -> None:
        self.call = call
        self.function: Any = None
        self.error: BaseException | None = None
        self._token: Token[_Running] | None = None

    def __enter__(self) -> None:
        """Let the function find this call."""
        self._token = _running.set(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Keep what is raised before it becomes text; it goes on as it is."""
        if self._token is not None:
            _running.reset(self._token)
        self.error = error

    @contextmanager
    def passed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
        """The arguments passed, and the function runs."""
        self.call.gate("input_validation", "allow", contract="structure")
        if not args:
            self.call.executed(kwargs)
        with self.call.attempt(unclaimed=True):
            yield self.function

    def told(self, result: Any) -> None:
        """The model is told this; where something was raised, in words of the runner's."""
        with reading_guard:
            content, error = content_of(result["content"]), self.error
            if error is None:
                self.call.result(content, **said(content).facts())
            elif not self.call.begun and isinstance(error, ValueError | TypeError):
                refuse_arguments(self.call, error.__cause__)
            elif not self.call.answered:
                # Meant as an answer, it is one; raised while another error was handled, it proves nothing.
                own = type(error).__name__ == "ToolError" and error.__cause__ is None and error.__context__ is None
                status = "timeout" if timed_out(error) else "error" if own else "raised"
                self.call.result(content, status=status, error_class="unclassified", error_type=type(error).__name__)
        self.call.close()
        self.error = error = None  # its traceback holds frames that hold this object

    def raised(self, error: BaseException) -> None:
        """The runner ends by this."""
        self.call.fail(error)
        self.call.close()
        self.error = None


_running: ContextVar[_Running] = ContextVar("toolwitness_anthropic_runner")


# -- the runner ----------------------------------------------------------------------------------------------------


def _begin(stand_in: type[_Tool], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, _Running] | None:
    """What stands in for the tool, the block of its call, and the call."""
    with reading_guard:
        block = argument(args, kwargs, 1, "tool_use")
        running = _Running(call_of(block.name, block.input, id=block.id))
        return stand_in(argument(args, kwargs, 0, "tool"), running), block, running
    return None


def _run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    begun = _begin(_Tool, args, kwargs)
    if begun is None:
        return wrapped(*args, **kwargs)
    tool, block, running = begun
    try:
        result = wrapped(tool, block)
    except BaseException as error:
        running.raised(error)
        raise
    running.told(result)
    return result


async def _arun(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    begun = _begin(_AsyncTool, args, kwargs)
    if begun is None:
        return await wrapped(*args, **kwargs)
    tool, block, running = begun
    try:
        result = await wrapped(tool, block)
    except BaseException as error:
        running.raised(error)
        raise
    running.told(result)
    return result


def _appended(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Messages go to the history, where calls for which nothing ran are answered in words of the package's."""
    del instance
    with reading_guard:
        recorder = setup.active()
        contents = [field(message, "content") for message in args]
        for block in (block for content in contents if type(content) is list for block in content):
            call = None if recorder is None else recorder.proposals.find(field(block, "tool_use_id"))
            text = field(block, "content")
            worded = _REFUSED.fullmatch(text) if type(text) is str else None
            if call is not None and not call.begun and worded is not None:
                call.gate("catalog" if worded.lastgroup == "unknown_tool" else "dependency", "deny", reason=worded.lastgroup)
                call.close()
    return wrapped(*args, **kwargs)


_REFUSED = re.compile(
    r"(?P<unknown_tool>Error: (?:Tool '.*'|Toolset '.*' member '.*') not found)"
    r"|(?P<earlier_call_failed>Not executed: an earlier (?:computer )?action in this turn failed\.)",
    re.DOTALL,
)
"""What the model is told of a call for which nothing ran."""


# -- tools ---------------------------------------------------------------------------------------------------------


class _Tool(wrapt.ObjectProxy[Any]):
    """A tool in the runner's hands, for one call."""

    def __init__(self, tool: Any, running: _Running) -> None:
        super().__init__(tool)
        self._self_running = running
        self._self_checked = _checked(tool)
        if self._self_checked is not None:
            running.function = tool._func_with_validate.raw_function  # noqa: SLF001 -- what the package itself runs

    @property
    def _func_with_validate(self) -> Any:
        """What the package's own `call` runs."""
        return self._self_checked

    def call(self, given: object) -> Any:
        """Run the tool; one that brings a `call` of its own may check arguments where nobody sees it."""
        tool, running = self.__wrapped__, self._self_running
        with running:
            if self._self_checked is not None:
                return type(tool).call(self, given)
            with running.call.attempt(unclaimed=True):
                return tool.call(given)


class _AsyncTool(_Tool):
    """As `_Tool`."""

    async def call(self, given: object) -> Any:
        """As there."""
        tool, running = self.__wrapped__, self._self_running
        with running:
            if self._self_checked is not None:
                return await type(tool).call(self, given)
            with running.call.attempt(unclaimed=True):
                return await tool.call(given)


def _member_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> CallScope:
    with reading_guard:
        block = argument(args, kwargs, 0, "tool_use")
        return call_of(block.name, block.input, id=block.id)
    return cast("CallScope", NO_SCOPE)


def _member(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A member of a toolset, which checks its arguments by itself and makes text of what it raises."""
    del instance
    with _member_of(args, kwargs) as call, call.attempt(unclaimed=True) as attempt:
        result = wrapped(*args, **kwargs)
        _answered(call, attempt, result)
    return result


async def _amember(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As `_member`."""
    del instance
    with _member_of(args, kwargs) as call, call.attempt(unclaimed=True) as attempt:
        result = await wrapped(*args, **kwargs)
        _answered(call, attempt, result)
    return result


def _answered(call: CallScope, attempt: AttemptScope, result: Any) -> None:
    with reading_guard:
        content = content_of(result["content"])
        failed = result.get("is_error") is True
        if failed:
            attempt.end("error", error_class="unclassified")
        call.result(content, **(said_as_error(content) if failed else said(content)).facts())


_by_tool: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
"""What was made by `_checked`, since that takes pydantic a millisecond."""


def _checked(tool: Any) -> Any:
    """A tool's function behind the same validation, so that an attempt begins when that has passed; None for other tools."""
    with reading_guard:
        if type(tool).call.__module__ != "anthropic.lib.tools._beta_functions":
            return None
        found = _by_tool.get(tool)
        if found is None:
            made = _beginning(tool._func_with_validate.raw_function)  # noqa: SLF001 -- as above
            found = _by_tool[tool] = _validating(made)
        return found
    return None


def _validating(made: Callable[..., Any]) -> Any:
    """In a frame of its own, since pydantic keeps the variables of the one that asks."""
    return pydantic.validate_call(made)


def _beginning(function: Any) -> Callable[..., Any]:
    """A function with the parameters of this one that runs the current call's.

    It does not hold this one: a tool is often a method of the object that holds the tool.
    """

    def begin(*args: Any, **kwargs: Any) -> Any:
        with _running.get().passed(args, kwargs) as own:
            return own(*args, **kwargs)

    async def abegin(*args: Any, **kwargs: Any) -> Any:
        with _running.get().passed(args, kwargs) as own:
            return await own(*args, **kwargs)

    made: Any = abegin if inspect.iscoroutinefunction(function) else begin
    named = function.func if isinstance(function, functools.partial) else function
    made.__module__, made.__name__, made.__qualname__ = named.__module__, named.__name__, named.__qualname__
    made.__signature__ = signature = inspect.signature(function)
    made.__annotations__ = {
        name: each.annotation for name, each in signature.parameters.items() if each.annotation is not each.empty
    }
    return made  # type: ignore[no-any-return]  # one of the two functions above
