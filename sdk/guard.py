"""The one place where toolwitness swallows errors of its own, so that they never become the agent's.

Under pytest an error of ours is raised, so that a test sees it; `swallowing()` turns that off, so that the way users get can
be tested too. The user's exceptions pass: those of the agent's code never come through here, and what a signal handler of the
application raises while our code runs is told apart by where it was raised.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from types import TracebackType
from typing import Any, TypeVar

logger = logging.getLogger("toolwitness")

E = TypeVar("E", bound=StrEnum)
_LONGEST_WORD = 40
_OURS = frozenset({"toolwitness", "opentelemetry", "wrapt", "pydantic", "builtins"})


class UnknownWordError(ValueError):
    """The application used a word that the records do not have; its text may be shown."""


def word(enum: type[E], given: E | str) -> E:
    """The member of that name.

    Raises UnknownWordError, naming the word and those there are, which the guard reports instead of raising it at the agent.
    """
    if type(given) is enum:
        return given
    try:
        return enum(given)
    except ValueError:
        seen = repr(given) if type(given) is str and len(given) <= _LONGEST_WORD else f"a {type(given).__name__}"
        raise UnknownWordError(f"{seen} is no {enum.__name__}; use one of: {', '.join(enum)}") from None


def _root(name: object) -> str:
    return name.partition(".")[0] if type(name) is str else ""


def _is_ours(error: BaseException, trace: TracebackType | None) -> bool:
    """Whether an error that surfaced in code of ours was also raised there, and not by the application interrupting it."""
    if _root(type(error).__module__) not in _OURS:
        return False
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    root = _root(trace.tb_frame.f_globals.get("__name__")) if trace is not None else ""
    return root in _OURS or root in sys.stdlib_module_names


def _from_signal(trace: TracebackType | None) -> bool:
    """Whether a signal handler of the application interrupted our code and raised."""
    if trace is None or trace.tb_next is None or threading.current_thread() is not threading.main_thread():
        return False
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    codes = {_code(handler) for handler in handlers if callable(handler)} - {None}
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _code(handler: Any) -> object:
    """The code object that runs where a handler is called: a function, a method, a partial or an object with `__call__`."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    function = getattr(handler, "__func__", handler)
    return getattr(function if hasattr(function, "__code__") else type(handler).__call__, "__code__", None)


class Guard:
    """A reusable context manager that swallows and counts errors of ours; it reports the first, and each unknown word once.

    `everything` is for the worker's thread, where no code of the agent runs but an exporter of anybody's may. `reading` is for
    code that reads a framework's objects on the agent's threads: whatever is raised there was caused by our looking, but for
    what a signal handler of the application raised. One that does not report leaves that to who looks at `last`. Guards that
    share `told` report together what one alone would.
    """

    def __init__(
        self, *, everything: bool = False, reading: bool = False, reports: bool = True, told: set[str] | None = None
    ) -> None:
        self._everything, self._reading, self._reports = everything, reading, reports
        self.last: type[Exception] | None = None
        self.swallowed = 0
        self._told: set[str] = set() if told is None else told

    def __enter__(self) -> None:
        """Begin code of ours."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        """Swallow an ordinary exception of ours, unless a test wants to see it."""
        if error is None or not isinstance(error, Exception):
            return False
        if not self._everything and not (not _from_signal(trace) if self._reading else _is_ours(error, trace)):
            return False
        if _switch.raises and "PYTEST_CURRENT_TEST" in os.environ:
            return False
        self.swallowed += 1
        self.last = type(error)
        if not self._reports:
            return True
        # A logging handler of the application may raise, which must not reach the agent either.
        with contextlib.suppress(Exception):
            self._report(error, trace)
        return True

    def _report(self, error: Exception, trace: TracebackType | None) -> None:
        """Tell the type and place of an error; its text may hold the agent's data, unless it is about a word."""
        if isinstance(error, UnknownWordError):
            said = str(error)
        else:
            said, place = "error", "unknown place"
            while trace is not None:
                place = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
                trace = trace.tb_next
        if said in self._told:
            return
        self._told.add(said)
        if said == "error":
            said = f"{type(error).__name__} in {place}"
        logger.warning("toolwitness could not record something (%s); the agent is not affected", said)


class _Switch:
    """Whether errors of ours are raised under pytest."""

    raises = True


_switch = _Switch()


@contextmanager
def swallowing() -> Iterator[None]:
    """Behave as outside of pytest, to test the way that users get."""
    before, _switch.raises = _switch.raises, False
    try:
        yield
    finally:
        _switch.raises = before


_told_on_agents_threads: set[str] = set()
guard = Guard(told=_told_on_agents_threads)
"""The guard of what runs on the agent's threads."""
reading_guard = Guard(reading=True, told=_told_on_agents_threads)
"""The guard of what reads a framework's objects there."""
worker_guard = Guard(everything=True)
"""The guard of what runs on our own thread."""
