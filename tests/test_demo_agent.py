"""The demo data: made by a real agent loop against real servers, the same every time, and telling what it is meant to tell."""

import socket
import subprocess
import sys

import pytest

from toolwitness.collector.store.store import Store
from toolwitness.model.exceptions import SettingsError

TODAY = "2026-11-29"
WEEKS = ["2026-W43", "2026-W44", "2026-W45", "2026-W46", "2026-W47", "2026-W48"]


def _run(*command):
    done = subprocess.run([sys.executable, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(name="produce", scope="module")
def fixture_produce(root, tmp_path_factory):
    """Produces the demo data into one database, and gives what was printed."""
    db = tmp_path_factory.mktemp("demo") / "demo.duckdb"

    def produce():
        return _run("-W", "error", root / "examples/demo_agent/run.py", "--db", db, "--today", TODAY)

    produce.db = db
    produce.first = produce()
    return produce


@pytest.fixture(name="ask")
def fixture_ask(produce):
    """Answers of the database, as a list of tuples."""
    store = Store.open(produce.db, read_only=True)
    yield lambda sql: store.read(lambda connection: connection.execute(sql).fetchall())
    store.close()


@pytest.fixture(name="payments")
def fixture_payments(root, monkeypatch):
    """The module of the payment service."""
    monkeypatch.syspath_prepend(str(root / "examples/demo_agent"))
    import payments  # noqa: PLC0415 -- importable only now

    return payments


@pytest.fixture(name="service")
def fixture_service(payments):
    """A payment service that runs."""
    with payments.Service() as service:
        yield service


REFUND = {"order_id": "W-1077", "amount": 10.0}


def test_silence_comes_after_the_commit(service, payments):
    """A silent service has booked, and the same key gets the same refund."""
    service.faults.append(payments.Fault.SILENT)
    with pytest.raises(TimeoutError):
        service.ask_refund("key", REFUND)

    assert service.ask_refund("key", REFUND).body["refund_id"] == "RF-1077-1"
    assert len(service.ledger) == 1


def test_drop_comes_after_the_commit(service, payments):
    """A dropped connection leaves a booking behind."""
    service.faults.append(payments.Fault.DROP)
    with pytest.raises(ConnectionError):
        service.ask_refund("key", REFUND)

    assert list(service.ledger) == ["key"]


@pytest.mark.parametrize(("fault", "status"), [("locked", 503), ("broken", 500)])
def test_server_errors_come_before_the_commit(service, payments, fault, status):
    """A 5xx of this service has booked nothing, though only one of the two says so."""
    service.faults.append(payments.Fault(fault))

    assert status == service.ask_refund("key", REFUND).status
    assert service.ledger == {}


def test_another_key_books_again_up_to_what_was_paid(service):
    """Without the key there are two refunds, and the third is refused."""
    statuses = [service.ask_refund(key, REFUND).status for key in ("a", "b", "c")]

    assert statuses == [200, 200, 422]
    assert len(service.ask_status("W-1077").body["refunds"]) == 2


def test_the_next_time_changes_nothing(produce, check):
    """The same day again, through the product that holds the file now, every span is known already.

    On which port it is asked for makes no difference then, and that is told.
    """
    _run("-m", "toolwitness", "up", "--detach", "--db", produce.db, "--port", "0")
    try:
        note = check(produce.db, 1)
        again = produce()
    finally:
        _run("-m", "toolwitness", "down", "--db", produce.db)

    assert note is not None
    assert "PORT=1 is ignored; to move it: make demo-stop, then make demo PORT=1" in note
    assert again == "144 demo runs; 0 new spans (all were there already)\n"
    assert produce.first.startswith("144 demo runs; ")


@pytest.fixture(name="check")
def fixture_check(root, monkeypatch):
    """`check(db, port)` as `make demo` asks before it makes anything."""
    monkeypatch.syspath_prepend(str(root / "examples/demo_agent"))
    import check_port  # noqa: PLC0415 -- importable only now

    return check_port.check


def test_a_free_port_is_no_word_worth(check, tmp_path):
    """Nothing is told and nothing is made."""
    assert check(tmp_path / "demo.duckdb", 0) is None
    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_is_told_before_anything_is_made(check, tmp_path):
    """By whatever program."""
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(SettingsError, match="taken by another program"):
        check(tmp_path / "demo.duckdb", other.getsockname()[1])


def test_everything_is_marked_as_demo(ask):
    """No span can be taken for one of a real agent."""
    assert ask("SELECT DISTINCT source, time_known FROM spans") == [("demo", True)]


def test_six_weeks_of_working_hours(ask):
    """Runs lie in the six weeks up to yesterday."""
    found = ask("SELECT week, count(*) FROM runs GROUP BY week ORDER BY week")

    assert [week for week, _ in found] == WEEKS
    assert all(20 < runs < 30 for _, runs in found)


def test_outcomes_of_many_kinds(ask):
    """All that can become of a call without an accident of the recording is there."""
    expected = {"succeeded", "empty", "business_rejected", "rejected", "pending", "failed", "unknown_commit"}

    assert expected == {outcome for (outcome,) in ask("SELECT DISTINCT outcome FROM calls")}


def test_errors_rise_with_a_schema_change(ask):
    """`quote_shipping` has no error under its old schema, and some in each week under the new one."""
    found = ask("""
        SELECT week, schema_digest, count(*) FILTER (outcome = 'failed') > 0
        FROM calls WHERE tool = 'quote_shipping' GROUP BY ALL ORDER BY week
    """)

    assert len({digest for _, digest, _ in found}) == 2
    assert [failed for _, _, failed in found] == [False, False, False, True, True, True]


def test_a_tool_that_is_never_chosen(ask):
    """`cancel_subscription` is offered and has no call."""
    assert ask("""
        SELECT (SELECT count(*) FROM toolset_members WHERE tool = 'cancel_subscription') > 0,
               (SELECT count(*) FROM calls WHERE tool = 'cancel_subscription')
    """) == [(True, 0)]


def test_a_tool_that_only_a_search_brings(ask):
    """`apply_coupon` is visible in decisions after a tool search and in no other."""
    assert ask("""
        SELECT DISTINCT exposure FROM decisions JOIN toolset_members AS shown USING (toolset_digest)
        WHERE shown.tool = 'apply_coupon'
    """) == [("tool_search",)]


def test_a_process_that_crashed(ask):
    """Its run has no end, and its refund is an unknown commit by now."""
    assert ask("""
        SELECT DISTINCT outcome, last_attempt FROM calls JOIN runs USING (run_id)
        WHERE NOT has_run_span AND tool = 'refund_payment'
    """) == [("unknown_commit", "open")]


def test_a_refund_that_is_proposed_again(ask):
    """In the goodwill task the same arguments are proposed while the first refund is unknown."""
    pairs = ask("""
        SELECT list(outcome ORDER BY call_ordinal), count(DISTINCT arguments_digest)
        FROM calls JOIN runs USING (run_id) WHERE task = 'refund-goodwill' GROUP BY run_id
    """)

    assert pairs != []
    assert all(pair == (["unknown_commit", "succeeded"], 1) for pair in pairs)


def test_no_customer_can_be_recognised(ask):
    """No e-mail address is stored, while order numbers and amounts can be read."""
    assert ask("SELECT count(*) FROM spans WHERE CAST(spans AS VARCHAR) LIKE '%@example%'") == [(0,)]
    assert ask("SELECT 1 FROM spans WHERE record = 'call' AND arguments LIKE '%W-1077%24.5%'") != []
