"""The seam: whatever the agent passes, the exporter sees no original that was not allowed."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwitness.sdk import ManualClock, Recorder, SeededIds

CANARY = "canary" + "-7f3a9"
HIDING = st.sampled_from([CANARY, f"a {CANARY} b", json.dumps({"x": CANARY}), CANARY.encode(), [CANARY], {"note": CANARY}])
NESTED = st.recursive(
    HIDING, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
)


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
