"""The demo's injected clock and ids."""

from toolwitness.sdk import ManualClock, SeededIds


class Timeline:
    """Begins anew with each run and each turn in it, so that the same run always has the same ids and times.

    Ids that start again with every turn keep a run recognisable even where one of its turns is played differently.
    """

    def __init__(self) -> None:
        self._clock, self._ids = ManualClock(0), SeededIds("")

    def begin(self, start_ns: int) -> None:
        """Set the clock; nanoseconds since 1970, UTC."""
        self._clock = ManualClock(start_ns)

    def seed(self, text: str) -> None:
        """Begin a row of ids."""
        self._ids = SeededIds(text)

    def clock(self) -> int:
        """The time now, in nanoseconds since 1970, UTC."""
        return self._clock()

    def pass_ms(self, milliseconds: int) -> None:
        """Let time pass."""
        self._clock.tick(milliseconds * 1_000_000)

    def trace_id(self) -> str:
        """The next trace id, 32 hex digits."""
        return self._ids.trace_id()

    def span_id(self) -> str:
        """The next span id, 16 hex digits."""
        return self._ids.span_id()
