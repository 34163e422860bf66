"""What takes the place of a part of the product that breaks; it stands below the product, as an error of ours does."""

from __future__ import annotations

import sys
from types import CodeType


class Broken:
    """Raises in the place of a part, and knows whether that happened below a function of interest."""

    def __init__(self, error: Exception, below: CodeType | None = None) -> None:
        self.reached = False
        self._error, self._below = error, below

    def __get__(self, _instance, _owner):
        """Be a method as well, which does not care whose it is."""
        return self

    def __call__(self, *_, **__):
        """Raise."""
        frame = sys._getframe(1)  # noqa: SLF001 -- who asks is what is to be known
        while frame is not None:
            self.reached |= frame.f_code is self._below
            frame = frame.f_back
        raise self._error
