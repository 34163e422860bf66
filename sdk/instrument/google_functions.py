"""The functions that Google's client runs by itself: what it refuses, what it calls, and what is raised then."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from types import FunctionType, MethodType, ModuleType, TracebackType
from typing import Any

from toolwitness.model.enums import AttemptStatus, Known
from toolwitness.sdk.calls import AttemptScope, CallScope
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.instrument.tools import call_of, refuse_arguments
from toolwitness.sdk.wrapped import WrappedFunction


def instrument_functions(patches: Patches, module: ModuleType) -> None:
    """No method of a class stands between the model's answer and the application's function; see ADR 0018."""
    patches.methods(
        module,
        {
            "get_function_response_parts": _respond,
            "get_function_response_parts_async": _arespond,
            "invoke_function_from_dict_args": _invoke,
            "invoke_function_from_dict_args_async": _ainvoke,
        },
    )


class _Running:
    """A function that the client is about to run. `function` stands in for it: the attempt begins where it is called."""

    def __init__(self, function: Any, arguments: Any) -> None:
        self.call: CallScope = call_of(function.__name__, arguments)
        self._given = function
        self._attempt: AttemptScope | None = None
        self.arguments = arguments
        self.function = WrappedFunction(function, self._arun if iscoroutinefunction(function) else self._run)

    def _run(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        del instance
        self.call.executed(kwargs)
        with self:
            result = wrapped(*args, **kwargs)
        self.call.result(result)
        return result

    async def _arun(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        del instance
        self.call.executed(kwargs)
        with self:
            result = await wrapped(*args, **kwargs)
        self.call.result(result)
        return result

    def __enter__(self) -> None:
        """Begin the attempt: the client has converted the arguments, so they fit its types."""
        self.call.gate("input_validation", "allow", contract="structure")
        self._attempt = self.call.attempt(unclaimed=True)
        self._attempt.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End it; the client words for the model what was raised."""
        if self._attempt is None:
            return
        plain = type(self._given) in {FunctionType, MethodType}
        if kind is TypeError and plain and trace is not None and trace.tb_next is None:
            # Raised by the call itself: the arguments do not fit the signature, and the body never ran.
            self._attempt.end(AttemptStatus.ERROR, sent=Known.NO, effect_ruled_out=True, error_type="TypeError")
        self._attempt.__exit__(kind, error, trace)
        if error is not None:
            self.call.fail(error)

    def over(self, error: BaseException | None = None) -> None:
        """The client is done with it; where the function was not even called, its arguments could not be converted."""
        with reading_guard:
            if error is not None and self._attempt is None:
                refuse_arguments(self.call, error.__cause__)
        self.call.close()


def _running(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Running | None:
    with reading_guard:
        return _Running(argument(args, kwargs, 1, "function_to_invoke"), argument(args, kwargs, 0, "args"))
    return None


def _invoke(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    running = _running(args, kwargs)
    if running is None:
        return wrapped(*args, **kwargs)
    try:
        result = wrapped(running.arguments, running.function)
    except BaseException as error:
        running.over(error)
        raise
    running.over()
    return result


async def _ainvoke(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    running = _running(args, kwargs)
    if running is None:
        return await wrapped(*args, **kwargs)
    try:
        result = await wrapped(running.arguments, running.function)
    except BaseException as error:
        running.over(error)
        raise
    running.over()
    return result


def _respond(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    try:
        return wrapped(*args, **kwargs)
    except KeyError:
        _unknown(args, kwargs)
        raise


async def _arespond(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    try:
        return await wrapped(*args, **kwargs)
    except KeyError:
        _unknown(args, kwargs)
        raise


def _unknown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The client ends by a KeyError where the model calls a function that it was not given."""
    with reading_guard:
        known = argument(args, kwargs, 1, "function_map")
        for part in argument(args, kwargs, 0, "response").candidates[0].content.parts:
            called = part.function_call
            if called is not None and called.name not in known:
                call = call_of(called.name, called.args, id=called.id)
                call.gate("catalog", "deny", reason="unknown_tool")
                call.close()
                return
