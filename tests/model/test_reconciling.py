"""What an answer to a status query settles, and which words about a call are not taken."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.model.digest import derived_key_digest, key_digest
from toolwitness.model.enums import Basis, CommitLevel, Finding, Outcome
from toolwitness.model.exceptions import SettlementError
from toolwitness.model.outcome import Access, Settled, every_evidence, outcome
from toolwitness.model.reconciling import (
    Attempted,
    Judged,
    NotYet,
    Objection,
    StatusAnswer,
    Told,
    UnknownCommit,
    judge,
    objection,
    read_told,
)

SECOND = 10**9
ENDED = 1_000 * SECOND


def not_found(asked_ns, **attempted):
    """What "not found" comes to where the tool's service knows of an attempt after a minute."""
    facts = {"last_ended_ns": ENDED, "settle_after_s": 60.0, **attempted}
    return judge(StatusAnswer.NOT_FOUND, Attempted(**facts), asked_ns=asked_ns)


def test_an_answer_covers_what_had_begun_when_it_was_asked_for():
    """Whatever the tool declares, and whether its attempts have ended or not."""
    open_attempt = Attempted(None, None)
    assert judge(StatusAnswer.COMMITTED, open_attempt, asked_ns=7) == Judged(Finding.COMMITTED, Basis.ANSWER, 7)
    assert judge(StatusAnswer.NOT_COMMITTED, open_attempt, asked_ns=7) == Judged(Finding.NOT_COMMITTED, Basis.ANSWER, 7)
    assert judge(StatusAnswer.STILL_UNKNOWN, open_attempt, asked_ns=7) == Judged(Finding.STILL_UNKNOWN)


def test_not_found_settles_once_settle_after_is_over():
    """To the nanosecond: it covers attempts that had ended by then, and no later one."""
    settled = not_found(ENDED + 60 * SECOND)
    assert settled == Judged(Finding.NOT_COMMITTED, Basis.ABSENCE, ENDED, "not_found")


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"asked_ns": ENDED + 60 * SECOND - 1}, NotYet.NOT_FOUND_TOO_EARLY),
        ({"asked_ns": ENDED + 61 * SECOND, "settle_after_s": None}, NotYet.NO_SETTLE_AFTER),
        ({"asked_ns": ENDED + 61 * SECOND, "settle_after_s": float("inf")}, NotYet.NO_SETTLE_AFTER),
        ({"asked_ns": ENDED + 61 * SECOND, "settle_after_s": float("nan")}, NotYet.NO_SETTLE_AFTER),
        ({"asked_ns": ENDED + 61 * SECOND, "settle_after_s": -1.0}, NotYet.NO_SETTLE_AFTER),
        ({"asked_ns": ENDED + 61 * SECOND, "last_ended_ns": None}, NotYet.ATTEMPT_STILL_OPEN),
        ({"asked_ns": ENDED + 61 * SECOND, "time_known": False}, NotYet.TIME_UNKNOWN),
    ],
)
def test_not_found_before_that_settles_nothing(facts, why):
    """And says why; a length of time that is none is not declared."""
    assert not_found(**facts) == Judged(Finding.STILL_UNKNOWN, Basis.ABSENCE, None, why)


@given(
    st.integers(0, 2**62),
    st.none() | st.integers(0, 2**62),
    st.none() | st.floats(),
    st.booleans(),
    st.sampled_from(StatusAnswer),
)
def test_what_is_judged_never_covers_more_than_is_proven(asked_ns, ended_ns, settle_after_s, time_known, answer):
    """Total; an absence that settles covers the last attempt's end, and nothing covers what begins after the question."""
    judged = judge(answer, Attempted(ended_ns, settle_after_s, time_known=time_known), asked_ns=asked_ns)
    if judged.basis is Basis.ABSENCE and judged.finding is Finding.NOT_COMMITTED:
        assert ended_ns is not None
        assert time_known
        assert ended_ns <= judged.covers_until_ns
    assert judged.covers_until_ns is None or judged.covers_until_ns <= asked_ns
    assert (judged.covers_until_ns is None) == (judged.finding is Finding.STILL_UNKNOWN)


def test_a_word_is_refused_only_where_it_says_nothing_new_or_too_early():
    """Over every evidence: a commit is heard wherever the outcome would hear it, and no doubt is left without a way out."""
    for evidence in every_evidence():
        unfound = outcome(evidence._replace(settled=Settled.NO_FINDING))
        heard = outcome(evidence._replace(settled=Settled.COMMITTED)) is not unfound
        assert (objection(evidence, Finding.COMMITTED) is None) == heard
        if unfound is Outcome.UNKNOWN_COMMIT or (unfound is Outcome.INDETERMINATE and evidence.access is Access.MAY_WRITE):
            assert {objection(evidence, finding) for finding in Finding} == {None}
        if unfound is Outcome.PENDING and evidence.access is Access.MAY_WRITE:
            assert objection(evidence, Finding.NOT_COMMITTED) is Objection.MAY_STILL_RUN


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ("committed", Told(StatusAnswer.COMMITTED)),
        ({"answer": "not_found", "reason": "no such payment"}, Told(StatusAnswer.NOT_FOUND, "no such payment")),
        (
            {"answer": "committed", "remote_reference": "pay_7", "commit_level": "read_back"},
            Told(StatusAnswer.COMMITTED, None, "pay_7", CommitLevel.READ_BACK),
        ),
    ],
)
def test_an_answer_is_a_word_or_a_mapping_with_one(given_, told):
    """With what it says beside it."""
    assert read_told(given_) == told


@pytest.mark.parametrize(
    "given_",
    [None, True, "ok", "", ["committed"], {}, {"answer": "yes"}, {"answer": "committed", "note": "x"}, {"answer": []},
     {"answer": "committed", "reason": 7}, {"answer": "committed", "commit_level": "sure"}],
)  # fmt: skip
def test_what_is_no_answer_is_refused(given_):
    """A word that is not understood must settle nothing."""
    with pytest.raises((ValueError, TypeError)):
        read_told(given_)


def unknown(**facts):
    """A call in doubt."""
    return UnknownCommit(call_id="c", run_id="r", server="", tool="pay", **facts)


def test_a_key_is_compared_by_its_digest():
    """The key itself is recorded nowhere, and the secret is not shown."""
    call = unknown(key_digest=key_digest(b"secret", "k-1"), secret=b"secret")

    assert [call.matches_key(key) for key in ("k-1", "k-2", "", None)] == [True, False, False, False]
    with pytest.raises(TypeError, match="given was one of type int"):
        call.matches_key(1)
    assert "secret" not in repr(call)


def test_a_key_made_here_is_known_by_its_first_128_bits():
    """Services that take less are sent a part of it, or a UUID; one digit too few, or another, is another key."""
    key = "0123456789abcdef" * 4
    call = unknown(key_digest=derived_key_digest(b"secret", key), secret=b"secret")
    same = (key, key[:45], key[:32], key.upper(), str(uuid.UUID(key[:32])))
    others = (key[:31], "f" + key[1:], f"{key}0", f"pay {key}")

    assert [call.matches_key(candidate) for candidate in (*same, *others)] == [True] * 5 + [False] * 4


def test_a_key_of_the_applications_own_is_compared_as_it_is():
    """Nobody but the application knows what of it counts."""
    call = unknown(key_digest=key_digest(b"secret", "0" * 40), secret=b"secret")

    assert [call.matches_key(candidate) for candidate in ("0" * 40, "0" * 32, "0" * 39 + "1")] == [True, False, False]


@pytest.mark.parametrize(
    "facts",
    [{"secret": b"secret"}, {"key_digest": "ab" * 16}, {"secret": b"other", "key_digest": key_digest(b"secret", "k-1")}],
)
def test_keys_that_cannot_be_compared_do_not_differ(facts):
    """Else nothing would match, and a payment that was made would look like one that was not."""
    with pytest.raises(SettlementError):
        unknown(**facts).matches_key("k-1")
