"""A span counts once, however often and in whatever company it is sent."""

import pytest

from toolwitness.collector.store.receipt import Receipt
from toolwitness.tests.factories import WEEK_NS, History


@pytest.fixture(name="count")
def fixture_count(rows_of):
    """`count(table)` -> its number of rows."""
    return lambda table: len(rows_of(f"from {table}"))


@pytest.fixture(name="history")
def fixture_history():
    """A run with one call: three spans, one of them ours but of no call."""
    history = History()
    call = history.call(history.run("r"), "look")
    history.attempt("r", call)
    return history


def test_the_same_request_twice_is_stored_once(store, history, count):
    """The second time all of it is duplicate."""
    assert store.write_group([history.rows]) == [Receipt(received=3, stored=3)]
    assert store.write_group([history.rows]) == [Receipt(received=3, duplicate=3)]
    assert (count("spans"), count("calls")) == (3, 1)


def test_one_group_may_hold_a_span_twice(store, history, count):
    """The first batch that brings it gets it stored."""
    receipts = store.write_group([history.rows[:2] * 2, history.rows])
    assert receipts == [Receipt(received=4, stored=2, duplicate=2), Receipt(received=3, stored=1, duplicate=2)]
    assert count("spans") == 3


def test_the_same_ids_in_another_trace_are_another_span(store, history, count):
    """Only trace and span id together make a span the same."""
    other = [{**row, "trace_id": f"{2:032x}"} for row in history.rows]
    store.write_group([history.rows, other])
    assert count("spans") == 6


def test_part_of_a_request_may_be_new(store, history, count):
    """New spans among known ones are stored and derived."""
    store.write_group([history.rows[:2]])
    assert store.write_group([history.rows]) == [Receipt(received=3, stored=1, duplicate=2)]
    assert count("calls where attempts = 1") == 1


def catalog_told_again(history):
    """The same toolsets and schema, told weeks later by spans of other ids; these spans."""
    history.skip(WEEK_NS)
    history.toolset("r", "t1", [("bank", "pay"), ("", "look")])
    history.schema("r", "pay", server="bank")
    history.toolset("r", "none", [])
    return history.rows[-3:]


def test_schemas_and_toolsets_are_known_by_their_digest(store, rows_of, count):
    """Told again later or twice in one group, under whatever ids, they are duplicates; the empty toolset is too."""
    catalog = History()
    first, again, later = (catalog_told_again(catalog) for _ in range(3))
    receipts = store.write_group([first, again]) + store.write_group([later])
    assert [(receipt.stored, receipt.duplicate) for receipt in receipts] == [(3, 0), (0, 3), (0, 3)]
    assert count("spans") == 3
    members = rows_of("select server, tool, definition_digest from toolset_members order by server")
    assert members == [
        {"server": "", "tool": "look", "definition_digest": "definition of look"},
        {"server": "bank", "tool": "pay", "definition_digest": "definition of pay"},
    ]
    assert rows_of("select server, tool, first_seen_ns from schemas") == [
        {"server": "bank", "tool": "pay", "first_seen_ns": first[1]["start_ns"]}
    ]


def test_a_trace_lies_between_its_first_and_last_start(store, history, rows_of):
    """Spans that come later widen the range, on both sides."""
    store.write_group([history.rows[1:2]])
    store.write_group([history.rows[2:], history.rows[:1]])
    starts = [row["start_ns"] for row in history.rows]
    assert rows_of("select * from trace_loc") == [{"trace_id": f"{1:032x}", "t0_ns": starts[0], "t1_ns": starts[-1]}]


def test_a_foreign_span_is_stored_and_touches_no_call(store, count):
    """A span of another instrumentation has ids, times and the rest of its attributes."""
    span = {"trace_id": f"{1:032x}", "span_id": f"{1:016x}", "name": "GET", "start_ns": 1, "end_ns": 2, "rest": "{}"}
    assert store.write_group([[span]]) == [Receipt(received=1, stored=1)]
    assert (count("spans"), count("calls"), count("runs")) == (1, 0, 0)
