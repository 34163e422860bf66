"""What arrived, what became of it, and whether the counters agree."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from toolwitness.collector.receive.refusal import Refusal
from toolwitness.collector.store.store import Store
from toolwitness.replay.ingest import Unredacted, ingest_report, meaning, verdict, why_not_redacted
from toolwitness.replay.ingest_view import ingest_view
from toolwitness.replay.load import open_source
from toolwitness.tests import arrivals

OPENAI = "opentelemetry.instrumentation.openai"


@pytest.fixture(name="report")
def fixture_report(tmp_path):
    """The report of a busy day."""
    arrivals.fill(tmp_path / "a.duckdb")
    with open_source(tmp_path / "a.duckdb") as source:
        return ingest_report(source)


def printed(view):
    """What a terminal without colours shows."""
    out = io.StringIO()
    Console(file=out, width=140, markup=False, highlight=False, emoji=False).print(view)
    return out.getvalue()


def test_every_span_is_accounted_for(report):
    """The three counters, what was rejected before redaction, and what the store made of the spans."""
    assert (report.spans_received, report.spans_redacted, report.redaction_failures) == (204, 197, 5)
    assert (report.rejected_before_redaction, report.spans, report.rejected, report.refused_requests) == (2, 204, 2, 3)
    assert report.agree
    assert verdict(report) == [
        "The counters agree: 204 spans received = 197 redacted + 5 stored without content + 2 rejected before redaction."
    ]


def test_failures_have_a_reason_and_a_sender(report):
    """Most frequent first; what the agents shrank themselves stands apart, of all that they sent."""
    assert report.failures == (Unredacted("time", "checkout", OPENAI, 4), Unredacted("error", "checkout", OPENAI, 1))
    (shrunk,) = report.shrunk_in_agent
    assert (shrunk.reason, shrunk.spans, shrunk.stored) == ("size", 2, 82)


def test_counters_that_do_not_agree_say_by_how_much(report):
    """Whatever is missing or too much is told in a sentence of its own."""
    lost = replace(report, spans_redacted=190)
    assert not lost.agree
    (said,) = verdict(lost)
    assert said == (
        "The counters do not agree: 204 spans received, but 190 redacted + 5 stored without content + 2 rejected before "
        "redaction = 197; 7 spans cannot be accounted for."
    )
    unseen = replace(report, spans_received=203, spans_redacted=196)
    assert verdict(unseen)[0].startswith("1 span of 204 came into the file without passing the redactor")
    both = replace(report, spans_received=205)
    assert [line.split(":")[0] for line in verdict(both)] == [
        "The counters do not agree",
        "The redactor saw 205 spans, but only 204 are counted as stored, known already or rejected.",
    ]


def test_every_reason_is_explained():
    """Those that spans are rejected for, those that requests are refused for, and those that redaction fails for."""
    assert all(meaning(refusal.value.reason) for refusal in Refusal)
    assert all(map(meaning, ("stored", "duplicate", "malformed_span", "invalid_trace_id", "invalid_time", "not_storable")))
    assert all(map(why_not_redacted, ("error", "size", "time", "depth")))
    assert meaning("a later reason") == why_not_redacted("a later reason") == ""


def test_the_terminal_shows_the_same_figures(report):
    """Every number with what it is of."""
    shown = printed(ingest_view(report))
    for text in ("The counters agree", "80 of 204", "4 of 204", "2 of 82", "checkout", OPENAI, "http_503_queue_full"):
        assert text in shown


def test_nothing_arrived_is_said_so(tmp_path):
    """Not as zeros."""
    Store.open(tmp_path / "a.duckdb").close()
    with open_source(tmp_path / "a.duckdb") as source:
        assert printed(ingest_view(ingest_report(source))).strip() == "nothing has arrived here yet"
