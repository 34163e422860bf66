"""Spans without content are rows like others: the file takes them, and what hangs on them is still found."""

import json

import pytest

from toolwitness.collector.receive import scan
from toolwitness.collector.receive.decode import rows_of_request
from toolwitness.collector.receive.shrink import MINIMAL, shrink
from toolwitness.collector.store.store import Store
from toolwitness.model.records import Call, Json
from toolwitness.redaction import conventions
from toolwitness.tests.collector.receive.otlp import of_records
from toolwitness.tests.collector.receive.test_receive_decode import CALL, RECORDS


def fails(*_given, **_named):
    """Fail as the redactor never should."""
    raise RuntimeError


@pytest.fixture(name="rows")
def fixture_rows(monkeypatch):
    """One row of each kind of record, none of which could be looked at."""
    monkeypatch.setattr(scan, "scan_texts", fails)
    monkeypatch.setattr(scan, "scan_text", fails)
    monkeypatch.setattr(conventions, "scan_text", fails)
    return rows_of_request(of_records(*RECORDS)).rows


def test_every_kind_of_record_can_be_stored_without_content(rows, tmp_path):
    """Digests of schemas and toolsets stay, so that what refers to them is not left hanging."""
    store = Store.open(tmp_path / "a.duckdb")
    (receipt,) = store.write_group([rows])
    assert (receipt.stored, receipt.rejected) == (len(RECORDS), {})
    found = store.read(lambda cursor: cursor.sql("select definition_digest from schemas").fetchall())
    assert found == [("d" * 64,)]
    outcomes = store.read(lambda cursor: cursor.sql("select call_id, outcome from calls").fetchall())
    store.close()
    assert [call for call, _ in outcomes] == [CALL]


def test_what_has_no_room_for_text_stays(rows):
    """Enums, numbers and ids of each record, and the reason in place of the rest."""
    by_record = {row["record"]: row for row in rows}
    assert {json.loads(row["rest"])[MINIMAL] for row in rows} == {"error"}
    assert (by_record["run"]["run_outcome"], by_record["run"]["reward"], by_record["run"]["trial"]) == ("success", 1.0, 0)
    assert (by_record["gate"]["verdict"], "pointers" in by_record["gate"]) == ("deny", False)
    assert (by_record["attempt"]["attempt_status"], by_record["attempt"]["backoff_ms"]) == ("timeout", 2.5)
    assert all(row["run_id"].startswith("redacted-") for row in rows)
    assert not {"arguments", "labels", "removals", "definition", "members", "provenance"} & set().union(*rows)


def test_shrinking_twice_is_as_good_as_once():
    """The second time there is nothing left to take."""
    (row,) = rows_of_request(of_records(Call(run_id="my run", call_id=CALL, call_ordinal=0, tool="pay", result=Json("1")))).rows
    shrink(row, "time")
    once = dict(row)
    shrink(row, "time")
    assert row == once
