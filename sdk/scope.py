"""What all scopes share: being the current scope inside `with`, and the one that stands in where nothing is recorded.

A scope is what an agent loop holds while it runs: one object a run, decision, call and attempt, cheap to make and to end. Each
takes an id and a start time when made, and hands the worker one note when something happened. Nothing looks into the agent's
values beyond the bounded projection, and nothing raises: every public method is wrapped by the guard.
"""

from __future__ import annotations

from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from toolwitness.model.exceptions import IdempotencyKeyError
from toolwitness.sdk import context
from toolwitness.sdk.guard import guard

if TYPE_CHECKING:
    from toolwitness.sdk.recorder import Recorder

NO_SIZE = 64
"""Approximate bytes of a note that carries no value."""


class Scope:
    """What all scopes share: a recorder, ids, a start, and being the current scope inside `with`."""

    __slots__ = ("_process", "_token", "outer", "parent_span_id", "recorder", "span_id", "start_ns", "trace_id")

    def __init__(self, recorder: Recorder, trace_id: str, parent_span_id: str | None) -> None:
        self.recorder = recorder
        self.trace_id = trace_id
        self.span_id = recorder.ids.span_id()
        self.parent_span_id = parent_span_id
        self.start_ns = recorder.clock()
        self._process = recorder.process
        self._token: Token[Scope | None] | None = None
        self.outer: Scope | None = None
        """The scope that this one was last entered in, known beyond its end as long as that one goes on."""

    @property
    def inherited(self) -> bool:
        """Whether this scope came over a fork: its own process ends it, and nobody else does."""
        return self._process is not self.recorder.process

    @property
    def over(self) -> bool:
        """Whether it ended; a thread that was started in it may still hold it as its current scope."""
        return False

    def _enter(self) -> None:
        current = context.current.get()
        self.outer = self.outer if current is self else current
        self._token = context.enter(self)

    def _leave(self) -> None:
        if self._token is not None:
            context.leave(self._token)
            self._token = None
            if self.outer is not None and self.outer.over:  # or tasks that start each other in turn would never be let go
                self.outer = self.outer.outer

    def enter(self) -> None:
        """Make this the current scope, without beginning or ending it: for one step of a generator, or a request."""
        with guard:
            self._enter()

    def leave(self) -> None:
        """Undo `enter`."""
        with guard:
            self._leave()

    def _conclude(self, error: BaseException | None) -> None:
        """End the scope, by an exception where there is one."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Make this the current scope."""
        with guard:
            self._enter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the scope; the exception goes on as it is."""
        with guard:
            self._leave()
            self._conclude(error)

    async def __aenter__(self) -> Self:
        """As `with`."""
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """As `with`."""
        self.__exit__(kind, error, trace)


class NoScope:
    """Stands in for every scope where nothing is recorded: it takes what they take and does nothing."""

    id = ""
    node = None

    @property
    def idempotency_key(self) -> str:
        """Raise IdempotencyKeyError, since this call could not be opened."""
        raise IdempotencyKeyError(
            "this call has no idempotency key, since it could not be opened; a warning of toolwitness says why"
        )

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing; the exception goes on as it is."""

    async def __aenter__(self) -> Self:
        """Do nothing."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Do nothing; the exception goes on as it is."""

    def _again(self, *_given: Any, **_facts: Any) -> Self:
        return self

    def _ignore(self, *_given: Any, **_facts: Any) -> None:
        """Do nothing."""

    decision = call = attempt = _again
    message = messages = finish = answer = gate = result = discovered = fail = executed = sent = learn = end = close = _ignore
    enter = leave = skip = cancel = discard = spend = _ignore


NO_SCOPE = NoScope()
