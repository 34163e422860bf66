"""Whether a retry is safe: a table, and what holds of every combination of facts."""

import itertools

import pytest

from toolwitness.model.enums import ErrorClass, Known, Outcome
from toolwitness.replay.advice import Advice, Facts, Proof, Repeat, Retry, Step, advise

BARE = Facts(
    outcome=Outcome.SUCCEEDED,
    twice=False,
    one_key=False,
    idempotent=Known.UNKNOWN,
    running=False,
    repeat=Repeat.NO,
    proof=Proof.ANSWER,
    error_class=None,
)
BOOLS = (False, True)
EVERY = [
    Facts(*values)
    for values in itertools.product(Outcome, BOOLS, BOOLS, Known, BOOLS, Repeat, Proof, (None, *ErrorClass), BOOLS)
]
KEYED = {"one_key": True, "idempotent": Known.YES}


@pytest.mark.parametrize(
    ("facts", "retry", "step"),
    [
        ({"outcome": Outcome.UNKNOWN_COMMIT}, Retry.UNSAFE, Step.SETTLE),
        ({"outcome": Outcome.UNKNOWN_COMMIT, "one_key": True}, Retry.UNSAFE, Step.SETTLE),
        ({"outcome": Outcome.UNKNOWN_COMMIT, "one_key": True, "idempotent": Known.NO}, Retry.UNSAFE, Step.SETTLE),
        ({"outcome": Outcome.UNKNOWN_COMMIT, "idempotent": Known.YES}, Retry.UNSAFE, Step.SETTLE),
        ({"outcome": Outcome.UNKNOWN_COMMIT, **KEYED}, Retry.SAFE, Step.RETRY_SAME_KEY),
        ({"outcome": Outcome.UNKNOWN_COMMIT, **KEYED, "repeat": Repeat.DONE}, Retry.UNSAFE, Step.SETTLE),
        ({"outcome": Outcome.INDETERMINATE}, Retry.UNSAFE, Step.SETTLE),
        ({"outcome": Outcome.INDETERMINATE, **KEYED}, Retry.SAFE, Step.RETRY_SAME_KEY),
        ({"outcome": Outcome.PENDING, "running": True}, Retry.UNSAFE, Step.WAIT),
        ({"outcome": Outcome.PENDING}, Retry.NOT_NEEDED, Step.APPROVE),
        ({"outcome": Outcome.PENDING, "repeat": Repeat.DONE}, Retry.NOT_NEEDED, Step.SEE_REPEAT),
        ({"outcome": Outcome.PENDING, "repeat": Repeat.OPEN}, Retry.UNSAFE, Step.SETTLE_REPEAT),
        ({"outcome": Outcome.SUCCEEDED}, Retry.NOT_NEEDED, Step.NOTHING),
        ({"outcome": Outcome.SUCCEEDED, "accepted": True}, Retry.UNSAFE, Step.CONFIRM),
        ({"outcome": Outcome.EMPTY}, Retry.NOT_NEEDED, Step.NOTHING),
        ({"outcome": Outcome.SUCCEEDED, "twice": True}, Retry.UNSAFE, Step.CHECK_TWICE),
        ({"outcome": Outcome.PARTIAL}, Retry.UNSAFE, Step.RETRY_ITEMS),
        ({"outcome": Outcome.REJECTED}, Retry.SAFE, Step.ANSWER_GATE),
        ({"outcome": Outcome.REJECTED, "repeat": Repeat.DONE}, Retry.NOT_NEEDED, Step.SEE_REPEAT),
        ({"outcome": Outcome.REJECTED, "repeat": Repeat.UNKNOWN}, Retry.UNKNOWN, Step.START_AGAIN),
        ({"outcome": Outcome.SKIPPED}, Retry.SAFE, Step.RUN_DEPENDENCY),
        ({"outcome": Outcome.CANCELLED}, Retry.SAFE, Step.START_AGAIN),
        ({"outcome": Outcome.BUSINESS_REJECTED}, Retry.SAFE, Step.CORRECT),
        ({"outcome": Outcome.FAILED, "proof": Proof.NO_EFFECT}, Retry.SAFE, Step.RECOVER),
        ({"outcome": Outcome.FAILED, "repeat": Repeat.DONE}, Retry.NOT_NEEDED, Step.SEE_REPEAT),
        ({"outcome": Outcome.FAILED, "repeat": Repeat.OPEN}, Retry.UNSAFE, Step.SETTLE_REPEAT),
        ({"outcome": Outcome.FAILED, "error_class": ErrorClass.VALIDATION}, Retry.SAFE, Step.RECOVER),
        ({"outcome": Outcome.FAILED, "error_class": ErrorClass.CONFLICT}, Retry.UNKNOWN, Step.RECOVER),
        ({"outcome": Outcome.FAILED, "error_class": ErrorClass.UNCLASSIFIED}, Retry.UNKNOWN, Step.RECOVER),
        ({"outcome": Outcome.FAILED}, Retry.UNKNOWN, Step.RECOVER),
        ({"outcome": Outcome.FAILED, "error_class": ErrorClass.UNKNOWN_COMMIT}, Retry.UNSAFE, Step.RECOVER),
    ],
)
def test_the_advice(facts, retry, step):
    """Each row is one situation with its answer and step."""
    advice = advise(BARE._replace(**facts))

    assert (advice.retry, advice.step) == (retry, step)


def test_there_is_an_advice_for_every_combination():
    """The function is total, and each answer has a sentence."""
    assert {type(advise(facts)) for facts in EVERY} == {Advice}
    assert all(advise(facts).why.endswith(".") for facts in EVERY)


def test_what_may_have_taken_effect_is_retried_with_its_key_alone():
    """Of a doubtful call a retry is safe only where one key went along and the tool is idempotent, and nothing was repeated."""
    doubtful = {Outcome.UNKNOWN_COMMIT, Outcome.INDETERMINATE}
    safe = [facts for facts in EVERY if facts.outcome in doubtful and advise(facts).retry is Retry.SAFE]

    assert safe
    assert all(facts.one_key and facts.idempotent is Known.YES and not facts.twice for facts in safe)
    assert {facts.repeat for facts in safe} == {Repeat.NO, Repeat.UNKNOWN}


def test_a_retry_beside_a_repeat_is_never_safe():
    """Where the same took effect later, or may have, no retry is called safe, whatever else is known."""
    beside = [facts for facts in EVERY if facts.repeat in {Repeat.OPEN, Repeat.DONE}]

    assert Retry.SAFE not in {advise(facts).retry for facts in beside}


def test_what_was_done_or_still_goes_on_is_never_retried():
    """No retry is called safe of a call that succeeded, in part or whole, or that is pending."""
    going = {Outcome.SUCCEEDED, Outcome.EMPTY, Outcome.PARTIAL, Outcome.PENDING}

    assert {advise(facts).retry for facts in EVERY if facts.outcome in going} == {Retry.UNSAFE, Retry.NOT_NEEDED}
