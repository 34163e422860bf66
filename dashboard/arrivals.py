"""What arrived at the collector as HTML: headline figures, the verdict on its counters, and one table a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolwitness.dashboard.listing import table
from toolwitness.dashboard.markup import Child, Markup, join, tag
from toolwitness.dashboard.wording import count, of, plain, plural, unknown
from toolwitness.replay.ingest import DUPLICATE, STORED, IngestReport, meaning, verdict, why_not_redacted

_RIGHT = "num"


def headline(report: IngestReport) -> list[tuple[str, Child, Child]]:
    """The figures at the top of the page, each with what it is of."""
    arrived = f"of {plural(report.spans, 'span')} that arrived"
    seen = f"of {plural(report.spans_received, 'span')} received"
    return [
        ("Received", count(report.spans_received), "spans that came to the redactor"),
        ("Redacted", count(report.spans_redacted), seen),
        ("Redaction failures", count(report.redaction_failures), f"{seen}, stored without content"),
        ("Stored", count(report.spans_of(STORED)), arrived),
        ("Known already", count(report.spans_of(DUPLICATE)), arrived),
        ("Rejected", count(report.rejected), arrived),
        ("Refused requests", count(report.refused_requests), "whole requests, not read"),
    ]


def agreement(report: IngestReport) -> Markup:
    """Whether the counters agree: a calm sentence where they do, a loud one where they do not."""
    said = verdict(report)
    if report.agree:
        return tag("p", tag("span", "✓ ", aria_hidden="true"), *said, class_="tw verdict", role="status")
    lines = [tag("div", line) for line in said]
    return tag(
        "div", tag("div", tag("strong", "Do not rely on this file's redaction.")), *lines, class_="tw alarm", role="alert"
    )


def _reason(reason: str, why: str) -> Markup:
    return tag("th", plain(reason), tag("span", why, class_="under") if why else None, scope="row")


def _figure(value: Child) -> Markup:
    return tag("td", value, class_=_RIGHT)


def _name(text: str) -> Markup:
    return tag("td", text or unknown("not known"))


def arrived_table(report: IngestReport) -> Markup:
    """Every reason with its spans and requests."""
    rows = (
        tag(
            "tr",
            _reason(each.reason, meaning(each.reason)),
            _figure(of(each.spans, report.spans) if each.spans else tag("span", "not read", class_="soft")),
            _figure(count(each.requests)),
        )
        for each in sorted(report.arrived, key=lambda each: (-each.spans, each.reason))
    )
    return table("What became of it", (("What became of it", None), ("Spans", _RIGHT), ("Requests", _RIGHT)), rows)


def _by_sender(caption: str, first: str, each_of: Sequence[Any], wholes: Sequence[int]) -> Markup:
    rows = (
        tag(
            "tr",
            _reason(each.reason, why_not_redacted(each.reason)),
            _name(each.service),
            _name(each.scope),
            _figure(of(each.spans, whole)),
        )
        for each, whole in zip(each_of, wholes, strict=True)
    )
    return table(caption, ((first, None), ("Service", None), ("Scope", None), ("Spans", _RIGHT)), rows)


def failures_table(report: IngestReport) -> Markup:
    """Spans that are stored without content, by why and by sender, each of all received."""
    wholes = [report.spans_received] * len(report.failures)
    return _by_sender("Redaction failures", "Why not redacted", report.failures, wholes)


def shrunk_table(report: IngestReport) -> Markup:
    """Spans whose content stayed in the agent, by why and by sender, each of that sender's stored ones."""
    wholes = [each.stored for each in report.shrunk_in_agent]
    return _by_sender("Shrunk in the agent", "Why not redacted", report.shrunk_in_agent, wholes)


def sources_table(report: IngestReport) -> Markup:
    """Where the records come from."""
    rows = (
        tag("tr", tag("th", each.source, scope="row"), _figure(count(each.runs)), _figure(count(each.calls)))
        for each in report.sources
    )
    return table("Sources", (("Source", None), ("Runs", _RIGHT), ("Calls", _RIGHT)), rows)


def heading(text: str, about: Child = None) -> Markup:
    """The heading of one table, with a line on what it tells."""
    line = tag("p", about) if about is not None else None
    return tag("div", join([tag("h3", text), line]), class_="tw part")
