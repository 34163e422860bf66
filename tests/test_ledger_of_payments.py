"""What is recorded of payments, beside the books of the service that they were sent to."""

import contextlib
import itertools

import pytest
import requests

import toolwitness
from toolwitness.collector.store.store import Store
from toolwitness.model.digest import digest
from toolwitness.model.enums import Basis, Finding, Method
from toolwitness.model.records import Reconciliation
from toolwitness.tests.factories import SECOND_NS, History
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
            listed = {row["call"] for row in store.query("unknown_commits", {"now_ns": 0}).to_pylist()}
        return [
            (bill, rows[reference] | {"listed": reference in listed}, service.committed(reference))
            for bill, reference in zip(bills, agent.references, strict=True)
        ]

    return play


@pytest.fixture(name="reconcile")
def _reconcile(tmp_path, service):
    """`reconcile()` asks the service about each call in doubt, by the rules of a finding; gives the calls by id."""

    def ask():
        with contextlib.closing(Store.open(tmp_path / "spans.duckdb")) as store, requests.Session() as session:
            listed = store.query("unknown_commits", {"now_ns": 0}).to_pylist()
            store.write_group([[finding(service, session, row["call"])] for row in listed])
            return {row["call_id"]: row for row in store.query("replay_calls", {"run": "run-1"}).to_pylist()}

    return ask


def finding(service, session, call_id):
    """What the service's status says of a call, and what that covers."""
    asked_ns = round(service.now_s() * SECOND_NS)
    answer = session.get(f"{service.url}/payments/{call_id}", timeout=PATIENT_S)
    state = answer.json().get("state", "not found")
    told = {"paid": "committed", "refused": "not_committed", "accepted": "still_unknown", "not found": "not_committed"}[state]
    covers_ns, basis = asked_ns, Basis.ANSWER
    if state == "not found":
        covers_ns, basis = asked_ns - round(SETTLE_AFTER_S * SECOND_NS), Basis.ABSENCE
    history = History(start_ns=asked_ns)
    record = Reconciliation(
        run_id="run-1",
        call_id=call_id,
        tool="pay",
        finding=Finding(told),
        method=Method.STATUS_QUERY,
        basis=basis,
        covers_until_ns=covers_ns,
    )
    history.add(record, span_id=digest([call_id, asked_ns])[:16])
    return history.rows[0]


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
    """Each try in any order, and then the service's own word; only what it had accepted it settles by itself."""
    played = ledger([*(Bill((told,)) for told in EVERYTHING), *map(Bill, TWICE)])
    reconcile()
    service.advance(SETTLE_AFTER_S + 30)
    rows = reconcile()
    told = [(str(bill), claim(rows[row["call_id"]]), service.committed(row["call_id"]) > 0) for bill, row, _ in played]

    assert [one for one in told if (one[1], one[2]) not in {("committed", True), ("not committed", False)}] == [
        ("202-never", "accepted", False),
        ("202-later", "accepted", True),
    ]


def test_tries_that_carry_the_key_of_their_call_commit_once(ledger, service):
    """Whatever became of the first; without the key one is paid twice."""
    *keyed, bare = ledger([*(Bill(twice, keyed=True) for twice in TWICE), Bill((Instruction("before", "drop"), Instruction()))])
    service.advance(60)

    assert {service.committed(row["call_id"]) for _, row, _ in keyed} == {0, 1}
    assert bare[2] == 2
    assert lies([(bill, row, service.committed(row["call_id"])) for bill, row, _ in keyed]) == []
