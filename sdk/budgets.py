"""What a run may use and what the application says that it used (A20): numbers by name."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from toolwitness.model.enums import StopReason
from toolwitness.sdk.calls import CALLED_OFF, timed_out
from toolwitness.sdk.guard import UnknownWordError
from toolwitness.sdk.labels import label

if TYPE_CHECKING:
    from toolwitness.model.records import Json

_MOST_NAMES = 64


class Spending:
    """Amounts by name that any thread of a run adds to."""

    __slots__ = ("_amounts", "_lock")

    def __init__(self) -> None:
        self._amounts: dict[str, int | float] = {}
        self._lock = threading.Lock()

    def add(self, amounts: Mapping[str, Any]) -> None:
        """Add to what was spent.

        Raises UnknownWordError, with nothing added, for what is no number and for a name too many.
        """
        _check(amounts)
        with self._lock:
            if len(self._amounts.keys() | amounts.keys()) > _MOST_NAMES:
                raise UnknownWordError(f"a run spends under at most {_MOST_NAMES} names")
            for name, amount in amounts.items():
                self._amounts[name] = self._amounts.get(name, 0) + amount

    def amounts(self) -> dict[str, int | float]:
        """What was spent until now."""
        with self._lock:
            return dict(self._amounts)


def limits(given: Any) -> dict[str, int | float] | None:
    """A copy of the limits of a run. Raises UnknownWordError where they are no numbers by name."""
    if given is None:
        return None
    if type(given) is not dict or len(given) > _MOST_NAMES:
        raise UnknownWordError(f"a budget is a dict of at most {_MOST_NAMES} numbers by name, such as {{'calls': 10}}")
    _check(given)
    return dict(given)


def as_json(amounts: Mapping[str, int | float] | None) -> Json | None:
    """Amounts as JSON text, their names as labels; None where there are none. On the worker's thread."""
    if not amounts:
        return None
    told: dict[str, float] = {}
    for name, amount in amounts.items():  # two names may read the same once they are masked
        known_as = label(name) or ""
        told[known_as] = told.get(known_as, 0) + amount
    return cast("Json", json.dumps(told))


def stopped_by(error: BaseException) -> StopReason:
    """What ended a run that was left by this exception."""
    if isinstance(error, CALLED_OFF):
        return StopReason.CANCELLED
    return StopReason.DEADLINE if timed_out(error) else StopReason.ERROR


def _check(amounts: Mapping[str, Any]) -> None:
    """Raise UnknownWordError unless every amount is a finite number from 0 on under a name."""
    for name, amount in amounts.items():
        if type(name) is not str or type(amount) not in {int, float} or not math.isfinite(amount) or amount < 0:
            raise UnknownWordError("what a run may use and uses are numbers from 0 on by name, such as cost=0.2")
