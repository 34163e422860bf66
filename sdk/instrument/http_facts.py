"""What the HTTP requests of a tool prove of the attempt that they are made in.

They are no calls of their own. Of each it is kept whether it left the process and with which status it was answered; never a
URL, a header or a body. A request that only failed to connect proves that nothing was sent, if it is what the attempt ended
by and if every other request of the attempt failed in that way too. All else that is not known stays unknown.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import count
from types import TracebackType
from typing import Any

from toolwitness.model.enums import Known
from toolwitness.sdk import calls, context
from toolwitness.sdk.calls import AttemptScope, Witness
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.patching import Patches, Wrapper
from toolwitness.sdk.raised import explicit_causes

_TRANSPORT = "http"
_DEEPEST = 64
"""Scopes around a request that are looked at."""
_numbers = count(1)

Exceptions = tuple[type[BaseException], ...]


class Requests:
    """What the requests of one attempt came to, its witness.

    Threads of one tool share it without a lock, which a fork could leave taken: each operation on it is a single one. Neither
    requests nor exceptions are kept, so that nothing lives longer than without us.
    """

    __slots__ = ("_also", "_connecting_failed", "_open", "_sent", "latest", "left")

    def __init__(self, also: Witness | None) -> None:
        self._also = also
        self.left = False
        """Whether something may have left the process."""
        self.latest = 0
        """The number of the request that began last."""
        self._open: set[int] = set()
        self._sent: list[int] = []
        self._connecting_failed: set[type[BaseException]] = set()

    def begin(self, number: int) -> None:
        """A request is about to be sent."""
        self._open.add(number)
        self.latest = number

    def end(self, number: int, unsent: type[BaseException] | None, writes: int = 1) -> None:
        """A request is over; `unsent` is the type of the exception that proves that nothing of it was sent.

        `writes`: how often it was written, by retries of the library's own.
        """
        if unsent is None:
            self.left = True
            self._sent.extend([number] * max(writes, 1))
        else:
            self._connecting_failed.add(unsent)
        self._open.discard(number)

    def __call__(self, error: BaseException) -> dict[str, Any]:
        """What it means that the attempt ended by this exception: nothing was sent where all there was could not connect."""
        facts = {} if self._also is None else self._also(error)
        if self._open:
            return facts
        if self.left:
            return {**facts, "only_request": True} if self._sent == [self.latest] else facts
        failed = not self._connecting_failed.isdisjoint(map(type, (error, *explicit_causes(error))))
        return {**facts, "sent": Known.NO} if failed else facts


class Request:
    """One request; inside `with` it is being sent, and an exception that comes out of it ends it."""

    __slots__ = ("_attempts", "_before", "_number", "_unsent", "left", "writes")

    def __init__(self, attempts: list[AttemptScope], unsent: Callable[[BaseException], bool]) -> None:
        self._attempts, self._unsent, self._number = attempts, unsent, next(_numbers)
        self._before: Request | None = None
        self.left = False
        """Whether a part of it may have left the process."""
        self.writes = 0
        """How often something of it was written."""
        for attempt in attempts:
            _requests(attempt).begin(self._number)
        attempts[0].learn(transport=_TRANSPORT, remote_status=None)

    def __enter__(self) -> None:
        """Be what connections write from now on."""
        self._before = _sending.get()
        _sending.set(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End by an exception; it goes on as it is."""
        _sending.set(self._before)
        self._before = None
        if error is not None:
            unsent = False
            with reading_guard:
                unsent = not self.left and self._unsent(error)
            self._end(type(error) if unsent else None)

    def wrote(self) -> None:
        """It was written to a connection as a whole."""
        self.left = True
        for attempt in self._attempts:
            attempt.learn(sent=Known.YES)

    def answered(self, response: Any) -> None:
        """The head of a response arrived, of which the status is read; its body may still break off."""
        self.wrote()
        self._end(None)
        with reading_guard:
            status = response.status_code
            if type(status) is int and _requests(self._attempts[0]).latest == self._number:
                self._attempts[0].learn(remote_status=status)

    def _end(self, unsent: type[BaseException] | None) -> None:
        with reading_guard:
            for attempt in self._attempts:
                _requests(attempt).end(self._number, unsent, self.writes)


_sending: ContextVar[Request | None] = ContextVar("toolwitness_sending", default=None)


def begin(unsent: Callable[[BaseException], bool]) -> Request | None:
    """The request that this code is about to send, as a fact of the attempt that it runs in; None outside of any.

    `unsent` says whether an exception can only come before anything was written to a connection.
    """
    if context.current.get() is None:
        return None
    with reading_guard:
        attempts = list(_enclosing_attempts())
        return Request(attempts, unsent) if attempts else None
    return None


def sending(unsent: Callable[[BaseException], bool]) -> Wrapper:
    """Wraps the method of a client that sends one request and returns its response; `unsent` as for `begin`."""

    def send(wrapped: Callable[..., Any], _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        request = begin(unsent)
        if request is None:
            return wrapped(*args, **kwargs)
        with request:
            response = wrapped(*args, **kwargs)
        request.answered(response)
        return response

    return send


class Writing:
    """Wraps what writes a request to a connection that is there; inside `with`, around the wrapped method.

    `before` are exceptions that say that nothing was written, `after` those that come when it was written as a whole.
    """

    __slots__ = ("_after", "_before", "_request")

    def __init__(self, request: Request, before: Exceptions, after: Exceptions = ()) -> None:
        self._request, self._before, self._after = request, before, after

    def __enter__(self) -> None:
        """Begin to write."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Say how far it came; the exception goes on as it is."""
        if error is None or isinstance(error, self._after):
            self._request.writes += 1
            self._request.wrote()
        elif not isinstance(error, self._before):
            self._request.writes += 1
            self._request.left = True


def writing(before: Exceptions, after: Exceptions = ()) -> Writing | None:
    """For the method that writes the request which is being sent here; None where none is that concerns us."""
    request = _sending.get()
    return None if request is None else Writing(request, before, after)


def _enclosing_attempts() -> Iterator[AttemptScope]:
    """The attempts that are running here, the innermost first: what a tool inside a tool sends, the outer one sent too."""
    scope = context.current.get()
    for _ in range(_DEEPEST):
        if scope is None:
            return
        if isinstance(scope, AttemptScope) and not scope.over:
            yield scope
        scope = scope.outer


def _requests(attempt: AttemptScope) -> Requests:
    witness = attempt.witness
    if isinstance(witness, Requests):
        return witness
    with _Making.lock:
        if not isinstance(attempt.witness, Requests):
            attempt.witness = Requests(attempt.witness)
    return _requests(attempt)


class _Making:
    """Threads of one tool may come to their first request at once; a fork makes the lock anew, which another may hold."""

    lock = threading.RLock()

    @classmethod
    def renew(cls) -> None:
        cls.lock = threading.RLock()


os.register_at_fork(after_in_child=_Making.renew)


def count_as_timeout(patches: Patches, timeout: type[BaseException]) -> None:
    """Let this exception of a library mean that time ran out."""
    calls.TIMEOUTS.append(timeout)
    patches.when_undone(lambda: calls.TIMEOUTS.remove(timeout))
