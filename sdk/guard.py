"""The one place where toolwitness swallows errors of its own, so that they never become the agent's.

Under pytest an error of ours is raised, so that a test sees it; `swallowing()` turns that off, so that the way users get can
be tested too. The user's exceptions never pass through here: the guard only ever wraps our own code.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

logger = logging.getLogger("toolwitness")


class Guard:
    """A reusable context manager that swallows, counts and once reports errors of ours."""

    def __init__(self) -> None:
        self.swallowed = 0
        self._raise_under_pytest = True

    def __enter__(self) -> None:
        """Begin code of ours."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        """Swallow an ordinary exception, unless a test wants to see it."""
        if kind is None or not issubclass(kind, Exception):
            return False
        if self._raise_under_pytest and "PYTEST_CURRENT_TEST" in os.environ:
            return False
        self.swallowed += 1
        if self.swallowed == 1:
            # The text of an error may hold the agent's data, so only its type and place are told.
            place = "unknown place"
            while trace is not None:
                place = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
                trace = trace.tb_next
            logger.warning("toolwitness could not record something (%s in %s); the agent is not affected", kind.__name__, place)
        return True

    @contextmanager
    def swallowing(self) -> Iterator[None]:
        """Behave as outside of pytest, to test the way that users get."""
        before, self._raise_under_pytest = self._raise_under_pytest, False
        try:
            yield
        finally:
            self._raise_under_pytest = before


guard = Guard()
"""The process's one guard."""
