"""Finds what a value gives away by its own form: keys, credentials, addresses, card and phone numbers.

Every pattern starts with a literal or a narrow set behind a look-behind, and every repeat is bounded, so that a scan takes
time linear in the text. Context and checksums are judged in Python. Detectors only ever raise a class.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.checks import iban_ok, id_card_ok, is_basic_credential, looks_random, luhn_ok
from toolwitness.redaction.names import name_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Finding", "scan_text"]

MAX_HITS: Final = 64
"""Hits of one rule in one text; the rest of a text with more of them counts as one hit."""

_SHORTEST = 6
"""Characters; nothing that a rule knows is shorter."""

Span = tuple[int, int]


class Finding(NamedTuple):
    """One place in a text that a rule objects to; `start` and `end` are offsets into the text that was given."""

    start: int
    end: int
    rule: str
    cls: PrivacyClass


class _Rule(NamedTuple):
    name: str
    cls: PrivacyClass
    hints: tuple[str, ...]
    """Literals of which a text must have one, in lower case; none means that the digits are counted instead."""
    find: Callable[[str], Iterator[Span]]


def scan_text(text: str) -> tuple[Finding, ...]:
    """Return what the detectors find in a text, in order of position.

    Fullwidth letters, typographic dashes and spaces and invisible characters are seen through. At most `MAX_HITS` findings
    a rule; when there are more, the last one reaches to the end of the text.
    """
    if len(text) < _SHORTEST:
        return ()
    folded, origin = (text, None) if text.isascii() else _fold(text)
    if not _GATE.search(folded):
        return ()
    lowered = folded.lower()
    digits = _SIX_DIGITS.search(folded) is not None
    found: list[Finding] = []
    for rule in _RULES:
        if _hinted(rule, lowered) if rule.hints else digits:
            found.extend(_apply(rule, folded))
    if origin is not None:
        found = [hit._replace(start=origin[hit.start], end=origin[hit.end - 1] + 1) for hit in found]
    return tuple(sorted(found))


def _hinted(rule: _Rule, lowered: str) -> bool:
    for hint in rule.hints:  # noqa: SIM110 - a loop costs half of what `any` does, and this runs for every rule and text
        if hint in lowered:
            return True
    return False


def _apply(rule: _Rule, text: str) -> list[Finding]:
    spans = list(islice(rule.find(text), MAX_HITS + 1))
    if len(spans) > MAX_HITS:
        spans[-1] = (spans[-1][0], len(text))
    return [Finding(start, end, rule.name, rule.cls) for start, end in spans]


_GATE: Final = re.compile(r"[0-9@=:._+-]|AIza|LTAI|AKID|(?i:basic|bearer|token)")
"""What a text must have for any rule to apply; most words of a status or title have none of it."""

_SIX_DIGITS: Final = re.compile(r"[0-9](?:[ ().-]{0,2}[0-9]){5}")

_LOOK_ALIKES: Final = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # fullwidth forms of ASCII
    | dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212), "-")
    | dict.fromkeys((0x00A0, 0x2007, 0x2009, 0x202F, 0x3000), " ")
)
_INVISIBLE: Final = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def _fold(text: str) -> tuple[str, list[int] | None]:
    """Return the text as a reader sees it, and the original offset of each character where any were dropped."""
    folded = text.translate(_LOOK_ALIKES)
    if not _INVISIBLE.search(folded):
        return folded, None
    origin = [at for at, char in enumerate(folded) if not _INVISIBLE.match(char)]
    return "".join(folded[at] for at in origin), origin


def _matches(pattern: str, accept: Callable[[str], bool] | None = None) -> Callable[[str], Iterator[Span]]:
    """Return a finder for a pattern's group `v`, where there is one, or whole match, if the text of it is accepted."""
    compiled = re.compile(pattern)
    group: str | int = "v" if "v" in compiled.groupindex else 0

    def find(text: str) -> Iterator[Span]:
        for match in compiled.finditer(text):
            if accept is None or accept(match[group]):
                yield match.span(group)

    return find


def _private_keys(text: str) -> Iterator[Span]:
    """Find PEM private keys; one whose end was cut off reaches to the end of the text."""
    for match in re.finditer(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY", text):
        end = text.find("-----END", match.end())
        if end < 0:
            yield match.start(), len(text)
            return  # looking for the missing end again and again would be quadratic
        yield match.start(), min(len(text), end + len(match[0]) + 5)


_ASSIGNMENT: Final = re.compile(
    r"""(?<![\w.-])(?P<name>[^\W\d][\w.-]{1,63})\\{0,4}["']?[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}\\{0,4}"""
    r"""(?:"(?P<d>[^"\n]{1,4096})|'(?P<s>[^'\n]{1,4096})|(?P<v>[^\s"',;&)}\]]{1,4096}))"""
)


def _assignments(text: str) -> Iterator[Span]:
    """Find `name=value` and `"name": "value"` on one line, where the name's vocabulary calls it a secret."""
    for match in _ASSIGNMENT.finditer(text):
        named = name_class(match["name"])
        if named is not None and named[0] is PrivacyClass.SECRET:
            yield match.span(match.lastgroup or 0)


def _host_has_letters(address: str) -> bool:
    """Tell `a@example.org` from `left-pad@1.2.3`."""
    return address.rpartition(".")[2].isalpha()


_B: Final = r"(?<![A-Za-z0-9])"
_VENDOR: Final = _B + (
    r"(?:sk-[A-Za-z0-9_-]{16,16384}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,16384}|gh[pousr]_[A-Za-z0-9]{20,16384}"
    r"|github_pat_[A-Za-z0-9_]{20,16384}|glpat-[A-Za-z0-9_-]{16,16384}|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,16384}|xapp-[A-Za-z0-9-]{10,16384}|AIza[A-Za-z0-9_-]{30,16384}"
    r"|hf_[A-Za-z0-9]{30,16384}|npm_[A-Za-z0-9]{30,16384}|pypi-[A-Za-z0-9_-]{50,16384}|ya29\.[A-Za-z0-9_-]{20,16384}"
    r"|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,16384}|dop_v1_[a-f0-9]{32,16384}|shpat_[a-fA-F0-9]{32,16384}"
    r"|LTAI[A-Za-z0-9]{12,64}|AKID[A-Za-z0-9]{13,64})"
)
_VENDOR_HINTS: Final = (
    *("sk-", "sk_", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "akia", "asia", "xox"),
    *("xapp-", "aiza", "hf_", "npm_", "pypi-", "ya29.", "sg.", "dop_v1_", "shpat_", "ltai", "akid"),
)
_PUBLIC_NAME = r"[A-Za-z0-9\u00c0-\u024f._%+'-]"

_RULES: Final = (
    _Rule("private-key", PrivacyClass.SECRET, ("private key",), _private_keys),
    _Rule(
        "jwt",
        PrivacyClass.SECRET,
        ("eyj",),
        _matches(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,16384}\.[A-Za-z0-9_-]{5,16384}(?:\.[A-Za-z0-9_-]{0,16384}){0,3}"),
    ),
    _Rule("vendor-key", PrivacyClass.SECRET, _VENDOR_HINTS, _matches(_VENDOR, looks_random)),
    _Rule(
        "bearer",
        PrivacyClass.SECRET,
        ("bearer", "token"),
        _matches(_B + r"(?i:bearer|token)[ \t]{1,8}(?P<v>[A-Za-z0-9._~+/=-]{12,16384})", looks_random),
    ),
    _Rule(
        "basic-auth",
        PrivacyClass.SECRET,
        ("basic",),
        _matches(_B + r"(?i:basic)[ \t]{1,8}(?P<v>[A-Za-z0-9+/=_-]{6,4096})", is_basic_credential),
    ),
    _Rule("url-password", PrivacyClass.SECRET, ("://",), _matches(r"://[^\s:/?#@]{0,128}:(?P<v>[^\s/]{1,256})@(?=[\w\[])")),
    _Rule("assignment", PrivacyClass.SECRET, ("=", ":"), _assignments),
    _Rule(
        "email",
        PrivacyClass.PERSONAL,
        ("@",),
        _matches(
            rf"(?<!{_PUBLIC_NAME}){_PUBLIC_NAME}{{1,256}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}}){{1,8}}",
            _host_has_letters,
        ),
    ),
    _Rule(
        "card",
        PrivacyClass.SENSITIVE,
        (),
        _matches(r"(?<![A-Za-z0-9])(?<![0-9][.-])[2-6](?:[ -]?[0-9]){12,18}(?![0-9])", luhn_ok),
    ),
    _Rule(
        "iban",
        PrivacyClass.SENSITIVE,
        (),
        _matches(_B + r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])", iban_ok),
    ),
    _Rule(
        "us-ssn",
        PrivacyClass.SENSITIVE,
        ("-",),
        _matches(r"(?<![\w-])(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![\w-])"),
    ),
    _Rule("cn-id", PrivacyClass.SENSITIVE, (), _matches(_B + r"[1-9][0-9]{16}[0-9Xx](?![A-Za-z0-9])", id_card_ok)),
    _Rule("phone", PrivacyClass.PERSONAL, ("+",), _matches(r"(?<![\w+])\+[1-9](?:[ ().-]{0,2}[0-9]){6,14}(?![0-9])")),
    _Rule("phone", PrivacyClass.PERSONAL, (), _matches(_B + r"1[3-9][0-9][ -]?[0-9]{4}[ -]?[0-9]{4}(?![A-Za-z0-9])")),
)
