"""Recorded JSON (arguments, results) for reading: redacted values become chips, arguments say where they came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolwitness.dashboard.markup import Markup, join, tag, text
from toolwitness.dashboard.wording import plain, plural, unknown
from toolwitness.redaction.placeholder import TAG, is_placeholder

_LONGEST_STRING = 2_000
_MOST_ITEMS = 60
_INDENT = "  "


def _placeholder(value: Any) -> Mapping[str, Any] | None:
    """What a redaction placeholder says of the value that it stands for; None for every other value."""
    said = value[TAG] if is_placeholder(value) else None
    return said if isinstance(said, dict) else None


def chip_text(said: Mapping[str, Any]) -> str:
    """A placeholder in words: `[redacted: personal string, 9-16 chars, email]`."""
    parts = [f"{said.get('c', 'unknown')} {said.get('t', 'value')}"]
    if "len" in said:
        parts.append(f"{said['len']} chars")
    parts += [plain(str(word)) for word in said.get("fmt", ())]
    return f"[redacted: {', '.join(parts)}]"


def _leaf(value: Any) -> Markup:
    if isinstance(value, str) and len(value) > _LONGEST_STRING:
        more = f"… {len(value) - _LONGEST_STRING:,} more characters"
        return join([json.dumps(value[:_LONGEST_STRING], ensure_ascii=False), " ", tag("span", more, class_="soft")])
    return text(json.dumps(value, ensure_ascii=False))


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


class _Writer:
    """Writes one value as indented JSON; `origins` by JSON pointer go beside the leaves."""

    def __init__(self, origins: Mapping[str, str]) -> None:
        self._origins = origins

    def value(self, value: Any, pointer: str, indent: str, comma: str) -> Markup:
        said = _placeholder(value)
        if said is not None:
            chip = tag("span", chip_text(said), class_="chip", title=said.get("why"))
            return join([chip, comma, self._origin(pointer)])
        if isinstance(value, dict) and value:
            members = [
                (tag("b", json.dumps(key, ensure_ascii=False), ": "), _escaped(key), item) for key, item in value.items()
            ]
            return self._nested("{}", members, pointer, indent, comma)
        if isinstance(value, list) and value:
            members = [(Markup(), str(index), item) for index, item in enumerate(value)]
            return self._nested("[]", members, pointer, indent, comma)
        return join([_leaf(value), comma, self._origin(pointer)])

    def _nested(self, brackets: str, members: list[tuple[Markup, str, Any]], pointer: str, indent: str, comma: str) -> Markup:
        inner = indent + _INDENT
        shown = members[:_MOST_ITEMS]
        lines = [
            join([inner, name, self.value(item, f"{pointer}/{step}", inner, "," if at < len(members) else "")])
            for at, (name, step, item) in enumerate(shown, start=1)
        ]
        if len(members) > len(shown):
            lines.append(tag("span", f"{inner}… {plural(len(members) - len(shown), 'more item')}", class_="soft"))
        return join([brackets[0], "\n", join(lines, "\n"), "\n", indent, brackets[1], comma])

    def _origin(self, pointer: str) -> Markup | None:
        origin = self._origins.get(pointer)
        return tag("span", "  from ", origin, class_="origin") if origin else None


def pretty(value: Any, origins: Mapping[str, str] | None = None) -> Markup:
    """`value` as an indented block; None is *not recorded*.

    `origins` maps JSON pointers of leaves to where their value came from (A18). Long strings and lists are cut and say so.
    """
    if value is None:
        return unknown("not recorded")
    return tag("pre", _Writer(origins or {}).value(value, "", "", ""), class_="json")
