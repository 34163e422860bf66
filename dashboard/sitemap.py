"""The pages by their address."""

from __future__ import annotations

import streamlit as st
from streamlit import Page

from toolwitness.dashboard import links
from toolwitness.dashboard.views import failed_runs, ingest, one_run, submissions, tool_health


def pages() -> dict[str, Page]:
    """The pages by their address, in the order of the navigation; Streamlit gives the default page the address `/`."""
    return {
        links.TOOL_HEALTH: st.Page(tool_health.draw, title="Tool health", url_path="tool-health", default=True),
        links.FAILED_RUNS: st.Page(failed_runs.draw, title="Failed runs", url_path="failed-runs"),
        links.SUBMISSIONS: st.Page(submissions.draw, title="Submissions", url_path="submissions"),
        links.REPLAY: st.Page(one_run.draw, title="Replay", url_path="replay"),
        links.INGEST: st.Page(ingest.draw, title="Ingest", url_path="ingest"),
    }
