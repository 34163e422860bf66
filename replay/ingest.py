"""What arrived at the collector, what became of it, and whether its redactor saw all of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from toolwitness.collector.receive.refusal import Refusal
from toolwitness.replay.load import Source

STORED, DUPLICATE = "stored", "duplicate"

_MEANINGS = {
    STORED: "stored when it came; a purge does not change this count",
    DUPLICATE: "known already: a definition that another run sent too, or a request sent again",
    "malformed_span": "no span at all",
    "invalid_trace_id": "the trace id is not 16 bytes, or all zero",
    "invalid_span_id": "the span id is not 8 bytes, or all zero",
    "invalid_time": "without a start or end between the years 2000 and 2099",
    "missing_field": "a record without a field that it needs",
    "not_storable": "a value does not fit its column",
}
_REFUSALS = {refusal.value.reason: refusal.value.message for refusal in Refusal}
_WHY_NOT_REDACTED = {
    "error": "the redactor itself failed",
    "size": "larger than it looks at",
    "time": "it would have taken too long",
    "depth": "nested too deeply",
}


def meaning(reason: str) -> str:
    """What a reason of table `ingest` says of a span, or of a request that was refused as a whole."""
    return _MEANINGS.get(reason) or _REFUSALS.get(reason, "")


def why_not_redacted(reason: str) -> str:
    """What a reason of a redaction failure means."""
    return _WHY_NOT_REDACTED.get(reason, "")


@dataclass(frozen=True, slots=True)
class Arrived:
    """Spans and requests by what became of them; a request that was refused as a whole has no spans, as it was not read."""

    reason: str
    spans: int
    requests: int


@dataclass(frozen=True, slots=True)
class Unredacted:
    """Spans that are stored without content, by why and by what their sender calls itself (empty where not known)."""

    reason: str
    service: str
    scope: str
    spans: int


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Spans whose content stayed in the agent, of all `stored` ones of the same sender."""

    reason: str
    service: str
    scope: str
    spans: int
    stored: int


@dataclass(frozen=True, slots=True)
class SourceCount:
    """How much there is of one source."""

    source: str
    runs: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """The figures of one database since it was made; `spans_received` counts what came to the redactor's door."""

    spans_received: int
    spans_redacted: int
    redaction_failures: int
    rejected_before_redaction: int
    arrived: tuple[Arrived, ...]
    failures: tuple[Unredacted, ...]
    shrunk_in_agent: tuple[Shrunk, ...]
    sources: tuple[SourceCount, ...]

    @property
    def spans(self) -> int:
        """Spans by the other count: stored, known already, or rejected."""
        return sum(each.spans for each in self.arrived)

    def spans_of(self, reason: str) -> int:
        """Spans of which that became."""
        return sum(each.spans for each in self.arrived if each.reason == reason)

    @property
    def rejected(self) -> int:
        """Spans that were rejected for any reason."""
        return self.spans - self.spans_of(STORED) - self.spans_of(DUPLICATE)

    @property
    def refused_requests(self) -> int:
        """Requests that were refused as a whole."""
        return sum(each.requests for each in self.arrived if each.reason in _REFUSALS)

    @property
    def accounted(self) -> int:
        """Spans of which the redactor's counters say what became."""
        return self.spans_redacted + self.redaction_failures + self.rejected_before_redaction

    @property
    def agree(self) -> bool:
        """Whether the counters account for each span once, and for each that is counted as arrived."""
        return self.spans_received == self.accounted == self.spans

    def as_dict(self) -> dict[str, Any]:
        """The report for programs."""
        lists = ("arrived", "failures", "shrunk_in_agent", "sources")
        figures = ("spans_received", "spans_redacted", "redaction_failures", "rejected_before_redaction")
        told: dict[str, Any] = {name: getattr(self, name) for name in figures}
        told |= {"spans_counted": self.spans, "agree": self.agree}
        return told | {name: [asdict(each) for each in getattr(self, name)] for name in lists}


def ingest_report(source: Source) -> IngestReport:
    """The figures of a database."""

    def rows(name: str) -> list[dict[str, Any]]:
        return source.query(name).to_dicts()

    seen = rows("redactions")
    sums = {name: sum(row["spans"] for row in seen if row["outcome"] == name) for name in _OUTCOMES}
    failed = (
        {name: row[name] for name in ("reason", "service", "scope", "spans")} for row in seen if row["outcome"] == "failed"
    )
    return IngestReport(
        spans_received=sums["received"],
        spans_redacted=sums["redacted"],
        redaction_failures=sums["failed"],
        rejected_before_redaction=sums["rejected"],
        arrived=tuple(Arrived(**row) for row in rows("ingest")),
        failures=tuple(Unredacted(**row) for row in failed),
        shrunk_in_agent=tuple(Shrunk(**row) for row in rows("shrunk_in_agent")),
        sources=tuple(SourceCount(**row) for row in rows("sources")),
    )


_OUTCOMES = ("received", "redacted", "failed", "rejected")


def _counted(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def verdict(report: IngestReport) -> list[str]:
    """Whether the counters agree, in sentences: one where they do, else one for each thing that does not add up."""
    parts = (
        f"{report.spans_redacted:,} redacted + {report.redaction_failures:,} stored without content + "
        f"{report.rejected_before_redaction:,} rejected before redaction"
    )
    if report.agree:
        return [f"The counters agree: {_counted(report.spans_received, 'span')} received = {parts}."]
    return [said for said in (_unaccounted(report, parts), _bypassed(report)) if said]


def _unaccounted(report: IngestReport, parts: str) -> str | None:
    missing = abs(report.spans_received - report.accounted)
    if not missing:
        return None
    return (
        f"The counters do not agree: {_counted(report.spans_received, 'span')} received, but {parts} = "
        f"{report.accounted:,}; {_counted(missing, 'span')} cannot be accounted for."
    )


def _bypassed(report: IngestReport) -> str | None:
    beyond = report.spans - report.spans_received
    if beyond > 0:
        return (
            f"{_counted(beyond, 'span')} of {report.spans:,} came into the file without passing the redactor at the door, as "
            "where another program writes to it; what they hold was redacted by nobody here."
        )
    if beyond < 0:
        return (
            f"The redactor saw {_counted(report.spans_received, 'span')}, but only {report.spans:,} are counted as stored, "
            "known already or rejected."
        )
    return None
