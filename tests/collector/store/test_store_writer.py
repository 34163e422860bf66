"""The writing thread: groups form by themselves, the queue is bounded, and each request hears what became of it."""

import threading

import duckdb
import pytest

from toolwitness.collector.store.receipt import Receipt
from toolwitness.collector.store.writer import Writer
from toolwitness.model.exceptions import QueueFullError
from toolwitness.tests.collector.store.test_store_writing import request

WAIT_S = 60


class HeldStore:
    """A store that writes a group only when it is let; it stands before a real one."""

    def __init__(self, store):
        self.groups = []
        self.entered = threading.Semaphore(0)
        self.let = threading.Semaphore(0)
        self._store = store

    def write_group(self, batches, rejected, redactions):
        """Write the group as soon as it is let."""
        self.groups.append(len(batches))
        self.entered.release()
        assert self.let.acquire(timeout=WAIT_S)
        return self._store.write_group(batches, rejected, redactions)


@pytest.fixture(name="writer")
def fixture_writer(store):
    """A writer to a real store."""
    opened = Writer(store)
    yield opened
    assert opened.close(WAIT_S)


@pytest.fixture(name="held")
def fixture_held(store):
    """A store whose groups wait to be let."""
    return HeldStore(store)


@pytest.fixture(name="small")
def fixture_small(held):
    """A writer of ten bytes that waits with its first group in hand, six of them."""
    opened = Writer(held, limit_bytes=10)
    opened.submit(request(1), size=6)
    assert held.entered.acquire(timeout=WAIT_S)
    yield opened
    held.let.release(9)
    assert opened.close(WAIT_S)


def test_a_request_hears_when_its_spans_are_durable(writer, ingest):
    """The future has the receipt, and the file has the spans by then."""
    receipt = writer.submit(request(1), size=100, rejected={"missing_field": 1}).result(WAIT_S)
    assert receipt == Receipt(received=3, stored=2, rejected={"missing_field": 1})
    assert ingest()["stored"] == (2, 1)


def test_requests_that_arrive_during_a_commit_form_the_next_group(small, held):
    """All that waits is written at once."""
    waiting = [small.submit(request(number), size=1) for number in (2, 3, 4)]
    held.let.release(2)
    assert [future.result(WAIT_S) for future in waiting] == [Receipt(received=2, stored=2)] * 3
    assert held.groups == [1, 3]


def test_a_full_queue_takes_no_request_until_it_is_written(small, held):
    """Bytes in the writer's hand count, and come free with the group."""
    with pytest.raises(QueueFullError, match="full \\(6 of 10 bytes\\)"):
        small.submit(request(2), size=5)
    accepted = small.submit(request(2), size=4)
    held.let.release(2)
    accepted.result(WAIT_S)
    assert small.close(WAIT_S)
    with pytest.raises(QueueFullError, match="closed"):
        small.submit(request(3), size=1)


def test_a_request_that_never_fits_is_the_callers_error(writer):
    """It is not told to come again."""
    with pytest.raises(ValueError, match="never fits"):
        writer.submit([], size=writer.limit_bytes + 1)


def test_a_bad_request_of_a_group_is_rejected_alone(small, held):
    """Its neighbours are stored."""
    waiting = [small.submit(rows, size=1) for rows in (request(2), [{"name": "x"}], request(3))]
    held.let.release(2)
    receipts = [future.result(WAIT_S) for future in waiting]
    assert [receipt.rejected for receipt in receipts] == [{}, {"not_storable": 1}, {}]


def test_an_error_reaches_each_request_of_the_group_and_the_writer_goes_on(writer, store):
    """A store that fails fails the requests, not the thread."""
    store.close()
    for number in (1, 2):
        with pytest.raises(duckdb.ConnectionException):
            writer.submit(request(number), size=1).result(WAIT_S)


def test_closing_writes_what_waits(small, held):
    """No accepted request is dropped."""
    waiting = small.submit(request(2), size=1)
    held.let.release(2)
    assert small.close(WAIT_S)
    assert waiting.result(0) == Receipt(received=2, stored=2)


def test_closing_gives_up_waiting_after_its_timeout(small):
    """It says that not everything is written."""
    assert not small.close(0)
