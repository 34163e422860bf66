"""Short texts that the application names things with: cut, and cleared of what a value detector finds."""

from __future__ import annotations

import re
from typing import Any

from toolwitness.redaction import scan_text

_MAX_LABEL = 256
_MAX_TEXT = 16 * 1024
_TOOL_NAME = re.compile(r"[\w][\w .:/\-]{0,127}")
UNREGISTERED = "(unregistered)"


def mask(text: str) -> str:
    """The text with every finding replaced by the rule's name."""
    cut = text[:_MAX_TEXT]
    parts, position = [], 0
    for finding in scan_text(cut):
        if finding.start >= position:
            parts += [cut[position : finding.start], f"[{finding.rule}]"]
            position = finding.end
    return "".join([*parts, cut[position:]])


def label(text: Any) -> str | None:
    """A name or code given by the application, masked, then cut to 256 characters; None for anything but a string."""
    return mask(text)[:_MAX_LABEL] if type(text) is str else None


def tool_name(name: Any, *, registered: bool) -> str:
    """A tool's name; one that stands in no catalog is model text and is kept only where it looks like a name."""
    if type(name) is not str:
        return UNREGISTERED
    if registered:
        return name
    return name if _TOOL_NAME.fullmatch(name) and not scan_text(name) else UNREGISTERED


def masked(value: Any) -> Any:
    """A JSON-ready structure with every string in it masked."""
    if type(value) is str:
        return mask(value)
    if type(value) is dict:
        return {mask(key): masked(item) for key, item in value.items()}
    if type(value) is list:
        return [masked(item) for item in value]
    return value
