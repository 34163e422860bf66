"""Finds what is hidden one decoding away: base64, percent-encoding, character references and escapes of characters."""

from __future__ import annotations

import base64
import binascii
import html
import re
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.rule import Rule, Span, finder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["encoded_rules"]

_MOST: Final = 64
"""Texts that are decoded in one scan."""

_QUAD: Final = "[CDI-Za-f][A-Za-z0-9+/_-]{3}"
"""Four characters of base64 whose first byte is printable ASCII or white space; ids in hex seldom have six in a row."""

_BASE64: Final = re.compile(rf"(?<![A-Za-z0-9+/_=-])(?:{_QUAD}){{6}}[A-Za-z0-9+/_-]{{0,16384}}={{0,2}}")
_PIECE: Final = re.compile(r"""[^\s"'<>?&=;,\x1f]{3,4096}""")
_PERCENT: Final = re.compile("%[0-9A-Fa-f]{2}")
_REFERENCES: Final = re.compile(
    r"""[^\s"'<>\x1f&]{0,256}(?:&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[a-z]{2,8});[^\s"'<>\x1f&]{0,256}){1,256}"""
)
_ESCAPES: Final = re.compile(r"""[^\s\x1f\\]{0,256}(?:\\u[0-9A-Fa-f]{4}[^\s\x1f\\]{0,256}){1,256}""")
_ONE_ESCAPE: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")
_PRINTABLE: Final = re.compile(r"[\x09\x0a\x0d\x20-\x7e\u00a0-\uffff]+")


def _from_base64(text: str) -> str | None:
    """Return the printable text that another one encodes, or None."""
    body = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        plain = base64.b64decode(body + "=" * (-len(body) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return plain if _PRINTABLE.fullmatch(plain) else None


def _from_percents(text: str) -> str | None:
    return unquote(text) if _PERCENT.search(text) else None


def _from_escapes(text: str) -> str:
    return _ONE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def encoded_rules(holds: Callable[[str], bool]) -> tuple[Rule, ...]:
    """Return the rules that decode; `holds` tells whether a decoded text gives anything away."""

    def decoding(pattern: re.Pattern[str], decode: Callable[[str], str | None]) -> Callable[[str], Iterator[Span]]:
        def spans(text: str) -> Iterator[Span]:
            for match in islice(pattern.finditer(text), _MOST):
                plain = decode(match[0])
                if plain is not None and plain != match[0] and holds(plain):
                    yield match.span()

        return spans

    found = (
        (("",), f"(?:{_QUAD}){{6}}", "base64", _BASE64, _from_base64),
        (("%",), "", "percent-encoded", _PIECE, _from_percents),
        (("&",), "", "character-references", _REFERENCES, html.unescape),
        (("\\u",), "", "escaped", _ESCAPES, _from_escapes),
    )
    return tuple(
        Rule(hints, gate, finder(name, PrivacyClass.SECRET, decoding(pattern, decode)), decodes=True)
        for hints, gate, name, pattern, decode in found
    )
