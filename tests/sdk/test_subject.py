"""The subject of a run: a keyed digest on every span, and the id nowhere."""

import json
import uuid

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import toolwitness
from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.digest import subject_digest
from toolwitness.sdk import Recorder, Settings, setup
from toolwitness.sdk.guard import swallowing
from toolwitness.sdk.state import Journal, OpenAttempt

CUSTOMER = subject_digest(b"k", "customer-17")


def everything(recorder, **facts):
    """One run with a span of each kind that an agent sends."""
    with recorder.run("t", **facts) as run:
        with run.decision("m", tools=[{"name": "pay", "inputSchema": {"type": "object"}}]) as step:
            call = step.call("pay", {"amount": 5})
        with call:
            call.gate("policy", "allow")
            with call.attempt():
                call.result("done")
    return run


def test_the_digest_stands_on_every_span(recorded):
    """Whatever span of a run arrives alone tells whose it is."""
    everything(recorded.recorder, subject="customer-17")

    found = {record.kind: record.subject for record in recorded.records()}

    kinds = {"run", "decision", "call", "gate", "attempt", "attempt_start", "schema", "toolset"}
    assert found == dict.fromkeys(kinds, CUSTOMER)


def test_the_id_itself_leaves_in_no_attribute(recorded):
    """Neither the run nor anything in it names the subject."""
    everything(recorded.recorder, subject="customer-17")

    assert not any("customer-17" in str(span.to_json()) for span in recorded.spans())


def test_a_run_without_a_subject_has_none(recorded):
    """Nothing is made up."""
    everything(recorded.recorder)

    assert {record.subject for record in recorded.records()} == {None}


@pytest.mark.parametrize(
    ("given", "text"),
    [(17, "17"), (uuid.UUID(int=17), "00000000-0000-0000-0000-000000000011")],
    ids=["integer", "uuid"],
)
def test_an_id_counts_by_its_text(recorded, given, text):
    """What is a number here can be asked for by its digits on the command line."""
    assert recorded.recorder.run("t", subject=given).subject == subject_digest(b"k", text)


def test_the_key_decides_the_digest():
    """Who has not the key cannot try out names."""
    assert subject_digest(b"k", "customer-17") != subject_digest(b"other", "customer-17")


@pytest.mark.parametrize(("id_", "what"), [(None, "part"), ("own", "run of its own")], ids=["part", "own run"])
def test_a_run_inside_is_about_the_same_subject(recorded, id_, what):
    """A part of a run, or a run of its own in it, inherits the subject."""
    with recorded.recorder.run("t", subject="customer-17"), recorded.recorder.run(what, id=id_) as inner:
        inner.decision("m").close()

    assert recorded.one("decision").subject == CUSTOMER


def test_a_run_inside_may_be_about_another_subject(recorded):
    """What the application says wins."""
    with recorded.recorder.run("t", subject="customer-17"), recorded.recorder.run("u", id="own", subject="x") as inner:
        pass

    assert inner.subject == subject_digest(b"k", "x")


@pytest.mark.parametrize(("given", "seen"), [("", "an empty text"), (1.5, "a float"), (["a"], "a list")], ids=str)
def test_a_subject_that_has_no_text_is_reported_and_costs_nothing_else(recorded, caplog, given, seen):
    """The run is recorded without a subject, and the log says why."""
    with swallowing(), recorded.recorder.run("t", subject=given):
        pass

    assert recorded.one("run").subject is None
    assert caplog.text.count(f"a run's subject is a text, an integer or a UUID, not {seen}") == 1


def test_an_attempt_that_a_dead_process_left_open_keeps_its_subject(tmp_path, recorded):
    """The journal holds the digest, so what a later process ships belongs to the subject too."""
    journal = Journal(tmp_path)
    recorder = Recorder(
        exporter=recorded.exporter, clock=recorded.clock, key=b"k", ids=recorded.recorder.ids, inline=True, journal=journal
    )
    recorder.run("t", subject="customer-17").call("pay", {}).attempt()
    (line,) = next((tmp_path / "journal").glob("*/*.jsonl")).read_text().splitlines()
    recorded.exporter.clear()

    recorded.recorder.adopt(OpenAttempt(*json.loads(line)))

    assert "customer-17" not in line
    assert {record.kind: record.subject for record in recorded.records()} == {"attempt_start": CUSTOMER, "attempt": CUSTOMER}


def test_an_attempt_that_a_dead_process_left_open_keeps_its_action_and_owner(tmp_path, recorded):
    """Who must act, and for which business action, is in the journal, so a crash does not hide it."""
    journal = Journal(tmp_path)
    recorder = Recorder(
        exporter=recorded.exporter, clock=recorded.clock, key=b"k", ids=recorded.recorder.ids, inline=True, journal=journal
    )
    recorder.register(ToolDefinition(name="pay", side_effect="write", owner="payments", settle_after_s=60))
    recorder.run("t").call("pay", {}, action_id="refund-17", node="first").attempt()
    (line,) = next((tmp_path / "journal").glob("*/*.jsonl")).read_text().splitlines()
    recorded.exporter.clear()

    recorded.recorder.adopt(OpenAttempt(*json.loads(line)))

    start = recorded.one("attempt_start")
    assert (start.action_id, start.node, start.owner, start.settle_after_s) == ("refund-17", "first", "payments", 60.0)


@pytest.mark.parametrize(("field", "given"), [("settle_after_s", "soon"), ("settle_after_s", -1), ("owner", 7)])
def test_a_definition_refuses_what_is_no_time_or_no_name(field, given):
    """A tool is declared once, at its start, where the mistake is seen; the journal must never fail on it."""
    with pytest.raises(ValueError, match=r"settle_after is a number|owner of a tool is a name"):
        ToolDefinition(name="pay", **{field: given})


def test_a_journal_of_before_subjects_can_be_read():
    """A line without the field is an attempt without a subject."""
    assert OpenAttempt("call", "run", "t" * 32, "a" * 16, "s" * 16, 1, "bank", "pay", 1).subject is None


@pytest.mark.usefixtures("live")
def test_the_key_is_the_settings_key(tmp_path):
    """The configured key makes the digest, so that another machine with the same key finds the subject."""
    setup.start(Settings(state_dir=tmp_path, digest_key="secret"), InMemorySpanExporter)

    with toolwitness.run("t", subject="customer-17") as run:
        pass

    assert run.subject == subject_digest(b"secret", "customer-17")
