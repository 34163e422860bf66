"""What is recorded of payments, beside the books of the service that they were sent to."""

import contextlib
import itertools

import pytest

import toolwitness
from toolwitness.collector.store.store import Store
from toolwitness.tests.fakes.paying_agent import CLIENTS, Bill, PayingAgent
from toolwitness.tests.fakes.payment_service import Instruction, PaymentService

REFUSED = None
"""In the place of an instruction: nobody listens."""
COMMITTED = (201, 429, 500, 502, 503, "garbage", "half", "short", "drop", "reset", "silent")
UNTOUCHED = (202, 400, 402, 403, 422, 429, 500, 502, 503, "garbage", "drop", "reset", "silent")
ANSWERED_WITH_SUCCESS = ("garbage", "half", "short")
EVERYTHING = [
    *(Instruction("before", answer) for answer in COMMITTED),
    *(Instruction("never", answer) for answer in UNTOUCHED),
    *(Instruction("later", answer) for answer in (202, 502, "garbage", "drop", "reset")),
    Instruction("left", "silent"),
    Instruction("before", 201, hidden_s=10),
    Instruction("before", "drop", hidden_s=10),
    REFUSED,
]
TRIES = [
    *(Instruction("before", answer) for answer in (201, 502, "drop")),
    *(Instruction("never", answer) for answer in (400, 402, 503, "reset")),
    Instruction("later", 502),
    Instruction("left", "silent"),
    REFUSED,
]
TWICE = list(itertools.product(TRIES, TRIES))
NOTHING_HAPPENED = {"failed", "business_rejected", "rejected", "skipped", "cancelled"}
IN_DOUBT = {"unknown_commit", "pending", "indeterminate"}


@pytest.fixture(name="service")
def _service():
    service = PaymentService()
    yield service
    service.close()


@pytest.fixture(name="ledger")
def _ledger(tmp_path, service):
    """`ledger(bills, client, manner)` pays them, recorded into a file; gives (bill, call's row, committed by now) of each."""

    def play(bills, *how):
        agent = PayingAgent(service, *how)
        toolwitness.instrument(db=tmp_path / "spans.duckdb", only=["httpx", "requests"])
        try:
            agent.run(bills)
        finally:
            toolwitness.uninstrument()
        with contextlib.closing(Store.open(tmp_path / "spans.duckdb")) as store:
            rows = {row["call_id"]: row for row in store.query("replay_calls", {"run": "run-1"}).to_pylist()}
            listed = {row["call"] for row in store.query("unknown_commits", {"now_ns": 0}).to_pylist()}
        return [
            (bill, rows[reference] | {"listed": reference in listed}, service.committed(reference))
            for bill, reference in zip(bills, agent.references, strict=True)
        ]

    return play


def claim(row):
    """What the ledger says of a call: that it took effect, that it did not, that it was accepted only, or that nobody knows."""
    if row["outcome"] in NOTHING_HAPPENED:
        return "not committed"
    if row["outcome"] in IN_DOUBT:
        return "unknown"
    return "accepted" if row["commit_level"] == "accepted" else "committed"


def lies(played):
    """What the ledger claims against the books."""
    return [
        (str(bill), row["outcome"], committed)
        for bill, row, committed in played
        if (claim(row), committed > 0) in {("committed", False), ("not committed", True)}
    ]


@pytest.mark.parametrize("client", CLIENTS)
def test_whatever_the_service_does_the_ledger_claims_nothing_against_its_books(ledger, service, client):
    """Now and when all that was on its way has arrived; what is not claimed is listed."""
    played = ledger([Bill((told,)) for told in EVERYTHING], client)

    assert lies(played) == []
    service.advance(60)
    assert lies([(bill, row, service.committed(row["call_id"])) for bill, row, _ in played]) == []
    assert [row["outcome"] for _, row, _ in played if claim(row) == "unknown" and not row["listed"]] == []


def test_what_each_answer_is_worth(ledger):
    """Proof either way is told; the rest is unknown, whether it took effect or not."""
    told = {str(bill): (row["outcome"], row["commit_level"]) for bill, row, _ in ledger([Bill((told,)) for told in EVERYTHING])}
    proven = {name: said for name, said in told.items() if said != ("unknown_commit", "unknown")}

    assert proven == {
        "201-before": ("succeeded", "unknown"),
        "201-before-hidden": ("succeeded", "unknown"),
        "202-never": ("succeeded", "accepted"),
        "202-later": ("succeeded", "accepted"),
        "400-never": ("failed", "unknown"),
        "403-never": ("failed", "unknown"),
        "None": ("failed", "unknown"),
    }


@pytest.mark.parametrize("manner", ["tells", "words"])
@pytest.mark.parametrize("client", CLIENTS)
def test_words_of_a_tool_are_not_taken_for_an_answer_that_never_came(ledger, service, client, manner):
    """It caught what its request raised; only where the service answered with success it is the tool's word that counts."""
    failing = [told for told in EVERYTHING if told is None or told.answer not in ANSWERED_WITH_SUCCESS]
    played = ledger([Bill((told,)) for told in failing], client, manner)
    service.advance(60)

    assert lies([(bill, row, service.committed(row["call_id"])) for bill, row, _ in played]) == []


@pytest.mark.parametrize("manner", ["raises", "tells"])
def test_tries_in_any_order_claim_nothing_against_the_books(ledger, service, manner):
    """A later answer does not unsay an earlier try, and whatever was tried twice is one call."""
    played = ledger([Bill(twice) for twice in TWICE], "httpx", manner)
    service.advance(60)

    assert len(played) == len(TWICE)
    assert lies([(bill, row, service.committed(row["call_id"])) for bill, row, _ in played]) == []
