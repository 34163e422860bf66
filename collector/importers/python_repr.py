"""Reading the Python repr of an MCP `CallToolResult` without evaluating it, also where the text breaks off.

Some recordings keep `str(result)`: `meta=None content=[TextContent(type='text', text='...')] isError=False`. This reads
keyword arguments, constructors, lists, dicts, string literals and bare words; nothing is executed or looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_DEEPEST = 40
_ESCAPE = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[^xuU])"
_BODY = {quote: re.compile(rf"(?:[^\\{quote}]|{_ESCAPE})*") for quote in ("'", '"')}
_ESCAPED = re.compile(_ESCAPE, re.DOTALL)
_OPENING = re.compile(r"[bBrRuU]{0,2}(['\"])")
_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)=")
_CONSTRUCTOR = re.compile(r"[A-Za-z_][\w.]*\(")
_BARE = re.compile(r"<[^<>]*>|[^\s,\[\](){}'\"]+")
_SPACE = re.compile(r"[\s,:]*")
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "\n": ""}
_WORDS = {"None": None, "True": True, "False": False}
_CLOSING = {"[": "]", "(": ")", "{": "}"}


class _BrokenOffError(Exception):
    """The text ended, or stopped to be a repr, inside a value."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a `CallToolResult`'s repr says.

    `texts` are the contents' texts in order, the last one as far as it goes; `is_error` is None where the text broke off
    before it; `complete` is False where the text broke off.
    """

    texts: tuple[str, ...]
    is_error: bool | None
    complete: bool


def _unescape(match: re.Match[str]) -> str:
    escape = match.group()[1:]
    if escape[0] in "xuU" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _PLAIN.get(escape, escape)


class _Reader:
    """A cursor over the text; keyword values are noted as soon as they are read, so that a broken text keeps its parts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.texts: list[str] = []

    def keywords(self, closing: str, depth: int) -> dict[str, Any]:
        """`name=value` pairs up to `closing`, or to the end of the text where `closing` is empty."""
        found: dict[str, Any] = {}
        while not self._closes(closing):
            match = _KEYWORD.match(self.text, self.at)
            if match is None:
                found[f"#{len(found)}"] = self.value(depth)
                continue
            self.at = match.end()
            found[match[1]] = self.value(depth, is_text=match[1] == "text")
        return found

    def value(self, depth: int, *, is_text: bool = False) -> Any:
        """One value at the cursor."""
        if depth > _DEEPEST:
            raise _BrokenOffError
        if opening := _OPENING.match(self.text, self.at):
            return self._string(opening, is_text=is_text)
        if constructor := _CONSTRUCTOR.match(self.text, self.at):
            self.at = constructor.end()
            return self.keywords(")", depth + 1)
        if (bracket := self.text[self.at : self.at + 1]) in _CLOSING:
            self.at += 1
            return self._items(_CLOSING[bracket], depth + 1)
        bare = _BARE.match(self.text, self.at)
        if bare is None:
            raise _BrokenOffError
        self.at = bare.end()
        return _WORDS.get(bare.group(), bare.group())

    def _items(self, closing: str, depth: int) -> list[Any]:
        """The members of a list or tuple, or a dict's keys and values in turn."""
        found = []
        while not self._closes(closing):
            found.append(self.value(depth))
        return found

    def _closes(self, closing: str) -> bool:
        """Whether the cursor, moved over white space and separators, is at `closing`, which is then passed."""
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        if self.at >= len(self.text):
            if closing:
                raise _BrokenOffError
            return True
        if closing and self.text[self.at] == closing:
            self.at += 1
            return True
        return False

    def _string(self, opening: re.Match[str], *, is_text: bool) -> str:
        body = _BODY[opening[1]].match(self.text, opening.end())
        self.at = body.end() if body else opening.end()
        value = _ESCAPED.sub(_unescape, body.group() if body else "")
        if is_text:
            self.texts.append(value)
        if self.text[self.at : self.at + 1] != opening[1]:
            raise _BrokenOffError
        self.at += 1
        return value


def read_call_result(text: str) -> CallResult | None:
    """What the repr says, or None where the text is not one of a `CallToolResult`."""
    if not re.match(r"(?:CallToolResult\()?(?:_?meta=|content=\[)", text):
        return None
    reader = _Reader(text.removeprefix("CallToolResult(").removesuffix(")") if text.startswith("CallToolResult(") else text)
    try:
        outer = reader.keywords("", 0)
    except _BrokenOffError:
        return CallResult(tuple(reader.texts), None, complete=False)
    is_error = outer.get("isError")
    known = is_error if isinstance(is_error, bool) else None
    return CallResult(tuple(reader.texts), known, complete=known is not None)
