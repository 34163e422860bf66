"""`toolwitness purge`: who is asked, what is told, and what is out of its reach."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from toolwitness.collector.store.copies import Export, exports_of, note_export
from toolwitness.collector.store.store import Store
from toolwitness.sdk.state import Journal, OpenAttempt
from toolwitness.tests.collector.store.purging import foreign, told
from toolwitness.tests.factories import MONDAY_NS, WEEK_NS


class Terminal(io.StringIO):
    """A person who answers."""

    def isatty(self):
        """Say so."""
        return True


def test_a_purge_asks_a_person(db, cli, runs, monkeypatch):
    """No is no, and yes is yes; the question says how much goes."""
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    code, out, err = cli("purge", "--db", db, "--subject", "customer-17")
    assert (code, out) == (1, "")
    assert f"Remove 2 runs with 2 calls, 14 spans from {db} for good?" in err
    assert len(runs()) == 3

    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert cli("purge", "--db", db, "--subject", "customer-17")[0] == 0
    assert runs() == ["beta"]


def test_where_nobody_can_be_asked_nothing_is_removed(db, cli, runs, monkeypatch):
    """The error says how to go on."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    code, _, err = cli("purge", "--db", db, "--run", "beta")

    assert code == 1
    assert "see what would go with --dry-run, then add --yes" in err
    assert len(runs()) == 3


def test_a_dry_run_tells_and_changes_nothing(db, cli, runs):
    """Neither does it ask."""
    before = db.read_bytes()

    code, out, _ = cli("purge", "--db", db, "--run", "be", "--dry-run")

    assert code == 0
    assert out == "would remove 1 runs with 1 calls, 7 spans, begun from 2026-11-02T00:00:00Z to 2026-11-02T00:00:08Z\n"
    assert db.read_bytes() == before
    assert len(runs()) == 3


def test_a_purge_tells_what_went(db, cli, runs):
    """How much, the file's size before and after, and what a search of the bytes found."""
    code, out, err = cli("purge", "--db", db, "--run", "alpha-1", "--run", "beta", "--yes")

    assert code == 0
    assert out.splitlines()[0].startswith("removed 2 runs with 2 calls, 14 spans, begun from 2026-11-02T")
    assert f"{db} was rewritten: " in out
    assert "9 spans stay, none of a run that went" in out
    assert "of 8 ids that went, the bytes of the old file showed 8, those of the new one show 0" in out
    assert err == "copies and backups elsewhere cannot be seen from here; they keep what went\n"
    assert runs() == ["alpha-2"]


def test_programs_are_told_the_same(db, cli):
    """With --json: counts, times, sizes and what is out of reach."""
    planned = json.loads(cli("purge", "--db", db, "--run", "beta", "--dry-run", "--json")[1])
    done = json.loads(cli("purge", "--db", db, "--run", "beta", "--yes", "--json")[1])

    same = {"runs": 1, "calls": 1, "spans": 7, "foreign_left": 0, "out_of_reach": []}
    file = {"spans_left": None, "bytes_before": None, "bytes_after": None}
    times = {"oldest": "2026-11-02T00:00:00Z", "newest": "2026-11-02T00:00:08Z"}
    assert planned == {"dry_run": True, **same, **times, "searched": None} | file
    assert done.pop("bytes_before") > 0
    assert done.pop("bytes_after") == db.stat().st_size
    assert done == {
        "dry_run": False,
        **same,
        **times,
        "searched": {"sought": 7, "found_before": 7, "found_after": 0},
        "spans_left": 16,
    }


@pytest.mark.parametrize(("age", "left"), [("1w", 0), ("168h", 0), ("7d", 0), ("30d", 1)])
def test_a_purge_by_age(tmp_path, cli, monkeypatch, age, left):
    """Hours, days and weeks before now."""
    db = tmp_path / "aged.duckdb"
    store = Store.open(db)
    store.write_group([told("r", start_ns=MONDAY_NS)])
    store.close()
    monkeypatch.setattr("toolwitness.commands.data.time.time_ns", lambda: MONDAY_NS + 2 * WEEK_NS)

    assert cli("purge", "--db", db, "--older-than", age, "--yes")[0] == 0

    assert len(json.loads(cli("runs", "--db", db, "--json")[1])) == left


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--older-than", "90"], "'90' is no age"),
        (["--older-than", "-1d"], "is no age"),
        ([], "give just one of --older-than, --run, --subject"),
        (["--older-than", "1d", "--run", "x"], "give just one of"),
    ],
    ids=["no unit", "negative", "nothing", "two"],
)
def test_wrong_usage_of_purge(db, cli, given, why):
    """Exit code 2, as for every command."""
    code, _, err = cli("purge", "--db", db, "--yes", *given)

    assert code == 2
    assert why in " ".join(err.replace("│", " ").split())


def test_a_purge_of_an_unknown_subject_is_no_success(db, cli, runs):
    """Under a wrong key it would find nothing either, so a script must not take it for done."""
    code, out, err = cli("purge", "--db", db, "--subject", "customer-18", "--yes")

    assert (code, out) == (1, "")
    assert "under the key that is set here" in err
    assert len(runs()) == 3


def test_spans_that_name_no_run_are_told(db, cli):
    """They stay with a run that shares their trace."""
    trace = told("beta")[0]["trace_id"]
    store = Store.open(db)
    rows = told("gamma", tool="g", toolset="g")
    rows[0]["trace_id"] = trace
    store.write_group([[*rows, foreign("beta")]])
    store.close()

    assert "1 spans of other instrumentations stay" in cli("purge", "--db", db, "--run", "beta", "--yes")[1]


def test_a_watched_purge_shows_its_progress(db, cli, monkeypatch):
    """On a terminal; the answer is the same."""
    monkeypatch.setattr("toolwitness.commands.data.sys.stderr.isatty", lambda: True, raising=False)

    assert cli("purge", "--db", db, "--run", "beta", "--yes")[0] == 0


def test_a_purge_names_the_copies_that_it_can_see(db, cli, tmp_path):
    """Exports, files named like the database, and journals of the state folder."""
    out = tmp_path / "out.jsonl"
    cli("export", "--db", db, "--run", "beta", "--to", out)
    backup = db.with_name("agents.duckdb.bak")
    backup.write_bytes(db.read_bytes())
    state = os.environ["TOOLWITNESS_STATE_DIR"]
    Journal(Path(state)).started(OpenAttempt("call", "beta", "t" * 32, "a" * 16, "s" * 16, 1, "", "pay", 1))

    found = json.loads(cli("purge", "--db", db, "--run", "beta", "--yes", "--json")[1])["out_of_reach"]

    assert [(copy["path"], copy["why"].split()[0], copy["exported"] is not None) for copy in found[:2]] == [
        (str(out), "exported", True),
        (str(backup), "is", False),
    ]
    (journal,) = found[2:]
    assert journal["path"].startswith(f"{state}/journal/")


def test_an_empty_journal_is_no_copy(db, cli):
    """An agent that is at rest has nothing to send."""
    journal = Journal(Path(os.environ["TOOLWITNESS_STATE_DIR"]))
    journal.started(OpenAttempt("call", "beta", "t" * 32, "a" * 16, "s" * 16, 1, "", "pay", 1))
    journal.delivered(["a" * 16])
    journal.close()

    assert json.loads(cli("purge", "--db", db, "--run", "beta", "--dry-run", "--json")[1])["out_of_reach"] == []


def test_an_export_that_is_gone_is_forgotten(db, cli, tmp_path):
    """Its path may have told whose it was."""
    note_export(db, Export(str(tmp_path / "customer-17.jsonl"), MONDAY_NS, 9))
    (tmp_path / "kept.jsonl").write_text("")
    note_export(db, Export(str(tmp_path / "kept.jsonl"), MONDAY_NS, 7))

    cli("purge", "--db", db, "--run", "beta", "--yes")

    assert "customer-17" not in db.with_name("agents.duckdb.exports.jsonl").read_text()
    assert [export.path for export in exports_of(db)] == [str(tmp_path / "kept.jsonl")]
