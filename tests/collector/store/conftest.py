"""A real store in a file of its own, on a clock that the test sets."""

import shutil

import duckdb
import pytest

from toolwitness.collector.store.store import Store
from toolwitness.tests.collector.store.purging import NOW_NS, told
from toolwitness.tests.factories import MONDAY_NS


class SetClock:
    """A clock that stands where it is put."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        """Where it was put, in nanoseconds since 1970."""
        return self.now


@pytest.fixture(name="clock")
def fixture_clock():
    """The store's clock; it stands at the start of the histories."""
    return SetClock(MONDAY_NS)


@pytest.fixture(name="path")
def fixture_path(tmp_path):
    """Where the store's file is."""
    return tmp_path / "agents.duckdb"


@pytest.fixture(name="store")
def fixture_store(path, clock):
    """An open store."""
    opened = Store.open(path, clock=clock)
    yield opened
    opened.close()


@pytest.fixture(name="spoil")
def fixture_spoil(store, path):
    """`spoil(*statements)` closes the store and changes its file behind its back."""

    def spoil(*statements):
        store.close()
        with duckdb.connect(str(path)) as connection:
            for statement in statements:
                connection.execute(statement)

    return spoil


@pytest.fixture(name="rows_of")
def fixture_rows_of(store):
    """`rows_of(sql)` -> the rows of any SELECT as dicts."""
    return lambda sql: store.read(lambda cursor: cursor.sql(sql).to_arrow_table().to_pylist())


@pytest.fixture(name="ingest")
def fixture_ingest(rows_of):
    """`ingest()` -> what the file says of everything that was sent, by reason."""
    return lambda: {row["reason"]: (row["spans"], row["requests"]) for row in rows_of("select * from ingest")}


@pytest.fixture(name="fill")
def fixture_fill(path):
    """`fill(rows, ...)` writes them to the file in groups of that order, and closes it."""

    def fill(*groups):
        store = Store.open(path, clock=lambda: NOW_NS)
        for rows in groups:
            store.write_group([rows])
        store.close()

    return fill


@pytest.fixture(name="see")
def fixture_see(path):
    """`see(sql)` -> its rows, from the closed file."""

    def see(sql):
        with duckdb.connect(str(path), read_only=True) as connection:
            return connection.sql(sql).fetchall()

    return see


@pytest.fixture(name="runs")
def fixture_runs(see):
    """`runs()` -> the ids of the runs in the file."""
    return lambda: [run for (run,) in see("select run_id from runs order by run_id")]


@pytest.fixture(name="two_runs", scope="session")
def fixture_two_runs(tmp_path_factory):
    """A file with the runs r1 and r2, to be copied."""
    path = tmp_path_factory.mktemp("two") / "agents.duckdb"
    store = Store.open(path, clock=lambda: NOW_NS)
    store.write_group([told("r1") + told("r2")])
    store.close()
    return path


@pytest.fixture(name="two")
def fixture_two(two_runs, path):
    """The file with the runs r1 and r2 in it."""
    shutil.copy(two_runs, path)
    return path
