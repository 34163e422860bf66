"""Inputs of the kinds on which other redactors failed in public, one a failure, numbered as in the survey that found them.

Every value is made up. What looks like a key is put together here, so that none stands in the file.
"""

from __future__ import annotations

import json

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from toolwitness.collector.receive.decode import rows_of_request
from toolwitness.redaction import Clean, RedactionPolicy, clean
from toolwitness.redaction.policy import Declared
from toolwitness.tests.collector.receive.otlp import add, pairs

SCAN = RedactionPolicy(unknown="scan")
OPAQUE = "Qm7" + "x2LpV9" + "tRw4ZkB1"
GITHUB = "gh" + "p_" + "a7Kd2" * 7 + "Zq"
JWT = ".".join(("ey" + "JhbGciOiJIUzI1NiJ9", "ey" + "JzdWIiOiJ1LTkifQ", "h4Yc" + "kT0bQ" * 6))
CARD = "4539" + "1488" + "0343" + "6467"
CPF = "390.533" + ".447-05"
AWS = "AK" + "IA" + "Q3EGVRN7" + "JX2LWT5B"
WORDY = "Heron" + "#Quay" + "@77"
BASIC = "c3ZjOkhlcm9u" + "UXVheTc3"

KEPT = {
    "01 a list of ways to authenticate": {"auth_methods": ["DIGEST", "NTLM"]},
    "03 a count of tokens in a foreign name": {"$ai_output_tokens": 733},
    "04 a sentence with the word token": {"message": "Unexpected token < in JSON at position 4"},
    "05 names that contain a key's name": {
        "log": "MantleAPI_version=" + "9c1d" * 10,
        "monkey": "george",
        "tokenizationId": "7e21c0aa-4d5f-4b62-9a10-5566778899ab",
    },
    "06 a GUID that ends like a phone number": {"id": "5f2d41c7-9a31-4c58-8046-1297901ea002"},
    "07 an epoch that looks like a phone number": {"updated": 1747731000, "seen": "1747731000"},
    "08 words and paths that contain sk-": {
        "job": "task-runner-disk-usage-of-desk-lamps",
        "paths": ["/srv/task-01/disk-usage.txt", "/srv/task-02/disk-usage.txt"],
        "idempotency_key": "idem-0c51-a",
    },
    "09 the name of a model": {"model": "claude-opus-4-1-20250805", "text": "we asked claude-opus-4-1-20250805 again"},
    "10 timestamps of many digits": {"at_ms": 1697040000123, "at_us": "1697040000123456", "at_ns": 1697040000123456789},
}

GONE = {
    "11 a header below another object": ({"a": {"authorization": "x9-lantern"}}, ["x9-lantern"]),
    "13 a name that calls an object secret": ({"secret_dct": {"f1": "t0astie"}}, ["t0astie"]),
    "14 cards in a list and as a number": ({"values": [CARD], "n": int(CARD)}, [CARD]),
    "21 keys that are named by what they open": ({"accessKey": "amber-1", "privateKey": "amber-2"}, ["amber-1", "amber-2"]),
    "22 a token with a name before its underscore": ({"csrf_token": "amber-3"}, ["amber-3"]),
    "23 a JSON text in a body": ({"body": json.dumps({"api_key": "sk-" + "1"})}, ["sk-" + "1"]),
    "24 a quoted name in a text": (
        {"text": f'the answer was {{ "api_key": "{OPAQUE}", "n": 1 }} and then nothing'},
        [OPAQUE],
    ),
    "25 another name before it on the line": (
        {"text": f'data = {{"host": "h2", "id": 7, "auth_token": "{OPAQUE}"}}'},
        [OPAQUE],
    ),
    "26 a number, and signs in YAML": (
        {"secret": 7819367204, "text": "db:\n  PASSWORD: dY^5" + "kq&t\n  port: 1"},
        ["7819367204", "dY^5" + "kq&t"],
    ),
    "27 a name beside its value": ({"params": [{"key": "token", "value": "THISISHIDDEN"}]}, ["THISISHIDDEN"]),
    "28 what follows Basic": ({"text": f"Authorization: Basic {BASIC}"}, [BASIC]),
    "29 an invisible sign and wide letters": (
        {
            "a": "bo\u200bb.ray@mail.exam\u200bple.org",
            "b": "bob.ray\uff20test.org",
            "c": "".join(chr(ord(c) + 0xFEE0) for c in AWS),
        },
        ["bo\u200bb.ray", "bob.ray\uff20", "".join(chr(ord(c) + 0xFEE0) for c in AWS[4:])],
    ),
    "30 a login without a scheme, and signs in its password": (
        {"error": f"cannot reach svc:{OPAQUE}@localhost/db, nor mysql://svc:{WORDY}@db2/x"},
        [OPAQUE, WORDY, WORDY.partition("@")[2] + "@"],
    ),
    "31 a key longer than its vendor makes them": ({"text": f"use {GITHUB}9xYz7 now"}, [GITHUB[4:], "9xYz7"]),
    "32 a key at the place of a cut": ({"text": "word " * 3272 + GITHUB}, [GITHUB[4:12]]),
    "33 a tax number in arguments": ({"document": CPF, "note": f"cliente {CPF}"}, [CPF]),
}


def span_of(name="work", event=None, scope=None, **attributes):
    """All that the collector stores of a foreign span, as one text."""
    request = ExportTraceServiceRequest()
    span = add(request, attributes, name=name)
    if event is not None:
        span.events.add(name="log").attributes.extend(pairs(event))
    if scope is not None:
        request.resource_spans[0].scope_spans[0].scope.attributes.extend(pairs(scope))
    (row,) = rows_of_request(request).rows
    return json.dumps(row, ensure_ascii=False, default=str)


SPANS = {
    "12 the root of a trace": ({"http.request.header.authorization": f"Bearer {OPAQUE}"}, OPAQUE),
    "15 an event": ({"event": {"body": f"card {CARD}"}}, CARD),
    "16 a span's name": ({"name": f"GET /u/{JWT}"}, JWT.rpartition(".")[2]),
    "17 the attributes of a scope": ({"scope": {"api_key": OPAQUE}}, OPAQUE),
    "18 another instrumentor's message": ({"gen_ai.input.messages": json.dumps([{"content": f"my pin, {OPAQUE}"}])}, OPAQUE),
    "19 one value in two attributes": ({"image.url": f"data:{OPAQUE}", "input.value": json.dumps({"image": OPAQUE})}, OPAQUE),
    "20 arguments in metadata": ({"metadata": json.dumps({"tool": {"args": {"password": WORDY}}})}, WORDY),
}


@pytest.mark.parametrize("case", KEPT)
def test_what_others_took_away_is_kept(case):
    """A harmless value that looks like a secret comes through as it was."""
    copy = clean(KEPT[case], policy=SCAN)

    assert (copy.value, copy.redacted) == (KEPT[case], 0)


def test_02_what_was_declared_harmless_is_kept():
    """A name that means a secret elsewhere is kept where the application says so, with a reason."""
    policy = RedactionPolicy(classes={"*:args.browserSessionId": Declared("public", reason="a tab's number")})

    assert clean({"browserSessionId": "tab-4"}, policy=policy).value == {"browserSessionId": "tab-4"}


@pytest.mark.parametrize("unknown", ["scan", "shape"])
@pytest.mark.parametrize("case", GONE)
def test_what_others_let_through_is_gone(case, unknown):
    """Nothing of the secret is in the copy, whether values without a class are kept or not."""
    value, secrets = GONE[case]
    copy = clean(value, policy=RedactionPolicy(unknown=unknown))

    assert isinstance(copy, Clean)
    told = copy.json() + json.dumps(copy.value, ensure_ascii=False)
    assert [secret for secret in secrets if secret in told] == []


@pytest.mark.parametrize("case", SPANS)
def test_what_others_let_through_in_a_span_is_gone(case):
    """Nothing of the secret is in what the collector stores of a foreign span."""
    told, secret = SPANS[case]

    assert secret not in span_of(**told)


def test_the_rows_are_those_of_the_survey():
    """Each of the 33 failures has its row."""
    assert sorted(int(case[:2]) for case in (*KEPT, "02", *GONE, *SPANS)) == list(range(1, 34))
