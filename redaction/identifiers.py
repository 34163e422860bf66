"""Finds what tells who or where somebody is: e-mail and network addresses, phone, card, account and resident numbers.

Numbers are found in one pass as runs of digits with their signs, and judged by shape, checksum and the words before them.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.checks import IBAN_COUNTRIES, aadhaar_ok, cpf_ok, iban_ok, id_card_ok, is_card
from toolwitness.redaction.rule import Finding, Rule, Span, finder, matches
from toolwitness.redaction.words import split_words, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["IDENTIFIERS"]

_B: Final = r"(?<![A-Za-z0-9])"
_NAME: Final = r"[A-Za-z0-9\u00c0-\u024f._%+'-]"
_HOST: Final = re.compile(r"@(?P<host>[A-Za-z0-9\u00c0-\u024f-]{1,63}(?:\.[A-Za-z0-9\u00c0-\u024f-]{1,63}){1,8})")
_USER: Final = re.compile(rf"{_NAME}{{1,256}}")
_VERSION_CONTROL: Final = frozenset({"git", "hg", "svn"})
_LONGEST_USER: Final = 256


def _emails(text: str) -> Iterator[Span]:
    """Find e-mail addresses from their sign outwards; `left-pad@1.2.3` and `git@host:path` are none."""
    for match in _HOST.finditer(text):
        at = match.start()
        user = _USER.match(text[max(0, at - _LONGEST_USER) : at][::-1])
        if user is None or not match["host"].rpartition(".")[2].isalpha():
            continue
        if user[0][::-1].lower() not in _VERSION_CONTROL:
            yield at - len(user[0]), match.end()


_RUN: Final = re.compile(
    r"[0-9+(](?<![A-Za-z0-9_].)(?<![A-Za-z0-9][.-].)(?<![0-9]:.)(?<![0-9][(+])(?:(?<=[+(])[0-9])?"
    r"(?:[ ().\-]{0,2}+[0-9]){6,22}+[Xx]?(?![A-Za-z0-9_])"
)
_NO_DIGIT: Final = re.compile(r"[^0-9]")
_DATE: Final = re.compile(
    r"(?:19|20)[0-9]{2}[-.](?:0[1-9]|1[0-2])[-.](?:0[1-9]|[12][0-9]|3[01])(?:[ ]+|$)"
    r"|[0-3]?[0-9][.-][01]?[0-9][.-](?:19|20)[0-9]{2}(?:[ ]+|$)"
)

_GROUPS_OF_CARD: Final = re.compile(
    r"[0-9]{13,19}|[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{1,4}(?:\1[0-9]{3})?|[0-9]{4}([ -])[0-9]{6}\2[0-9]{4,5}"
)
_SSN: Final = re.compile(r"(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}")
_AADHAAR: Final = re.compile(r"[2-9][0-9]{3}([ -])[0-9]{4}\1[0-9]{4}")
_CPF: Final = re.compile(r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}")
_CN_ID: Final = re.compile(r"[1-9][0-9]{16}[0-9Xx]")

_PHONES: Final = re.compile(
    r"\+(?:[ ().-]{0,2}[0-9]){7,15}"
    r"|(?:86[ -]?)?1[3-9][0-9][ -]?[0-9]{4}[ -]?[0-9]{4}"  # China
    r"|(?:1[ .-])?(?:\([2-9][0-9]{2}\)[ .-]{0,2}|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}"  # North America
    r"|\(0?[0-9]{1,4}\)[ -]?[0-9]{3,5}[ -]?[0-9]{3,5}"
    r"|0[0-9]{1,4}(?:[ -][0-9]{2,4}){2,4}|0[1-9](?:[ .][0-9]{2}){4}|0[0-9]{2,4} [0-9]{5,8}"  # with the trunk prefix
    r"|[6-9][0-9]{4} [0-9]{5}"  # India
)
_PHONE_WORDS: Final = words_of(
    """
    phone tel telephone telefon telefono telefone telefonnummer mobile mobil movil cell cellphone fax call dial ring reach
    whatsapp sms text handy celular
    """
)
_FILLERS: Final = words_of("number no nr num me us at on is are him her them back or")
_PHONE_WORDS_CJK: Final = ("電話", "电话", "手机", "手機", "联系", "座机", "携帯", "電話番号", "号码", "号", "전화")
_NUMBER_WORDS: Final = re.compile(r"(?i)(?:ssn|social security|cpf|aadhaar|tax id|tin)(?:[ ](?:number|no))?[^0-9A-Za-z]{0,4}$")
_BEFORE: Final = 32
_SHORTEST_CARD: Final = 13
_PHONE_LENGTHS: Final = range(7, 16)
_SSN_LENGTH, _CPF_LENGTH, _CN_ID_LENGTH, _AADHAAR_LENGTH = 9, 11, 18, 12

_SENSITIVE, _PERSONAL = PrivacyClass.SENSITIVE, PrivacyClass.PERSONAL


def _kind(text: str, start: int, run: str) -> str | None:
    """Return what kind of number a run of digits is, or None."""
    digits = _NO_DIGIT.sub("", run)
    count = len(digits)
    if count >= _SHORTEST_CARD:
        if _GROUPS_OF_CARD.fullmatch(run) and is_card(digits):
            return "card"
        if len(run) == _CN_ID_LENGTH and _CN_ID.fullmatch(run) and id_card_ok(run):
            return "cn-id"
    elif (kind := _resident(text, start, run, digits)) is not None:
        return kind
    if count not in _PHONE_LENGTHS or run[-1] in "Xx":
        return None
    return "phone" if _PHONES.fullmatch(run) or _speaks_of_phones(text[max(0, start - _BEFORE) : start]) else None


def _speaks_of_phones(before: str) -> bool:
    """Tell whether the last words before a number say that it is a phone's: `call me at`, `phone no.`."""
    words = list(split_words(before)[-3:])
    while words and words[-1] in _FILLERS:
        words.pop()
    if words and words[-1] in _PHONE_WORDS:
        return True
    return not before.isascii() and before.rstrip(" :.是为は").endswith(_PHONE_WORDS_CJK)


def _resident(text: str, start: int, run: str, digits: str) -> str | None:
    """Return the kind of resident number, by shape and check digits, or by the words before it."""
    count = len(digits)
    if count == _SSN_LENGTH:
        return "us-ssn" if _SSN.fullmatch(run) or _NUMBER_WORDS.search(text[max(0, start - _BEFORE) : start]) else None
    if count == _CPF_LENGTH and cpf_ok(digits):
        said = _CPF.fullmatch(run) or _NUMBER_WORDS.search(text[max(0, start - _BEFORE) : start])
        return "cpf" if said else None
    return "aadhaar" if count == _AADHAAR_LENGTH and _AADHAAR.fullmatch(run) and aadhaar_ok(digits) else None


_CLASS_OF: Final = {
    "card": _SENSITIVE,
    "cn-id": _SENSITIVE,
    "us-ssn": _SENSITIVE,
    "cpf": _SENSITIVE,
    "aadhaar": _SENSITIVE,
    "phone": _PERSONAL,
}


_FOUR_PARTS: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


def _numbers(text: str) -> Iterator[Finding]:
    """Find numbers of all kinds."""
    for match in _RUN.finditer(text):
        start, run = match.start(), match[0]
        if _FOUR_PARTS.fullmatch(run):
            continue
        if (date := _DATE.match(run)) is not None:
            start, run = start + date.end(), run[date.end() :]
            if len(run) < _SHORTEST_NUMBER:
                continue
        kind = _kind(text, start, run)
        if kind is not None:
            yield Finding(start, match.end(), kind, _CLASS_OF[kind])
        elif " " in run:
            yield from _parts(text, start, run)


_PART: Final = re.compile(r"[^ ]+")


def _parts(text: str, begin: int, run: str) -> Iterator[Finding]:
    """Find numbers among those that merely stand side by side: `7 4111111111111111`."""
    words = [(begin + word.start(), begin + word.end()) for word in _PART.finditer(run)]
    at = 0
    while at < len(words):
        start, step = words[at][0], 1
        for end in range(min(len(words), at + _MOST_GROUPS), at, -1):
            stop = words[end - 1][1]
            long_enough = stop - start - (end - at - 1) >= _SHORTEST_NUMBER
            kind = _kind(text, start, text[start:stop]) if long_enough else None
            if kind is not None:
                yield Finding(start, stop, kind, _CLASS_OF[kind])
                step = end - at
                break
        at += step


_MOST_GROUPS: Final = 6
_SHORTEST_NUMBER: Final = 7


def _tells_v4(text: str) -> bool:
    """Tell addresses that lead to somebody from private, shared, loopback, multicast and reserved ones (RFC 6890).

    The networks that stand for public ones in examples (RFC 5737) count as public.
    """
    parts = [int(part) for part in text.split(".")]
    first, second = parts[0], parts[1]
    if max(parts) > _LARGEST_OCTET or first in {0, 10, 127} or first >= _MULTICAST:
        return False
    return second not in _PRIVATE.get(first, ())


_PRIVATE: Final = {100: range(64, 128), 169: (254,), 172: range(16, 32), 192: (168,), 198: range(18, 20)}
_LARGEST_OCTET: Final = 255
_MULTICAST: Final = 224


def _tells_v6(text: str) -> bool:
    """Tell addresses with a host: not loopback, unspecified or multicast, and no time range or name with colons."""
    groups = [group for group in text.split(":") if group]
    if len(groups) < _SHORTEST_V6 or not any(char.isdigit() for char in text):
        return False
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_multicast)


_IPV4: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![\w-]|\.[0-9])")
_GLUED: Final = re.compile(r"[\w.-]")
_IPV6: Final = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:%[a-z0-9]{1,8})?(?![\w:])")
_SHORTEST_V6: Final = 3


def _v4(text: str) -> Iterator[Span]:
    for match in _IPV4.finditer(text):
        start = match.start()
        if _GLUED.match(text[start - 1 : start]) is None and _tells_v4(match[0]) and not _is_version(text, start):
            yield match.span()


def _v6(text: str) -> Iterator[Span]:
    for match in _IPV6.finditer(text):
        if _tells_v6(match[0].partition("%")[0]) and not _is_version(text, match.start()):
            yield match.span()


def _is_version(text: str, start: int) -> bool:
    """Tell whether the word before says that this is the number of a version."""
    before = text[max(0, start - _LONGEST_VERSION_WORD) : start].rstrip(" /.:=").lower()
    return before.endswith(_VERSION_WORDS) or (before[-1:] == "v" and not before[-2:-1].isalpha())


_LONGEST_VERSION_WORD: Final = 12
_VERSION_WORDS: Final = (
    *("version", "release", "build", "section", "firmware", "chapter", "rev", "ver", "chrome", "edg", "safari", "agent"),
)


_NINO: Final = r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D](?![A-Za-z0-9])"

_DIGIT_GATE: Final = r"(?:^|[^A-Za-z0-9_])[+(]?[0-9](?:[ ().\-]{0,2}[0-9]){6,}[Xx]?(?:$|[^A-Za-z0-9_])"

IDENTIFIERS: Final = (
    Rule(("@",), "", finder("email", _PERSONAL, _emails)),
    Rule((), _DIGIT_GATE, _numbers),
    Rule(
        (),
        rf"(?i)(?:^|[^A-Z0-9])(?:{IBAN_COUNTRIES})[0-9]{{2}}(?:[ -]?[A-Z0-9]{{4}}){{2}}",
        finder(
            "iban",
            _SENSITIVE,
            matches(_B + r"[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,3})?(?![A-Za-z0-9])", iban_ok),
        ),
    ),
    Rule((), "[A-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]", finder("nino", _SENSITIVE, matches(_B + _NINO))),
    Rule((".",), r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]", finder("ip", _PERSONAL, _v4)),
    Rule((":",), "::|(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]", finder("ip", _PERSONAL, _v6)),
)
