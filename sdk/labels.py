"""Short texts that the application names things with: cut, and cleared of what a value detector finds."""

from __future__ import annotations

import re
from typing import Any

from toolwitness import redaction
from toolwitness.model.digest import digest
from toolwitness.model.names import UNREGISTERED

_MAX_LABEL = 256
_MAX_TEXT = 16 * 1024
_TOOL_NAME = re.compile(r"\w[\w.:/\-]{0,63}")
_TITLE = re.compile(r"\w[\w .:/\-]{0,127}")
_TYPE_NAME = re.compile(r"[A-Za-z_]\w{0,127}")


def mask(text: str) -> str:
    """The text with every finding replaced by the rule's name."""
    cut = text[:_MAX_TEXT]
    return redaction.masked(cut, redaction.scan_text(cut))


def plain(text: str) -> str:
    """The text without lone surrogates, which no wire takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def label(text: Any) -> str | None:
    """A name or code given by the application, masked, then cut to 256 characters; None for anything but a string."""
    return plain(mask(text)[:_MAX_LABEL]) if type(text) is str else None


def type_name(text: Any) -> str | None:
    """The name of an exception's type, where it is one; a type made at run time may be called anything."""
    if type(text) is not str:
        return None
    return text if _TYPE_NAME.fullmatch(text) and not redaction.scan_text(text) else "Exception"


def identifier(given: Any) -> str | None:
    """An id given by the application, as text; one that could tell who somebody is is replaced by its digest.

    None for anything but a non-empty string or an integer.
    """
    text = str(given) if type(given) is int else given
    if type(text) is not str or not text:
        return None
    if len(text) <= _MAX_LABEL and plain(text) == text and not redaction.scan_text(text):
        return text
    return "run-" + digest(text)[:16]


def tool_name(name: Any, *, registered: bool) -> str:
    """A tool's name; one that stands in no catalog is model text and is kept only where it is a single plain word."""
    if type(name) is not str:
        return UNREGISTERED
    if registered:
        return plain(name)
    return name if _TOOL_NAME.fullmatch(name) and not redaction.scan_text(name) else UNREGISTERED


def listed_name(name: Any) -> str:
    """A name that a tool search returned: a tool server's text, which may be a title of several words."""
    return name if type(name) is str and _TITLE.fullmatch(name) and not redaction.scan_text(name) else UNREGISTERED
