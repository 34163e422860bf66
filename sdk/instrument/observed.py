"""What a tool message says of the tool, where the protocol has no field for it.

OpenAI's tool messages are plain text. Only what is plain is read: an object with an error in it, which a tool itself reports,
or a text that begins as an error message. Such a text may come from the loop that caught what the tool raised, so it is no
trustworthy answer: it counts as raised. Everything else is an answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from toolwitness.model.enums import ErrorClass, ObservationStatus
from toolwitness.model.json_text import json_or

_HEAD = 200
_ERRORS = ("error:", "error ", "error\n", "exception:", "traceback (most recent call last)", "an error occurred")
_TIMEOUTS = ("timeout", "timed out", "request timed out", "error: timeout", "error: timed out", "timeouterror")
_DENIALS = ("permission denied", "access denied", "denied", "error: permission denied", "error: access denied", "user denied")
_SAID_STATUS = {
    "error": ObservationStatus.ERROR,
    "failed": ObservationStatus.ERROR,
    "timeout": ObservationStatus.TIMEOUT,
    "timed_out": ObservationStatus.TIMEOUT,
}


class Said(NamedTuple):
    """How a tool message reads: its status, and `denied` as the code where it says so."""

    status: ObservationStatus
    vendor_code: str | None = None

    def facts(self) -> dict[str, Any]:
        """The keywords of `CallScope.result`."""
        if self.status is ObservationStatus.OK:
            return {"status": self.status}
        return {"status": self.status, "error_class": ErrorClass.UNCLASSIFIED, "vendor_code": self.vendor_code}


OK = Said(ObservationStatus.OK)


def said(content: Any) -> Said:
    """How the content of a tool message reads."""
    if type(content) is dict:
        return _said_by_object(content)
    if type(content) is not str:
        return OK
    head = content.lstrip()[:_HEAD]
    if head[:1] == "{":
        parsed = json_or(content, None)
        return OK if parsed is None else _said_by_object(parsed)
    return _said_by_text(head.lower())


def _said_by_object(content: dict[str, Any]) -> Said:
    failed = content.get("isError") is True or content.get("is_error") is True
    status = content.get("status")
    told = _SAID_STATUS.get(status.lower()) if type(status) is str else None
    if told is not None:
        return Said(told)
    if failed or content.get("error") or content.get("success") is False:
        return Said(ObservationStatus.ERROR)
    return OK


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
