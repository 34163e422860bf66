"""What became of a logical call: one pure, total function from finite evidence (A11, A13).

The evidence is a tuple of enums, so the function is also a finite table: the store keeps it as `outcome_rule` and joins
against it, and a test compares every row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from toolwitness.model.enums import ObservationStatus, Outcome, SideEffect


class GateState(StrEnum):
    """What stood before execution: the enforced gates, each kind by its last verdict, and whether the call was withdrawn."""

    CLEAR = "clear"
    REJECTED = "rejected"
    PENDING = "pending"
    SKIPPED = "skipped"
    WITHDRAWN = "withdrawn"


class LastAttempt(StrEnum):
    """The status of the latest physical attempt.

    `raised` is an error by an exception in the place of an answer; `unseen` one that the call says was made, whose span is
    not there.
    """

    NONE = "none"
    OPEN = "open"
    OK = "ok"
    ERROR = "error"
    RAISED = "raised"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    UNSEEN = "unseen"


class Effect(StrEnum):
    """Whether something attempted may have changed the world: `none` needs positive proof."""

    NONE = "none"
    POSSIBLE = "possible"


class Settled(StrEnum):
    """What the reconciliations found, as far as they cover what was attempted."""

    NO_FINDING = "no_finding"
    COMMITTED = "committed"
    NOT_COMMITTED = "not_committed"
    STILL_UNKNOWN = "still_unknown"


class Age(StrEnum):
    """Whether a call that is still open has been so for longer than the setting `open_timeout`."""

    WITHIN = "within"
    BEYOND = "beyond"


class Access(StrEnum):
    """Whether the tool is known to be reading only."""

    READS = "reads"
    MAY_WRITE = "may_write"


class Evidence(NamedTuple):
    """All that decides an outcome.

    `last_effect` is about the latest attempt (`none` = never sent, or proof of no effect), `earlier_effect` about all before
    it: also one that ended well, since its answer was not what came back in the end. Where a failing server or gateway
    answered the latest attempt (5xx), what was done behind that counts as earlier too.
    """

    gate: GateState
    attempt: LastAttempt
    last_effect: Effect
    earlier_effect: Effect
    observation: ObservationStatus
    access: Access
    settled: Settled
    age: Age


def access_of(side_effect: SideEffect) -> Access:
    """`reads` for a tool known to be reading; an unknown side effect counts as one that may write."""
    return Access.READS if side_effect is SideEffect.READ else Access.MAY_WRITE


_GATE_OUTCOME = {
    GateState.REJECTED: Outcome.REJECTED,
    GateState.PENDING: Outcome.PENDING,
    GateState.SKIPPED: Outcome.SKIPPED,
    GateState.WITHDRAWN: Outcome.CANCELLED,
}
_GOOD_ANSWER = {
    ObservationStatus.OK: Outcome.SUCCEEDED,
    ObservationStatus.EMPTY: Outcome.EMPTY,
    ObservationStatus.PARTIAL: Outcome.PARTIAL,
}
_HALF_TOLD = {
    ObservationStatus.PARTLY_UNKNOWN: (Outcome.PARTIAL, Outcome.UNKNOWN_COMMIT),
    # That it was carried out is for somebody to find out.
    ObservationStatus.ACCEPTED: (Outcome.SUCCEEDED, Outcome.INDETERMINATE),
}
"""Answers that leave something open: what they come to where the tool only reads, and where it may write."""
_BROKEN_OFF = frozenset(LastAttempt) - {LastAttempt.NONE, LastAttempt.OK}
_UNANSWERED = _BROKEN_OFF - {LastAttempt.ERROR}
_REFUSAL = {ObservationStatus.ERROR: Outcome.FAILED, ObservationStatus.BUSINESS_ERROR: Outcome.BUSINESS_REJECTED}
_OUT_OF_SIGHT = frozenset({LastAttempt.OPEN, LastAttempt.UNSEEN})
_SETTLEMENT = {Settled.COMMITTED: Outcome.SUCCEEDED, Settled.NOT_COMMITTED: Outcome.FAILED}
_TRUSTED = frozenset(
    {
        Outcome.SUCCEEDED,
        Outcome.EMPTY,
        Outcome.PARTIAL,
        Outcome.BUSINESS_REJECTED,
        Outcome.REJECTED,
        Outcome.SKIPPED,
    }
)


def _without_end(evidence: Evidence) -> Outcome:
    """The outcome where the call's own word about its latest attempt is missing: another may be under way."""
    if evidence.attempt not in _BROKEN_OFF or evidence.access is Access.READS:
        return Outcome.INDETERMINATE
    so_far = _without_answer(evidence)
    return Outcome.INDETERMINATE if so_far in {Outcome.FAILED, Outcome.CANCELLED} else so_far


def _without_answer(evidence: Evidence) -> Outcome:
    """The outcome where nothing that could be trusted came back."""
    if evidence.attempt is LastAttempt.OPEN and evidence.age is Age.WITHIN:
        return Outcome.PENDING
    if evidence.access is Access.READS:
        if evidence.attempt is LastAttempt.CANCELLED:
            return Outcome.CANCELLED
        return Outcome.INDETERMINATE if evidence.attempt in _OUT_OF_SIGHT else Outcome.FAILED
    # Where something came back and no attempt was seen, somebody ran the tool out of sight.
    out_of_sight = evidence.attempt is LastAttempt.NONE
    if out_of_sight or Effect.POSSIBLE in (evidence.last_effect, evidence.earlier_effect):
        return Outcome.UNKNOWN_COMMIT
    if evidence.gate is GateState.PENDING:
        return Outcome.PENDING  # it did nothing, and goes on when somebody has answered
    return Outcome.CANCELLED if evidence.attempt is LastAttempt.CANCELLED else Outcome.FAILED


def _as_recorded(evidence: Evidence) -> Outcome:
    """The outcome by gates, attempts and observation alone."""
    attempt, observation, may_write = evidence.attempt, evidence.observation, evidence.access is Access.MAY_WRITE
    if attempt is LastAttempt.NONE and evidence.gate is not GateState.CLEAR:
        return _GATE_OUTCOME[evidence.gate]
    if observation in _GOOD_ANSWER:
        # What a loop or middleware says in the place of a tool whose last try broke off proves nothing.
        return Outcome.UNKNOWN_COMMIT if may_write and attempt in _BROKEN_OFF else _GOOD_ANSWER[observation]
    if observation in _HALF_TOLD:
        read, written = _HALF_TOLD[observation]
        return read if not may_write else Outcome.UNKNOWN_COMMIT if attempt in _BROKEN_OFF else written
    if observation is ObservationStatus.CUT_BY_RECORDING:
        return _without_end(evidence)
    if observation in _REFUSAL:
        unanswered = attempt in _UNANSWERED and evidence.last_effect is Effect.POSSIBLE
        uncertain = may_write and (unanswered or evidence.earlier_effect is Effect.POSSIBLE)
        return Outcome.UNKNOWN_COMMIT if uncertain else _REFUSAL[observation]
    if observation is ObservationStatus.NONE and attempt is LastAttempt.NONE:
        return Outcome.INDETERMINATE
    if observation is ObservationStatus.NONE and attempt is LastAttempt.OK:
        return Outcome.INDETERMINATE if may_write else Outcome.SUCCEEDED  # it ended well, and nobody told with what
    return _without_answer(evidence)


def outcome(evidence: Evidence) -> Outcome:
    """What became of the call.

    Total over every combination. `failed` for a tool that may write needs proof of no effect or a complete answer in which
    the tool itself reports the error; everything else that ended without a trustworthy answer is `unknown_commit` until a
    reconciliation settles it (A13). A finding never overrules a trustworthy answer or a gate.
    """
    recorded = _as_recorded(evidence)
    if recorded in _TRUSTED or evidence.access is Access.READS:
        return recorded
    if recorded is Outcome.PENDING and evidence.settled is Settled.NOT_COMMITTED:
        return recorded  # it may still commit
    return _SETTLEMENT.get(evidence.settled, recorded)


def every_evidence() -> Iterator[Evidence]:
    """Every combination of evidence, in a fixed order."""
    domains = (GateState, LastAttempt, Effect, Effect, ObservationStatus, Access, Settled, Age)
    return itertools.starmap(Evidence, itertools.product(*domains))
