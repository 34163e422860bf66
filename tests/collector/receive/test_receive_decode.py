import gzip
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.collector.receive.decode import PROBLEMS, decode_request, rows_of_request
from toolwitness.collector.receive.refusal import RefusedError
from toolwitness.collector.receive.wire import JSON, PROTOBUF
from toolwitness.model import codec, names
from toolwitness.model.enums import AttemptStatus, Finding, GateKind, Known, Method, Origin, RunOutcome, Verdict
from toolwitness.model.records import (
    Attempt,
    AttemptStart,
    Call,
    Decision,
    Gate,
    Json,
    LeafOrigin,
    Member,
    Reconciliation,
    Removal,
    Run,
    Schema,
    Toolset,
)
from toolwitness.tests.collector.receive.otlp import START_NS, add, as_otlp_json, of_records, request_of

CALL = "00000000000000ca"
RECORDS = (
    Run(run_id="r1", run_outcome=RunOutcome.SUCCESS, reward=1.0, trial=0, labels=Json('{"a":"b"}')),
    Decision(run_id="r1", decision_id="d" * 16, decision_ordinal=2, removals=(Removal("s", "t", "phase"),), chosen=("t",)),
    Call(
        run_id="r1",
        call_id=CALL,
        call_ordinal=0,
        tool="pay",
        registered=Known.YES,
        arguments=Json('{"n":1}'),
        provenance=(LeafOrigin("/n", Origin.USER),),
        time_known=False,
    ),
    Gate(run_id="r1", call_id=CALL, gate_kind=GateKind.POLICY, verdict=Verdict.DENY, pointers=("/n",)),
    Attempt(run_id="r1", call_id=CALL, attempt_ordinal=1, attempt_status=AttemptStatus.TIMEOUT, backoff_ms=2.5),
    AttemptStart(run_id="r1", call_id=CALL, attempt_ordinal=1, tool="pay"),
    Reconciliation(run_id="r1", call_id=CALL, tool="pay", finding=Finding.COMMITTED, method=Method.PERSON),
    Schema(run_id="r1", definition_digest="d" * 64, schema_digest="e" * 64, tool="pay", definition=Json("{}")),
    Toolset(run_id="r1", toolset_digest="f" * 64, members=(Member("s", "t", "d" * 64),)),
)


def one(request):
    """The only row of a request that has one span."""
    (row,) = rows_of_request(request).rows
    return row


def call_with(**fields):
    """The row of a call with these fields."""
    return one(of_records(Call(run_id="r1", call_id=CALL, call_ordinal=0, tool="pay", **fields)))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.kind.value)
@pytest.mark.parametrize("media", [PROTOBUF, JSON])
def test_a_record_comes_back_from_its_row_as_it_was(record, media):
    """What the SDK encodes is what a row says, over both formats."""
    request = of_records(record)
    body = request.SerializeToString() if media == PROTOBUF else json.dumps(as_otlp_json(request)).encode()
    (row,) = decode_request(body, media).rows
    assert codec.from_row(row) == record


def test_absent_attributes_have_the_value_that_the_codec_reads():
    """A column is not null where the record's field has a default that is not."""
    row = one(request_of({names.RECORD: "gate", **_needed_of_gate()}))
    assert (row["gate_mode"], row["source"], row["time_known"]) == ("enforced", "live", True)


def _needed_of_gate():
    return {"toolwitness.run.id": "r1", "toolwitness.call.id": CALL, "toolwitness.gate.kind": "policy",
            "toolwitness.gate.verdict": "allow"}  # fmt: skip


def test_an_attribute_outside_its_domain_is_dropped_alone_and_named():
    """The span is stored, the value is not, and `rest` names the attribute."""
    row = one(request_of({names.RECORD: "gate", **_needed_of_gate(), "toolwitness.gate.mode": "my secret mode"}))
    assert row["gate_mode"] == "enforced"
    assert json.loads(row["rest"]) == {PROBLEMS: ["toolwitness.gate.mode"]}


@pytest.mark.parametrize("missing", list(_needed_of_gate()))
def test_an_own_span_without_a_needed_field_is_rejected(missing):
    """A record that cannot be what it says is no record."""
    attributes = {names.RECORD: "gate", **_needed_of_gate()}
    del attributes[missing]
    assert rows_of_request(request_of(attributes)).rejected == {"missing_field": 1}


def test_an_unknown_record_kind_is_stored_as_a_foreign_span():
    """What a newer SDK sends is kept without being taken for something else."""
    row = one(request_of({names.RECORD: "prophecy", "toolwitness.run.id": "r1"}))
    assert "record" not in row
    assert "run_id" not in row


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"trace_id": b"\1" * 15}, "invalid_trace_id"),
        ({"trace_id": bytes(16)}, "invalid_trace_id"),
        ({"span_id": b""}, "invalid_span_id"),
        ({"span_id": bytes(8)}, "invalid_span_id"),
        ({"start_time_unix_nano": 0}, "invalid_time"),
        ({"end_time_unix_nano": 0}, "invalid_time"),
        ({"start_time_unix_nano": (1 << 64) - 5}, "invalid_time"),
        ({"start_time_unix_nano": START_NS // 1000}, "invalid_time"),
    ],
)
def test_a_span_that_cannot_be_placed_is_rejected_and_takes_no_other_with_it(fields, reason):
    """Wrong ids and times are counted by reason; the good span beside it is stored."""
    request = request_of({"a": 1}, **fields)
    add(request, {"b": 2})
    decoded = rows_of_request(request)
    assert (len(decoded.rows), decoded.rejected, decoded.received) == (1, {reason: 1}, 2)


def test_times_that_stand_for_an_order_only_may_be_any():
    """An import without times counts from an epoch of its own."""
    request = of_records(Run(run_id="r1", time_known=False))
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.start_time_unix_nano, span.end_time_unix_nano = 1, 2
    assert one(request)["start_ns"] == 1


def test_a_span_that_ends_before_it_starts_has_no_length():
    """A clock that was set back loses the length, not the span."""
    row = one(request_of({}, end_time_unix_nano=START_NS - 5))
    assert (row["end_ns"], json.loads(row["rest"])) == (START_NS, {PROBLEMS: ["end_ns"]})


def test_a_wrong_parent_or_link_is_dropped_alone():
    """Only what is wrong is lost, and it is named."""
    request = request_of({}, parent_span_id=b"123")
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.links.add(trace_id=b"\1" * 16, span_id=b"\2" * 8)
    span.links.add(trace_id=b"\1", span_id=b"\2" * 8)
    row = one(request)
    assert row["links"] == [f"{'01' * 16}:{'02' * 8}"]
    assert "parent_span_id" not in row
    assert json.loads(row["rest"]) == {PROBLEMS: ["parent_span_id", "links"]}


def test_free_text_of_our_own_is_masked_where_a_detector_objects():
    """An SDK that let something through is caught here."""
    row = call_with(error_type="mail to jo@example.org", vendor_code="E42")
    assert (row["error_type"], row["vendor_code"]) == ("[email]", "E42")


def test_masked_keys_stay_apart():
    """Two runs whose ids must not be stored are still two runs."""
    records = [Run(run_id=f"{name}@example.org") for name in ("jo", "al")]
    first, second = rows_of_request(of_records(*records)).rows
    assert first["run_id"] != second["run_id"]
    assert first["run_id"].startswith("redacted-")


def test_json_text_is_masked_leaf_by_leaf_and_stays_json():
    """Placeholders stand, clean leaves stand, only what is objected to goes."""
    kept = {"password": {"$tw:redacted": {"c": "secret", "t": "string", "why": "name:password"}}, "n": 1}
    assert json.loads(call_with(arguments=Json(json.dumps(kept)))["arguments"]) == kept
    leaked = {**kept, "note": "ask jo@example.org", "api_key": "hunter2hunter2"}
    masked = json.loads(call_with(arguments=Json(json.dumps(leaked)))["arguments"])
    assert masked == {**kept, "note": "[email]", "api_key": "[assignment]"}


def test_digests_are_never_taken_for_card_numbers():
    """A digest may begin like a card number with a right check digit."""
    digest = "38840678620308eadd98d8632df3d6d4"
    assert call_with(arguments_digest=digest)["arguments_digest"] == digest


def test_a_foreign_span_keeps_nothing_that_was_not_redacted():
    """Name, attributes, status text, events and resource are covered."""
    request = request_of({"prompt": "call +1 415 555 0100", "blob": b"raw bytes", "deep": {"k": ["jo@example.org"]}})
    resource_spans = request.resource_spans[0]
    resource_spans.resource.attributes.extend(request_of({"service.name": "shop", "host.name": "box7"}).resource_spans[0]
                                              .scope_spans[0].spans[0].attributes)  # fmt: skip
    span = resource_spans.scope_spans[0].spans[0]
    span.name, span.status.code, span.status.message = "GET /users/jo@example.org", 2, "no such user jo"
    span.events.add(name="exception", time_unix_nano=START_NS)
    row = one(request)
    assert (row["name"], row["service"], row["status_code"]) == ("GET /users/{}", "shop", "error")
    text = json.dumps(row)
    assert not any(secret in text for secret in ("jo", "415", "raw bytes", "box7"))


def test_an_empty_request_has_no_spans():
    """Nothing sent is nothing lost."""
    assert decode_request(b"", PROTOBUF).received == decode_request(b"{}", JSON).received == 0


def test_a_json_span_that_is_none_takes_no_other_with_it():
    """One malformed element is counted; ids of it need not be readable."""
    document = as_otlp_json(request_of({"a": 1}, {"b": 2}))
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[0]["attributes"] = 7
    spans += [None, "x"]
    decoded = decode_request(json.dumps(document).encode(), JSON)
    assert (len(decoded.rows), decoded.rejected) == (1, {"malformed_span": 3})


@pytest.mark.parametrize(
    ("name", "stored", "rejected"),
    [
        ("contrib_valid_input-trace.json", 1, {}),
        ("contrib_invalid_base64_ids.json", 0, {"invalid_trace_id": 1}),
        ("jaeger_otlp2jaeger-in.json", 2, {}),
        ("proto_examples/trace.json", 1, {}),
        ("proto_examples/logs.json", 0, {}),
        ("proto_examples/metrics.json", 0, {}),
        ("proto_examples/events.json", 0, {}),
    ],
)
def test_published_otlp_json_is_counted_as_its_publishers_say(shared, name, stored, rejected):
    """Valid samples are stored whole, and base64 ids are refused as the reference collector does."""
    decoded = decode_request((shared / "data" / "otlp" / name).read_bytes(), JSON)
    assert (len(decoded.rows), decoded.rejected) == (stored, rejected)


def test_unknown_json_fields_are_ignored(shared):
    """As the reference collector does by default."""
    for line in (shared / "data" / "otlp" / "collector_unknown_fields.jsonl").read_bytes().splitlines():
        assert decode_request(line, JSON).received == 0


def test_ids_of_json_are_read_from_hex(shared):
    """Upper case is allowed, stored is lower case."""
    (row,) = decode_request((shared / "data" / "otlp" / "proto_examples" / "trace.json").read_bytes(), JSON).rows
    assert (row["trace_id"], row["parent_span_id"]) == ("5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b173")


def test_spans_of_real_instrumentations_are_all_kept(shared):
    """Twelve captures, 818 spans: none is rejected, none is taken for ours."""
    paths = sorted(Path(shared, "data", "captures").glob("*/spans.pb.gz"))
    decoded = [decode_request(gzip.decompress(path.read_bytes()), PROTOBUF) for path in paths]
    assert (len(paths), sum(len(each.rows) for each in decoded)) == (12, 818)
    assert not any(each.rejected or any("record" in row for row in each.rows) for each in decoded)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["resourceSpans", "scopeSpans", "spans", "resource", "scope", "attributes", "traceId", "spanId",
                         "startTimeUnixNano", "links", "status", "code", "value", "intValue", "[x]", "kind"]),
        inner,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@given(_json)
def test_no_json_does_more_than_be_refused(document):
    """Whatever the shape, the answer is rows, counted rejections or a refusal."""
    spans = {"resourceSpans": [{"scopeSpans": [{"spans": [document, {"attributes": document}, {"links": document}]}]}]}
    assert decode_request(json.dumps(spans).encode(), JSON).received == 3
    with suppress(RefusedError):
        decode_request(json.dumps(document).encode(), JSON)


@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 255))
def test_no_bytes_do_more_than_be_refused(junk, at, byte):
    """Random and damaged protobuf alike."""
    damaged = bytearray(of_records(*RECORDS).SerializeToString())
    damaged[at] = byte
    for body in (junk, bytes(damaged)):
        with suppress(RefusedError):
            decode_request(body, PROTOBUF)
