"""A database into which everything came through the collector's door, as a collector would have it after a busy day."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from toolwitness.collector.receive.decode import rows_of_request
from toolwitness.collector.store.store import Store
from toolwitness.model.records import Call
from toolwitness.redaction import Minimal, attributes
from toolwitness.tests.collector.receive.otlp import calls, of_records, pairs, request_of, span_id


def fill(db: Path, *, bypassing: int = 0) -> None:
    """Fill a database with 122 spans, of which 40 are foreign and 5 cannot be redacted; a repeat, rejects and refusals.

    `bypassing` spans more come in without passing the redactor.
    """
    store = Store.open(db)
    ours = calls(40)
    for request in (ours, ours, _foreign(), _shrunk(), request_of({"a": 1}, {"b": 2}, span_id=b"short")):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(attributes, "clean", _failing_at_times(attributes.clean))
            decoded = rows_of_request(request)
        store.write_group([decoded.rows], [decoded.rejected], [decoded.redactions])
    for reason in ("http_400_bad_protobuf", "http_503_queue_full", "http_503_queue_full"):
        store.count_refusal(reason)
    if bypassing:
        store.write_group([rows_of_request(request_of(*[{}] * bypassing)).rows])
    store.close()


def _foreign():
    request = request_of(*[{"note": "x", "gen_ai.operation.name": "chat"} for _ in range(40)])
    resource = request.resource_spans[0]
    resource.resource.attributes.extend(pairs({"service.name": "checkout"}))
    resource.scope_spans[0].scope.name = "opentelemetry.instrumentation.openai"
    return request


def _shrunk():
    told = [Call(run_id="r", call_id=span_id(), call_ordinal=at, tool="look", server="shop", minimal="size") for at in range(2)]
    return of_records(*told)


def _failing_at_times(genuine):
    """A redactor that takes too long at the tenth span of a request and at each tenth after it, and fails at the fifteenth."""
    numbers = itertools.count(1)

    def clean(*given, **named):
        number = next(numbers)
        if number % 10 == 0:
            return Minimal("time")
        if number == 15:
            raise RuntimeError
        return genuine(*given, **named)

    return clean
