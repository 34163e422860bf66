"""The native calls of a planned step: crewai handles them in a function that its modules hold by name, so it is not wrapped.

Before and after each call it makes what it shows to hooks, and it handles the calls one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

from toolwitness.model.json_text import json_or
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.crewai_calls import Handling, current, handle

_NO_JSON = object()


class Batch:
    """The calls of one answer, as (id, tool, arguments); inside `with`, those that are handled."""

    __slots__ = ("_handling", "_token", "_waiting")

    def __init__(self, calls: Sequence[tuple[str, str, Any]]) -> None:
        self._waiting = list(calls)
        self._handling: Handling | None = None
        self._token: Token[Batch | None] | None = None

    def __enter__(self) -> None:
        """Begin."""
        self._token = batch.set(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End; what ends the step ends the call that is handled."""
        if self._token is not None:
            batch.reset(self._token)
        with reading_guard:
            if self._handling is not None:
                self._handling.__exit__(kind, error, trace)
            elif error is None:
                self._skip(len(self._waiting))

    def asked(self, tool: str) -> None:
        """Hooks are shown a call that is to be made; by one that runs inside another's tool nothing is begun here."""
        outer = current.get()
        if self._handling is not None or not (outer is None or outer.trying):
            return
        place = next((place for place, (_, name, _) in enumerate(self._waiting) if name == tool), None)
        if place is not None:
            self._skip(place)
            id_, name, arguments = self._waiting.pop(0)
            self._handling = handle(name, arguments, id=id_)
            if self._handling is not None:
                self._handling.__enter__()

    def told(self, text: Any) -> None:
        """Hooks are shown what came of it."""
        handling = self._handling
        if handling is None or handling is not current.get() or handling.trying:
            return
        self._handling = None
        handling.__exit__(None, None, None)
        handling.told(text)

    def _skip(self, number: int) -> None:
        """Calls that were passed over: those whose arguments are no JSON, and after an answer that is final, any."""
        for id_, name, arguments in self._waiting[:number]:
            unread = type(arguments) is str and json_or(arguments, _NO_JSON) is _NO_JSON
            handling = handle(name, arguments, id=id_) if unread else None
            if handling is not None:
                handling.refusal = "invalid_input"
                handling.told(None)
        del self._waiting[:number]


batch: ContextVar[Batch | None] = ContextVar("toolwitness_crewai_batch", default=None)
"""The calls of the step that is executed."""
