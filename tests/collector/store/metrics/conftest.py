"""A real database file that answers one named query about a history written by hand."""

import pytest

from toolwitness.collector.store.store import Store


@pytest.fixture(name="ask")
def fixture_ask(tmp_path):
    """`ask(history, query, **params)` -> the query's rows as dicts."""

    def ask(history, query, **params):
        store = Store.open(tmp_path / "history.duckdb", clock=lambda: history.now_ns)
        try:
            store.write_group([history.rows])
            return store.query(query, params).to_pylist()
        finally:
            store.close()

    return ask
