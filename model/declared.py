"""What an application declared about the privacy of a field."""

from __future__ import annotations

from dataclasses import dataclass

from toolwitness.model.enums import PrivacyClass


@dataclass(frozen=True, slots=True)
class Declared:
    """A privacy class that somebody gave a field, and why where it is lower than what else is known of the field."""

    cls: PrivacyClass
    reason: str | None = None

    def __post_init__(self) -> None:
        """Take the name of a class too; raises ValueError for one that does not exist."""
        object.__setattr__(self, "cls", PrivacyClass(self.cls))
        object.__setattr__(self, "reason", (self.reason or "").strip() or None)

    @classmethod
    def of(cls, given: Declared | PrivacyClass | str) -> Declared:
        """The declaration, or the one that a class alone means. Raises ValueError where there is no such class."""
        return given if isinstance(given, Declared) else cls(PrivacyClass(given))
