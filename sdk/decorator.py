"""`@toolwitness.tool`: a function that the agent calls as a tool, recorded as a call with one attempt.

Works on plain, async, generator and async-generator functions and methods; signature, name, pickling and results stay what
they were. Inside an open call of the same tool (`with step.call(...)`) it is an attempt of that call, else a call of its own.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from typing import Any

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import (
    AttemptStatus,
    Contract,
    GateKind,
    Known,
    ObservationStatus,
    PrivacyClass,
    SideEffect,
    Verdict,
)
from toolwitness.model.exceptions import RedactedArgumentError
from toolwitness.redaction import Projection, project
from toolwitness.redaction.flowback import holds_placeholder
from toolwitness.sdk import context, setup
from toolwitness.sdk.calls import RESULT_LIMITS, AttemptScope, CallScope
from toolwitness.sdk.guard import guard
from toolwitness.sdk.recorder import Recorder
from toolwitness.sdk.scope import Scope
from toolwitness.sdk.toolfunction import ToolFunction

_MAX_ITEMS = 1000
_LONGEST_NAME = 64


def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    server: str = "",
    description: str | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    version: str | None = None,
    side_effect: SideEffect | str = SideEffect.UNKNOWN,
    idempotent: bool | None = None,
    owner: str | None = None,
    settle_after: float | None = None,
    classes: Mapping[str, PrivacyClass | str] | None = None,
    key_arguments: Sequence[str] | None = None,
) -> Any:
    """Record a function as a tool.

    To be used as `@tool` or `@tool(side_effect="write", ...)`. `side_effect` is `read`, `write`, `destructive` or `unknown`
    (which counts as not known to be reading). `owner` is who must act where one of its calls is in doubt, `settle_after` how
    many seconds after an attempt the service surely knows of it, so that "not found" proves that it took no effect.
    `classes` maps paths such as `args.amount` or `result.items[].sku` to privacy classes; fields without one leave the
    process as their shape only. `key_arguments` are the parameters that tell one call from another for its idempotency key,
    where there are others, such as a framework's context; by default all count.

    Raises ValueError for a side effect, class or parameter of another name, and for a callable that has no name where none is
    given.
    """
    if function is None:
        given = {key: value for key, value in locals().items() if key != "function"}
        return lambda decorated: tool(decorated, **given)
    target = getattr(function, "__func__", function)
    if key_arguments is not None:
        _check_names(target, key_arguments)
    definition = ToolDefinition(
        name=name or _name(target),
        server=server,
        description=description if description is not None else inspect.getdoc(target),
        input_schema=input_schema,
        output_schema=output_schema,
        version=version,
        side_effect=SideEffect(side_effect),
        idempotent=Known.UNKNOWN if idempotent is None else Known.YES if idempotent else Known.NO,
        owner=owner,
        settle_after_s=settle_after,
        classes={path: PrivacyClass(cls) for path, cls in (classes or {}).items()},
    )
    setup.declare(definition)
    return ToolFunction(function, _wrapper(target, definition, key_arguments), definition)


def _wrapper(target: Callable[..., Any], definition: ToolDefinition, key_arguments: Sequence[str] | None) -> Callable[..., Any]:
    """What wrapt calls in the function's place, by the function's kind."""
    names = _positional_names(target)
    run = _runner(target)

    def wrapper(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if holds_placeholder((args, kwargs)):
            raise _refusal(definition, _bound(names, instance), args, kwargs)
        call, owned = _open(definition, key_arguments, _arguments(_bound(names, instance), args, kwargs))
        if call is None:
            return wrapped(*args, **kwargs)
        if not owned:
            call.bind_arguments()
        return run(wrapped, args, kwargs, call, owned)

    return wrapper


def _name(target: Any) -> str:
    found = getattr(target, "__name__", None) or getattr(getattr(target, "func", None), "__name__", None)
    if not isinstance(found, str):
        raise ValueError(f"a {type(target).__name__} has no name of its own; say @tool(name=...)")
    return found


def _check_names(target: Any, given: Sequence[str]) -> None:
    """A misspelt name would give calls one key that are none of each other's."""
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = [name for name, one in inspect.signature(target).parameters.items() if one.kind not in several]
    if isinstance(given, str) or not given or not set(given) <= set(names):
        raise ValueError(f"key_arguments are some of the parameters {', '.join(names)}")


def _positional_names(target: Callable[..., Any]) -> tuple[str, ...]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(target).parameters
    except ValueError:  # some builtins do not tell
        return ()
    return tuple(name for name, parameter in parameters.items() if parameter.kind in kinds)


def _runner(target: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(target):
        return _run_async_generator
    if inspect.iscoroutinefunction(target):
        return _run_coroutine
    return _run_generator if inspect.isgeneratorfunction(target) else _run_plain


def _open(
    definition: ToolDefinition, key_arguments: Sequence[str] | None, given: dict[str, Any]
) -> tuple[CallScope | None, bool]:
    """The call to record under, and whether it is ours to end."""
    with guard:
        recorder = setup.recorder()
        scope = context.current.get()
        arguments = project(given)
        counting = (
            arguments if key_arguments is None else project({name: given[name] for name in key_arguments if name in given})
        )
        if isinstance(scope, AttemptScope) and scope.claim(definition, arguments.value):
            scope.call.definition = scope.call.definition or definition
            scope.call.ran = (definition, counting)
            if scope.call.approved:
                scope.call.executed(arguments)
            return None, False
        call = _proposed(recorder, scope, definition, arguments)
        owned = call is None
        if call is None:
            call = recorder.call(definition.name, arguments, server=definition.server, definition=definition)
        else:
            call.pass_placeholders()
            call.executed(arguments)
        call.ran = (definition, counting)
        return call, owned
    return None, False


def _proposed(recorder: Recorder, scope: Scope | None, definition: ToolDefinition, arguments: Projection) -> CallScope | None:
    """The call for which the tool runs: the current one, else one that a model client saw proposed."""
    if isinstance(scope, CallScope):
        return scope if scope.takes(definition) else None
    if isinstance(scope, AttemptScope):
        return None
    call = recorder.proposals.of_tool(definition.name, arguments.value, context.latest.get())
    here = recorder.run_here()
    if call is None or call.is_paid or (here is not None and here.id != call.run.id):
        return None
    call.definition = call.definition or definition
    return call


def _bound(names: tuple[str, ...], instance: Any) -> tuple[str, ...]:
    """The names of the positional arguments, without the one that a method's object takes."""
    return names[1:] if instance is not None and names[:1] in {("self",), ("cls",)} else names


def _arguments(names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name; those beyond the names stand under `*`."""
    arguments = dict(zip(names, args, strict=False))
    if len(args) > len(names):
        arguments["*"] = args[len(names) :]
    return {**arguments, **kwargs}


def _refusal(
    definition: ToolDefinition, names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> RedactedArgumentError:
    """What is raised instead of running a tool on a redacted copy, which is recorded as a call that a gate stopped."""
    arguments = _arguments(names, args, kwargs)
    found = next((name for name, value in arguments.items() if holds_placeholder(value)), None)
    # The name of an argument that the function does not declare is the model's own text.
    named = found if found is not None and len(found) <= _LONGEST_NAME and found.isidentifier() else None
    with guard:
        recorder = setup.recorder()
        scope = context.current.get()
        copy = project(arguments)
        if isinstance(scope, AttemptScope) and scope.claim(definition, copy.value):
            scope.call.refuse(named)
            scope.end(AttemptStatus.ERROR, sent=Known.NO, effect_ruled_out=True, error_type="RedactedArgumentError")
        else:
            proposed = _proposed(recorder, scope, definition, copy)
            call = proposed or recorder.call(definition.name, copy, server=definition.server, definition=definition)
            call.refuse(named)
            if proposed is None:
                call.close()
    tool = f"{definition.server}/{definition.name}" if definition.server else definition.name
    return RedactedArgumentError(
        f"argument {named or 'of another name'} of tool {tool} holds a redaction placeholder: a copy that was made for "
        "telemetry has flowed back; pass the value itself, from where the application keeps it"
    )


def _not_entered(wrapped: Callable[..., Any], error: BaseException) -> bool:
    """Whether a function written in Python was called with arguments that its signature does not take, so that it did not run.

    To be asked in the frame that called it, which is then the only one in the traceback.
    """
    plain = inspect.isfunction(getattr(wrapped, "__func__", wrapped))
    return plain and type(error) is TypeError and error.__traceback__ is not None and error.__traceback__.tb_next is None


def _made(wrapped: Callable[..., Any], args: Any, kwargs: Any, call: CallScope, owned: bool) -> Any:
    """The function's coroutine or generator; arguments that do not fit its signature are refused before there is one."""
    try:
        return wrapped(*args, **kwargs)
    except TypeError as error:
        with guard:
            if _not_entered(wrapped, error):
                call.gate(GateKind.INPUT_VALIDATION, Verdict.DENY, reason="signature", contract=Contract.STRUCTURE)
            if owned:
                call.close()
        raise


def _end(call: CallScope, attempt: AttemptScope, owned: bool, error: BaseException | None) -> None:
    """End the attempt, and the call where it is ours."""
    with guard:
        if error is not None:
            attempt.fail(error)
            call.fail(error, final=True)
        attempt.close()
        if owned:
            call.close()


def _run_plain(wrapped: Callable[..., Any], args: Any, kwargs: Any, call: CallScope, owned: bool) -> Any:
    attempt = call.attempt()
    attempt.enter()
    try:
        result = wrapped(*args, **kwargs)
    except BaseException as error:
        attempt.leave()
        if _not_entered(wrapped, error):
            attempt.end(AttemptStatus.ERROR, sent=Known.NO, effect_ruled_out=True, error_type="TypeError")
        _end(call, attempt, owned, error)
        raise
    attempt.leave()
    if inspect.iscoroutine(result):
        return _awaiting(result, call, owned, attempt)
    if inspect.isawaitable(result):
        # Its end is still to come and not ours to watch, so nothing is claimed about it.
        call.result(None, status=ObservationStatus.CUT_BY_RECORDING)
    else:
        call.result(result)
    _end(call, attempt, owned, None)
    return result


def _run_coroutine(wrapped: Callable[..., Any], args: Any, kwargs: Any, call: CallScope, owned: bool) -> Any:
    return _awaiting(_made(wrapped, args, kwargs, call, owned), call, owned)


def _awaiting(inner: Any, call: CallScope, owned: bool, attempt: AttemptScope | None = None) -> Any:
    """A coroutine in the place of `inner`, by the same name."""
    outer = _await(inner, call, owned, attempt)
    _named_as(outer, inner)
    # One that is closed or dropped before it runs takes the inner one with it, without a second warning.
    weakref.finalize(outer, _never_awaited, inner, call if owned else None)
    return outer


def _named_as(outer: Any, inner: Any) -> None:
    outer.__name__, outer.__qualname__ = inner.__name__, inner.__qualname__


def _never_awaited(inner: Any, call: CallScope | None) -> None:
    if inspect.getcoroutinestate(inner) == inspect.CORO_CREATED:
        inner.close()
        if call is not None and not call.begun:
            call.cancel()  # its task was, or nobody wanted it: nothing of the function ran
    if call is not None:
        call.close()


async def _await(inner: Any, call: CallScope, owned: bool, attempt: AttemptScope | None) -> Any:
    attempt = attempt or call.attempt()
    attempt.enter()
    try:
        result = await inner
    except BaseException as error:
        attempt.leave()
        _end(call, attempt, owned, error)
        raise
    attempt.leave()
    call.result(result)
    _end(call, attempt, owned, None)
    return result


class _Items:
    """What a generator yielded so far, as one bounded copy."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._size = 0
        self._truncated = False

    def add(self, item: Any) -> None:
        """Copy one item, unless there is enough already."""
        with guard:
            if len(self._values) >= _MAX_ITEMS or self._size >= RESULT_LIMITS.event:
                self._truncated = True
                return
            copy = project(item, limits=RESULT_LIMITS)
            self._values.append(copy.value)
            self._size += copy.size
            self._truncated = self._truncated or copy.truncated

    def result(self) -> Projection:
        """All items as one list."""
        return Projection(self._values, max(1, self._size), self._truncated)


def _run_generator(wrapped: Callable[..., Any], args: Any, kwargs: Any, call: CallScope, owned: bool) -> Any:
    inner = _made(wrapped, args, kwargs, call, owned)
    steps = _steps(inner, call, owned)
    _named_as(steps, inner)
    if owned:
        weakref.finalize(steps, _never_iterated, call)
    return steps


def _never_iterated(call: CallScope) -> None:
    """A generator that never began runs no code of ours: the proposal is closed as such, without evidence of execution."""
    if not call.begun:
        call.close()


def _steps(generator: Generator[Any, Any, Any], call: CallScope, owned: bool) -> Generator[Any, Any, Any]:
    """Drive a generator as `yield from` does, with our scope current only while it runs."""
    attempt, items = call.attempt(), _Items()
    step: Callable[[Any], Any] = generator.send
    sent: Any = None
    error: BaseException | None = None
    try:
        while True:
            attempt.enter()
            try:
                item = step(sent)
            except StopIteration as stop:
                return stop.value
            finally:
                attempt.leave()
            items.add(item)
            try:
                sent, step = (yield item), generator.send
            except BaseException as thrown:  # noqa: BLE001 -- goes into the generator, as `yield from` does
                sent, step = thrown, generator.throw
    except BaseException as raised:
        error = raised
        raise
    finally:
        _end_stream(call, attempt, owned, items, error)
        del error, sent  # or the frame keeps itself alive through the exception's traceback


def _end_stream(call: CallScope, attempt: AttemptScope, owned: bool, items: _Items, error: BaseException | None) -> None:
    """A stream that the agent stopped reading gave what it gave; only one that broke did not answer."""
    if error is None or isinstance(error, GeneratorExit):
        call.result(items.result())
        error = None
    _end(call, attempt, owned, error)


def _run_async_generator(wrapped: Callable[..., Any], args: Any, kwargs: Any, call: CallScope, owned: bool) -> Any:
    inner = _made(wrapped, args, kwargs, call, owned)
    steps = _async_steps(inner, call, owned)
    _named_as(steps, inner)
    if owned:
        weakref.finalize(steps, _never_iterated, call)
    return steps


async def _async_steps(generator: AsyncGenerator[Any, Any], call: CallScope, owned: bool) -> AsyncGenerator[Any, Any]:
    """As `_steps`, for async generators."""
    attempt, items = call.attempt(), _Items()
    step: Callable[[Any], Awaitable[Any]] = generator.asend
    sent: Any = None
    error: BaseException | None = None
    try:
        while True:
            attempt.enter()
            try:
                item = await step(sent)
            except StopAsyncIteration:
                return
            finally:
                attempt.leave()
            items.add(item)
            try:
                sent, step = (yield item), generator.asend
            except BaseException as thrown:  # noqa: BLE001 -- goes into the generator, as `yield from` does
                sent, step = thrown, generator.athrow
    except BaseException as raised:
        error = raised
        raise
    finally:
        _end_stream(call, attempt, owned, items, error)
        del error, sent  # or the frame keeps itself alive through the exception's traceback
