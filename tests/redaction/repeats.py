"""Short texts that slow a careless pattern down where they are repeated: each begins what a detector looks for."""

from __future__ import annotations

from typing import NamedTuple

LONG, SHORT = 16_000, 1_600
"""Characters of a long and of a short text of repeats."""


class Repeat(NamedTuple):
    """A text to repeat."""

    unit: str
    harmless: bool = True
    """Repeated alone it holds nothing to take out."""

    def text(self, characters: int) -> str:
        """The unit repeated to so many characters."""
        return (self.unit * (characters // len(self.unit) + 1))[:characters]


REPEATS = {
    "full stops": Repeat("."),
    "braces": Repeat("{"),
    "brackets": Repeat("["),
    "an open list": Repeat('["a",'),
    "an open object": Repeat('{"a":'),
    "words": Repeat("lorem ipsum "),
    "a vendor's prefix, sk": Repeat("sk-"),
    "a vendor's prefix, gh": Repeat("gh" + "p_"),
    "a vendor's prefix, xox": Repeat("xox" + "b-"),
    "a vendor's prefix, AKIA": Repeat("AK" + "IA"),
    "at signs": Repeat("@"),
    "letters and at signs": Repeat("a@"),
    "addresses without an end": Repeat("a@b.", harmless=False),
    "equals signs": Repeat("="),
    "assignments": Repeat("a="),
    "assignments of secrets": Repeat("pass" + "word=", harmless=False),
    "quoted assignments": Repeat('"token":"', harmless=False),
    "colons": Repeat(":"),
    "schemes": Repeat("://"),
    "schemes with a user": Repeat("://a:"),
    "key blocks without an end": Repeat("-----BEGIN "),
    "key blocks of private keys": Repeat("-----BEGIN PRIVATE KEY-----", harmless=False),
    "token heads": Repeat("ey" + "J"),
    "token heads and dots": Repeat("ey" + "Ja."),
    "country codes": Repeat("+1", harmless=False),
    "digits and spaces": Repeat("1 ", harmless=False),
    "beginnings of cards": Repeat("4111 ", harmless=False),
    "digits and dashes": Repeat("1-", harmless=False),
    "digits": Repeat("7", harmless=False),
    "authorization": Repeat("Bearer "),
    "quotes": Repeat('"'),
    "backslashes": Repeat("\\"),
    "percent signs": Repeat("%41"),
    "percent signs of percent signs": Repeat("%25"),
    "HTML entities": Repeat("&#x41;"),
    "escapes": Repeat("\\u0041"),
    "invisible signs": Repeat("a\u200b"),
    "wide digits": Repeat("\uff11", harmless=False),
    "flags": Repeat("-p ", harmless=False),
    "tags of secrets": Repeat("<pass" + "word>", harmless=False),
    "slashes": Repeat("/"),
    "the alphabet of base64": Repeat("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
    "one letter": Repeat("A"),
    "groups of an IPv6 address": Repeat("2001:", harmless=False),
    "parts of an IPv4 address": Repeat("1.1.", harmless=False),
    "groups of an IBAN": Repeat("DE89 ", harmless=False),
    "ideographs": Repeat("密"),
    "words for passwords": Repeat("密码是", harmless=False),
    "prose about passwords": Repeat("the password is ", harmless=False),
    "ampersands": Repeat("a=b&"),
    "hexadecimal numbers": Repeat("0x1f,"),
    "lines": Repeat("\n"),
    "spaces": Repeat(" "),
}
