"""Databases with histories written by hand, opened as a user would."""

import pytest

from toolwitness.collector.store.store import Store
from toolwitness.replay.load import open_source


@pytest.fixture(name="stored")
def fixture_stored(tmp_path):
    """`stored(history)` -> path of a database file that holds it."""

    def stored(history):
        path = tmp_path / "history.duckdb"
        store = Store.open(path, clock=lambda: history.now_ns)
        store.write_group([history.rows])
        store.close()
        return path

    return stored


@pytest.fixture(name="source_of")
def fixture_source_of(stored):
    """`source_of(history)` -> an open source over a database file that holds it."""
    opened = []

    def source_of(history):
        opened.append(open_source(stored(history), clock=lambda: history.now_ns))
        return opened[-1].__enter__()

    yield source_of
    for one in opened:
        one.__exit__(None, None, None)
