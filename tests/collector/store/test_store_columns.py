"""The columns of `spans` hold every record field and give it back."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwitness.collector.store.columns import ENVELOPE, TYPES, table_of, week_of
from toolwitness.model import codec
from toolwitness.model.enums import RecordKind
from toolwitness.tests.factories import MONDAY_NS, History
from toolwitness.tests.model.test_codec import records


def test_the_tables_columns_are_the_envelope_and_every_record_field(rows_of):
    """`ddl/spans.sql` has the names, types and order that the code has."""
    described = {row["column_name"]: row["column_type"] for row in rows_of("describe spans")}
    assert list(described.items()) == list(TYPES.items())


def test_no_record_field_is_named_like_an_envelope_column():
    """Otherwise one would overwrite the other."""
    assert ENVELOPE.keys().isdisjoint(codec.COLUMNS)


@settings(max_examples=15, deadline=None)
@given(told=st.lists(records(), min_size=1, max_size=12))
def test_every_record_comes_back_from_the_table(told):
    """`codec.from_row` of an Arrow row is the record that went in, whatever its fields hold."""
    history = History()
    for record in told:
        history.add(record)
    assert [codec.from_row(row) for row in table_of(history.rows, MONDAY_NS).to_pylist()] == told


def test_a_record_of_each_kind_comes_back_from_the_file(store, rows_of, story):
    """What was stored reads as the same records."""
    store.write_group([story.rows])
    stored = {row["span_id"]: codec.from_row(row) for row in rows_of("select * from spans")}
    assert stored == {row["span_id"]: codec.from_row(row) for row in story.rows}
    assert {record.kind for record in stored.values()} == set(RecordKind)


@pytest.fixture(name="story")
def fixture_story():
    """A history with every kind of record."""
    history = History()
    run = history.run("r", task="12", reward=0.5, labels='{"a":[1,null]}')
    history.toolset(run, "t1", [("bank", "pay"), ("", "look")])
    history.schema(run, "pay", server="bank", definition='{"name":"pay"}')
    decision = history.decision(run, chosen=("x", "y"), toolset_digest="t1")
    call = history.call(run, "pay", decision_id=decision, arguments='{"to":"\\u0000\\ud83d\\ude00"}')
    history.gate(run, call, "policy", "allow", pointers=("/to",))
    attempt = history.attempt(run, call, "timeout", backoff_ms=0.25)
    history.attempt_start(run, call, "pay", parent=attempt)
    history.reconciliation(run, call, "pay", "committed")
    return history


@given(st.dates(dt.date(1970, 1, 1), dt.date(9999, 12, 31)), st.integers(0, 86_400 * 10**9 - 1))
def test_weeks_are_iso_weeks_in_utc(day, ns_of_day):
    """The week of a time is that of its UTC day, at each end of the day too."""
    year, week, _ = day.isocalendar()
    assert week_of((day - dt.date(1970, 1, 1)).days * 86_400 * 10**9 + ns_of_day) == f"{year:04}-W{week:02}"


def test_a_time_that_stands_for_an_order_has_no_week():
    """Its week is unknown."""
    assert week_of(MONDAY_NS, time_known=False) == "unknown"


def test_a_name_that_is_no_column_is_an_error():
    """A row's stray key is never dropped in silence."""
    with pytest.raises(KeyError, match="colour"):
        table_of([{"trace_id": "a", "span_id": "b", "start_ns": 1, "colour": "red"}], 1)
