"""What may be said of a call beside what ran in it: that it is left out, called off, or that its result is not used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolwitness.model.enums import AttemptStatus, Cancellation, GateKind, Verdict
from toolwitness.sdk.guard import guard
from toolwitness.sdk.scope import NO_SIZE, Scope

if TYPE_CHECKING:
    from toolwitness.sdk.recorder import Recorder


_LISTS = ("depends_on", "reads", "writes")
_MOST_TOLD = 1000


def kept(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of a call as they are now: lists that the application may change later, and no calls but their ids."""
    for name in () if facts.keys().isdisjoint(_LISTS) else _LISTS:
        if name in facts:
            told = facts[name]
            listed = told[:_MOST_TOLD] if type(told) in {list, tuple} else (told,)
            facts[name] = [one.id if isinstance(one, Dismissable) else one for one in listed]
    return facts


class Dismissable(Scope):
    """The part of a call's scope that tells of it what no attempt and no result does (A16, A17)."""

    __slots__ = ("cancellation", "discarded", "last_status")

    id: str
    begun: bool
    closed: bool
    open_attempts: int

    def __init__(self, recorder: Recorder, trace_id: str, parent_span_id: str | None) -> None:
        super().__init__(recorder, trace_id, parent_span_id)
        self.cancellation: Cancellation | None = None
        self.discarded = False
        self.last_status: AttemptStatus | None = None
        """Of the attempt that ended last."""

    def gate(self, kind: GateKind | str, verdict: Verdict | str, *, reason: str | None = None) -> None:
        """Record a check's answer."""
        raise NotImplementedError

    def skip(self, reason: str = "dependency_failed") -> None:
        """Record that this call is left out, since one that it depends on did not do its part, or for another `reason`."""
        self.gate(GateKind.DEPENDENCY, Verdict.SKIP, reason=reason)

    def cancel(self) -> None:
        """Record that this call was called off: before anything was dispatched, while it ran, or after it went well.

        It stops nothing, and what became of the call is told by its attempts. The first time counts.
        """
        with guard:
            if self.cancellation is None and not self.inherited:
                self.cancellation = self._how_far()
                self._amend(cancellation=self.cancellation)

    def discard(self) -> None:
        """Say that the result of this call is not used, so that nothing counts as found out by it."""
        with guard:
            if not self.discarded and not self.inherited:
                self.discarded = True
                self._amend(discarded=True)

    def _how_far(self) -> Cancellation:
        if not self.begun:
            return Cancellation.BEFORE_DISPATCH
        done = not self.open_attempts and self.last_status is AttemptStatus.OK
        return Cancellation.AFTER_COMMIT if done else Cancellation.WHILE_RUNNING

    def _amend(self, **facts: Any) -> None:
        """Tell what a call that has ended did not know yet; before, its end tells it."""
        if self.closed:
            self.recorder.note(NO_SIZE, "amended", self, facts)
