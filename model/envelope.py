"""Answers that say themselves that they failed: an object with an error in it, whatever the layer around it says.

Only objects are read, and one layer below. What could be meant otherwise is no error: an `error` that is null or empty, a list
of findings, an `error` in the data of an answer that nobody called a success.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolwitness.model.enums import ObservationStatus
from toolwitness.model.json_text import json_or

_SAID_STATUS = {
    "error": ObservationStatus.ERROR,
    "failed": ObservationStatus.ERROR,
    "timeout": ObservationStatus.TIMEOUT,
    "timed_out": ObservationStatus.TIMEOUT,
}
_NO_ERROR = frozenset({"", "none", "null", "no error"})
_GOOD = frozenset({"ok", "success", "succeeded"})
_INNER = ("structuredContent", "structured_content", "result", "data", "response", "body")
_GRAPHQL = frozenset({"data", "errors", "extensions"})
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,63}|-?[0-9]{1,9}")
_CODE_WORDS = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z0-9]+(?:_[A-Z0-9]+)+")


class Envelope(NamedTuple):
    """An answer's own word of a failure, and the vendor's code of it."""

    status: ObservationStatus
    vendor_code: str | None = None


def read_envelope(value: Any) -> Envelope | None:
    """What an answer, as data or as JSON text, says of a failure of its own; None where it says nothing of one."""
    outer = _object(value)
    if outer is None:
        return None
    found = _graphql(outer) or _own_word(outer)
    return found or _inner_word(outer)


def _own_word(value: Mapping[str, Any]) -> Envelope | None:
    status = value.get("status")
    said = _SAID_STATUS.get(status.lower()) if type(status) is str else None
    if said is None and (_flagged(value) or _is_error(value.get("error"))):
        said = ObservationStatus.ERROR
    return None if said is None else Envelope(said, _code(value))


def _inner_word(outer: Mapping[str, Any]) -> Envelope | None:
    for inner in filter(None, map(_object, (*map(outer.get, _INNER), _text_block(outer.get("content"))))):
        if _flagged(inner) or inner.get("status") == "error" or (_is_error(inner.get("error")) and _called_good(outer)):
            return Envelope(ObservationStatus.ERROR, _code(inner))
    return None


def _graphql(value: Mapping[str, Any]) -> Envelope | None:
    """GraphQL, 7.1: `errors` beside `data`; where some of the data came, the answer is a part."""
    errors, data = value.get("errors"), value.get("data")
    if not (type(errors) is list and errors and value.keys() <= _GRAPHQL):
        return None
    if not all(type(each) is dict and type(each.get("message")) is str for each in errors):
        return None
    some = type(data) is dict and any(each is not None for each in data.values())
    extensions = errors[0].get("extensions")
    code = extensions.get("code") if type(extensions) is dict else None
    return Envelope(ObservationStatus.PARTIAL if some else ObservationStatus.ERROR, _token(code, _CODE))


def _flagged(value: Mapping[str, Any]) -> bool:
    return (
        value.get("isError") is True
        or value.get("is_error") is True
        or value.get("success") is False
        or value.get("ok") is False
        or (type(value.get("success")) is int and value["success"] == 0 and _is_error(value.get("error")))
    )


def _called_good(value: Mapping[str, Any]) -> bool:
    status = value.get("status")
    said = type(status) is str and status.lower() in _GOOD
    return said or any(type(value.get(name)) in {bool, int} and value[name] == 1 for name in ("success", "ok"))


def _is_error(error: Any) -> bool:
    return error.strip().lower() not in _NO_ERROR if type(error) is str else bool(error)


def _code(value: Mapping[str, Any]) -> str | None:
    """The code beside or in the error; of a text only one that is words of code, since others are prose."""
    error = value.get("error")
    holder = error if type(error) is dict else value
    names = ("code", "type", "status") if holder is error else ("code", "error_code")
    found = next(filter(None, (_token(holder.get(name), _CODE) for name in names)), None)
    return found or _token(error, _CODE_WORDS)


def _token(code: Any, pattern: re.Pattern[str]) -> str | None:
    text = str(code) if type(code) is int else code
    return text if type(text) is str and pattern.fullmatch(text) else None


def _text_block(content: Any) -> Any:
    """The text of MCP content that is one block of text."""
    only = content[0] if type(content) is list and len(content) == 1 else None
    return only.get("text") if type(only) is dict else None


def _object(value: Any) -> dict[str, Any] | None:
    if type(value) is str and value.lstrip()[:1] == "{":
        value = json_or(value, None)
    return value if type(value) is dict else None
