"""How a call that has an idempotency key ended, by what the application said and saw at that moment.

What only a recorded process knows (requests that were watched, what a tool server says of its tools) is left out, since keys
must not hang on it. So the worker may be certain later where this is not; the key is shared then, which is never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from toolwitness.model.enums import AttemptStatus, Known, ObservationStatus, Outcome, SideEffect
from toolwitness.model.errors import Errors, OwnRule
from toolwitness.model.json_text import parsed
from toolwitness.model.outcome import Access, Age, Effect, Evidence, GateState, LastAttempt, Settled, outcome
from toolwitness.sdk.failures import ErrorReader
from toolwitness.sdk.keybook import Ending

if TYPE_CHECKING:
    from toolwitness.sdk.calls import CallScope

_ENDINGS = {
    Outcome.SUCCEEDED: Ending.DONE,
    Outcome.EMPTY: Ending.DONE,
    Outcome.PARTIAL: Ending.DONE,
    Outcome.FAILED: Ending.REFUSED,
    Outcome.BUSINESS_REJECTED: Ending.REFUSED,
}
_MOST_TRIES = 16


@dataclass(slots=True)
class _Notes:
    """What the reader of errors keeps on a call; the call's own are the worker's."""

    failed: dict[str, Any] | None = None
    only_accepted: bool = False
    broke_off: bool = False
    definition: None = None


@dataclass(slots=True)
class _Read:
    """What the reader of errors asks of a call."""

    tool: str
    side_effect: SideEffect
    noted: _Notes


class Tries:
    """What the attempts of a call came to; `unseen` where one had ended before anybody looked."""

    def __init__(self, *, unseen: bool) -> None:
        self._ended: dict[int, dict[str, Any]] = {}
        self._unseen = unseen

    def add(self, ordinal: int, facts: dict[str, Any]) -> None:
        """Take in an attempt that ended; of too many the first is one that nobody knows of."""
        self._ended[ordinal] = facts
        if len(self._ended) > _MOST_TRIES:
            del self._ended[min(self._ended)]
            self._unseen = True

    def ending(self, call: CallScope, rules: Sequence[OwnRule]) -> Ending | None:
        """How the call ended where that is certain and an answer of the tool was told, or the call is over."""
        if call.open_attempts or not (call.answered or call.closed):
            return None
        reader = ErrorReader(Errors(rules))
        read = cast("CallScope", _Read(call.tool, SideEffect.UNKNOWN, _Notes()))
        tries = [reader.of_attempt(read, self._ended[ordinal]) for ordinal in sorted(self._ended)]
        copy, facts = call.observed
        value = None if copy is None else copy.value
        told = facts.get("observation", ObservationStatus.OK) is not None
        facts = reader.of_answer(read, value, facts)
        if not told and _is_unsure(value, facts):
            return None
        last = tries[-1] if tries else None
        evidence = Evidence(
            gate=GateState.REJECTED if call.stopped else GateState.CLEAR,
            attempt=_status(last) if last is not None else LastAttempt.ERROR if self._unseen else LastAttempt.NONE,
            last_effect=_effect(last),
            earlier_effect=Effect.POSSIBLE if self._unseen or any(map(_doubtful, tries[:-1])) else Effect.NONE,
            observation=facts.get("observation", ObservationStatus.NONE),
            access=Access.MAY_WRITE,
            settled=Settled.NO_FINDING,
            age=Age.WITHIN,
        )
        return _ENDINGS.get(outcome(evidence))


def _is_unsure(value: Any, facts: dict[str, Any]) -> bool:
    """Whether a tool returned what it may also return where it caught a time-out: an error, a sentence, or nothing.

    Without a word of the application's own its call stays unsettled then: a retry with the same key has no second effect, and
    one with another key might. A rule of the application's that calls the error one of business is such a word.
    """
    read = parsed(value)
    return facts.get("observation") is ObservationStatus.ERROR or read is None or read is False or type(read) is str


def _status(facts: dict[str, Any]) -> LastAttempt:
    status: AttemptStatus = facts["attempt_status"]
    raised = status is AttemptStatus.ERROR and facts.get("error_type") is not None
    return LastAttempt.RAISED if raised else LastAttempt(status.value)


def _effect(facts: dict[str, Any] | None) -> Effect:
    ruled_out = facts is not None and (facts.get("sent") is Known.NO or facts.get("effect_ruled_out", False))
    return Effect.NONE if ruled_out else Effect.POSSIBLE


def _doubtful(facts: dict[str, Any]) -> bool:
    return facts["attempt_status"] is not AttemptStatus.OK and _effect(facts) is Effect.POSSIBLE
