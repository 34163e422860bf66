"""`toolwitness ingest`: what arrived, what became of it, and whether the redactor saw all of it."""

from __future__ import annotations

from pathlib import Path

from toolwitness.commands.common import AsJson, Db, part, print_json, show


def ingest(db: Db = Path("toolwitness.duckdb"), as_json: AsJson = False) -> None:
    """Show what arrived, what was rejected and why, and whether redaction saw all of it."""
    with part("replay.load").open_source(db) as source:
        report = part("replay.ingest").ingest_report(source)
    if as_json:
        print_json(report.as_dict())
        return
    show(part("replay.ingest_view").ingest_view(report))
