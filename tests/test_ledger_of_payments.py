"""What is recorded of payments, beside the books of the service that they were sent to."""

import contextlib
import itertools

import pytest
import requests

import toolwitness
from toolwitness.collector.store.store import Store
from toolwitness.replay.asking import ask, due_calls
from toolwitness.replay.load import Source
from toolwitness.replay.reconcile import Making
from toolwitness.sdk.clock import SeededIds
from toolwitness.tests.factories import SECOND_NS
from toolwitness.tests.fakes.paying_agent import CLIENTS, PATIENT_S, SETTLE_AFTER_S, Bill, PayingAgent
from toolwitness.tests.fakes.payment_service import Instruction, PaymentService

REFUSED = None
"""In the place of an instruction: nobody listens."""
COMMITTED = (201, 429, 500, 502, 503, "garbage", "half", "short", "drop", "reset", "silent")
UNTOUCHED = (202, 400, 402, 403, 422, 429, 500, 502, 503, "garbage", "drop", "reset", "silent")
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
            unsettled = store.query("submissions", {"now_ns": 0, "states": "unsettled"}).to_pylist()
            listed = {row["call"] for row in unsettled}
        return [
            (bill, rows[reference] | {"listed": reference in listed}, service.committed(reference))
            for bill, reference in zip(bills, agent.references, strict=True)
        ]

    return play


@pytest.fixture(name="reconcile")
def _reconcile(tmp_path, service):
    """`reconcile()` asks the service, at its own time, about each call that is due; gives the calls by id."""

    def clock():
        return round(service.now_s() * SECOND_NS)

    def reconcile():
        with (
            contextlib.closing(Store.open(tmp_path / "spans.duckdb", clock=clock)) as store,
            requests.Session() as session,
        ):

            @toolwitness.reconciler("pay")
            def status(unknown):
                answer = session.get(f"{service.url}/payments/{unknown.call_id}", timeout=PATIENT_S)
                state = answer.json().get("state", "not_found")
                return {"paid": "committed", "refused": "not_committed", "accepted": "still_unknown"}.get(state, state)

            source = Source(store, "spans.duckdb")
            asked = list(ask(source, due_calls(source, before_ns=clock()), Making(clock, SeededIds(str(clock())))))
            assert [each.failure for each in asked if each.failure] == []
            return {row["call_id"]: row for row in store.query("replay_calls", {"run": "run-1"}).to_pylist()}

    return reconcile


def claim(row):
    """What the ledger says of a call: that it took effect, that it did not, or that nobody knows."""
    if row["outcome"] in NOTHING_HAPPENED:
        return "not committed"
    if row["outcome"] in IN_DOUBT:
        return "unknown"
    return "committed"


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
        "202-never": ("indeterminate", "accepted"),
        "202-later": ("indeterminate", "accepted"),
        "400-never": ("failed", "unknown"),
        "403-never": ("failed", "unknown"),
        "None": ("failed", "unknown"),
    }


@pytest.mark.parametrize("manner", ["tells", "words"])
@pytest.mark.parametrize("client", CLIENTS)
def test_words_of_a_tool_are_not_taken_for_an_answer_that_never_came(ledger, service, client, manner):
    """It caught what its request, or reading the answer, raised."""
    played = ledger([Bill((told,)) for told in EVERYTHING], client, manner)
    service.advance(60)

    assert lies([(bill, row, service.committed(row["call_id"])) for bill, row, _ in played]) == []


@pytest.mark.parametrize("manner", ["raises", "tells"])
def test_tries_in_any_order_claim_nothing_against_the_books(ledger, service, manner):
    """A later answer does not unsay an earlier try, and whatever was tried twice is one call."""
    played = ledger([Bill(twice) for twice in TWICE], "httpx", manner)
    service.advance(60)

    assert len(played) == len(TWICE)
    assert lies([(bill, row, service.committed(row["call_id"])) for bill, row, _ in played]) == []


def test_a_question_that_comes_too_early_settles_nothing_that_is_not_so(ledger, service, reconcile):
    """What the service does not know of yet stays in doubt; what it knows is told."""
    played = ledger([Bill((told,)) for told in EVERYTHING])
    rows = reconcile()

    assert lies([(bill, rows[row["call_id"]], service.committed(row["call_id"])) for bill, row, _ in played]) == []
    assert {str(bill) for bill, row, _ in played if claim(rows[row["call_id"]]) == "unknown"} >= {
        "drop-never",
        "drop-before-hidden",
    }


def test_when_time_has_passed_every_call_is_settled_as_the_books_say(ledger, service, reconcile):
    """Each try in any order, and then the service's own word, also of what it had only taken in."""
    played = ledger([*(Bill((told,)) for told in EVERYTHING), *map(Bill, TWICE)])
    reconcile()
    service.advance(SETTLE_AFTER_S + 30)
    rows = reconcile()
    told = [(str(bill), claim(rows[row["call_id"]]), service.committed(row["call_id"]) > 0) for bill, row, _ in played]

    assert [one for one in told if (one[1], one[2]) not in {("committed", True), ("not committed", False)}] == []


def test_tries_that_carry_the_key_of_their_call_commit_once(ledger, service):
    """Whatever became of the first; without the key one is paid twice."""
    *keyed, bare = ledger([*(Bill(twice, keyed=True) for twice in TWICE), Bill((Instruction("before", "drop"), Instruction()))])
    service.advance(60)

    assert {service.committed(row["call_id"]) for _, row, _ in keyed} == {0, 1}
    assert bare[2] == 2
    assert lies([(bill, row, service.committed(row["call_id"])) for bill, row, _ in keyed]) == []
