"""The outcome of a call, row by row of the requirement (A11, A13)."""

import pytest

from toolwitness.model.enums import ObservationStatus as O
from toolwitness.model.enums import Outcome, SideEffect
from toolwitness.model.outcome import (
    Access,
    Age,
    Effect,
    Evidence,
    GateState,
    LastAttempt,
    Settled,
    access_of,
    every_evidence,
    outcome,
)

BASE = Evidence(
    gate=GateState.CLEAR,
    attempt=LastAttempt.NONE,
    last_effect=Effect.NONE,
    earlier_effect=Effect.NONE,
    observation=O.NONE,
    access=Access.MAY_WRITE,
    settled=Settled.NO_FINDING,
    age=Age.WITHIN,
)
SENT = BASE._replace(last_effect=Effect.POSSIBLE)

TABLE = [
    ("a proposal without any evidence", BASE, Outcome.INDETERMINATE),
    ("denied by a gate", BASE._replace(gate=GateState.REJECTED), Outcome.REJECTED),
    (
        "denied, and the denial delivered as an error",
        BASE._replace(gate=GateState.REJECTED, observation=O.ERROR),
        Outcome.REJECTED,
    ),
    ("waiting for approval", BASE._replace(gate=GateState.PENDING), Outcome.PENDING),
    ("skipped by a gate", BASE._replace(gate=GateState.SKIPPED), Outcome.SKIPPED),
    ("answered well", SENT._replace(attempt=LastAttempt.OK, observation=O.OK), Outcome.SUCCEEDED),
    ("an answer seen by a bare client", BASE._replace(observation=O.OK), Outcome.SUCCEEDED),
    ("an attempt that ended well, its result not recorded", SENT._replace(attempt=LastAttempt.OK), Outcome.INDETERMINATE),
    (
        "a read that ended well, its result not recorded",
        SENT._replace(attempt=LastAttempt.OK, access=Access.READS),
        Outcome.SUCCEEDED,
    ),
    (
        "an attempt that is not there, and an answer",
        SENT._replace(attempt=LastAttempt.UNSEEN, observation=O.OK),
        Outcome.UNKNOWN_COMMIT,
    ),
    (
        "a refusal, and the attempt that it answers is not there",
        SENT._replace(attempt=LastAttempt.UNSEEN, observation=O.ERROR),
        Outcome.UNKNOWN_COMMIT,
    ),
    (
        "never sent, and whether it was tried again is not known",
        BASE._replace(attempt=LastAttempt.RAISED, observation=O.CUT_BY_RECORDING),
        Outcome.INDETERMINATE,
    ),
    (
        "raised after sending, the call's end lost",
        SENT._replace(attempt=LastAttempt.RAISED, observation=O.CUT_BY_RECORDING),
        Outcome.UNKNOWN_COMMIT,
    ),
    (
        "never sent, and waiting for approval",
        BASE._replace(attempt=LastAttempt.RAISED, gate=GateState.PENDING),
        Outcome.PENDING,
    ),
    ("ran fine and found nothing", SENT._replace(attempt=LastAttempt.OK, observation=O.EMPTY), Outcome.EMPTY),
    ("some items of a batch failed", SENT._replace(attempt=LastAttempt.OK, observation=O.PARTIAL), Outcome.PARTIAL),
    ("ran fine and said no", SENT._replace(attempt=LastAttempt.OK, observation=O.BUSINESS_ERROR), Outcome.BUSINESS_REJECTED),
    ("the tool itself reports an error", SENT._replace(attempt=LastAttempt.ERROR, observation=O.ERROR), Outcome.FAILED),
    ("raised after sending", SENT._replace(attempt=LastAttempt.ERROR, observation=O.RAISED), Outcome.UNKNOWN_COMMIT),
    ("raised, never sent", BASE._replace(attempt=LastAttempt.ERROR, observation=O.RAISED), Outcome.FAILED),
    ("timed out after sending", SENT._replace(attempt=LastAttempt.TIMEOUT, observation=O.TIMEOUT), Outcome.UNKNOWN_COMMIT),
    ("timed out while connecting", BASE._replace(attempt=LastAttempt.TIMEOUT, observation=O.TIMEOUT), Outcome.FAILED),
    ("a read that timed out", SENT._replace(attempt=LastAttempt.TIMEOUT, access=Access.READS), Outcome.FAILED),
    ("cut on the wire", SENT._replace(attempt=LastAttempt.OK, observation=O.CUT_ON_WIRE), Outcome.UNKNOWN_COMMIT),
    ("cut by the recording", SENT._replace(attempt=LastAttempt.OK, observation=O.CUT_BY_RECORDING), Outcome.INDETERMINATE),
    ("cancelled before it was sent", BASE._replace(attempt=LastAttempt.CANCELLED), Outcome.CANCELLED),
    ("cancelled after it was sent", SENT._replace(attempt=LastAttempt.CANCELLED), Outcome.UNKNOWN_COMMIT),
    ("a cancelled read", SENT._replace(attempt=LastAttempt.CANCELLED, access=Access.READS), Outcome.CANCELLED),
    ("still running", SENT._replace(attempt=LastAttempt.OPEN), Outcome.PENDING),
    ("running beyond the open timeout", SENT._replace(attempt=LastAttempt.OPEN, age=Age.BEYOND), Outcome.UNKNOWN_COMMIT),
    (
        "a read running beyond the open timeout",
        SENT._replace(attempt=LastAttempt.OPEN, age=Age.BEYOND, access=Access.READS),
        Outcome.INDETERMINATE,
    ),
    (
        "refused at the second try, the first may have committed",
        SENT._replace(attempt=LastAttempt.ERROR, observation=O.ERROR, earlier_effect=Effect.POSSIBLE),
        Outcome.UNKNOWN_COMMIT,
    ),
    (
        "the second try never sent, the first may have committed",
        BASE._replace(attempt=LastAttempt.ERROR, observation=O.RAISED, earlier_effect=Effect.POSSIBLE),
        Outcome.UNKNOWN_COMMIT,
    ),
    ("timed out in words alone, out of sight", BASE._replace(observation=O.TIMEOUT), Outcome.UNKNOWN_COMMIT),
    ("raised in words alone, out of sight", BASE._replace(observation=O.RAISED), Outcome.UNKNOWN_COMMIT),
    (
        "broke off, and somebody answered in its place",
        SENT._replace(attempt=LastAttempt.ERROR, observation=O.OK),
        Outcome.UNKNOWN_COMMIT,
    ),
    (
        "never sent, and somebody answered in its place",
        BASE._replace(attempt=LastAttempt.ERROR, observation=O.OK),
        Outcome.UNKNOWN_COMMIT,
    ),
    (
        "raised, and a loop said in its place that the tool failed",
        SENT._replace(attempt=LastAttempt.RAISED, observation=O.ERROR),
        Outcome.UNKNOWN_COMMIT,
    ),
    (
        "timed out, and a loop said in its place that the tool refused",
        SENT._replace(attempt=LastAttempt.TIMEOUT, observation=O.BUSINESS_ERROR),
        Outcome.UNKNOWN_COMMIT,
    ),
    (
        "never sent, and a loop said in its place that the tool failed",
        BASE._replace(attempt=LastAttempt.RAISED, observation=O.ERROR),
        Outcome.FAILED,
    ),
    (
        "a batch of which some items are not known",
        SENT._replace(attempt=LastAttempt.OK, observation=O.PARTLY_UNKNOWN),
        Outcome.UNKNOWN_COMMIT,
    ),
    (
        "a read of which some items are not known",
        SENT._replace(attempt=LastAttempt.OK, observation=O.PARTLY_UNKNOWN, access=Access.READS),
        Outcome.PARTIAL,
    ),
    ("taken in, not carried out yet", SENT._replace(attempt=LastAttempt.OK, observation=O.ACCEPTED), Outcome.INDETERMINATE),
    (
        "taken in, then found carried out",
        SENT._replace(attempt=LastAttempt.OK, observation=O.ACCEPTED, settled=Settled.COMMITTED),
        Outcome.SUCCEEDED,
    ),
    (
        "taken in, then found not to be carried out",
        SENT._replace(attempt=LastAttempt.OK, observation=O.ACCEPTED, settled=Settled.NOT_COMMITTED),
        Outcome.FAILED,
    ),
    ("called off before it was dispatched", BASE._replace(gate=GateState.WITHDRAWN), Outcome.CANCELLED),
    (
        "called off too late",
        SENT._replace(gate=GateState.WITHDRAWN, attempt=LastAttempt.CANCELLED),
        Outcome.UNKNOWN_COMMIT,
    ),
    (
        "still running, whatever was not found so far",
        SENT._replace(attempt=LastAttempt.OPEN, settled=Settled.NOT_COMMITTED),
        Outcome.PENDING,
    ),
    (
        "timed out, then found committed",
        SENT._replace(attempt=LastAttempt.TIMEOUT, settled=Settled.COMMITTED),
        Outcome.SUCCEEDED,
    ),
    (
        "timed out, then found not committed",
        SENT._replace(attempt=LastAttempt.TIMEOUT, settled=Settled.NOT_COMMITTED),
        Outcome.FAILED,
    ),
    (
        "timed out, and still unknown after asking",
        SENT._replace(attempt=LastAttempt.TIMEOUT, settled=Settled.STILL_UNKNOWN),
        Outcome.UNKNOWN_COMMIT,
    ),
]


@pytest.mark.parametrize(("evidence", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_each_row_of_the_table(evidence, expected):
    """Each named situation has the outcome that the requirement gives it."""
    assert expected == outcome(evidence)


def test_it_is_total():
    """Every combination of evidence has exactly one outcome."""
    assert {type(outcome(evidence)) for evidence in every_evidence()} == {Outcome}


def test_failed_needs_proof_for_what_may_write():
    """Without a complete answer or a finding, no possible effect is ever called failed."""
    for evidence in every_evidence():
        if evidence.access is Access.MAY_WRITE and outcome(evidence) is Outcome.FAILED:
            seen = evidence.attempt is not LastAttempt.NONE
            proof = seen and Effect.POSSIBLE not in (evidence.last_effect, evidence.earlier_effect)
            assert proof or evidence.observation is O.ERROR or evidence.settled is Settled.NOT_COMMITTED


def test_a_rejected_call_has_no_attempt():
    """A call is called rejected or skipped only where nothing was attempted."""
    for evidence in every_evidence():
        if outcome(evidence) in {Outcome.REJECTED, Outcome.SKIPPED}:
            assert evidence.attempt is LastAttempt.NONE


def test_a_finding_never_overrules_a_good_answer():
    """What was answered well stays so whatever a later status query says."""
    for evidence in every_evidence():
        if outcome(evidence._replace(settled=Settled.NO_FINDING)) in {Outcome.SUCCEEDED, Outcome.PARTIAL, Outcome.EMPTY}:
            assert outcome(evidence) == outcome(evidence._replace(settled=Settled.NO_FINDING))


@pytest.mark.parametrize("side_effect", SideEffect)
def test_only_a_known_reader_reads(side_effect):
    """An unknown side effect counts as one that may write."""
    assert (access_of(side_effect) is Access.READS) == (side_effect is SideEffect.READ)
