"""The command line in this process, and a file of customer-17's runs."""

import pytest

from toolwitness.collector.store.store import Store
from toolwitness.model.digest import subject_digest
from toolwitness.tests.collector.conftest import fixture_live, fixture_start
from toolwitness.tests.collector.store.purging import told
from toolwitness.tests.factories import MONDAY_NS

__all__ = ["fixture_live", "fixture_start"]

KEY = "a key for tests"


@pytest.fixture(name="customer")
def fixture_customer():
    """The digest of customer-17 under the key of these tests."""
    return subject_digest(KEY.encode(), "customer-17")


@pytest.fixture(name="db")
def fixture_db(tmp_path, monkeypatch, customer):
    """A file with two runs of customer-17 and one of nobody, recorded under the key that is configured."""
    monkeypatch.setenv("TOOLWITNESS_DIGEST_KEY", KEY)
    path = tmp_path / "data" / "agents.duckdb"
    path.parent.mkdir()
    store = Store.open(path, clock=lambda: MONDAY_NS)
    store.write_group([told("alpha-1", subject=customer), told("alpha-2", subject=customer), told("beta")])
    store.close()
    return path


@pytest.fixture(name="runs")
def fixture_runs(db):
    """`runs()` -> the ids of the runs in the file."""

    def runs():
        store = Store.open(db, read_only=True)
        found = store.query("run_ids", {"prefix": ""})["run"].to_pylist()
        store.close()
        return found

    return runs
