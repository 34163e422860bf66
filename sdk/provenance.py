"""Where argument values came from and whether result values were used again, matched on raw values in memory (A18, A19).

Only edges leave this module: origins of argument leaves, and ids of the calls whose new values reappear. The rules, which two
independent implementations agreed on over 100 real trajectories:

- A *leaf* is a scalar of the value, written as text: integers as such, integral floats as integers, others shortest repr; no
  booleans, no null. A result text is parsed as JSON once; where it is no JSON, a text without white space is one leaf.
- A leaf is *informative* with at least 4 characters, or as a number with at least 3 digits.
- An informative leaf of a result is *novel* when it is no leaf of an earlier result or of arguments so far and does not occur
  bounded in system, user or assistant text so far. It is credited to its first result only; results that report an error
  count as seen and are credited with nothing.
- *Bounded* means not glued to a Unicode letter, digit or `_` on either side. Commas between thousands are removed from texts
  and values for novelty and answers, not for origins.
- Prose (a result text that is no JSON and holds white space) has no leaves: whether it was used is not measurable, and an
  argument that occurs in it and nowhere else has an unknown origin, since nobody can say that the model made it up.
- An argument leaf with fewer than 3 characters is *trivial*; `user` occurs bounded in a user message, compared lower-cased;
  `tool` equals a leaf or a key of an earlier result; `system` occurs bounded in the system text; else it is the model's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from toolwitness.model.enums import Origin
from toolwitness.model.json_text import json_or
from toolwitness.model.records import LeafOrigin
from toolwitness.redaction.mask import key_mask

_WORD = re.compile(r"\w+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.\-]{0,63}")
_MIN_CHARACTERS = 4
_MIN_DIGITS = 3
_MIN_ARGUMENT_CHARACTERS = 3


class Leaf(NamedTuple):
    """One scalar of a value: its JSON pointer and its text."""

    pointer: str
    text: str


def _leaf(pointer: str, value: Any) -> Leaf | None:
    text = value if isinstance(value, str) else _number(value)
    return None if text is None else Leaf(pointer, text)


def _number(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _pointer_part(key: str) -> str:
    """A key as a part of a JSON pointer; a key that may be model text is left out by `*`."""
    return key if _PLAIN_KEY.fullmatch(key) and key_mask(key) is None else "*"


def pointer(given: str) -> str:
    """A JSON pointer in which keys that may be model text are left out by `*`."""
    return "/".join(part if part.isdigit() or not part else _pointer_part(part) for part in given.split("/"))


def leaves(value: Any, pointer: str = "") -> Iterator[Leaf]:
    """Every scalar of a JSON-ready value, depth first."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{pointer}/{_pointer_part(key)}")
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from leaves(item, f"{pointer}/{position}")
    else:
        leaf = _leaf(pointer, value)
        if leaf is not None:
            yield leaf


class Content(NamedTuple):
    """What a result holds: the texts of its leaves, those of them that are long enough to tell something, and its keys."""

    texts: list[str]
    informative: set[str]
    keys: set[str]


def content(value: Any) -> Content:
    """The leaves and keys of a JSON-ready value, without their places."""
    found = Content([], set(), set())
    waiting = [value]
    for item in waiting:  # it grows on the way
        if isinstance(item, str):
            found.texts.append(item)
            if len(item) >= _MIN_CHARACTERS:
                found.informative.add(item)
        elif isinstance(item, dict):
            found.keys.update(item)
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif (text := _number(item)) is not None:
            found.texts.append(text)
            if sum(map(str.isdigit, text)) >= _MIN_DIGITS:
                found.informative.add(text)
    return found


def parse_result(value: Any) -> Any:
    """A result as JSON data: a text is parsed once, a text that is no JSON counts where it is a single word."""
    if not isinstance(value, str):
        return value
    return json_or(value, value if value and not any(c.isspace() for c in value) else None)


def _without_thousands(text: str) -> str:
    return _THOUSANDS.sub("", text) if "," in text else text


class TextIndex:
    """Texts by their words, to ask whether a value occurs bounded in one without scanning them."""

    __slots__ = ("_places", "_texts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._places: dict[str, list[tuple[int, int]]] = {}

    def add(self, text: str) -> None:
        """Take one text in."""
        number = len(self._texts)
        self._texts.append(text)
        for match in _WORD.finditer(text):
            self._places.setdefault(match.group(), []).append((number, match.start()))

    def contains(self, value: str) -> bool:
        """Whether the value occurs bounded in one of the texts."""
        first = _WORD.search(value)
        if first is None:
            return any(value in text for text in self._texts)
        return any(
            _bounded(self._texts[number], start - first.start(), value) for number, start in self._places.get(first.group(), ())
        )


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _bounded(text: str, start: int, value: str) -> bool:
    """Whether `value` stands at `start`, glued to no word character on either side."""
    if start < 0 or not text.startswith(value, start):
        return False
    end = start + len(value)
    return not (start > 0 and _is_word(text[start - 1])) and not (end < len(text) and _is_word(text[end]))


@functools.lru_cache(maxsize=32)
def _index_of(text: str) -> TextIndex:
    """One text's own index; a policy is the same in every run of an agent, so its words are kept."""
    index = TextIndex()
    index.add(text)
    return index


class NovelValues:
    """Novel result values by their first word, each with the call it is credited to."""

    __slots__ = ("_by_word", "_wordless", "source_of")

    def __init__(self) -> None:
        self.source_of: dict[str, str] = {}
        self._by_word: dict[str, list[tuple[str, int]]] = {}
        self._wordless: list[str] = []

    def add(self, text: str, call_id: str) -> None:
        """Credit a value to a call."""
        self.source_of[text] = call_id
        stripped = _without_thousands(text)
        first = _WORD.search(stripped)
        if first is None:
            self._wordless.append(text)
        else:
            self._by_word.setdefault(first.group(), []).append((text, first.start()))

    def withdraw(self, call_id: str) -> None:
        """Credit a call with nothing any more."""
        self.source_of = {text: source for text, source in self.source_of.items() if source != call_id}
        self._by_word = {word: [at for at in found if at[0] in self.source_of] for word, found in self._by_word.items()}
        self._wordless = [text for text in self._wordless if text in self.source_of]

    def sources_in(self, text: str) -> set[str]:
        """The calls whose values occur bounded in an answer."""
        stripped = _without_thousands(text)
        found = {self.source_of[value] for value in self._wordless if value in stripped}
        for match in _WORD.finditer(stripped):
            for value, lead in self._by_word.get(match.group(), ()):
                if _bounded(stripped, match.start() - lead, _without_thousands(value)):
                    found.add(self.source_of[value])
        return found


@dataclass(frozen=True, slots=True)
class ArgumentEdges:
    """What the arguments of one call tell: each leaf's origin, and the calls whose new values they use."""

    origins: tuple[LeafOrigin, ...]
    sources: tuple[str, ...]


class RunIndex:
    """All that one run has said and returned so far, bounded in bytes; `overflowed` makes later answers unknown."""

    __slots__ = (
        "_argument_leaves",
        "_keys",
        "_novel",
        "_novelty",
        "_prose",
        "_result_leaves",
        "_room",
        "_said",
        "_system",
        "_user",
        "listed",
        "overflowed",
    )

    def __init__(self, limit_bytes: int = 16 * 1024 * 1024) -> None:
        self._user = TextIndex()
        self._system: list[TextIndex] = []
        self._novelty: list[TextIndex] = [TextIndex()]
        self._result_leaves: set[str] = set()
        self._argument_leaves: set[str] = set()
        self._keys: set[str] = set()
        self._novel = NovelValues()
        self._said: set[tuple[str, str]] = set()
        self._room = limit_bytes
        self._prose = TextIndex()
        self.listed: set[tuple[str, str]] = set()
        """(server, tool) pairs that searches of this run returned."""
        self.overflowed = False

    def was_listed(self, server: str, tool: str) -> bool:
        """Whether a search of this run returned the tool."""
        return (server, tool) in self.listed

    def _take(self, size: int) -> bool:
        self._room -= size
        if self._room < 0:
            self.overflowed = True
        return not self.overflowed

    def message(self, role: str, text: str) -> None:
        """Take in a system or user text; the same text of the same role counts once."""
        if (role, text) in self._said or not self._take(len(text)):
            return
        self._said.add((role, text))
        if role == "user":
            self._user.add(text.lower())
            self._novelty[0].add(_without_thousands(text))
        else:
            self._system.append(_index_of(text))
            self._novelty.append(_index_of(_without_thousands(text)))

    def answer(self, text: str) -> tuple[str, ...]:
        """Take in what the model said, and return the calls whose new values it uses."""
        sources = tuple(sorted(self._novel.sources_in(text)))
        if self._take(len(text)):
            self._novelty[0].add(_without_thousands(text))
        return sources

    def arguments(self, value: Any) -> ArgumentEdges:
        """Take in the arguments of a proposed call, and tell where they came from."""
        found = list(leaves(value))
        origins = tuple(LeafOrigin(leaf.pointer, self._origin(leaf.text)) for leaf in found)
        sources = {self._novel.source_of[leaf.text] for leaf in found if leaf.text in self._novel.source_of}
        if self._take(sum(len(leaf.text) for leaf in found)):
            self._argument_leaves.update(leaf.text for leaf in found)
        return ArgumentEdges(origins, tuple(sorted(sources)))

    def _origin(self, text: str) -> Origin:
        if len(text) < _MIN_ARGUMENT_CHARACTERS:
            return Origin.TRIVIAL
        by_user = self._user.contains(text.lower())
        by_tool = text in self._result_leaves or text in self._keys
        if by_user and by_tool:
            return Origin.USER_AND_TOOL
        if by_user or by_tool:
            return Origin.USER if by_user else Origin.TOOL
        if any(index.contains(text) for index in self._system):
            return Origin.SYSTEM
        if self._prose.contains(text):
            return Origin.UNKNOWN
        # Without the texts that the model read, or with some of them forgotten, it cannot be called the model's own.
        return Origin.MODEL if self._said and not self.overflowed else Origin.UNKNOWN

    def result(self, call_id: str, value: Any, *, credit: bool) -> int | None:
        """Take in a result, and return how many informative values in it are new; None means not measurable.

        `credit` is False for a result that reports an error: it counts as seen, and nothing of it as new.
        """
        data = parse_result(value)
        prose = type(value) is str and data is None and value != ""
        if prose and credit:
            self._prose.add(value)
        found = content(data)
        if not self._take(sum(map(len, found.texts))):
            return None
        novel = set(filter(self._is_novel, found.informative)) if credit else set()
        self._result_leaves.update(found.texts)
        self._keys.update(found.keys)
        if prose:
            return None
        for text in sorted(novel):
            self._novel.add(text, call_id)
        return len(novel)

    def discredit(self, call_id: str) -> None:
        """Take a result as one that is no evidence: its values count as seen, and as nobody's."""
        self._novel.withdraw(call_id)

    def _is_novel(self, text: str) -> bool:
        if text in self._result_leaves or text in self._argument_leaves:
            return False
        stripped = _without_thousands(text)
        return not any(index.contains(stripped) for index in self._novelty)
