"""`toolwitness ingest`: the figures of a file, for people and for programs."""

import json

from toolwitness.tests import arrivals


def test_the_counters_are_printed(cli, tmp_path):
    """With the sentence that says whether they agree."""
    arrivals.fill(tmp_path / "a.duckdb")
    code, shown, said = cli("ingest", "--db", tmp_path / "a.duckdb")
    assert (code, said) == (0, "")
    assert "The counters agree: 204 spans received" in shown


def test_programs_get_the_same_figures(cli, tmp_path):
    """As one object; spans that bypassed the redactor make the counters disagree."""
    arrivals.fill(tmp_path / "a.duckdb", bypassing=3)
    code, shown, _ = cli("ingest", "--db", tmp_path / "a.duckdb", "--json")
    told = json.loads(shown)
    assert (code, told["agree"], told["spans_received"], told["spans_counted"]) == (0, False, 204, 207)
    assert (told["spans_redacted"], told["redaction_failures"], told["rejected_before_redaction"]) == (197, 5, 2)
    assert {row["reason"]: row["requests"] for row in told["arrived"]}["http_503_queue_full"] == 2
    assert [row["reason"] for row in told["failures"]] == ["time", "error"]


def test_a_file_that_is_not_there_is_told(cli, tmp_path):
    """With what makes one, and exit code 1."""
    code, shown, said = cli("ingest", "--db", tmp_path / "none.duckdb")
    assert (code, shown) == (1, "")
    assert "there is no database" in said
