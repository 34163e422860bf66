"""Where times and ids come from; both are injected, so that imports and tests are the same every time."""

from __future__ import annotations

import hashlib
import os
import random
import weakref
from collections.abc import Callable
from typing import Protocol

Clock = Callable[[], int]
"""Nanoseconds since 1970, UTC."""


class Ids(Protocol):
    """A source of OpenTelemetry ids, never zero."""

    def trace_id(self) -> str:
        """32 hex digits."""

    def span_id(self) -> str:
        """16 hex digits."""


class RandomIds:
    """Random ids from a generator of their own, seeded by the operating system, anew after a fork.

    The application's `random` is left alone, seeded or not.
    """

    def __init__(self) -> None:
        self._random = random.Random()  # noqa: S311 -- ids need to be apart, not secret
        reseed = weakref.WeakMethod(self._random.seed)
        os.register_at_fork(after_in_child=lambda: (again := reseed()) and again())

    def trace_id(self) -> str:
        """32 hex digits."""
        return f"{self._random.getrandbits(128) or 1:032x}"

    def span_id(self) -> str:
        """16 hex digits."""
        return f"{self._random.getrandbits(64) or 1:016x}"


class SeededIds:
    """The same ids for the same seed and order of asking; SHA-256 of seed and position."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._position = 0

    def _next(self, digits: int) -> str:
        self._position += 1
        return hashlib.sha256(f"{self._seed}\x1f{self._position}".encode()).hexdigest()[:digits]

    def trace_id(self) -> str:
        """32 hex digits."""
        return self._next(32)

    def span_id(self) -> str:
        """16 hex digits."""
        return self._next(16)


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self, start_ns: int) -> None:
        self._now = start_ns

    def __call__(self) -> int:
        """Nanoseconds since 1970, UTC."""
        return self._now

    def tick(self, nanoseconds: int) -> None:
        """Move on by so much."""
        self._now += nanoseconds
