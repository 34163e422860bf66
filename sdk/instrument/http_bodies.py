"""The body of an answer: it may break off or be no JSON below a good status, and a tool may catch that and give words instead.

What such words are is said in ADR 0027.

Watched are the answers to requests that may write and that were sent in an attempt. Of what is read nothing is kept.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from toolwitness.sdk.guard import reading_guard

if TYPE_CHECKING:
    from toolwitness.sdk.instrument.http_facts import Exceptions, Request
    from toolwitness.sdk.instrument.patching import Wrapper

_FIRST_REFUSAL = 400

_answered: WeakKeyDictionary[Any, Request] = WeakKeyDictionary()


def watch(response: Any, request: Request) -> None:
    """From now on the body of this response is the rest of the answer to the request."""
    _answered[response] = request


def _request_of(response: Any) -> Request | None:
    with reading_guard:
        return _answered.get(response)
    return None


def reading(broken: Exceptions) -> Wrapper:
    """Wraps the method of a response that reads its body in parts; `broken` are exceptions by which the wire breaks off."""

    def read(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parts, request = wrapped(*args, **kwargs), _request_of(instance)
        return parts if request is None else _watched(parts, request, broken)

    return read


def areading(broken: Exceptions) -> Wrapper:
    """The same for a method that reads asynchronously."""

    def read(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parts, request = wrapped(*args, **kwargs), _request_of(instance)
        return parts if request is None else _awatched(parts, request, broken)

    return read


def parse(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Wraps the method of a response that reads JSON: below a good status, what is none is no answer."""
    try:
        return wrapped(*args, **kwargs)
    except ValueError as error:
        request = _request_of(instance)
        if request is not None and instance.status_code < _FIRST_REFUSAL and instance.content:
            request.cut_off(error)
        raise


def _watched(parts: Iterator[bytes], request: Request, broken: Exceptions) -> Generator[bytes, None, None]:
    try:
        yield from parts
    except broken as error:
        request.cut_off(error)
        raise


async def _awatched(parts: AsyncGenerator[bytes, None], request: Request, broken: Exceptions) -> AsyncIterator[bytes]:
    try:
        async with aclosing(parts):
            async for part in parts:
                yield part
    except broken as error:
        request.cut_off(error)
        raise
