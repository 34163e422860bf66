"""`toolwitness export`: every stored span of one subject or run, for its owner's eyes."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import toolwitness
from toolwitness.collector.embedded import StoreExporter
from toolwitness.collector.store.copies import exports_of
from toolwitness.collector.store.purge import Selection, plan
from toolwitness.collector.store.store import Store
from toolwitness.commands.data import _write
from toolwitness.sdk import ManualClock, Recorder, SeededIds
from toolwitness.tests.collector.store.purging import foreign, told
from toolwitness.tests.factories import MONDAY_NS

OWN = ["attempt", "attempt_start", "call", "decision", "gate", "reconciliation", "run"]
SENT = sorted([*OWN, "schema", "toolset"])


def spans_of(text):
    """The spans of an export, by run."""
    found = {}
    for line in text.splitlines():
        span = json.loads(line)
        found.setdefault(span.get("run_id"), []).append(span["record"])
    return {run: sorted(records) for run, records in found.items()}


def test_an_export_holds_every_span_of_the_subject_and_of_nobody_else(db, cli, tmp_path):
    """One JSON object a line; definitions stand with the run that sent them first."""
    to = tmp_path / "out.jsonl"

    code, out, err = cli("export", "--db", db, "--subject", "customer-17", "--to", to)

    assert (code, out, err) == (0, f"wrote 16 spans of 2 runs to {to}\n", "")
    assert spans_of(to.read_text()) == {"alpha-1": SENT, "alpha-2": OWN}


def test_a_line_is_the_span_as_it_is_stored(db, cli):
    """Columns by name, those that are null left out."""
    lines = cli("export", "--db", db, "--run", "beta", "--to", "-")[1].splitlines()
    gate = next(span for span in map(json.loads, lines) if span["record"] == "gate")

    assert (gate["run_id"], gate["gate_kind"], gate["verdict"]) == ("beta", "policy", "allow")
    assert None not in gate.values()
    assert gate["start_ns"] == MONDAY_NS + 5_000_000_000


def test_a_run_is_exported_by_the_beginning_of_its_id(db, cli):
    """As in `replay`; standard output gets the spans and nothing else."""
    assert spans_of(cli("export", "--db", db, "--run", "be", "--to", "-")[1]) == {"beta": OWN}
    assert cli("export", "--db", db, "--run", "alpha", "--to", "-")[0] == 1


def test_an_export_is_its_owner_s_alone(db, cli, tmp_path):
    """Even where it replaces a file that everybody could read."""
    to = tmp_path / "out.jsonl"
    to.write_text("older")
    to.chmod(0o644)

    assert cli("export", "--db", db, "--run", "beta", "--to", to, "--force")[0] == 0

    assert stat.S_IMODE(to.stat().st_mode) == 0o600


def test_a_file_is_not_replaced_unasked(db, cli, tmp_path):
    """The error says how to."""
    to = tmp_path / "out.jsonl"
    to.write_text("older")

    code, out, err = cli("export", "--db", db, "--run", "beta", "--to", to)

    assert (code, out) == (1, "")
    assert err == f"toolwitness: {to} is there already; name another file, or replace it with --force\n"
    assert to.read_text() == "older"


@pytest.mark.parametrize(
    ("to", "why"),
    [("data/agents.duckdb", "is the database itself"), ("nowhere/out.jsonl", "No such file")],
    ids=["db", "folder"],
)
def test_where_an_export_cannot_go(db, cli, runs, to, why):
    """Not over the database even with --force, and not into a folder that is not there."""
    code, _, err = cli("export", "--db", db, "--run", "beta", "--to", db.parent.parent / to, "--force")

    assert code == 1
    assert why in err
    assert "name another file" in err
    assert len(runs()) == 3


def test_a_broken_off_export_leaves_no_file(db, tmp_path):
    """Half an answer could be taken for a whole one."""

    def lines():
        yield "{}\n"
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        _write(tmp_path / "out.jsonl", lines(), db, force=False)

    assert not (tmp_path / "out.jsonl").exists()


def test_an_export_tells_programs_what_it_wrote(db, cli, tmp_path):
    """With --json, which needs a file."""
    to = tmp_path / "out.jsonl"
    found = json.loads(cli("export", "--db", db, "--subject", "customer-17", "--to", to, "--json")[1])

    assert found == {"file": str(to), "spans": 16, "runs": 2}
    assert cli("export", "--db", db, "--run", "beta", "--to", "-", "--json")[0] == 2


@pytest.mark.parametrize("given", [[], ["--run", "beta", "--subject", "x"]], ids=["none", "both"])
def test_an_export_is_of_one_thing(db, cli, given):
    """Neither and both are wrong usage."""
    code, _, err = cli("export", "--db", db, "--to", "-", *given)

    assert code == 2
    assert "give just one of --subject, --run" in err


def test_an_export_names_a_subject_that_is_not_there(db, cli, tmp_path):
    """No file is made, and the error tells of other keys."""
    code, _, err = cli("export", "--db", db, "--subject", "customer-18", "--to", tmp_path / "out.jsonl")

    assert code == 1
    assert "nothing in" in err
    assert "TOOLWITNESS_DIGEST_KEY" in err
    assert not (tmp_path / "out.jsonl").exists()


def test_without_a_key_no_subject_is_found_and_none_is_made(db, cli, monkeypatch):
    """A key that is made now would find nothing, and hide that."""
    monkeypatch.delenv("TOOLWITNESS_DIGEST_KEY")

    for command in (["export", "--to", "-"], ["purge", "--yes"]):
        code, _, err = cli(*command, "--db", db, "--subject", "customer-17")
        assert code == 1
        assert "set TOOLWITNESS_DIGEST_KEY to the key, or TOOLWITNESS_STATE_DIR to the agent's state folder" in err
    assert list(Path(os.environ["TOOLWITNESS_STATE_DIR"]).iterdir()) == []


def test_what_an_agent_records_under_the_key_of_this_machine_is_found(tmp_path, cli):
    """Without any setting, agent and command line share the key of the state folder."""
    db = tmp_path / "own.duckdb"
    toolwitness.instrument(db=db)
    with toolwitness.run("t", id="mine", subject="customer-17"), toolwitness.call("look", {"a": 1}) as call:
        call.result("seen")
    toolwitness.uninstrument()

    assert spans_of(cli("export", "--db", db, "--subject", "customer-17", "--to", "-")[1]) == {"mine": ["call", "run"]}
    assert cli("purge", "--db", db, "--subject", "customer-17", "--yes")[0] == 0
    assert cli("runs", "--db", db, "--json")[1] == "[]\n"


def test_an_export_reads_through_a_running_toolwitness(db, cli, tmp_path):
    """Nobody has to stop it; the export is noted all the same."""
    command = [sys.executable, "-m", "toolwitness", "up", "--db", db, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as serving:
        try:
            assert serving.stdout.readline().startswith("toolwitness serves")
            code = cli("export", "--db", db, "--subject", "customer-17", "--to", tmp_path / "out.jsonl")[0]
            refused = cli("purge", "--db", db, "--subject", "customer-17", "--yes")
        finally:
            serving.terminate()

    assert code == 0
    assert [export.spans for export in exports_of(db)] == [16]
    assert refused[0] == 1
    assert f"`toolwitness down --db {db}`" in refused[2]


@pytest.mark.parametrize(
    ("by", "others"), [(["--subject", "customer-17"], (2, 4)), (["--run", "gamma"], (0, 2))], ids=["subject", "run"]
)
def test_an_export_holds_what_a_purge_would_take(db, cli, customer, by, others):
    """And the definitions that a purge leaves to others; foreign spans too where the trace is the run's own."""
    gamma, delta = told("gamma", subject=customer, tool="g", toolset="g"), told("delta", tool="d", toolset="d")
    delta[0]["trace_id"] = told("beta")[0]["trace_id"]
    delta[-1]["call_id"] = gamma[4]["call_id"]
    store = Store.open(db)
    store.write_group([gamma, delta, [foreign("gamma", number=1), foreign("beta", number=2), foreign("elsewhere", number=3)]])
    store.close()
    selection = Selection(subject=customer) if by[0] == "--subject" else Selection(runs=("gamma",))

    lines = cli("export", "--db", db, *by, "--to", "-")[1].splitlines()

    records = [json.loads(line).get("record") for line in lines]
    used_by_others, settlements = others
    assert len(records) == plan(db, selection).spans + used_by_others
    assert (records.count(None), records.count("reconciliation")) == (1, settlements)


def test_an_export_that_cannot_be_noted_is_told(db, cli, tmp_path):
    """It is written all the same."""
    db.with_name("agents.duckdb.exports.jsonl").mkdir()

    code, _, err = cli("export", "--db", db, "--run", "beta", "--to", tmp_path / "out.jsonl")

    assert code == 0
    assert "so a later purge will not name it" in err


def test_a_subject_is_found_through_the_collector_s_decoding(tmp_path, cli, monkeypatch):
    """What comes over the wire keeps its digest."""
    monkeypatch.setenv("TOOLWITNESS_DIGEST_KEY", "secret")
    exporter = InMemorySpanExporter()
    recorder = Recorder(exporter=exporter, clock=ManualClock(MONDAY_NS), key=b"secret", ids=SeededIds("wire"), inline=True)
    recorder.run("t", id="mine", subject="customer-17").close()
    recorder.flush()
    store = Store.open(tmp_path / "wire.duckdb")
    StoreExporter(store, owned=True).export(exporter.get_finished_spans())
    store.close()

    assert spans_of(cli("export", "--db", tmp_path / "wire.duckdb", "--subject", "customer-17", "--to", "-")[1]) == {
        "mine": ["run"]
    }
