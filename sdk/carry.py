"""Where work that is handed to another thread belongs: to the scope that it was handed over in.

Only our own two context variables go along. The application's, and OpenTelemetry's current span, stay as they are without us.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from toolwitness.sdk import context
from toolwitness.sdk.calls import AttemptScope

if TYPE_CHECKING:
    from toolwitness.sdk.scope import Scope
    from toolwitness.sdk.scopes import DecisionScope


class Carried(NamedTuple):
    """What is current in one thread, on its way to another."""

    current: Scope | None
    latest: DecisionScope | None

    def settle(self) -> None:
        """Make it current in this thread, for as long as it lives."""
        context.current.set(self.current)
        context.latest.set(self.latest)

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function while it is current in this thread."""
        current, latest = context.current.set(self.current), context.latest.set(self.latest)
        try:
            return function(*args, **kwargs)
        finally:
            context.latest.reset(latest)
            context.current.reset(current)


NOTHING = Carried(None, None)


def pick_up() -> Carried | None:
    """What is current in this thread; None where nothing is."""
    current, latest = context.current.get(), context.latest.get()
    if isinstance(current, AttemptScope):
        current.handed_over = True  # what goes on elsewhere may still have an effect, whatever the tool itself ends by
    return None if current is None and latest is None else Carried(current, latest)
