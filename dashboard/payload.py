"""Recorded JSON (arguments, results) for reading: redacted values become chips, arguments say where they came from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from toolwitness.dashboard.markup import Child, Markup, join, tag, text
from toolwitness.dashboard.wording import plain, plural, unknown
from toolwitness.model.enums import Origin
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
        if not origin:
            return None
        return tag("span", "  too short to trace" if origin == Origin.TRIVIAL else f"  from {origin}", class_="origin")


def pretty(value: Any, origins: Mapping[str, str] | None = None) -> Markup:
    """`value` as an indented block; None is *not recorded*.

    `origins` maps JSON pointers of leaves to where their value came from (A18). Long strings and lists are cut and say so.
    """
    if value is None:
        return unknown("not recorded")
    return tag("pre", _Writer(origins or {}).value(value, "", "", ""), class_="json")


def written(value: Any) -> Markup:
    """A recorded text as a reader wrote it, or as a chip where it was redacted; anything else as `brief`."""
    return text(value) if isinstance(value, str) else brief(value)


_BRIEF_LEAVES = 6
_BRIEF_STRING = 40


class _BriefWriter:
    """Writes one value on one line, as far as its first few leaves; what is left out is an ellipsis."""

    def __init__(self) -> None:
        self._left = _BRIEF_LEAVES

    def value(self, value: Any) -> Markup:
        said = _placeholder(value)
        if said is None and isinstance(value, dict) and value:
            members = (
                (join([key if len(key) <= _BRIEF_STRING else key[:_BRIEF_STRING] + "…", ": "]), item)
                for key, item in value.items()
            )
            return join(["{", self._nested(members), "}"])
        if said is None and isinstance(value, list) and value:
            return join(["[", self._nested((None, item) for item in value), "]"])
        self._left -= 1
        if said is not None:
            return tag("span", chip_text(said), class_="chip", title=said.get("why"))
        if isinstance(value, str) and len(value) > _BRIEF_STRING:
            value = value[:_BRIEF_STRING] + "…"
        return text(json.dumps(value, ensure_ascii=False))

    def _nested(self, members: Iterable[tuple[Child, Any]]) -> Markup:
        shown: list[Markup] = []
        for name, item in members:
            if self._left <= 0:
                shown.append(Markup("…"))
                break
            shown.append(join([name, self.value(item)]))
        return join(shown, ", ")


def brief(value: Any) -> Markup:
    """`value` on one line, shortened, for a cell of a table; redacted values are chips as in `pretty`."""
    return tag("span", _BriefWriter().value(value), class_="mono")
