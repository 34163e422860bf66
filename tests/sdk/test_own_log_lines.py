"""What toolwitness itself logs holds nothing of the agent's data."""

import logging

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import toolwitness
from toolwitness.redaction import attributes
from toolwitness.sdk.guard import Guard, guard, swallowing
from toolwitness.sdk.redacting import RedactingSpanExporter
from toolwitness.tests.sdk.test_redacting_exporter import full_of

CANARY = "canary" + "-7f3a9"


def fails(*_given, **_named):
    """Fail with the data in the error's text."""
    raise ValueError(CANARY)


def test_an_error_of_ours_is_told_by_type_and_place(caplog):
    """Its text may quote what it failed on."""
    caplog.set_level(logging.DEBUG)
    fresh = Guard(everything=True)
    with swallowing(), fresh:
        fails()
    assert "ValueError in fails" in caplog.text
    assert CANARY not in caplog.text


def test_a_redactor_that_fails_logs_nothing_of_the_span(caplog, monkeypatch):
    """Nor does the one around another exporter."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(attributes, "clean", fails)
    RedactingSpanExporter(InMemorySpanExporter()).export([full_of(CANARY)])
    assert CANARY not in caplog.text


def test_a_whole_run_of_failures_logs_no_data(caplog, live):
    """Arguments, results, exceptions, misspelt words and what a refused tool was given."""
    caplog.set_level(logging.DEBUG)

    @toolwitness.tool
    def pay(to):
        raise ValueError(f"{to} {CANARY}")

    with swallowing(), toolwitness.run(task=CANARY, agent=CANARY) as run:
        with toolwitness.decision(CANARY, tools=[CANARY, pay], messages=[{"role": "user", "content": CANARY}]) as step:
            call = step.call("pay", {"to": CANARY})
        call.gate("policy", "deny", reason=CANARY)
        call.result({"x": CANARY}, status="no such word")
        for given in (CANARY, {"$tw:redacted": CANARY}):
            try:
                pay(given)
            except ValueError:
                continue
        run.finish("no such word")
    live()
    assert guard.swallowed
    assert CANARY not in caplog.text
