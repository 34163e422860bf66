"""Finds secrets by what stands before them: names in assignments, options, markup and sentences.

The vocabulary of field names decides what a name means. Every pattern begins behind a border and every repeat is bounded, so
that a search takes time linear in the text; context is judged in Python.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.checks import looks_random, names_a_value, strong
from toolwitness.redaction.columns import columns
from toolwitness.redaction.names import name_class
from toolwitness.redaction.rule import Finding, Rule, Span, finder, matches
from toolwitness.redaction.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["NAMED", "STEMS"]

_SECRET: Final = PrivacyClass.SECRET

STEMS: Final = tuple(
    sorted(
        words_of("""
    pass pwd kennwort contrase senha parol secret token cred auth cookie otp pin cvv cvc csc jwt bearer key sess sid
    code mnemonic seed conn dsn csrf xsrf answer sig clave wachtwoord geheim 密码 密碼 口令 密钥 私钥 令牌 验证码 凭证 凭据
    パスワード 비밀번호 校验码
    动态码 identified парол токен hasło heslo şifre lösenord adgangskode salasana
""")
    )
)
"""Parts of words of which every secret's name has one."""

_ASCII_STEMS: Final = tuple(stem for stem in STEMS if stem.isascii())
_STEM: Final = "|".join(STEMS)


_ASSIGNMENT: Final = re.compile(
    r"""(?P<open>\\{0,4}["'])?(?P<name>\w[\w.-]{1,63})(?P<close>\\{0,4}["'])?\]?[ \t]{0,8}(?:=>|:=|[:=→])[ \t]{0,8}\\{0,4}"""
    r"""(?:[brfu]?"(?P<d>(?:[^"\\\n\x1f]|\\.){1,4096})"?|[brfu]?'(?P<s>(?:[^'\\\n\x1f]|\\.){1,4096})'?|(?P<v>[^\s"',;&)}\]\x1f]{1,4096}))"""
)
_REST_OF_NAME: Final = re.compile(r"[\w.-]{0,63}")
_SIGN: Final = re.compile(r"""\\{0,4}["']?\]?[ \t]{0,8}[=:→]""")
"""What gives a name a value."""
_QUOTE_AND_SIGN: Final = re.compile(r"""["']\]?[ \t]{0,8}[=:→]""")
_NAME_BACKWARDS: Final = re.compile(r"[\w.-]{0,64}")
_REST_OF_LINE: Final = re.compile(r"""[^"'\n\r\x1f]{1,4096}""")
_WHOLE_LINE: Final = frozenset({"authorization", "cookie", "setcookie", "proxyauthorization", "xauthorization"})
_IN_QUERY: Final = frozenset({"sig", "key", "code", "auth", "signature", "hmac", "token", "sign"})
_MORE_WORDS: Final = re.compile(r"[ \t]+[a-z]")
_NUMBER_OF: Final = re.compile(r"[0-9]{1,3}(?:[.,][0-9]{1,3})*%?")
"""A number that counts: too short for a secret."""
_LONGEST_COUNT: Final = 6
_FILE_NAME: Final = re.compile(r"\.[A-Za-z]{1,5}$")
_LINE_NUMBER: Final = re.compile(r"[0-9]{1,6}(?::[0-9:]*)?(?:[^0-9A-Za-z]|$)")
_NO_NAME = re.compile(r"[^a-z]")


def _stems(lowered: str, stems: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the stems stand, in order; to look for words is many times faster than to try a pattern everywhere."""
    found: list[tuple[int, int]] = []
    for stem in stems:
        at = lowered.find(stem)
        while at >= 0:
            found.append((at, at + len(stem)))
            at = lowered.find(stem, at + len(stem))
    found.sort()
    return found


def _name_start(text: str, end: int) -> int:
    """Return where the name begins whose part ends here."""
    back = _NAME_BACKWARDS.match(text[max(0, end - _LONGEST_NAME) : end][::-1])
    start = end - (0 if back is None else back.end())
    while start < end and text[start] in ".-":
        start += 1
    return start


def _name_starts(text: str, stems: list[tuple[int, int]]) -> list[int]:
    """Return where names begin that may be given a value: those with a stem in them, and those in quotes."""
    found: set[int] = set()
    looked = 0  # to the end of the word that was looked at last: its other stems have the same sign behind them
    for stem, end in stems:
        if stem >= looked:
            word = _REST_OF_NAME.match(text, end)
            looked = end if word is None else word.end()
            if _SIGN.match(text, looked):
                found.add(_name_start(text, stem))
    for match in _QUOTE_AND_SIGN.finditer(text):
        end = match.start()
        while end > 0 and text[end - 1] == "\\" and match.start() - end < _MOST_ESCAPES:
            end -= 1
        found.add(_name_start(text, end))
    return sorted(found)


def _opened(text: str, start: int) -> int:
    """Return the place of the quote before a name, or that of the name."""
    at = start
    if at and text[at - 1] in "\"'":
        at -= 1
        while at and text[at - 1] == "\\" and start - at <= _MOST_ESCAPES:
            at -= 1
    return at


_LONGEST_NAME: Final = 64
_MOST_ESCAPES: Final = 4


def _assignments(text: str, stems: list[tuple[int, int]]) -> Iterator[Span]:
    """Find `name=value`, `--name=value`, `"name": "value"` and header lines, where the name's vocabulary calls it a secret.

    A quoted name is a data structure's: what stands under it counts for personal and sensitive names too.
    """
    done = 0
    for start in _name_starts(text, stems):
        match = _ASSIGNMENT.match(text, _opened(text, start)) if start >= done else None
        if match is None:
            continue
        name, group = match["name"], match.lastgroup or "v"
        span = match.span(group)
        named = name_class(name)
        if named is None or not _counts(match, named[0]):
            if name.lower() in _IN_QUERY and text[start - 1 : start] in {"?", "&"} and looks_random(match[group]):
                yield span
            continue
        if _NO_NAME.sub("", name.lower()) in _WHOLE_LINE and (line := _REST_OF_LINE.match(text, span[0])):
            span = line.span()
        if _holds_pairs(named[1], match[group]):
            continue  # only the password in it is a secret, and it is found by its own name
        done = span[1]
        if not _is_said(match, group, text):
            yield span


_CONNECTIONS: Final = frozenset(
    {"connectionstring", "connstr", "connstring", "dsn", "databaseurl", "dburl", "mongouri", "redisurl"}
)
_PAIR: Final = re.compile(r"(?i)(?:^|[;&? ])(?:password|pwd|\w{0,16}key|secret)[ ]?=[^;&\s]|://[^\s:/@]{0,128}:[^\s/]{1,256}@")


def _holds_pairs(entry: str, value: str) -> bool:
    """Tell a connection string whose parts say themselves which of them is the secret."""
    return entry in _CONNECTIONS and _PAIR.search(value) is not None


def _counts(match: re.Match[str], cls: PrivacyClass) -> bool:
    if cls is PrivacyClass.SECRET:
        return True
    quoted = match["open"] is not None and match["close"] is not None and match["v"] is None
    return quoted and cls.rank > PrivacyClass.UNKNOWN.rank


def _is_said(match: re.Match[str], group: str, text: str) -> bool:
    """Tell a sentence or a piece of code about a secret (`token = next(tokens)`, `Password: must be long`) from a secret."""
    value = match[group]
    if _FILE_NAME.search(match["name"]) and _LINE_NUMBER.match(value):
        return True
    if match["name"].lower().endswith("token") and value.isdigit() and len(value) <= _LONGEST_COUNT:
        return True
    if group != "v":
        return not value.strip() or names_a_value(value)
    if names_a_value(value) or value[:1] in {"{", "[", "("} or _NUMBER_OF.fullmatch(value):
        return True
    spaced = text[match.end(group) - len(value) - 1] in " \t"
    return spaced and (value.isalpha() or value.isdigit()) and _MORE_WORDS.match(text, match.end(group)) is not None


_FLAG: Final = re.compile(
    r"""-(?<![\w-].)-?(?P<name>[A-Za-z][A-Za-z0-9_-]{1,40})[ \t]{1,4}"""
    r"""(?P<v>"[^"\n\x1f]{1,512}"|'[^'\n\x1f]{1,512}'|[^\s"'\x1f-][^\s\x1f]{0,512})"""
)


def _flags(text: str) -> Iterator[Span]:
    """Find `--password value` on a command line."""
    for match in _FLAG.finditer(text):
        named = name_class(match["name"])
        if named is not None and named[0] is _SECRET and not names_a_value(match["v"]):
            yield match.span("v")


_SHORT_FLAG: Final = re.compile(
    r"""(?<![\w.-])(?P<program>curl|wget|https?|mysql\w*|mariadb\w*|sshpass|docker|podman|redis-cli|ldap\w+|mongo\w*|smbclient|psql|rsync|ftp|az|sqlcmd)"""
    r"""(?=[ \t])"""
)
_PASSWORD_FLAG: Final = re.compile(r"""(?<= )-(?P<flag>[abpPwUu]) {0,2}["']?(?P<v>[^\s"'\x1f-][^\s"'\x1f]{2,256})""")
_BY_PROGRAM: Final = {
    "curl": "uUb",
    "wget": "",
    "mysql": "p",
    "mariadb": "p",
    "sshpass": "p",
    "docker": "p",
    "podman": "p",
    "redis-cli": "a",
    "ldap": "w",
    "mongo": "p",
    "smbclient": "U",
    "sqlcmd": "P",
    "az": "p",
}


def _short_flags(text: str) -> Iterator[Span]:
    """Find the one-letter options by which well-known programs take a password: `curl -u name:word`, `mysql -pword`."""
    for program in _SHORT_FLAG.finditer(text):
        known = next((flags for name, flags in _BY_PROGRAM.items() if program["program"].startswith(name)), "")
        line = text.find("\n", program.end())
        for match in _PASSWORD_FLAG.finditer(text, program.end(), min(len(text) if line < 0 else line, program.end() + 1024)):
            if match["flag"] not in known:
                continue
            if match["flag"] in "uU":
                user, colon, word = match["v"].partition(":")
                if colon and word and not word.isdigit() and not names_a_value(word):
                    yield match.start("v") + len(user) + 1, match.end("v")
            elif not names_a_value(match["v"]) and not re.fullmatch(r"[0-9:]+", match["v"]):
                yield match.span("v")


_CODES: Final = (
    r"pin(?: ?code)?|otp|(?:(?:security|verification|recovery|access|auth\w{0,12}|sms|one[- ]time|login)[ _-]?)"
    r"(?:code|pin|password)"
)
_WORDS: Final = (
    r"pass ?word|passcode|passphrase|pwd|(?:api|access|secret|private|licen[cs]e|account|signing|encryption)[ _-]?key|token"
    r"|secret|credentials?|contraseña|mot de passe|passwort|kennwort|senha|clave|wachtwoord|parola?|hasło|heslo|şifre|lösenord"
    r"|adgangskode|salasana|парол[^\x00-\x7f]{1,3}|токен[^\x00-\x7f]{0,2}"
)
_SAYS: Final = (
    r"""[ \t]{0,2}(?:(?:was|is|are|to|ist|est|es|é|è|är|er|je|on|war|lautet)[ \t:]|=>?|:|->|→|-{1,2}[ ])[ \t]{0,3}["'`«“]?"""
)
_PROSE: Final = re.compile(rf"""(?i)(?<![a-z_-])(?:(?P<code>{_CODES})|{_WORDS}){_SAYS}(?P<v>[^\s"'`«»“”\x1f]{{4,256}})""")
_PROSE_GATE: Final = rf"(?:{_CODES}|code|{_WORDS}){_SAYS}[^\s]"
_PROSE_CJK: Final = re.compile(
    r"""(?:(?P<code>验证码|校验码|动态码|PIN码)|密码|密碼|口令|令牌|密钥|私钥|パスワード|비밀번호)"""
    r"""[ \t]{0,2}(?:改?[是为為は:=][ \t]{0,2})?["'`「“]?(?P<v>[\x21-\x7e]{4,128})"""
)


_SOON: Final = re.compile(rf"(?i)[A-Za-z\u00df-\u024f\u0400-\u04ff -]{{0,20}}?{_SAYS}")
_LONGEST_PREFIX: Final = 32
_MOST_WORDS: Final = 4


_VALUE: Final = re.compile(r"""[^\s"'`«»“”\x1f]{2,256}""")


def _may_be_secret(text: str, at: int) -> bool:
    """Tell whether the word here is worth the search for the sentence around it."""
    value = _VALUE.match(text, at)
    return value is not None and (value[0][0].isdigit() or strong(value[0].rstrip(".,;:!?)")))


def _first(pattern: re.Pattern[str], text: str, starts: list[int]) -> re.Match[str] | None:
    return next((match for start in starts if (match := pattern.match(text, start))), None)


def _prose(text: str, stems: list[tuple[int, int]]) -> Iterator[Span]:
    """Find what a sentence gives away: "the password is ...", where the word itself can hardly be anything else."""
    done = 0
    for at, end in stems:
        soon = _SOON.match(text, end) if at >= done else None
        if soon is None or not _may_be_secret(text, soon.end()):
            continue
        borders = (start for start in range(at, max(-1, at - _LONGEST_PREFIX), -1) if not text[start - 1 : start].isalpha())
        starts = sorted(islice(borders, _MOST_WORDS))
        digit = text[soon.end() : soon.end() + 1].isdigit()
        if digit and (match := _first(_ONE_TIME, text, starts)):
            done = match.end()
            yield match.span("v")
        elif match := _first(_PROSE, text, starts):
            done = match.end()
            yield from _given_away(match)
    for match in () if text.isascii() else _PROSE_CJK.finditer(text):
        yield from _given_away(match)


def _sql(text: str, stems: list[tuple[int, int]]) -> Iterator[Span]:
    """Find `PASSWORD '...'` and `IDENTIFIED BY '...'`, and the lines of a netrc file."""
    for at, _ in stems:
        match = _SQL.match(text, at) or _NETRC.match(text, at)
        if match is None or names_a_value(match["v"]):
            continue
        if match.re is _SQL or _LOGIN.search(text, max(0, at - _LONGEST_LOGIN), at):
            yield match.span("v")


_NETRC: Final = re.compile(r"(?P<name>password)[ \t]{1,8}(?P<v>[^\s\x1f]{3,256})")
_LOGIN: Final = re.compile(r"(?:login|machine|user|account)[ \t]{1,8}[^\s\x1f]{1,128}\s{1,16}$")
_LONGEST_LOGIN: Final = 160


def _named_by_words(text: str) -> Iterator[Finding]:
    """Find all that stands behind a word for a secret; the words are looked for once."""
    stems = _stems(text.lower(), _ASCII_STEMS if text.isascii() else STEMS)
    for rule, spans in (("assignment", _assignments), ("secret", _prose), ("sql", _sql)):
        for start, end in spans(text, stems):
            yield Finding(start, end, rule, _SECRET)


_END_OF_PAIR: Final = re.compile(r"[&;](?=[\w.-]{1,64}=)")
_ONE_TIME: Final = re.compile(
    rf"(?i)(?:{_CODES}|your (?:[\w-]{{1,20}} ){{0,2}}code){_SAYS}(?P<v>[0-9]{{2,4}}[ -]?[0-9]{{2,4}})(?![\w-])"
)


def _given_away(match: re.Match[str]) -> Iterator[Span]:
    value = match["v"].rstrip(".,;:!?)")
    if match.string[match.start("v") - 1] == "=":
        value = _END_OF_PAIR.split(value, maxsplit=1)[0]
    if (match["code"] is not None and value.isdigit()) or strong(value):
        yield match.start("v"), match.start("v") + len(value)


_TAG: Final = re.compile(
    r"<(?:[\w.-]{1,32}:)?(?P<name>[A-Za-z][\w.-]{1,63})(?:\s[^<>\x1f]{0,256})?>(?:<!\[CDATA\[)?(?P<v>[^<>\x1f]{1,4096})</"
)
_ATTRIBUTE_PAIR: Final = re.compile(
    r"""(?i)(?<![a-z])(?:name|key|id|field)\\{0,2}["']?[ \t]{0,2}[=:][ \t]{0,2}\\{0,2}["']?(?P<name>[\w.-]{2,64})"""
    r"""\\{0,2}["']?[ \t,\r\n]{0,24}"""
    r"""\\{0,2}["']?value\\{0,2}["']?[ \t]{0,2}[=:][ \t]{0,2}\\{0,2}"""
    r"""(?:"(?P<d>[^"\x1f]{1,4096})|'(?P<s>[^'\x1f]{1,4096})|(?P<v>[^\s"'\x1f]{1,4096}))"""
)
_SQL: Final = re.compile(
    r"""(?i)(?P<name>password|identified (?:with [\w'"-]{1,64} )?by|secret)"""
    r"""[ \t]{1,4}(?:is[ \t]|=[ \t]?)?'(?P<v>[^'\n\x1f]{1,512})'"""
)
_FORM_PART: Final = re.compile(
    r"""name="(?P<name>[\w.\[\]-]{2,64})"\r?\n(?:[A-Z][\w-]{1,40}:[^\n\x1f]{0,200}\r?\n){0,3}\r?\n(?P<v>[^\r\n\x1f]{1,4096})"""
)


_VALUE_SIGN: Final = re.compile(r"""(?i)value\\{0,2}["']?[ \t]{0,2}[=:]""")
_BEFORE_VALUE: Final = 128


def _marked_up(text: str) -> Iterator[Span]:
    """Find the content of `<password>`, of `name="..." value="..."` pairs and of multipart form fields."""
    for match in (*_TAG.finditer(text), *_FORM_PART.finditer(text), *_attribute_pairs(text)):
        named = name_class(match["name"])
        group = match.lastgroup or "v"
        if named is not None and named[0].rank > PrivacyClass.UNKNOWN.rank and not names_a_value(match[group].strip()):
            yield match.span(group)


def _attribute_pairs(text: str) -> Iterator[re.Match[str]]:
    """Find pairs from their second half backwards: a value is rarer than a name."""
    lowered = text.lower()
    done, at = 0, lowered.find("value")
    while at >= 0:
        if _VALUE_SIGN.match(text, at) and (match := _ATTRIBUTE_PAIR.search(text, max(done, at - _BEFORE_VALUE))):
            yield match
            done = match.end()
        at = lowered.find("value", max(at + 1, done))


NAMED: Final = (
    Rule(
        (*STEMS, "'", '"'),
        rf"""(?i)(?:{_STEM})[^\s"'=:]*["']?\]?[ \t]*(?:=|:|→)|["']\]?[ \t]*(?:=|:|→)"""
        rf"|{_PROSE_GATE}|码|密碼|口令|令牌|密钥|私钥|パスワード|비밀번호"
        r"|парол|токен|(?:by|password|secret)[ \t]{1,4}(?:is[ \t]|=[ \t]?)?'|(?:login|user|account|machine)[ \t]",
        _named_by_words,
    ),
    Rule(("-",), rf"(?i)-[\w-]*(?:{_STEM})[\w-]*[ \t]", finder("flag", _SECRET, _flags)),
    Rule((" -",), " -[abpPwUu]", finder("flag", _SECRET, _short_flags)),
    Rule(
        ("SecureString", "securestring"),
        "",
        finder(
            "securestring",
            _SECRET,
            matches(r"""(?i)securestring[ \t]{1,4}(?:-string[ \t]{1,4})?["'](?P<v>[^"'\n\x1f]{2,512})["']"""),
        ),
    ),
    Rule(("\n",), "", columns),
    Rule(
        ("</", "value", "VALUE", "Value", 'name="'),
        "",
        finder("markup", _SECRET, _marked_up),
    ),
)
