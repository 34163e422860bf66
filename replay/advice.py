"""Whether a call may be tried again: one pure, total function over finite facts (U2, A10, A13).

`Retry` answers one question: can a retry change the world a second time? What has to change for it to help is the step.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from toolwitness.model.enums import ErrorClass, Known, Outcome


class Retry(StrEnum):
    """Whether trying the same again is safe for the world."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    UNKNOWN = "unknown"
    NOT_NEEDED = "not_needed"


class Repeat(StrEnum):
    """What is known of a later call of the same: none ran or took effect, one may have, one did, or nobody can tell."""

    NO = "no"
    OPEN = "open"
    DONE = "done"
    UNKNOWN = "unknown"


class Proof(StrEnum):
    """Why a call that failed is known to have failed: it had no effect, or the tool's own answer says so."""

    NO_EFFECT = "no_effect"
    ANSWER = "answer"


class Step(StrEnum):
    """What comes next."""

    SETTLE = "settle"
    SETTLE_REPEAT = "settle_repeat"
    RETRY_SAME_KEY = "retry_same_key"
    WAIT = "wait"
    APPROVE = "approve"
    SEE_REPEAT = "see_repeat"
    CHECK_TWICE = "check_twice"
    CONFIRM = "confirm"
    RETRY_ITEMS = "retry_items"
    ANSWER_GATE = "answer_gate"
    RUN_DEPENDENCY = "run_dependency"
    CORRECT = "correct"
    RECOVER = "recover"
    START_AGAIN = "start_again"
    NOTHING = "nothing"


class Facts(NamedTuple):
    """All that decides the advice.

    `twice`: it took effect and may have done so more than once. `one_key`: every attempt carried one idempotency key;
    `idempotent`: whether the tool does the same once however often it is asked with that key. `running`: an attempt is open.
    `repeat` is about later calls with the same arguments or for the same action. `accepted`: the service took it in, and
    nobody knows of more.
    """

    outcome: Outcome
    twice: bool
    one_key: bool
    idempotent: Known
    running: bool
    repeat: Repeat
    proof: Proof
    error_class: ErrorClass | None
    accepted: bool = False


class Advice(NamedTuple):
    """The answer, why in one sentence, and the step."""

    retry: Retry
    why: str
    step: Step


_DOUBTFUL = frozenset({Outcome.UNKNOWN_COMMIT, Outcome.INDETERMINATE})
_GOOD = frozenset({Outcome.SUCCEEDED, Outcome.EMPTY})
_SAYS_NOTHING = frozenset({None, ErrorClass.CONFLICT, ErrorClass.INTERNAL, ErrorClass.UNCLASSIFIED})
"""Classes of a tool's own error that do not tell whether an earlier try has done a part of it."""

_TWICE = Advice(Retry.UNSAFE, "It took effect, and may have done so more than once.", Step.CHECK_TWICE)
_RUNNING = Advice(Retry.UNSAFE, "An attempt has begun, and nothing says that it ended.", Step.WAIT)
_WAITING = Advice(Retry.NOT_NEEDED, "It waits for an approval: asking again would only add another to approve.", Step.APPROVE)
_DONE_MEANWHILE = Advice(Retry.NOT_NEEDED, "It waits for an approval, but the same took effect meanwhile.", Step.SEE_REPEAT)
_OPEN_MEANWHILE = Advice(
    Retry.UNSAFE, "It waits for an approval, and the same was asked for again: that may take effect.", Step.SETTLE_REPEAT
)
_SAME_KEY = Advice(
    Retry.SAFE,
    "Only with the same idempotency key: the tool does the same once for one key, as long as its service remembers the key.",
    Step.RETRY_SAME_KEY,
)
_REPEATED = Advice(
    Retry.UNSAFE, "It may have taken effect, and the same was asked for again: another try could be one too many.", Step.SETTLE
)
_NO_KEY = Advice(
    Retry.UNSAFE,
    "It may have taken effect, and no idempotency key is known to have gone along that would keep a retry from doing it twice.",
    Step.SETTLE,
)
_KEY_ALONE = Advice(
    Retry.UNSAFE, "It may have taken effect; a key went along, but the tool is not declared idempotent.", Step.SETTLE
)
_DONE_LATER = Advice(Retry.NOT_NEEDED, "It took no effect, but the same took effect later in another call.", Step.SEE_REPEAT)
_OPEN_LATER = Advice(
    Retry.UNSAFE, "It took no effect, but the same was asked for again, and that call may take effect.", Step.SETTLE_REPEAT
)
_UNSEEN_LATER = Advice(
    Retry.UNKNOWN, "It took no effect, but nothing recorded tells whether the same was done later.", Step.START_AGAIN
)
_PARTIAL = Advice(Retry.UNSAFE, "A part of it was done: only what failed may be tried again.", Step.RETRY_ITEMS)
_OWN_ERROR_UNSURE = Advice(
    Retry.UNKNOWN, "The tool itself reported an error that does not tell whether an earlier try has done it.", Step.RECOVER
)
_OWN_ERROR_LOST = Advice(
    Retry.UNSAFE, "The tool itself reported an error after which it may have taken effect all the same.", Step.RECOVER
)
_OWN_ERROR = Advice(Retry.SAFE, "The tool itself reported the error: it took no effect.", Step.RECOVER)
_NO_EFFECT = Advice(Retry.SAFE, "It is proven that it took no effect.", Step.RECOVER)
_DONE = Advice(Retry.NOT_NEEDED, "It was done.", Step.NOTHING)
_ACCEPTED = Advice(Retry.UNSAFE, "The service took it in and may do it at any time; whether it did is not known.", Step.CONFIRM)
_NOT_DONE = {
    Outcome.REJECTED: Advice(
        Retry.SAFE, "Nothing ran; the same is stopped again until the gate's reason has changed.", Step.ANSWER_GATE
    ),
    Outcome.SKIPPED: Advice(Retry.SAFE, "Nothing ran: it was skipped.", Step.RUN_DEPENDENCY),
    Outcome.CANCELLED: Advice(Retry.SAFE, "It was called off before it took any effect.", Step.START_AGAIN),
    Outcome.BUSINESS_REJECTED: Advice(
        Retry.SAFE, "The tool said no and did nothing; it says the same again to the same arguments.", Step.CORRECT
    ),
}


def advise(facts: Facts) -> Advice:
    """Whether to retry; what may have taken effect is retried safely with one key and an idempotent tool alone."""
    if facts.twice:
        return _TWICE
    if facts.outcome in _GOOD:
        return _ACCEPTED if facts.accepted else _DONE
    if facts.outcome in _DOUBTFUL:
        return _of_doubtful(facts)
    if facts.outcome is Outcome.PENDING:
        return _of_pending(facts)
    if facts.outcome is Outcome.PARTIAL:
        return _PARTIAL
    return _of_repeated(facts) or (_of_failed(facts) if facts.outcome is Outcome.FAILED else _NOT_DONE[facts.outcome])


def _of_doubtful(facts: Facts) -> Advice:
    if facts.repeat in {Repeat.OPEN, Repeat.DONE}:
        return _REPEATED
    if not facts.one_key:
        return _NO_KEY
    return _SAME_KEY if facts.idempotent is Known.YES else _KEY_ALONE


def _of_pending(facts: Facts) -> Advice:
    if facts.running:
        return _RUNNING
    return {Repeat.DONE: _DONE_MEANWHILE, Repeat.OPEN: _OPEN_MEANWHILE}.get(facts.repeat, _WAITING)


def _of_repeated(facts: Facts) -> Advice | None:
    """What later calls of the same make of a call that took no effect; None where there was none that matters."""
    return {Repeat.DONE: _DONE_LATER, Repeat.OPEN: _OPEN_LATER, Repeat.UNKNOWN: _UNSEEN_LATER}.get(facts.repeat)


def _of_failed(facts: Facts) -> Advice:
    if facts.proof is Proof.NO_EFFECT:
        return _NO_EFFECT
    if facts.error_class is ErrorClass.UNKNOWN_COMMIT:
        return _OWN_ERROR_LOST
    return _OWN_ERROR_UNSURE if facts.error_class in _SAYS_NOTHING else _OWN_ERROR
