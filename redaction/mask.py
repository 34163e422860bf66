"""What is left of a text that the copy shows."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from toolwitness.redaction.detect import scan_text
from toolwitness.redaction.names import MAX_NAME
from toolwitness.redaction.projection import CUT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolwitness.redaction.rule import Finding

__all__ = ["free_name", "is_label", "key_mask", "masked", "torn", "truncated"]

_LABEL_LENGTH: Final = 48
_LABEL_WORDS: Final = 3

_TORN: Final = 256
"""Characters before a cut in which half a secret may stand that no detector knows any more."""

_KEPT: Final = 64
"""Characters that a truncated text keeps."""


_FIELD_NAME: Final = re.compile(r"[\w.:/@$#*+\-\[\]]{1,64}")
"""A key that names a field: one word of any script, with the signs that paths and headers use."""


_LONGEST_WORD: Final = 16


@lru_cache(maxsize=4096)
def key_mask(key: str) -> str | None:
    """Return what must stand in the place of a key, or None for one that may stay; keys recur, so the answer is kept."""
    if len(key) > MAX_NAME:
        return "[key]"
    if len(key) > _LONGEST_WORD and not key.isascii():
        return "[key]"  # in scripts without gaps a whole sentence is one word
    found = scan_text(key)
    if found:
        return f"[{found[0].rule}]"
    # A key of several words is somebody's text; what names a field is one.
    return None if _FIELD_NAME.fullmatch(key) else "[key]"


def free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return a name for a member, numbered where it is taken already: several keys may be masked alike."""
    number, free = len(taken), name
    while free in taken:
        free, number = f"{name}#{number}", number + 1
    return free


def masked(text: str, found: Sequence[Finding]) -> str:
    """Return a text with each objectionable span, in order of position, replaced by its rule's name in brackets.

    Of two that overlap the graver one counts: behind a password, `...@host` only looks like an e-mail address.
    """
    pieces: list[str] = []
    at, rank = 0, 0
    for hit in found:
        if hit.start >= at:
            pieces += [text[at : hit.start], f"[{hit.rule}]"]
            at, rank = hit.end, hit.cls.rank
        elif hit.cls.rank >= rank:
            at, rank = max(at, hit.end), hit.cls.rank
    return "".join((*pieces, text[at:]))


def torn(text: str) -> str:
    """Return a text that lost its end without its last words, too."""
    head, gap, _ = text[: -_TORN - len(CUT)].rpartition(" ")
    return f"{head}{gap}{CUT}"


def truncated(text: str) -> str:
    """Return the beginning of a text, to the end of a word."""
    if len(text) <= _KEPT:
        return text
    head, gap, _ = text[:_KEPT].rpartition(" ")
    return f"{head if gap else ''}{CUT}"


def is_label(text: str) -> bool:
    """Tell a status word or code from free text that merely stands under an operational name."""
    return len(text) <= _LABEL_LENGTH and len(text.split()) <= _LABEL_WORDS and text.isprintable()
