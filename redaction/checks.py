"""Judges a candidate that a pattern found: checksums, and whether a text looks like a secret or merely names one."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.names import ABOUT, name_class
from toolwitness.redaction.words import words_of

__all__ = [
    "IBAN_COUNTRIES",
    "aadhaar_ok",
    "cpf_ok",
    "iban_ok",
    "id_card_ok",
    "is_basic_credential",
    "is_card",
    "looks_random",
    "names_a_value",
    "strong",
]

_LUHN_DOUBLED: Final = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_CARD_PREFIX: Final = re.compile(
    r"4(?:.{12}|.{15}|.{18})|5[1-5].{14}|2(?:22[1-9]|2[3-9].|[3-6]..|7[01].|720).{12}|3[47].{13}|3(?:0[0-5]|[68].).{11}"
    r"|35(?:2[89]|[3-8].).{12}|6(?:011|5..|4[4-9].|2..).{12,15}"
)
"""Issuer prefixes with their lengths (ISO/IEC 7812): Visa, Mastercard, American Express, Diners, JCB, Discover, UnionPay."""

_ID_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ID_CHECK: Final = "10X98765432"

_IBAN_LENGTHS: Final = {
    length: set(countries.split())
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FI FO GL NL",
        19: "MK SI",
        20: "AT BA EE KZ LT LU XK",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "FR GR IT MC MR SM",
        28: "AL AZ BY CY DO EG GT HU LB PL SV",
        29: "BR PS QA UA",
        30: "JO KW MU",
        31: "MT SC",
        32: "LC",
    }.items()
}
"""Countries by the length of their account numbers (ISO 13616 registry)."""

IBAN_COUNTRIES: Final = "|".join(sorted(country for countries in _IBAN_LENGTHS.values() for country in countries))
"""Country codes as a pattern."""

_VERHOEFF_TIMES: Final = (
    "0123456789",
    "1234067895",
    "2340178956",
    "3401289567",
    "4012395678",
    "5987604321",
    "6598710432",
    "7659821043",
    "8765932104",
    "9876543210",
)
_VERHOEFF_TURN: Final = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)


def is_card(digits: str) -> bool:
    """Tell whether digits have an issuer's prefix, its length, and the check digit of a payment card (ISO/IEC 7812-1)."""
    if not _CARD_PREFIX.fullmatch(digits) or len(set(digits)) == 1:
        return False
    numbers = [int(digit) for digit in digits]
    return (sum(numbers[-1::-2]) + sum(_LUHN_DOUBLED[number] for number in numbers[-2::-2])) % 10 == 0


def iban_ok(text: str) -> bool:
    """Tell whether a text is an account number by country, length and remainder modulo 97 (ISO 13616)."""
    compact = text.replace(" ", "").replace("-", "").upper()
    if compact[:2] not in _IBAN_LENGTHS.get(len(compact), ()):
        return False
    return int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1


def id_card_ok(text: str) -> bool:
    """Tell whether 18 characters are a Chinese resident number by month, day and check character (GB 11643)."""
    if not ("01" <= text[10:12] <= "12" and "01" <= text[12:14] <= "31"):
        return False
    total = sum(weight * int(char) for weight, char in zip(_ID_WEIGHTS, text, strict=False))
    return _ID_CHECK[total % 11] == text[17].upper()


def aadhaar_ok(digits: str) -> bool:
    """Tell whether twelve digits are an Indian resident number by its Verhoeff check digit."""
    state = 0
    for place, digit in enumerate(reversed(digits)):
        state = int(_VERHOEFF_TIMES[state][int(_VERHOEFF_TURN[place % 8][int(digit)])])
    return state == 0 and digits[0] not in "01"


def cpf_ok(digits: str) -> bool:
    """Tell whether eleven digits are a Brazilian taxpayer number by its two check digits (modulo 11)."""
    numbers = [int(digit) for digit in digits]
    for length in (9, 10):
        total = sum(number * (length + 1 - place) for place, number in enumerate(numbers[:length]))
        if total * 10 % 11 % 10 != numbers[length]:
            return False
    return len(set(digits)) > 1


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


_NOT_A_VALUE: Final = re.compile(
    r"\$\{[^}]*\}?|\$\(.*|\$[A-Z_][A-Z0-9_]*|\{\{?[^}]*\}{0,2}|<[^>]*>?|%\(?\w*\)?[sdr]|%[A-Z_]+%|[*x.•_#-]+|\[[^\]]*\]?"
    r"|(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*[(\[].*|(?:[A-Za-z_][A-Za-z_]*\.)+[A-Za-z_]+|(?i:[A-Za-z]{1,24}\|.*|your[_-].*)"
)
"""References, calls, template variables and masks: they stand for a secret and are none."""

_TYPE_WORDS: Final = words_of(
    """
    str string text char bytes int integer number bool boolean float object array list dict any null none nil undefined
    true false yes no required optional missing invalid expired valid empty hidden unknown redacted masked filtered
    changed changeme? disabled enabled default n/a na tbd todo unset not set is are was the a an must should can will may
    never always or and for to in of if this that function const let var new return await self this props secretstr ok
    """
)


def names_a_value(text: str) -> bool:
    """Tell a variable, type word, template or mask (`os.environ["KEY"]`, `str`, `${TOKEN}`, `***`) from a value."""
    bare = text.strip("`'\".,;:!?")
    if not bare or bare.lower() in _TYPE_WORDS or _NOT_A_VALUE.fullmatch(text):
        return True
    if not (bare.isascii() and bare.replace("_", "").replace("-", "").isalpha()):
        return False
    named = name_class(bare)
    return named is not None and (named[0] is PrivacyClass.SECRET or named[1] == ABOUT)


_WORDY: Final = re.compile(r"[0-9]{1,4}[-_]?[A-Za-z]{1,12}|[A-Za-z]+(?:[-'/][A-Za-z]+)*|[0-9]{1,2}(?:[:.,][0-9]{1,3})*")
"""Words, and numbers with a unit: `8-character`, `30min`, `user's`."""


def strong(text: str) -> bool:
    """Tell whether a word in the middle of prose can hardly be anything but a secret: it has digits or signs in it."""
    bare = text.strip("`'\".,;:!?()<>")
    return len(bare) >= _SHORTEST_STRONG and not _WORDY.fullmatch(bare) and not names_a_value(bare)


_SHORTEST_STRONG = 5
