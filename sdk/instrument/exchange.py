"""One request to a model and its answer, whole or as a stream that is read along, whichever client sends it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol

from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument import steps
from toolwitness.sdk.instrument.steps import Answer, Asked, Proposed
from toolwitness.sdk.scopes import DecisionScope


class Events(Protocol):
    """Puts an answer together from the events of a stream.

    `over` is true when the answer has ended, so that a caller who reads no further is not waited for.
    """

    over: bool

    def add(self, event: Any) -> Sequence[Proposed]:
        """Take in one event; gives the calls that it completes, since their tools may run before the answer ends."""

    def answer(self) -> Answer:
        """What the model said so far, but for the calls that were given before."""


class Reader(Protocol):
    """Reads the answer to a request."""

    def answered(self, response: Any) -> Answer:
        """The answer, from the response as an object or as data."""

    def events(self) -> Events:
        """What reads a streamed answer."""


class Route(Reader, Protocol):
    """One way of asking a model."""

    def asked(self, body: Mapping[str, Any]) -> Asked:
        """The request, from the body that is sent."""


class Exchange:
    """A model step that waits for its answer; the current scope while the model is asked, and failed by what is raised then."""

    def __init__(self, decision: DecisionScope, reader: Reader) -> None:
        self.decision, self._reader = decision, reader
        self._events: Events | None = None
        self._over = False

    def __enter__(self) -> None:
        """Ask."""
        self.decision.enter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the step where nothing came back; the exception goes on as it is."""
        self.decision.leave()
        if error is not None:
            steps.fail(self.decision)

    def answered(self, response: Any) -> None:
        """Take the whole answer."""
        self._over = True
        try:
            answer = self._reader.answered(response)
        except Exception:
            steps.answer(self.decision, Answer())
            raise
        steps.answer(self.decision, answer)

    def read(self, inner: Iterator[Any]) -> Iterator[Any]:
        """Read along while the caller reads a stream."""
        try:
            for event in inner:
                self.add(event)  # before the caller has it, who may run the tools at once
                yield event
        except BaseException as error:
            self.conclude(None if isinstance(error, GeneratorExit) else error)
            raise
        self.conclude()

    async def aread(self, inner: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """As `read`."""
        try:
            async for event in inner:
                self.add(event)
                yield event
        except BaseException as error:
            self.conclude(None if isinstance(error, GeneratorExit) else error)
            raise
        self.conclude()

    def add(self, event: Any) -> None:
        """Take in one event of a stream."""
        with reading_guard:
            if self._over:
                return
            self._events = self._events or self._reader.events()
            for proposed in self._events.add(event):
                steps.propose(self.decision, proposed)
            if self._events.over:
                self.conclude()

    def conclude(self, error: BaseException | None = None) -> None:
        """End the step by what was read so far; only the first time counts."""
        if self._over:
            return
        self._over = True
        if error is not None:
            steps.fail(self.decision)
            return
        with reading_guard:
            steps.answer(self.decision, Answer() if self._events is None else self._events.answer())
