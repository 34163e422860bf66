"""Judges a candidate that a pattern found: checksums, and whether a text looks drawn at random."""

from __future__ import annotations

import base64
import binascii
from typing import Final

__all__ = ["iban_ok", "id_card_ok", "is_basic_credential", "looks_random", "luhn_ok"]

_LUHN_DOUBLED: Final = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_CARD_LENGTHS: Final = range(13, 20)
_ID_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ID_CHECK: Final = "10X98765432"


def luhn_ok(text: str) -> bool:
    """Tell whether the digits of a text have the length and check digit of a payment card (ISO/IEC 7812-1)."""
    digits = [int(char) for char in text if "0" <= char <= "9"]
    if len(digits) not in _CARD_LENGTHS or len(set(digits)) == 1:
        return False
    return (sum(digits[-1::-2]) + sum(_LUHN_DOUBLED[digit] for digit in digits[-2::-2])) % 10 == 0


def iban_ok(text: str) -> bool:
    """Tell whether an upper-case text is an account number by its remainder modulo 97 (ISO 13616)."""
    compact = text.replace(" ", "")
    return int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1


def id_card_ok(text: str) -> bool:
    """Tell whether 18 characters are a Chinese resident number by month, day and check character (GB 11643)."""
    if not ("01" <= text[10:12] <= "12" and "01" <= text[12:14] <= "31"):
        return False
    total = sum(weight * int(char) for weight, char in zip(_ID_WEIGHTS, text, strict=False))
    return _ID_CHECK[total % 11] == text[17].upper()


def looks_random(text: str) -> bool:
    """Tell a key from words joined by dashes: it has a digit, or letters of both cases beyond a leading capital."""
    if any("0" <= char <= "9" for char in text):
        return True
    tail = text[1:]
    return tail != tail.lower() and tail != tail.upper() and "-" not in text


def is_basic_credential(text: str) -> bool:
    """Tell whether a text decodes to `user:password` (RFC 7617)."""
    try:
        return b":" in base64.b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return False
