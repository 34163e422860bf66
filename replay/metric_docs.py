"""docs/metrics.md, generated from the headers of the metric queries, so that the words stand in one place."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from toolwitness.collector.store import queries

HEADER_KEYS = ("question", "numerator", "denominator", "grain", "excludes")
"""What the header of every metric's SQL file says, in this order."""

_TITLE = """# Metrics

Every figure is one SQL file under `collector/store/sql/metrics/`. This page is generated from their headers by
`python -m toolwitness.replay.metric_docs > docs/metrics.md`; a test compares the two.

Unknown is never shown as no, zero or success. Weeks are ISO weeks in UTC; records without known times stand under week
`unknown`. A tool is identified by server and name. Names after *optional* are parameters that narrow or cut a query; one that
is not given narrows nothing. The basic words: a *decision* is one step of the model, a *call* is one
proposal by the model to use a tool, whatever stopped or ran it, and an *attempt* is one physical try to execute it.
"""


def metric_headers() -> dict[str, Mapping[str, str]]:
    """Name of each metric query -> its header, by key, in the order of the names."""
    headers = {name: queries.headers(name) for name in queries.names()}
    return {name: header for name, header in headers.items() if "numerator" in header}


def _section(name: str, header: Mapping[str, str]) -> str:
    keys = [key for key in (*HEADER_KEYS[1:], "optional") if key in header]
    rest = "\n".join(f"- **{key}**: {header[key]}" for key in keys)
    return f"\n## `{name}`\n\n{header['question']}\n\n{rest}\n"


def metrics_page() -> str:
    """The text of docs/metrics.md."""
    return _TITLE + "".join(_section(name, header) for name, header in metric_headers().items())


if __name__ == "__main__":
    sys.stdout.write(metrics_page())
