"""What became of the spans of a request: every one is stored, a duplicate, or rejected for a reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Receipt:
    """Counts of spans; receipts add up.

    Raises ValueError where `received` is not stored + duplicate + all rejected, since then a span was lost from sight.
    """

    received: int = 0
    stored: int = 0
    duplicate: int = 0
    rejected: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that no span is unaccounted for."""
        accounted = self.stored + self.duplicate + sum(self.rejected.values())
        if self.received != accounted:
            raise ValueError(f"a receipt must account for each span: received {self.received}, accounted for {accounted}")

    def __add__(self, other: Receipt) -> Receipt:
        """Add the counts; reasons of rejection are kept apart."""
        return Receipt(
            received=self.received + other.received,
            stored=self.stored + other.stored,
            duplicate=self.duplicate + other.duplicate,
            rejected=dict(Counter(self.rejected) + Counter(other.rejected)),
        )
