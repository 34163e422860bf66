"""What the HTTP requests of a tool prove of the attempt that they are made in.

They are no calls of their own. Of each it is kept whether it left the process and with which status it was answered; never a
URL, a header or a body. A request that only failed to connect proves that nothing was sent, if it is what the attempt ended
by and if every other request of the attempt failed in that way too. All else that is not known stays unknown.

A function may catch what its request raised and give words instead. Requests by a method that may write are remembered by how
they ended, so that its words are not taken for an answer that never came (ADR 0027).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any

from toolwitness.model.enums import AttemptStatus, ErrorClass, Known
from toolwitness.sdk import calls, context
from toolwitness.sdk.calls import AttemptScope
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument import http_bodies
from toolwitness.sdk.instrument.patching import Patches, Wrapper, argument
from toolwitness.sdk.raised import explicit_causes

if TYPE_CHECKING:
    from toolwitness.sdk.failures import Witness

_TRANSPORT = "http"
_DEEPEST = 64
"""Scopes around a request that are looked at."""
_numbers = count(1)
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""RFC 9110, 9.2.1: methods that ask for no change."""
_ELSEWHERE = frozenset({307, 308})
"""The same request is sent again to another place, and that answer counts."""
_ACCEPTED, _FIRST_REFUSAL, _FIRST_ERROR = 202, 400, 500
_UNTRUSTED = frozenset({408, 429})
"""Answers that are refusals by their number and may come from whatever stands before the service."""

Exceptions = tuple[type[BaseException], ...]


class Requests:
    """What the requests of one attempt came to, its witness.

    Threads of one tool share it without a lock, which a fork could leave taken: each operation on it is a single one. Neither
    requests nor exceptions are kept, so that nothing lives longer than without us.
    """

    __slots__ = ("_accepted", "_also", "_broke", "_connecting_failed", "_failed", "_open", "_sent", "_worked", "latest", "left")

    def __init__(self, also: Witness | None) -> None:
        self._also = also
        self.left = False
        """Whether something may have left the process."""
        self.latest = 0
        """The number of the request that began last."""
        self._open: set[int] = set()
        self._sent: list[int] = []
        self._connecting_failed: set[type[BaseException]] = set()
        # Of requests that may write: which were done, was the last only accepted, did one fail, and what one broke off by.
        self._worked: set[int] = set()
        self._accepted = self._failed = False
        self._broke: tuple[AttemptStatus, str] | None = None

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

    def answered(self, number: int, status: int) -> None:
        """A request that may write was answered with this status."""
        if status in _ELSEWHERE:
            return
        if status < _FIRST_REFUSAL:
            self._worked.add(number)
            self._accepted = status == _ACCEPTED
        elif status >= _FIRST_ERROR or status in _UNTRUSTED:
            self._broke = self._broke or (AttemptStatus.ERROR, "UntrustedStatus")
        self._failed = self._failed or status >= _FIRST_REFUSAL

    def cut_off(self, number: int, error: BaseException) -> None:
        """The body of the answer to a request that may write broke off, or cannot be read."""
        self._worked.discard(number)
        self.broke_off(error, unsent=False)

    def broke_off(self, error: BaseException, *, unsent: bool) -> None:
        """A request that may write ended by an exception, or by no answer; `unsent`: nothing of it left the process."""
        self._failed = True
        if not unsent and self._broke is None:
            status = AttemptStatus.TIMEOUT if calls.timed_out(error) else AttemptStatus.ERROR
            self._broke = status, type(error).__name__

    def __call__(self, error: BaseException | None) -> dict[str, Any]:
        """What it means that the attempt ended so: nothing was sent where all there was could not connect."""
        facts = {} if self._also is None else self._also(error)
        if error is None:
            return {**facts, **self._returned()}
        if self._open:
            return facts
        if self.left:
            return {**facts, "only_request": True} if self._sent == [self.latest] else facts
        failed = not self._connecting_failed.isdisjoint(map(type, (error, *explicit_causes(error))))
        return {**facts, "sent": Known.NO} if failed else facts

    def _returned(self) -> dict[str, Any]:
        """What it means that the function returned: where none of its requests was done, its words are in their place."""
        told = {"only_accepted": self._accepted, "broke_off": self._broke is not None}
        if self._worked or self._open or not self._failed:
            return told
        status, error_type = self._broke or (AttemptStatus.ERROR, None)
        return {**told, "attempt_status": status, "error_class": ErrorClass.UNCLASSIFIED, "error_type": error_type}


class Request:
    """One request; inside `with` it is being sent, and an exception that comes out of it ends it."""

    __slots__ = ("_attempts", "_before", "_number", "_safe", "_unsent", "left", "writes")

    def __init__(self, attempts: list[AttemptScope], unsent: Callable[[BaseException], bool], *, safe: bool) -> None:
        self._attempts, self._unsent, self._number, self._safe = attempts, unsent, next(_numbers), safe
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
                for attempt in () if self._safe else self._attempts:
                    _requests(attempt).broke_off(error, unsent=unsent)
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
            if type(status) is not int:
                return
            if _requests(self._attempts[0]).latest == self._number:
                self._attempts[0].learn(remote_status=status)
            if self._safe:
                return
            http_bodies.watch(response, self)
            for attempt in self._attempts:
                _requests(attempt).answered(self._number, status)

    def cut_off(self, error: BaseException) -> None:
        """The body of its answer broke off or cannot be read, so that nobody knows what the service said."""
        with reading_guard:
            for attempt in self._attempts:
                _requests(attempt).cut_off(self._number, error)

    def _end(self, unsent: type[BaseException] | None) -> None:
        with reading_guard:
            for attempt in self._attempts:
                _requests(attempt).end(self._number, unsent, self.writes)


_sending: ContextVar[Request | None] = ContextVar("toolwitness_sending", default=None)


def begin(unsent: Callable[[BaseException], bool], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Request | None:
    """The request that this code is about to send, as a fact of the attempt that it runs in; None outside of any.

    `unsent` says whether an exception can only come before anything was written to a connection; the rest are the arguments of
    the wrapped method, of which the client's own request is the first.
    """
    if context.current.get() is None:
        return None
    with reading_guard:
        attempts = list(_enclosing_attempts())
        return Request(attempts, unsent, safe=argument(args, kwargs, 0, "request").method in _SAFE) if attempts else None
    return None


def sending(unsent: Callable[[BaseException], bool]) -> Wrapper:
    """Wraps the method of a client that sends one request and returns its response; `unsent` as for `begin`."""

    def send(wrapped: Callable[..., Any], _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        request = begin(unsent, args, kwargs)
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
