"""A span exporter that lets redacted copies pass and nothing else."""

import json
import logging
import threading

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from toolwitness import RedactingSpanExporter
from toolwitness.redaction import Minimal, RedactionPolicy, attributes, is_placeholder
from toolwitness.sdk import redacting

CANARY = "canary" + "-7f3a9"
START_NS = 1_793_577_600_000_000_000


def context(number=1, **fields):
    """Valid ids."""
    given = {"is_remote": False, "trace_flags": TraceFlags(TraceFlags.SAMPLED), **fields}
    return SpanContext(number, number, **given)


def span(**fields):
    """A span of somebody's instrumentation; `fields` overrule."""
    given = {
        "name": "chat gpt-4o",
        "context": context(),
        "resource": Resource({"service.name": "shop"}),
        "start_time": START_NS,
        "end_time": START_NS + 5,
        "instrumentation_scope": InstrumentationScope("opentelemetry.instrumentation.openai", "0.48b0"),
        **fields,
    }
    return ReadableSpan(**given)


def passed(*spans, policy=None):
    """The copies that the inner exporter got, and the exporter around it."""
    inner = InMemorySpanExporter()
    exporter = RedactingSpanExporter(inner, policy=policy)
    assert exporter.export(spans) is SpanExportResult.SUCCESS
    return inner.get_finished_spans(), exporter


def only(*, policy=None, **fields):
    """The copy of one span."""
    (copy,), _ = passed(span(**fields), policy=policy)
    return copy


def counts(exporter):
    """The three counters."""
    return exporter.spans_received, exporter.spans_redacted, exporter.redaction_failures


def full_of(secret):
    """A span that has a secret in every field which can hold one."""
    every = {
        "plain": secret,
        secret: 1,
        "nested": {"deep": [secret, {f"{secret} said": secret}]},
        "list": [secret, secret],
        "bytes": secret.encode(errors="replace"),
        f"key.{secret} x": 1,
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": secret}]}]),
        "tool.parameters": json.dumps({"to": secret, "n": 1}),
        "url.full": f"https://example.org/{secret}?q={secret}",
        "exception.message": f"no {secret} here",
        "error.message": secret,
        "http.request.method": secret,
        "gen_ai.usage.input_tokens": secret,
    }
    trace = f'Traceback (most recent call last):\n  File "/home/{secret}/app.py", line 7, in {secret}\n    pay({secret})\n'
    raised = {"exception.type": f"a.{secret}", "exception.message": secret, "exception.stacktrace": f"{trace}E: {secret}"}
    tracked = context(2, trace_state=TraceState([("vendor", secret)]))
    return span(
        name=f"GET /users/{secret}",
        context=context(trace_state=TraceState([("vendor", secret)])),
        parent=context(3, trace_state=TraceState([("vendor", secret)])),
        attributes=every,
        events=[Event("exception", raised, START_NS), Event(f"said {secret}", every, START_NS)],
        links=[Link(tracked, every)],
        status=Status(StatusCode.ERROR, f"failed for {secret}"),
        resource=Resource({"process.command_args": [secret], "host.name": secret, "app.x": secret}, f"https://{secret}"),
        instrumentation_scope=InstrumentationScope(secret, secret, f"https://{secret}/1", {"k": secret}),
    )


def test_no_field_of_a_span_lets_a_secret_through():
    """Name, attributes of every type, events, links, status, resource, scope and trace state: none of it is on the wire."""
    copies, exporter = passed(full_of(CANARY))
    assert CANARY.encode() not in encode_spans(copies).SerializeToString()
    assert counts(exporter) == (1, 1, 0)


DISGUISES = {
    "as it is": CANARY,
    "inside other text": f"a {CANARY} b",
    "as JSON": json.dumps({"x": CANARY}),
    "assigned": f"x={CANARY}",
    "beside half a character": CANARY + "\ud800",
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_nor_does_it_pass_in_any_disguise(disguise, caplog):
    """Inside other text, as JSON, assigned, beside half a character."""
    caplog.set_level(logging.ERROR, "opentelemetry.trace.span")  # what it quotes of a trace state may be no text at all
    copies, _ = passed(full_of(DISGUISES[disguise]))
    assert CANARY.encode() not in encode_spans(copies).SerializeToString()


def test_what_conventions_know_is_kept():
    """Methods, codes, counts, models and names of operations are why one traces at all."""
    known = {
        "http.request.method": "POST",
        "http.response.status_code": 503,
        "http.route": "/v1/orders/{order}",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.input_tokens": 812,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "server.address": "api.openai.com",
        "error.type": "openai.RateLimitError",
    }
    assert dict(only(attributes=known).attributes) == known


def test_a_value_outside_of_its_convention_is_data():
    """A number that may be a card's is no count, and a sentence is no model."""
    copy = only(attributes={"gen_ai.usage.input_tokens": 4_111_111_111_111_111, "gen_ai.request.model": "my own model"})
    assert all(is_placeholder(json.loads(value)) for value in copy.attributes.values())


def test_every_value_is_one_that_opentelemetry_takes():
    """Placeholders are JSON text, and lists have one type."""
    copy = only(attributes={"a": "x", "b": {"status": "ok"}, "c": ["x", "y"], "d": [1, "x"], "status": "ok", "count": 3})
    assert all(type(value) in {str, bool, int, float, tuple} for value in copy.attributes.values())
    assert (copy.attributes["status"], copy.attributes["count"]) == ("ok", 3)
    assert is_placeholder(json.loads(copy.attributes["a"]))
    assert all(is_placeholder(json.loads(item)) for item in copy.attributes["c"])


def test_json_in_an_attribute_is_redacted_as_json():
    """Its keys and types stay to be seen."""
    messages = json.dumps([{"role": "user", "content": "my secret plan"}])
    (message,) = json.loads(only(attributes={"gen_ai.input.messages": messages}).attributes["gen_ai.input.messages"])
    assert is_placeholder(message["content"])


def test_ids_kind_times_and_links_stay():
    """The trace can be put together as before."""
    given = span(parent=context(3), links=[Link(context(4))], kind=SpanKind.CLIENT)
    (copy,), _ = passed(given)
    assert (copy.context.span_id, copy.parent.span_id, copy.links[0].context.span_id) == (1, 3, 4)
    assert (copy.kind, copy.start_time, copy.end_time) == (SpanKind.CLIENT, START_NS, START_NS + 5)
    assert (copy.instrumentation_scope.name, copy.instrumentation_scope.version) == (
        "opentelemetry.instrumentation.openai",
        "0.48b0",
    )


def test_an_exception_keeps_its_type_its_template_and_where_it_was():
    """No message, source line, path or local is left."""
    trace = 'Traceback (most recent call last):\n  File "/srv/shop/pay.py", line 41, in pay\n    raise E(card)\nE: no 4111\n'
    raised = {"exception.type": "shop.CardError", "exception.message": "card '4111' was declined", "exception.escaped": True}
    (event,) = only(events=[Event("exception", {**raised, "exception.stacktrace": trace}, START_NS)]).events
    assert dict(event.attributes) == {
        "exception.type": "shop.CardError",
        "exception.message": "{} was {}",
        "exception.escaped": True,
        "exception.stacktrace": "pay.py:41 in pay",
    }


def test_a_status_keeps_the_words_of_a_program():
    """Its code stays as it is."""
    status = only(status=Status(StatusCode.ERROR, "Connection to 10.0.0.7 refused")).status
    assert (status.status_code, status.description) == (StatusCode.ERROR, "Connection to {} refused")


def test_of_a_resource_only_the_service_stays():
    """Command lines, hosts and users are nobody's business."""
    given = Resource({"service.name": "shop", "host.name": "box7", "process.owner": "jo", "telemetry.sdk.language": "python"})
    assert dict(only(resource=given).resource.attributes) == {"service.name": "shop", "telemetry.sdk.language": "python"}


def test_the_policy_of_the_application_decides_about_its_own_attributes():
    """A declared attribute is kept or hidden, one that a convention knows too."""
    policy = RedactionPolicy(
        classes={'*:attributes["app.plan"]': "public", '*:attributes["gen_ai.request.model"]': "secret"},
    )
    copy = only(attributes={"app.plan": "gold", "gen_ai.request.model": "gpt-4o", "app.other": "x"}, policy=policy)
    assert copy.attributes["app.plan"] == "gold"
    assert all(is_placeholder(json.loads(copy.attributes[name])) for name in ("gen_ai.request.model", "app.other"))


@pytest.mark.parametrize("answer", ["raises", "answers minimal"])
def test_a_redactor_that_fails_leaves_ids_times_and_status(monkeypatch, answer):
    """And nothing else; the failure is counted, and the next span is as good as ever."""

    def broken(*_given, **_more):
        if answer == "raises":
            raise RuntimeError(CANARY)
        return Minimal("time")

    monkeypatch.setattr(attributes, "clean", broken)
    bad, good = full_of(CANARY), span(attributes={"gen_ai.operation.name": "chat"})
    copies, exporter = passed(bad, good)
    assert CANARY.encode() not in encode_spans(copies).SerializeToString()
    assert dict(copies[0].attributes) == {"toolwitness.redaction.minimal": "error" if answer == "raises" else "time"}
    assert (copies[0].status.status_code, copies[0].context.span_id, copies[0].parent.span_id) == (StatusCode.ERROR, 1, 3)
    assert (copies[0].events, copies[0].links) == ((), ())
    assert dict(copies[1].attributes) == {"gen_ai.operation.name": "chat"}
    assert counts(exporter) == (2, 1, 1)


def test_every_part_may_fail(monkeypatch):
    """Whatever breaks, the span without content goes out and the counters agree."""
    for name in ("span_name", "event_name", "scope_name", "keeps_of_resource", "message_template", "plain"):
        with monkeypatch.context() as patched:
            patched.setattr(redacting, name, None)
            copies, exporter = passed(full_of(CANARY))
            assert (name, counts(exporter)) == (name, (1, 0, 1))
            assert CANARY.encode() not in encode_spans(copies).SerializeToString()


def test_what_is_no_span_breaks_no_other():
    """A span without ids cannot be sent at all; it is counted and left out."""
    copies, exporter = passed(span(context=None), span(), "no span", span(attributes=7))
    assert [copy.name for copy in copies] == ["chat gpt-4o", "chat gpt-4o"]
    assert counts(exporter) == (4, 1, 3)


def test_a_span_beyond_the_limits_says_how_much_was_left_out():
    """A hundred thousand attributes cost what a thousand do."""
    many = {f"gen_ai.usage.n{number}": number for number in range(100_000)}
    copy = only(attributes=many, events=[Event("log", {}, START_NS)] * 200)
    assert (len(copy.attributes), len(copy.events)) == (attributes.MOST_ATTRIBUTES + 1, 128)
    assert copy.attributes["toolwitness.redaction.left_out"] == 100_000 - attributes.MOST_ATTRIBUTES + 200 - 128


def test_a_span_that_takes_too_long_is_shrunk(monkeypatch):
    """The limit is the exporting thread's own time."""
    monkeypatch.setattr(redacting, "_MAX_SECONDS", -1.0)
    copies, exporter = passed(span(attributes={"a": "b"}))
    assert dict(copies[0].attributes) == {"toolwitness.redaction.minimal": "time"}
    assert counts(exporter) == (1, 0, 1)


class Answering(SpanExporter):
    """An exporter that answers and remembers."""

    def __init__(self, answer):
        self.answer, self.calls = answer, []

    def export(self, spans):
        """Answer what is to be answered."""
        self.calls.append(len(spans))
        return self.answer

    def shutdown(self):
        """Remember."""
        self.calls.append("shutdown")

    def force_flush(self, timeout_millis=1):
        """Remember."""
        self.calls.append(timeout_millis)
        return False


def test_the_inner_exporter_has_the_last_word():
    """Its answer, its flush and its end are passed on."""
    inner = Answering(SpanExportResult.FAILURE)
    exporter = RedactingSpanExporter(inner)
    assert exporter.export([span()]) is SpanExportResult.FAILURE
    assert exporter.force_flush(7) is False
    exporter.shutdown()
    assert inner.calls == [1, 7, "shutdown"]


def test_the_original_is_not_changed():
    """The application's own exporters see what they saw before."""
    given = full_of(CANARY)
    before = encode_spans([given]).SerializeToString()
    passed(given)
    assert encode_spans([given]).SerializeToString() == before


def test_it_works_around_any_exporter_of_a_provider():
    """Spans of the standard SDK, exceptions that it records among them."""
    inner = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(RedactingSpanExporter(inner)))
    tracer = provider.get_tracer("app")
    with pytest.raises(ValueError, match=CANARY), tracer.start_as_current_span("work", attributes={"note": CANARY}):
        raise ValueError(CANARY)
    (copy,) = inner.get_finished_spans()
    assert CANARY not in copy.to_json()
    (event,) = copy.events
    assert event.attributes["exception.type"] == "ValueError"
    assert "test_redacting_exporter.py:" in event.attributes["exception.stacktrace"]


def test_the_counters_agree_under_many_threads():
    """Exports at once lose no count."""
    exporter = RedactingSpanExporter(InMemorySpanExporter())
    batch = [span(attributes={"a": 1}), span(context=None)]
    threads = [threading.Thread(target=lambda: [exporter.export(batch) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts(exporter) == (800, 400, 400)
