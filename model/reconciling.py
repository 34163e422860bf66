"""What is found out later about a call whose commit is unknown, and what that settles (A13).

A service that says that it did or did not do something is believed about everything that had been begun when it was asked.
One that says it knows nothing of a call proves less: what was sent may still be on its way. That counts only where every
attempt had ended `settle_after` before the question.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from toolwitness.model.enums import Basis, Finding, Outcome
from toolwitness.model.outcome import Access, Evidence, Settled, outcome

_NS = 1_000_000_000


class StatusAnswer(StrEnum):
    """What a service says of a call: `not_committed` is that it never will do it, `not_found` that it knows nothing of it."""

    COMMITTED = "committed"
    NOT_COMMITTED = "not_committed"
    NOT_FOUND = "not_found"
    STILL_UNKNOWN = "still_unknown"


class NotYet(StrEnum):
    """Why "not found" settles nothing."""

    NO_SETTLE_AFTER = "no_settle_after"
    """The tool declares no time after which its service surely knows of an attempt."""
    ATTEMPT_STILL_OPEN = "attempt_still_open"
    """An attempt is not known to have ended."""
    TIME_UNKNOWN = "time_unknown"
    """The times of the call stand for an order only."""
    NOT_FOUND_TOO_EARLY = "not_found_too_early"
    """An attempt had not ended `settle_after` before the service was asked."""


@dataclass(frozen=True, slots=True)
class Attempted:
    """What "not found" is measured against: when the last attempt had ended (None: one is open), and the tool's own time."""

    last_ended_ns: int | None
    settle_after_s: float | None
    time_known: bool = True

    @property
    def settle_after_ns(self) -> int | None:
        """The tool's own time in nanoseconds; None where it declares none that is one."""
        declared = self.settle_after_s
        return round(declared * _NS) if declared is not None and math.isfinite(declared) and declared >= 0 else None

    @property
    def absence_counts_from_ns(self) -> int | None:
        """From when on "not found" proves that nothing happened; None where it never does, as things are."""
        if self.last_ended_ns is None or self.settle_after_ns is None or not self.time_known:
            return None
        return self.last_ended_ns + self.settle_after_ns

    def not_yet(self, asked_ns: int) -> NotYet | None:
        """Why "not found" would settle nothing when asked then; None where it would."""
        if self.settle_after_ns is None:
            return NotYet.NO_SETTLE_AFTER
        if not self.time_known:
            return NotYet.TIME_UNKNOWN
        if self.absence_counts_from_ns is None:
            return NotYet.ATTEMPT_STILL_OPEN
        return NotYet.NOT_FOUND_TOO_EARLY if asked_ns < self.absence_counts_from_ns else None


@dataclass(frozen=True, slots=True)
class Judged:
    """What an answer comes to; `covers_until_ns` is None where it settles nothing."""

    finding: Finding
    basis: Basis = Basis.ANSWER
    covers_until_ns: int | None = None
    reason_code: str | None = None


def judge(answer: StatusAnswer, attempted: Attempted, *, asked_ns: int) -> Judged:
    """What an answer comes to that was asked for at `asked_ns`: the time before the question, not that of the answer."""
    if answer is StatusAnswer.STILL_UNKNOWN:
        return Judged(Finding.STILL_UNKNOWN)
    if answer is not StatusAnswer.NOT_FOUND:
        return Judged(Finding(answer.value), Basis.ANSWER, asked_ns)
    why_not = attempted.not_yet(asked_ns)
    if why_not is not None:
        return Judged(Finding.STILL_UNKNOWN, Basis.ABSENCE, reason_code=why_not.value)
    return Judged(Finding.NOT_COMMITTED, Basis.ABSENCE, asked_ns - (attempted.settle_after_ns or 0), "not_found")


class Objection(StrEnum):
    """Why a finding about a call is not taken."""

    READS = "reads"
    """The tool is known to be reading."""
    TRUSTWORTHY = "trustworthy"
    """A trustworthy answer or a gate has told what became of it."""
    PROVEN = "proven"
    """It is proven already that it took no effect, and the finding says no more."""
    MAY_STILL_RUN = "may_still_run"
    """It waits or runs, so that it may still take effect."""


_DID_NOTHING = frozenset({Outcome.FAILED, Outcome.CANCELLED})


def objection(evidence: Evidence, finding: Finding) -> Objection | None:
    """Why a finding is not taken; None where it is. A commit is only refused where it would change nothing."""
    if evidence.access is Access.READS:
        return Objection.READS
    unfound = outcome(evidence._replace(settled=Settled.NO_FINDING))
    if outcome(evidence._replace(settled=Settled.COMMITTED)) is unfound:
        return Objection.TRUSTWORTHY
    if unfound is Outcome.PENDING and finding is Finding.NOT_COMMITTED:
        return Objection.MAY_STILL_RUN
    said_before = evidence.settled is not Settled.NO_FINDING
    if unfound in _DID_NOTHING and finding is not Finding.COMMITTED and not said_before:
        return Objection.PROVEN
    return None
