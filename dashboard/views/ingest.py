"""Ingest: what arrived at the collector, what became of it, and whether the redactor at its door saw all of it."""

from __future__ import annotations

import streamlit as st

from toolwitness.dashboard import arrivals, furniture
from toolwitness.replay import load
from toolwitness.replay.ingest import ingest_report


def draw() -> None:
    """Draw the page."""
    source = load.current()
    furniture.head("Ingest", "What arrived at this collector, what became of it, and whether its redactor saw all of it.")
    report = ingest_report(source)
    if not report.arrived and not report.spans_received:
        furniture.no_data(source.where)
        return
    furniture.cards(arrivals.headline(report))
    st.html(arrivals.agreement(report))
    furniture.note(
        "Every span that comes in passes the redactor once more, whoever sent it: ours are scanned again, those of other "
        "instrumentations are redacted in full. One that cannot be redacted is stored with ids, times and status alone. "
        "Counts are since the file was made."
    )
    st.html(arrivals.arrived_table(report))
    if report.failures:
        st.html(arrivals.heading("Redaction failures", "Stored without content, by what the sender calls itself."))
        st.html(arrivals.failures_table(report))
    if report.shrunk_in_agent:
        st.html(
            arrivals.heading("Shrunk in the agent", "Stored spans whose content could not be redacted there and never left.")
        )
        st.html(arrivals.shrunk_table(report))
    if not report.failures and not report.shrunk_in_agent:
        furniture.note("The redactor failed on no span, here or in an agent.")
    if report.sources:
        st.html(arrivals.heading("Sources", "Where the records of runs and calls come from."))
        st.html(arrivals.sources_table(report))
