"""What a tool message says of the tool, where the protocol has no field for it.

OpenAI's tool messages are plain text. Only what is plain is read: an object with an error in it, which a tool itself reports,
or a text that begins as an error message. Such a text may come from the loop that caught what the tool raised, so it is no
trustworthy answer: it counts as raised. Everything else is an answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from toolwitness.model.enums import ErrorClass, ObservationStatus
from toolwitness.model.envelope import read_envelope

_HEAD = 200
_ERRORS = ("error:", "error ", "error\n", "exception:", "traceback (most recent call last)", "an error occurred")
_TIMEOUTS = ("timeout", "timed out", "request timed out", "error: timeout", "error: timed out", "timeouterror")
_DENIALS = ("permission denied", "access denied", "denied", "error: permission denied", "error: access denied", "user denied")


class Said(NamedTuple):
    """How a tool message reads: its status, a code where it names one, and what the layer around the tool's own word says."""

    status: ObservationStatus
    vendor_code: str | None = None
    outer: ObservationStatus | None = None

    def facts(self) -> dict[str, Any]:
        """The keywords of `CallScope.result`."""
        if self.status is ObservationStatus.OK:
            return {}
        return {
            "status": self.status,
            "transport_status": self.outer,
            "error_class": ErrorClass.UNCLASSIFIED,
            "vendor_code": self.vendor_code,
        }


OK = Said(ObservationStatus.OK)


def said(content: Any) -> Said:
    """How the content of a tool message reads."""
    found = read_envelope(content)
    if found is not None:
        return Said(found.status, found.vendor_code, ObservationStatus.OK)
    return _said_by_text(content.lstrip()[:_HEAD].lower()) if type(content) is str else OK


def _said_by_text(head: str) -> Said:
    if head.startswith(_TIMEOUTS):
        return Said(ObservationStatus.TIMEOUT)
    if head.startswith(_DENIALS):
        return Said(ObservationStatus.RAISED, "denied")
    return Said(ObservationStatus.RAISED) if head.startswith(_ERRORS) else OK


def said_as_error(content: Any) -> Said:
    """How a content reads that the protocol marks as an error: what is no object of the tool's own may be the loop's words."""
    found = said(content)
    return Said(ObservationStatus.RAISED) if found.status is ObservationStatus.OK else found
