"""`toolwitness purge --retention POLICY`: what a policy lets nobody keep any longer."""

import json

import pytest

from toolwitness.collector.store.store import Store
from toolwitness.tests.collector.store.purging import told
from toolwitness.tests.factories import MONDAY_NS

DAY_NS = 86_400 * 10**9
PERSONAL = json.dumps({"email": {"$tw:redacted": {"c": "personal", "t": "string", "len": "9-16", "why": "name:email"}}})


@pytest.fixture(name="aged")
def fixture_aged(db, monkeypatch):
    """The file of these tests 40 days after its runs, of which `gamma` holds a personal value."""
    rows = [dict(row) for row in told("gamma")]
    call = next(row for row in rows if row["record"] == "call")
    call["arguments"] = json.dumps(json.loads(PERSONAL), separators=(",", ":"))
    store = Store.open(db, clock=lambda: MONDAY_NS)
    store.write_group([rows])
    store.close()
    monkeypatch.setattr("time.time_ns", lambda: MONDAY_NS + 40 * DAY_NS)
    return db


def policy(tmp_path, text):
    """The path of a policy file."""
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_runs_with_a_value_of_a_class_go_when_its_time_is_over(aged, cli, runs, tmp_path):
    """Only the run that holds a personal value is past the thirty days of personal values."""
    file = policy(tmp_path, "handling: {personal: {retention: 30d}}\n")

    code, out, _ = cli("purge", "--db", aged, "--retention", file, "--yes")

    assert code == 0
    assert out.startswith("removed 1 runs with 1 calls")
    assert runs() == ["alpha-1", "alpha-2", "beta"]


def test_a_class_that_is_shown_may_stand_in_every_run(aged, cli, runs, tmp_path):
    """What an internal field holds is not marked in the copy, so its retention holds for all runs."""
    cli("purge", "--db", aged, "--retention", policy(tmp_path, "handling: {internal: {retention: 30d}}\n"), "--yes")

    assert runs() == []


def test_nothing_goes_before_its_time(aged, cli, runs, tmp_path):
    """Ten weeks are not over after forty days; the command says that nothing is due."""
    file = policy(tmp_path, "handling: {personal: {retention: 70d}}\n")

    code, out, _ = cli("purge", "--db", aged, "--retention", file, "--yes")

    assert (code, out) == (0, f"no run in {aged} is past the retention of {file}\n")
    assert len(runs()) == 4


def test_a_policy_without_retention_is_refused(aged, cli, tmp_path):
    """Nothing to do would be a lie: the policy says nothing about it; the error shows how it is said."""
    code, _, err = cli("purge", "--db", aged, "--retention", policy(tmp_path, "unknown: shape\n"), "--yes")

    assert code == 1
    assert "sets no retention; say for example" in err


def test_a_value_inside_json_text_is_held_too(aged, cli, runs, tmp_path):
    """Tools answer with JSON in a text; a placeholder in it counts as one."""
    rows = [dict(row) for row in told("delta")]
    call = next(row for row in rows if row["record"] == "call")
    inner = json.dumps(json.loads(PERSONAL), separators=(",", ":"))
    call["result"] = json.dumps({"content": [{"type": "text", "text": inner}]}, separators=(",", ":"))
    store = Store.open(aged)
    store.write_group([rows])
    store.close()

    cli("purge", "--db", aged, "--retention", policy(tmp_path, "handling: {personal: {retention: 30d}}\n"), "--yes")

    assert runs() == ["alpha-1", "alpha-2", "beta"]


def test_an_empty_run_id_removes_nothing(aged, cli, runs):
    """An unset variable in a script does not mean any run."""
    code, _, err = cli("purge", "--db", aged, "--run", "", "--yes")

    assert code == 2
    assert "an empty id" in err
    assert len(runs()) == 4
