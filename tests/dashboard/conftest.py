"""The made-up office agent's history in a real database file."""

import pytest

from toolwitness.collector.store.store import Store
from toolwitness.replay.load import Source
from toolwitness.tests.browser import story


@pytest.fixture(name="source", scope="session")
def fixture_source(tmp_path_factory):
    """The office agent's history, ready to be asked."""
    store = Store.open(tmp_path_factory.mktemp("office") / "office.duckdb")
    store.write_group([story.rows()])
    yield Source(store, "office.duckdb")
    store.close()
