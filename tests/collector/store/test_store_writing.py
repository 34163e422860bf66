"""Groups of requests: what cannot be stored is cut out, the rest survives, and everything is counted."""

import duckdb
import pytest

from toolwitness.collector.store.receipt import Receipt
from toolwitness.collector.store.store import Store
from toolwitness.tests.factories import History


def request(number, spans=2):
    """The rows of one request; ids by its number."""
    history = History()
    for _ in range(spans):
        history.call(f"run {number}", "look")
    for row in history.rows:
        row |= {"trace_id": f"{number:032x}", "call_id": f"{number:08x}{row['span_id'][8:]}"}
    return history.rows


BAD_VALUES = [
    ("start_ns", "soon"),
    ("start_ns", 2**63),
    ("start_ns", None),
    ("name", 7),
    ("name", "\ud800"),
    ("trace_id", ["a"]),
    ("observation", "of no domain"),
    ("argument_sources", 7),
    ("colour", "red"),
]


@pytest.mark.parametrize(("column", "value"), BAD_VALUES)
def test_a_bad_request_is_cut_out_and_the_others_are_stored(store, ingest, column, value):
    """Its spans are rejected with a reason; nothing of it is stored."""
    bad = request(2)
    bad[1] = {**bad[1], column: value}
    receipts = store.write_group([request(1), bad, request(3)])
    kept, cut = Receipt(received=2, stored=2), Receipt(received=2, rejected={"not_storable": 2})
    assert receipts == [kept, cut, kept]
    assert ingest() == {"stored": (4, 2), "not_storable": (2, 1)}


def test_a_request_without_span_ids_is_cut_out(store):
    """Needed columns are needed."""
    assert store.write_group([[{"name": "x"}]]) == [Receipt(received=1, rejected={"not_storable": 1})]


def test_what_was_lost_before_is_part_of_the_receipt(store, ingest):
    """Rejections of the receiver are added to the counts, also of a request that is cut out."""
    lost = {"missing_field": 3}
    receipts = store.write_group([request(1), [], [{"name": "x"}]], [lost, {"invalid_span_id": 1}, lost])
    assert receipts == [
        Receipt(received=5, stored=2, rejected=lost),
        Receipt(received=1, rejected={"invalid_span_id": 1}),
        Receipt(received=4, rejected={"missing_field": 3, "not_storable": 1}),
    ]
    counts = {"stored": (2, 1), "missing_field": (6, 2), "invalid_span_id": (1, 1), "not_storable": (1, 1)}
    assert ingest() == counts


def test_an_empty_group_writes_nothing(store, ingest):
    """It has no receipts and no counts."""
    assert store.write_group([]) == []
    assert ingest() == {}


def test_counts_add_up_over_groups_and_refusals(store, ingest):
    """Stored, duplicate and refused requests are kept in the file."""
    for _ in range(2):
        store.write_group([request(1)])
        store.count_refusal("too_large")
    assert ingest() == {"stored": (2, 1), "duplicate": (2, 1), "too_large": (0, 2)}


def test_an_error_that_is_not_the_datas_is_raised_and_the_group_undone(path, spoil):
    """A file that cannot be written rejects no spans: what is sent again is stored as if for the first time."""
    spoil("alter table trace_loc rename to elsewhere")
    broken = Store.open(path)
    with pytest.raises(duckdb.CatalogException):
        broken.write_group([request(1)])
    broken.close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("alter table elsewhere rename to trace_loc")
    mended = Store.open(path)
    assert mended.write_group([request(1)]) == [Receipt(received=2, stored=2)]
    mended.close()


def test_times_of_arrival_are_the_stores(store, clock, rows_of):
    """`received_ns` is the store's clock, whatever a row says."""
    store.write_group([[{**row, "received_ns": 1} for row in request(1)]])
    assert rows_of("select distinct received_ns from spans") == [{"received_ns": clock.now}]


def test_two_stores_of_one_process_write_to_one_file(store, path, ingest):
    """They are two doors to the same database."""
    second = Store.open(path)
    store.write_group([request(1)])
    second.write_group([request(2)])
    second.close()
    assert ingest() == {"stored": (4, 2)}
