"""Splits a field name, in whatever naming form, into lower-case words."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["split_words"]

_BORDER: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a capital starts a word: `userName`, and the last capital of an acronym as in `DBPassword`."""

_WORD: Final = re.compile(r"[a-z\u00df-\u024f]+|[0-9]+|[^\W\d_a-z\u00df-\u024f]+")
"""A run of Latin letters, of digits, or of letters of another script."""


def split_words(name: str) -> tuple[str, ...]:
    """Split a name into its words: `userAPIKey2`, `user_api-key 2` and fullwidth letters all give the same four.

    Compatibility forms are folded (NFKC) and invisible format characters dropped first, so that neither hides a word.
    """
    if not name.isascii():
        folded = unicodedata.normalize("NFKC", name)
        name = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return tuple(_WORD.findall(_BORDER.sub(" ", name).lower()))
