"""Splits a field name, in whatever naming form, into lower-case words."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["split_words", "words_of"]

_BORDER: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a capital starts a word: `userName`, and the last capital of an acronym as in `DBPassword`."""

_WORD: Final = re.compile(r"[a-z\u00df-\u024f]+|[0-9]+|[^\W\d_a-z\u00df-\u024f]+")
"""A run of Latin letters, of digits, or of letters of another script."""


def _counts(char: str) -> bool:
    """Tell a letter from an invisible character or the accent of a Latin letter."""
    return unicodedata.category(char) != "Cf" and not "\u0300" <= char <= "\u036f"


def split_words(name: str) -> tuple[str, ...]:
    """Split a name into its words: `userAPIKey2`, `user_api-key 2` and fullwidth letters all give the same four.

    Compatibility forms are folded (NFKD), accents and invisible format characters dropped first, so that none hides a word.
    """
    if not name.isascii():
        name = unicodedata.normalize("NFC", "".join(filter(_counts, unicodedata.normalize("NFKD", name))))
    return tuple(_WORD.findall(_BORDER.sub(" ", name).lower()))


def words_of(text: str) -> frozenset[str]:
    """Return the words of a vocabulary that is written as running text."""
    return frozenset(text.split())
