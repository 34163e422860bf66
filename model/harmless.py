"""Texts that somebody else chose, as they may be shown on a terminal."""

from __future__ import annotations


def harmless(text: str) -> str:
    """Lines of text with a question mark for each sign that could steer a terminal."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)
