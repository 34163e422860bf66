"""The redactor at the door: it sees every span, fails closed, and its counters account for each one."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwitness.collector.embedded import StoreExporter
from toolwitness.collector.receive import decode, scan, wire
from toolwitness.collector.receive.decode import PROBLEMS, decode_request, rows_of, rows_of_request
from toolwitness.collector.receive.shrink import MINIMAL
from toolwitness.collector.receive.wire import JSON, PROTOBUF, Parsed
from toolwitness.collector.store.redactions import Failure, Redactions
from toolwitness.collector.store.store import Store
from toolwitness.model import codec, names
from toolwitness.model.enums import AttemptStatus, GateKind, ObservationStatus, Verdict
from toolwitness.model.records import (
    Attempt,
    Call,
    Decision,
    Gate,
    Hit,
    Json,
    LeafOrigin,
    Member,
    Removal,
    Run,
    Schema,
    Toolset,
)
from toolwitness.redaction import attributes
from toolwitness.redaction.attributes import MOST_ATTRIBUTES
from toolwitness.sdk.redacting import RedactingSpanExporter
from toolwitness.tests.collector.receive.otlp import START_NS, add, as_otlp_json, calls, of_records, request_of, span_id
from toolwitness.tests.sdk.test_redacting_exporter import context, span

CALL = "00000000000000ca"
CANARY = "canary" + "-7f3a9"
KEY = "sk-" + "proj-4f9aB7c1D2e3F4a5B6c7"
MAIL = "jo@example.org"


def one(request):
    """The only row of a request that has one span."""
    (row,) = rows_of_request(request).rows
    return row


def fails(*_given, **_named):
    """Fail as the redactor never should."""
    raise RuntimeError(CANARY)


def test_lists_of_text_are_scanned():
    """Pointers, keywords, causes and exposed members are texts too; what is clean in a list stays."""
    row = one(of_records(Gate(run_id="r", call_id=CALL, gate_kind=GateKind.POLICY, verdict=Verdict.DENY,
                              pointers=("/to", f"/{MAIL}"), keywords=(KEY,))))  # fmt: skip
    assert (row["pointers"], row["keywords"]) == (["/to", "[email]"], ["[vendor-key]"])


def test_keys_in_lists_stay_what_they_refer_to():
    """A masked call id is the same wherever it stands."""
    call = Call(run_id="r", call_id=MAIL, call_ordinal=0, tool="pay", argument_sources=("00000000000000cb", MAIL))
    row = one(of_records(call))
    assert row["argument_sources"] == ["00000000000000cb", row["call_id"]]
    assert row["call_id"].startswith("redacted-")


def test_lists_of_records_are_scanned():
    """Removals, hits, origins and members are JSON; digests in them are no card numbers."""
    digest = "38840678620308eadd98d8632df3d6d4" * 2
    decision = Decision(run_id="r", decision_id="d" * 16, decision_ordinal=1, removals=(Removal("s", "t", f"for {MAIL}"),))
    call = Call(run_id="r", call_id=CALL, call_ordinal=0, tool="find", discovery_hits=(Hit("s", MAIL),),
                provenance=(LeafOrigin(f"/{KEY}", "user"),))  # fmt: skip
    toolset = Toolset(run_id="r", toolset_digest=digest, members=(Member("s", "t", digest), Member("s", MAIL, digest)))
    rows = rows_of_request(of_records(decision, call, toolset)).rows
    assert json.loads(rows[0]["removals"])[0] == {"server": "s", "tool": "t", "reason": "[email]"}
    assert json.loads(rows[1]["discovery_hits"]) == [{"server": "s", "tool": "[email]"}]
    assert json.loads(rows[1]["provenance"]) == [{"pointer": "[vendor-key]", "origin": "user"}]
    first, second = json.loads(rows[2]["members"])
    assert (first["tool"], first["definition_digest"], second["tool"]) == ("t", digest, "[email]")


def test_a_frame_of_code_is_no_credential():
    """`auth:token:12` names a place; a key in its stead is masked."""
    frames = ("app.auth:token:12", "app.password:check:7", f"{KEY}:f:1")
    row = one(of_records(Attempt(run_id="r", call_id=CALL, attempt_ordinal=1, attempt_status="error", error_frames=frames)))
    assert row["error_frames"] == [*frames[:2], "[vendor-key]"]


def test_sixteen_digits_are_a_card_where_no_id_is_expected():
    """Hex digits are an id only in a column of ids."""
    row = one(of_records(Call(run_id="r", call_id=CALL, call_ordinal=0, tool="pay", vendor_code="4111111111111111")))
    assert row["vendor_code"] == "[card]"


def test_attributes_of_ours_without_a_column_are_redacted():
    """What a newer SDK adds is treated as anybody's."""
    request = of_records(Run(run_id="r"))
    add(request, {**codec.encode(Run(run_id="r2")), "toolwitness.later": f"my {CANARY}"})
    row = rows_of_request(request).rows[1]
    assert (row["run_id"], CANARY in row["rest"]) == ("r2", False)


@pytest.mark.parametrize("broken", ["clean", "span_name", "scope_name", "masked"])
def test_a_redactor_that_raises_leaves_ids_times_and_status(monkeypatch, broken):
    """Of a foreign span nothing else is stored, and the span beside it is none the worse."""
    request = request_of({"note": CANARY}, name=f"say {CANARY}")
    request.resource_spans[0].scope_spans[0].scope.name = "app"
    bad = request.resource_spans[0].scope_spans[0].spans[0]
    bad.status.code, bad.parent_span_id = 2, b"\1" * 8
    with monkeypatch.context() as patched:
        patched.setattr(attributes if broken == "clean" else decode, broken, fails)
        decoded = rows_of_request(request)
    (row,) = decoded.rows
    assert CANARY not in json.dumps(row)
    assert (row["status_code"], row["parent_span_id"], row["start_ns"]) == ("error", "01" * 8, START_NS)
    if broken in {"clean", "span_name"}:
        assert json.loads(row["rest"]) == {MINIMAL: "error"}
        assert decoded.redactions.failed == {Failure("error", "", "app"): 1}
    assert decoded.redactions.agree


def test_a_scanner_that_raises_shrinks_our_own_spans(monkeypatch):
    """What has no room for text stays: ids, enums and numbers, and the rows can still be joined."""
    call = Call(run_id="my run", call_id=CALL, call_ordinal=3, tool="pay", arguments=Json(f'{{"to":"{CANARY}"}}'),
                observation=ObservationStatus.OK, result_size=7, argument_sources=("00000000000000cb",),
                error_type=CANARY, vendor_code="4111111111111111")  # fmt: skip
    attempt = Attempt(run_id="my run", call_id=CALL, attempt_ordinal=1, attempt_status=AttemptStatus.OK)
    request = of_records(call, attempt)
    monkeypatch.setattr(scan, "scan_texts", fails)
    monkeypatch.setattr(scan, "scan_text", fails)
    decoded = rows_of_request(request)
    row, other = decoded.rows
    assert {"to", CANARY, "my run", "4111111111111111"}.isdisjoint(json.dumps(row).replace('"', " ").split())
    assert (row["call_id"], row["call_ordinal"], row["observation"], row["result_size"]) == (CALL, 3, "ok", 7)
    assert (row["tool"], row["argument_sources"], row["error_type"]) == ("pay", ["00000000000000cb"], "Exception")
    assert row["run_id"] == other["run_id"] != "my run"
    assert decoded.redactions.failed == {Failure("error"): 2}


def test_one_text_that_breaks_the_scanner_costs_its_own_span_alone(monkeypatch):
    """The others are looked at one by one."""
    genuine = scan.scan_text

    def picky(text):
        if "poison" in text:
            raise RuntimeError(text)
        return genuine(text)

    monkeypatch.setattr(scan, "scan_texts", fails)
    monkeypatch.setattr(scan, "scan_text", picky)
    decoded = rows_of_request(of_records(Run(run_id="r1", task="poison"), Run(run_id="r2", task=MAIL)))
    assert "task" not in decoded.rows[0]
    assert decoded.rows[1]["task"].startswith("redacted-")
    assert (decoded.redactions.redacted, sum(decoded.redactions.failed.values())) == (1, 1)


def test_a_redactor_that_fails_refuses_no_request(live, monkeypatch):
    """The sender hears 200, the file has the span without content, and not one byte of the original."""
    monkeypatch.setattr(attributes, "clean", fails)
    monkeypatch.setattr(scan, "scan_texts", fails)
    monkeypatch.setattr(scan, "scan_text", fails)
    request = request_of({"note": CANARY}, name=CANARY)
    request.MergeFrom(of_records(Run(run_id="r", agent=CANARY)))
    receipt = live.receipt_of(request.SerializeToString())
    assert receipt["stored"] == 2
    live.stop()
    assert CANARY.encode() not in live.collector.path.read_bytes()
    with_store(live.collector.path, lambda store: agreement(store, received=2, redacted=0, failed=2, rejected=0))


def with_store(path, use):
    """What `use` makes of the store in a file that nobody holds."""
    store = Store.open(path)
    try:
        return use(store)
    finally:
        store.close()


def outcomes(store):
    """The counters of a store, by outcome."""
    found = dict.fromkeys(("received", "redacted", "failed", "rejected"), 0)
    for row in store.query("redactions").to_pylist():
        found[row["outcome"]] += row["spans"]
    return found


def agreement(store, **expected):
    """Check that the counters are those, and that they account for each span."""
    found = outcomes(store)
    assert found == expected
    assert found["received"] == found["redacted"] + found["failed"] + found["rejected"]
    reasons = {row["reason"]: row["spans"] for row in store.query("ingest").to_pylist()}
    assert sum(reasons.values()) == found["received"]


def test_the_counters_survive_restarts_and_refused_requests(start):
    """A request that is refused as a whole is in none of them; one that is sent again counts again, as duplicates do."""
    body = calls(2).SerializeToString()
    first = start()
    first.post(body)
    first.post(b"junk")
    first.stop()
    again = start()
    again.post(body)
    bad = request_of({"a": 1}, span_id=b"short")
    again.post(bad.SerializeToString())
    again.post(b"x", "text/plain")
    again.stop()
    with_store(again.collector.path, lambda store: agreement(store, received=9, redacted=8, failed=0, rejected=1))


def test_spans_that_the_file_cannot_hold_were_seen_by_the_redactor(tmp_path):
    """They are rejected behind it."""
    decoded = rows_of_request(calls(1))
    for row in decoded.rows:
        row["start_ns"] = "no number"
    store = Store.open(tmp_path / "a.duckdb")
    store.write_group([decoded.rows], [decoded.rejected], [decoded.redactions])
    agreement(store, received=2, redacted=2, failed=0, rejected=0)
    store.close()


def test_an_agent_that_writes_the_file_itself_is_counted_too(tmp_path):
    """The exporter that stores goes through the same door."""
    store = Store.open(tmp_path / "a.duckdb")
    StoreExporter(store).export([span()])
    agreement(store, received=1, redacted=1, failed=0, rejected=0)
    store.close()


def test_spans_that_were_shrunk_in_the_agent_are_told(tmp_path, monkeypatch):
    """Ours, and those of our exporter around anybody's, with all stored spans of the same sender beside them."""
    sent = InMemorySpanExporter()
    exporter = RedactingSpanExporter(sent)
    exporter.export([span()])
    with monkeypatch.context() as patched:
        patched.setattr(attributes, "clean", fails)
        exporter.export([span(attributes={"a": "b"}, context=context(7))])
    store = Store.open(tmp_path / "a.duckdb")
    StoreExporter(store).export(sent.get_finished_spans())
    call = Call(run_id="r", call_id=CALL, call_ordinal=0, tool="pay", minimal="size")
    store.write_group([rows_of_request(of_records(call)).rows])
    told = [tuple(row.values()) for row in store.query("shrunk_in_agent").to_pylist()]
    rests = store.read(lambda cursor: cursor.sql("select rest from spans").fetchall())
    store.close()
    assert told == [("error", "", "", 1, 2), ("size", "", "", 1, 2)]
    assert rests == [(None,)] * 3


def test_a_hundred_thousand_attributes_cost_what_a_thousand_do():
    """The first are kept and the span says that there were more, in either format."""
    request = request_of({f"gen_ai.usage.n{number}": number for number in range(100_000)})
    for body, media in ((request.SerializeToString(), PROTOBUF), (json.dumps(as_otlp_json(request)).encode(), JSON)):
        (row,) = decode_request(body, media).rows
        rest = json.loads(row["rest"])
        assert (len(rest), rest[PROBLEMS]) == (MOST_ATTRIBUTES + 1, ["attributes"])


def test_so_does_one_attribute_with_as_many_members():
    """A list is cut where the redactor would cut it."""
    request = request_of({"k": ["v"] * 100_000, "n": {"a": ["v"] * 100_000}})
    for body, media in ((request.SerializeToString(), PROTOBUF), (json.dumps(as_otlp_json(request)).encode(), JSON)):
        (row,) = decode_request(body, media).rows
        assert json.loads(row["rest"])[PROBLEMS] == ["attributes"]


def test_when_the_time_for_a_request_is_over_the_rest_is_stored_without_content():
    """Ours keep what has no room for text; all of them are counted as failures."""
    request = request_of({"note": "a"}, {"note": "b"})
    request.MergeFrom(of_records(Run(run_id="aaaaaaaaaaaaaaaa", trial=4)))
    ticks = iter([0.0, 0.0, *[99.0] * 9])
    decoded = rows_of(Parsed(request), clock=lambda: next(ticks))
    assert [json.loads(row["rest"]).get(MINIMAL) for row in decoded.rows] == [None, "time", "time"]
    assert (decoded.rows[2]["run_id"], decoded.rows[2]["trial"]) == ("aaaaaaaaaaaaaaaa", 4)
    assert (decoded.redactions.redacted, decoded.redactions.failed) == (1, {Failure("time"): 2})


def test_when_it_is_over_before_the_scan_no_text_of_ours_is_stored():
    """What nobody looked at is not kept."""
    ticks = iter([0.0, 0.0, 99.0])
    decoded = rows_of(Parsed(of_records(Run(run_id="r", task="t"))), clock=lambda: next(ticks))
    assert "task" not in decoded.rows[0]
    assert decoded.redactions.failed == {Failure("time"): 1}


def test_reading_json_ends_in_time_too(monkeypatch):
    """Then only the envelope of the spans that are left is read."""
    monkeypatch.setattr(wire, "_MAX_SECONDS", -1.0)
    decoded = decode_request(json.dumps(as_otlp_json(request_of({"note": CANARY}))).encode(), JSON)
    assert json.loads(decoded.rows[0]["rest"]) == {MINIMAL: "time"}
    assert (decoded.rows[0]["start_ns"], decoded.redactions.failed) == (START_NS, {Failure("time"): 1})


def test_a_text_of_ours_that_no_sdk_sends_is_not_kept():
    """Nobody scans megabytes of one value."""
    decoded = rows_of_request(of_records(Schema(run_id="r", definition_digest="d" * 64, tool="t",
                                                definition=Json(json.dumps("x " * 1_500_000)))))  # fmt: skip
    assert (decoded.rows[0]["tool"], "definition" in decoded.rows[0]) == ("t", False)
    assert decoded.redactions.failed == {Failure("size"): 1}


def test_senders_are_counted_apart_up_to_a_limit(tmp_path, monkeypatch):
    """Whoever sends chooses the names, so there may be any number of them."""
    monkeypatch.setattr(attributes, "clean", fails)
    request = request_of()
    for number in range(40):
        request.resource_spans.add().scope_spans.add().scope.name = f"app.x{'y' * number}"
        add_to(request.resource_spans[-1].scope_spans[0])
    decoded = rows_of_request(request)
    assert len(decoded.redactions.failed) == 17
    assert decoded.redactions.failed[Failure("error", "(others)", "(others)")] == 24
    store = Store.open(tmp_path / "a.duckdb")
    known = Redactions(received=1000, failed={Failure("size", f"s{number}"): 1 for number in range(1000)})
    store.write_group([[]], None, [known])
    store.write_group([decoded.rows], [decoded.rejected], [decoded.redactions])
    rows = [row for row in store.query("redactions").to_pylist() if row["reason"] == "error"]
    store.close()
    assert [(row["service"], row["spans"]) for row in rows] == [("(others)", 40)]


def add_to(scope_spans):
    """Add a foreign span to a scope."""
    made = request_of({"note": "x"})
    scope_spans.spans.append(made.resource_spans[0].scope_spans[0].spans[0])


GOOD = [lambda: {"note": f"a {CANARY}", "gen_ai.operation.name": "chat"}, lambda: {"list": [CANARY, 1, {"k": CANARY}]}]
OURS = [
    lambda: codec.encode(Run(run_id="r", task=MAIL)),
    lambda: codec.encode(Call(run_id="r", call_id=span_id(), call_ordinal=0, tool="pay", arguments=Json('{"a":1}'))),
]
BAD = [
    {"trace_id": b"short"},
    {"span_id": b""},
    {"start_time_unix_nano": 5},
    {"end_time_unix_nano": 0},
]


@settings(max_examples=60)
@given(
    kinds=st.lists(st.sampled_from(["foreign", "ours", "bad", "incomplete", "no kind"]), max_size=30),
    broken=st.sampled_from(["", "clean", "scan", "both", "sometimes"]),
    seed=st.integers(0, 99),
)
def test_every_span_is_counted_once_whatever_it_is_and_whatever_fails(kinds, broken, seed):
    """Received = redacted + failures + rejected before the redactor, and no original is kept where it failed."""
    chance = random.Random(seed)  # noqa: S311 -- reproducible, not secret
    request = request_of()
    for kind in kinds:
        given_attributes = {
            "foreign": chance.choice(GOOD)(),
            "ours": chance.choice(OURS)(),
            "bad": {"a": 1},
            "incomplete": {names.RECORD: "gate"},
            "no kind": {names.RECORD: "prophecy", "x": CANARY},
        }[kind]
        add(request, given_attributes, **(chance.choice(BAD) if kind == "bad" else {}))
    with pytest.MonkeyPatch.context() as patched:
        if broken in {"clean", "both"}:
            patched.setattr(attributes, "clean", fails)
        if broken in {"scan", "both"}:
            patched.setattr(scan, "scan_texts", fails)
            patched.setattr(scan, "scan_text", fails)
        if broken == "sometimes":
            genuine = attributes.clean
            patched.setattr(attributes, "clean", lambda *a, **k: genuine(*a, **k) if chance.random() > 0.5 else fails())
        decoded = rows_of_request(request)
    counts = decoded.redactions
    assert counts.agree
    assert (counts.received, counts.rejected) == (len(kinds), kinds.count("bad") + kinds.count("incomplete"))
    shrunk = [row for row in decoded.rows if MINIMAL in row.get("rest", "")]
    assert len(shrunk) == sum(counts.failed.values())
    assert CANARY not in json.dumps(decoded.rows)
    if broken == "both":
        assert counts.redacted == sum("rest" not in row for row in decoded.rows)
