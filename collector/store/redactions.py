"""What became of spans at the collector's own look: counters that must agree, and why the redactor failed where it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Failure(NamedTuple):
    """Why a span was stored without content, and what its sender calls itself; empty where that is not known."""

    reason: str
    service: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Redactions:
    """Counts of spans; every one received is redacted, stored without content because that failed, or rejected before it."""

    received: int = 0
    redacted: int = 0
    rejected: int = 0
    failed: Mapping[Failure, int] = field(default_factory=dict)

    @property
    def agree(self) -> bool:
        """Whether the counters account for each span once."""
        return self.received == self.redacted + self.rejected + sum(self.failed.values())


def counts_of(redactions: Sequence[Redactions]) -> dict[str, list[Any]]:
    """The counts of several requests as columns of the table `redactions`, without those that are 0."""
    found: dict[tuple[str, Failure], int] = {}
    for each in redactions:
        told = {("received", _ANY): each.received, ("redacted", _ANY): each.redacted, ("rejected", _ANY): each.rejected}
        told |= {("failed", failure): number for failure, number in each.failed.items()}
        for key, number in told.items():
            if number:
                found[key] = found.get(key, 0) + number
    return {
        "outcomes": [outcome for outcome, _ in found],
        "reasons": [failure.reason for _, failure in found],
        "services": [failure.service for _, failure in found],
        "scopes": [failure.scope for _, failure in found],
        "spans": list(found.values()),
    }


_ANY = Failure("")
