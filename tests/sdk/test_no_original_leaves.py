"""The seam: whatever the agent passes, the exporter sees no original that was not allowed."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwitness.model.catalog import ToolDefinition
from toolwitness.redaction.names import name_class
from toolwitness.sdk import ManualClock, Recorder, SeededIds

CANARY = "canary" + "-7f3a9"
HIDING = st.sampled_from([CANARY, f"a {CANARY} b", json.dumps({"x": CANARY}), CANARY.encode(), [CANARY], {"note": CANARY}])
KEYS = st.text(max_size=5).filter(lambda key: name_class(key) is None)  # a `state` or `status` is shown by its name
NESTED = st.recursive(HIDING, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2))


@settings(max_examples=60)
@given(arguments=NESTED, result=NESTED)
def test_no_canary_in_any_span(arguments, result):
    """Values in arguments, results, answers, messages, searches and exceptions never reach the exporter."""
    exporter = InMemorySpanExporter()
    recorder = Recorder(exporter=exporter, clock=ManualClock(1), key=b"k", ids=SeededIds("s"), inline=True)
    with recorder.run("t") as run:
        run.message("user", CANARY)
        with run.decision("m", tools=[{"name": "look", "input_schema": {"type": "object"}}]) as step:
            step.answer(f"I say {CANARY}")
            with step.call("look", arguments) as call:
                call.discovered([("s", "t")], query=CANARY)
                with call.attempt() as attempt:
                    attempt.fail(ValueError(CANARY))
                call.result(result)
    recorder.close()

    for span in exporter.get_finished_spans():
        assert CANARY not in span.to_json()


def test_the_applications_schema_goes_before_the_one_that_was_shown():
    """A shown schema with no or lower annotations takes nothing from what the application itself declared."""
    own = ToolDefinition(
        name="verify",
        input_schema={"properties": {"state": {"type": "string", "x-privacy": "secret"}}},
        output_schema={"properties": {"kind": {"type": "string", "x-privacy": "sensitive"}}},
    )
    shown = {"name": "verify", "input_schema": {"properties": {"state": {"type": "string", "x-privacy": "public"}}}}
    exporter = InMemorySpanExporter()
    recorder = Recorder(exporter=exporter, clock=ManualClock(1), key=b"k", ids=SeededIds("s"), inline=True)
    recorder.register(own)
    with recorder.run("t") as run, run.decision("m", tools=[shown]) as step, step.call("verify", {"state": "divorced"}) as call:
        call.result({"kind": "seropositive"})
    recorder.close()

    said = "".join(span.to_json() for span in exporter.get_finished_spans())
    assert "divorced" not in said
    assert "seropositive" not in said
