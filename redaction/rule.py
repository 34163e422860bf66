"""What a value detector is made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from toolwitness.model.enums import PrivacyClass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Finding", "Rule", "Span", "finder", "matches", "matches_at"]

Span = tuple[int, int]
"""Start and end of a place in a text."""


class Finding(NamedTuple):
    """One place in a text that a rule objects to; `start` and `end` are offsets into the text that was given."""

    start: int
    end: int
    rule: str
    cls: PrivacyClass


class Rule(NamedTuple):
    """One detector. `hints` and `gate` only spare work: whatever `find` finds has a hint and matches the gate."""

    hints: tuple[str, ...]
    """Literals of which a text must have one: as they are where there is no gate; in lower case where RE2 is not installed.
    None at all stands for six digits in a row."""
    gate: str
    """A pattern in RE2's syntax that a text must match; empty where the literals alone say enough."""
    find: Callable[[str], Iterator[Finding]]
    decodes: bool = False
    """It decodes what it finds and asks the other rules about that."""


def finder(name: str, cls: PrivacyClass, spans: Callable[[str], Iterator[Span]]) -> Callable[[str], Iterator[Finding]]:
    """Return a finder of one kind of thing from what finds its places."""

    def find(text: str) -> Iterator[Finding]:
        return (Finding(start, end, name, cls) for start, end in spans(text))

    return find


def matches_at(words: Sequence[str], pattern: str, accept: Callable[[str], bool]) -> Callable[[str], Iterator[Span]]:
    """Return what finds the pattern's group `v` where one of the lower-case words begins; that is faster than to search."""
    compiled = re.compile(pattern)

    def spans(text: str) -> Iterator[Span]:
        lowered = text.lower()
        for word in words:
            at = lowered.find(word)
            while at >= 0:
                match = compiled.match(text, at)
                if match is not None and accept(match["v"]):
                    yield match.span("v")
                at = lowered.find(word, at + len(word))

    return spans


def matches(pattern: str, accept: Callable[[str], bool] | None = None) -> Callable[[str], Iterator[Span]]:
    """Return what finds a pattern's group `v`, where there is one, or whole match, if the text of it is accepted."""
    compiled = re.compile(pattern)
    group: str | int = "v" if "v" in compiled.groupindex else 0

    def spans(text: str) -> Iterator[Span]:
        for match in compiled.finditer(text):
            if accept is None or accept(match[group]):
                yield match.span(group)

    return spans
