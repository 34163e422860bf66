"""What is found out later about a call whose commit is unknown, and what that settles (A13).

A service that says that it did or did not do something is believed about everything that had been begun when it was asked.
One that says it knows nothing of a call proves less: what was sent may still be on its way. That counts only where every
attempt had ended `settle_after` before the question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from toolwitness.model.digest import derived_key_digest, is_under, key_digest
from toolwitness.model.enums import Basis, CommitLevel, Finding, Outcome
from toolwitness.model.exceptions import SettlementError
from toolwitness.model.outcome import Access, Evidence, Settled, outcome

_NS = 1_000_000_000


class StatusAnswer(StrEnum):
    """What a service says of a call: `not_committed` is that it never will do it, `not_found` that it knows nothing of it."""

    COMMITTED = "committed"
    NOT_COMMITTED = "not_committed"
    NOT_FOUND = "not_found"
    STILL_UNKNOWN = "still_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownCommit:
    """A call of which nobody knows whether it took effect, as a status query is given it; times are aware, None is not known.

    `arguments` is the redacted copy, `remote_references` are what the service called the attempts, `attempts` how many were
    seen. `last_begun` and `last_ended` are about attempts that may have taken effect; where none was seen, about the call.
    """

    call_id: str
    run_id: str
    server: str
    tool: str
    task: str | None = None
    session: str | None = None
    action_id: str | None = None
    node: str | None = None
    started: datetime | None = None
    last_begun: datetime | None = None
    last_ended: datetime | None = None
    attempts: int = 0
    remote_references: tuple[str, ...] = ()
    arguments: Any = None
    key_digest: str | None = None
    secret: bytes | None = field(default=None, repr=False)
    """The key of keyed digests, which must be the one that the agent recorded under."""

    def matches_key(self, candidate: str | None) -> bool:
        """Whether a key that the service lists is the idempotency key of this call; None, where it lists none, is not.

        Of a key that toolwitness made, its first 32 digits or more are enough, also as a UUID and in capitals.
        The key itself is recorded nowhere, only a digest of it under the agent's secret. Raises SettlementError where either
        is missing or the secret is another, and TypeError for what is no text: that nothing matches would otherwise look like
        nothing done.
        """
        if candidate is not None and type(candidate) is not str:
            raise TypeError(f"a key is text, given was one of type {type(candidate).__name__}")
        if self.key_digest is None:
            raise SettlementError(
                f"no idempotency key is recorded for call {self.call_id}, so that none can be compared with it"
            )
        if self.secret is None or not is_under(self.secret, self.key_digest):
            raise SettlementError(
                "keys are compared under the secret that the agent recorded under, and there is "
                f"{'none' if self.secret is None else 'another'} here; set TOOLWITNESS_DIGEST_KEY to it, or "
                "TOOLWITNESS_STATE_DIR to the agent's state folder"
            )
        made = (key_digest, derived_key_digest)
        return candidate is not None and any(digest(self.secret, candidate) == self.key_digest for digest in made)


@dataclass(frozen=True, slots=True)
class Told:
    """A status query's answer with what it said beside it."""

    answer: StatusAnswer
    reason: str | None = None
    remote_reference: str | None = None
    commit_level: CommitLevel = CommitLevel.UNKNOWN


_BESIDE = frozenset({"reason", "remote_reference", "commit_level"})


def read_told(given: object) -> Told:
    """What a status query returned: a word of `StatusAnswer`, or a mapping with the word under `answer`.

    Raises ValueError or TypeError for anything else, since a word that is not understood must settle nothing.
    """
    told: Mapping[Any, Any] = given if isinstance(given, Mapping) else {"answer": given}
    strange = sorted(str(name) for name in told.keys() - _BESIDE - {"answer"})
    if strange:
        raise ValueError(f"an answer has the fields answer, {', '.join(sorted(_BESIDE))}; given was {', '.join(strange)}")
    beside = {name: told.get(name) for name in ("reason", "remote_reference")}
    if not all(text is None or type(text) is str for text in beside.values()):
        raise TypeError("reason and remote_reference are texts")
    if told.get("answer") not in set(StatusAnswer):
        raise ValueError(f"the answer must be one of {', '.join(StatusAnswer)}")
    return Told(
        StatusAnswer(told["answer"]), **beside, commit_level=CommitLevel(told.get("commit_level") or CommitLevel.UNKNOWN)
    )


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
