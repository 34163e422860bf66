"""What arrived, as HTML."""

import re
from dataclasses import replace

import pytest

from toolwitness.dashboard import arrivals as page
from toolwitness.replay.ingest import ingest_report
from toolwitness.replay.load import open_source
from toolwitness.tests import arrivals


@pytest.fixture(name="report", scope="module")
def fixture_report(tmp_path_factory):
    """The report of a busy day."""
    db = tmp_path_factory.mktemp("arrivals") / "a.duckdb"
    arrivals.fill(db)
    with open_source(db) as source:
        return ingest_report(source)


def words(markup):
    """The text of some markup, its white space made single."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", markup)).strip()


def test_the_headline_has_denominators(report):
    """The three counters first, then what the store made of the spans."""
    told = [(label, words(str(value)), words(str(under))) for label, value, under in page.headline(report)]
    assert told == [
        ("Received", "204", "spans that came to the redactor"),
        ("Redacted", "197", "of 204 spans received"),
        ("Redaction failures", "5", "of 204 spans received, stored without content"),
        ("Stored", "122", "of 204 spans that arrived"),
        ("Known already", "80", "of 204 spans that arrived"),
        ("Rejected", "2", "of 204 spans that arrived"),
        ("Refused requests", "3", "whole requests, not read"),
    ]


def test_agreement_is_calm_and_disagreement_loud(report):
    """A reader cannot miss that redaction cannot be relied on."""
    calm = page.agreement(report)
    assert 'role="status"' in calm
    loud = page.agreement(replace(report, spans_redacted=1))
    assert 'role="alert"' in loud
    assert "Do not rely on this file's redaction." in words(loud).replace("&#x27;", "'")
    assert "196 spans cannot be accounted for" in words(loud)


def test_each_reason_is_a_row(report):
    """Most spans first; a refused request was not read, which is no zero."""
    rows = re.findall(r"<tbody>(.*)</tbody>", page.arrived_table(report))[0].split("</tr>")
    assert [words(row) for row in rows if row] == [
        "stored stored when it came; a purge does not change this count 122 of 204 3",
        "duplicate known already: a definition that another run sent too, or a request sent again 80 of 204 1",
        "invalid span id the span id is not 8 bytes, or all zero 2 of 204 1",
        "http 400 bad protobuf the body is no protobuf ExportTraceServiceRequest not read 1",
        "http 503 queue full too much is waiting to be stored; send it again later not read 2",
    ]


def test_failures_stand_by_sender(report):
    """A sender that is not known is said to be so."""
    assert "time it would have taken too long checkout opentelemetry.instrumentation.openai 4 of 204" in words(
        page.failures_table(report)
    )
    assert "size larger than it looks at not known not known 2 of 82" in words(page.shrunk_table(report))


def test_what_senders_call_themselves_is_text(report):
    """Never markup."""
    hostile = replace(report.failures[0], service="<script>x</script>")
    assert "<script>" not in page.failures_table(replace(report, failures=(hostile,)))
