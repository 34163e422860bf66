"""Finds what opens something: keys, tokens, passwords, signed links.

Every pattern starts with a literal or a narrow set behind a look-behind, and every repeat is bounded, so that a search takes
time linear in the text. Context is judged in Python.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.checks import is_basic_credential, looks_random, names_a_value
from toolwitness.redaction.rule import Rule, Span, finder, matches, matches_at
from toolwitness.redaction.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CREDENTIALS"]

_SECRET: Final = PrivacyClass.SECRET
_B: Final = r"(?<![A-Za-z0-9])"
_AN: Final = "[A-Za-z0-9]"
_ANU: Final = "[A-Za-z0-9_]"
_ANUD: Final = "[A-Za-z0-9_-]"
_HEX: Final = "[0-9a-fA-F]"
_END: Final = 16_384

_VENDORS: Final = (
    # prefix (a pattern), the characters that follow, how many of them at least
    (r"sk-", _ANUD, 16),
    (r"[sr]k_(?:live|test|prod)_", _AN, 10),
    (r"whsec_", r"[A-Za-z0-9+/=_-]", 16),
    (r"gh[pousr]_", _AN, 20),
    (r"github_pat_", _ANU, 20),
    (r"gl(?:pat|dt|rt|ptt|ft|soat|agent|oas|cbt|imt)-", r"[A-Za-z0-9_.-]", 16),
    (r"xox[abeoprs]-", r"[A-Za-z0-9.-]", 10),
    (r"xapp-", r"[A-Za-z0-9-]", 10),
    (r"AIza", _ANUD, 30),
    (r"ya29\.", r"[A-Za-z0-9._-]", 20),
    (r"GOCSPX-", _ANUD, 16),
    (r"1//0", _ANUD, 30),
    (r"hf_", _AN, 30),
    (r"api_org_", _AN, 30),
    (r"npm_", _AN, 30),
    (r"pypi-", _ANUD, 50),
    (r"rubygems_", _HEX, 32),
    (r"SG\.", r"[A-Za-z0-9._-]", 30),
    (r"xkeysib-", r"[a-f0-9-]", 40),
    (r"do[opr]_v1_", _HEX, 32),
    (r"shp(?:at|ca|pa|ss|tka)_", _AN, 24),
    (r"sq0(?:atp|csp|idp)-", _ANUD, 20),
    (r"EAAA[A-Za-z0-9]", r"[A-Za-z0-9_=-]", 40),
    (r"dapi", r"[a-f0-9-]", 32),
    (r"ATATT3", r"[A-Za-z0-9_=-]", 40),
    (r"ATCTT3|ATBB", r"[A-Za-z0-9_=-]", 24),
    (r"dckr_(?:pat|oat)_", _ANUD, 20),
    (r"hv[sbr]\.", _ANUD, 20),
    (r"atlasv1\.", r"[A-Za-z0-9_=-]", 40),
    (r"lin_(?:api|oauth)_", _AN, 30),
    (r"(?:ntn|secret)_", _AN, 40),
    (r"tskey-[a-z]{2,10}-", _ANUD, 16),
    (r"lsv2_(?:pt|sk)_|pcsk_|tgp_v1_|sgp_|rnd_|pn[ub]_|apify_api_|SWMTKN-1-|cfut_", _ANUD, 24),
    (r"pat-[a-z0-9]{2,4}-", r"[a-f0-9-]", 32),
    (r"pat", r"[A-Za-z0-9]{14}\.[a-f0-9]", 40),
    (r"figd_", _ANUD, 30),
    (r"nvapi-", _ANUD, 40),
    (
        r"(?:gsk|r8|fw|tvly|xai|pplx|csk|jina|sbp|sntrys|sntryu|glsa|glc|dp\.[a-z]{2}|phx|nfp|rpa|e2b|ops|bkua|vcp)[_.-]",
        _ANU,
        28,
    ),
    (r"pscale_(?:tkn|pw|oauth)_", r"[A-Za-z0-9_.=-]", 30),
    (r"pul-", _HEX, 40),
    (r"tfp_|PMAK-|NRAK-|NRJS-|CFPAT-|AGE-SECRET-KEY-1|ABSK|oy2", _ANUD, 20),
    (r"key-", _HEX, 32),
    (r"SK", r"[0-9a-f]", 32),
    (r"sk\.eyJ", r"[A-Za-z0-9._-]", 40),
    (r"AKCp", _AN, 50),
    (r"dt0[a-z]01\.", r"[A-Za-z0-9.]", 40),
    (r"LTAI", _AN, 12),
    (r"AKID", _AN, 13),
    (r"fo1_|fm[12]_", _ANUD, 40),
    (r"[a-z]{2,12}[_-](?:live|test|prod|api|pat|key|secret|token|sk)[_-]", _AN, 20),
)
_WIDE: Final = (
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])",  # Mailchimp
    r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])",  # Discord
    r"[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",  # Telegram
)
_VENDOR: Final = f"{_B}(?:{'|'.join([*(f'(?:{head}){body}{{{least},{_END}}}' for head, body, least in _VENDORS), *_WIDE])})"
_GATED: Final = 14
"""Characters of a key that the gate asks for; more would make its automaton large and no better."""
_VENDOR_GATE: Final = "(?:^|[^A-Za-z0-9])(?:{})".format(
    "|".join(
        [
            *(f"(?:{head}){body}{{{min(least, _GATED)}}}" for head, body, least in _VENDORS),
            *(wide.partition("(?!")[0] for wide in _WIDE),
        ]
    )
)
_VENDOR_HINTS: Final = tuple(
    sorted(
        words_of("""
    sk- k_live k_test k_prod whsec_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ gl xox xapp- aiza ya29. gocspx- 1//0 hf_
    api_org_ npm_ pypi- rubygems_ sg. xkeysib- _v1_ shp sq0 eaaa dapi atatt3 atctt3 atbb dckr_ hvs. hvb. hvr. atlasv1.
    lin_ ntn_ secret_ pat figd_ nvapi- gsk r8 fw tvly xai pplx csk jina sbp sntry dp. phx nfp rpa e2b ops bkua vcp
    pscale_ pul- tfp_ pmak- nrak- nrjs- cfpat- age-secret absk oy2 key- sk akcp dt0 ltai akid fo1_ fm1_ fm2_ live test
    prod api key secret token tskey- lsv2_ pcsk_ tgp_v1_ sgp_ rnd_ pnu_ pnb_ apify_ swmtkn- cfut_ akia asia abia acca
    -us . :
""")
    )
)


def _private_keys(text: str) -> Iterator[Span]:
    """Find private keys in armour; one whose end was cut off reaches to the end of its text."""
    done, foot, unit = 0, 0, 0
    for match in _HEAD_OF_KEY.finditer(text):
        if match.start() < done:
            continue
        # Each end is looked for once: again and again would be quadratic.
        foot = text.find("-----END", match.end()) if 0 <= foot < match.end() else foot
        unit = text.find("\x1f", match.end()) if 0 <= unit < match.end() else unit
        limit = len(text) if unit < 0 else unit
        done = limit if foot < 0 else min(limit, foot + len(match[0]) + len("-----END----- BLOCK"))
        yield match.start(), done


_HEAD_OF_KEY: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY")

_URL_PASSWORD: Final = re.compile(
    r"://[^\s:/?#@\x1f]{0,128}:(?P<v>[^\s/\x1f]{1,256})@(?=[\w\[])|://(?P<t>[A-Za-z0-9_-]{20,256})@(?=[\w\[])"
)
_AT_HOST: Final = re.compile(r"@[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){0,8}(?::[0-9]{2,5}\b|/)")
_USER_AND_WORD: Final = re.compile(
    r"(?<![A-Za-z0-9_/:.@+-])(?P<user>[A-Za-z_][A-Za-z0-9_.-]{0,63}):(?P<v>[^\s:/\x1f]{3,128})(?=@)"
)
_LONGEST_USER_AND_WORD: Final = 194
_NO_USER: Final = frozenset({"mailto", "sip", "sips", "xmpp", "acct", "git", "ssh", "tel", "urn", "npm", "link", "file"})


def _url_passwords(text: str) -> Iterator[Span]:
    """Find `//user:password@host`, and a token in the user's place."""
    for match in _URL_PASSWORD.finditer(text):
        value = match["v"]
        if value is not None:
            if not names_a_value(value):
                yield match.span("v")
        elif looks_random(match["t"]):
            yield match.span("t")


def _loose_passwords(text: str) -> Iterator[Span]:
    """Find the same without a scheme, as drivers print it in errors."""
    done = 0
    for host in _AT_HOST.finditer(text):
        before = text.rfind(":", max(done, host.start() - _LONGEST_USER_AND_WORD), host.start())
        match = _USER_AND_WORD.search(text, max(done, before - _LONGEST_USER), host.start() + 1) if before >= 0 else None
        if match is not None and match["user"].lower() not in _NO_USER and not names_a_value(match["v"]):
            done = match.end()
            yield match.span("v")


_LONGEST_USER: Final = 65


_WEBHOOKS: Final = (
    r"(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/"
    r"|[a-z0-9-]{1,63}\.webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/|/open-apis/bot/v2/hook/"
    r"|maker\.ifttt\.com/trigger/[^\s/]{1,64}/with/key/|outlook\.office(?:365)?\.com/webhook/)(?P<v>[^\s\"'<>)\x1f]{8,512})"
)

CREDENTIALS: Final = (
    Rule(("PRIVATE KEY",), "", finder("private-key", _SECRET, _private_keys)),
    Rule(
        ("eyJ",),
        "",
        finder(
            "jwt",
            _SECRET,
            matches(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,16384}\.[A-Za-z0-9_-]{5,16384}(?:\.[A-Za-z0-9_-]{0,16384}){0,3}"),
        ),
    ),
    Rule(_VENDOR_HINTS, _VENDOR_GATE, finder("vendor-key", _SECRET, matches(_VENDOR, looks_random))),
    Rule(("hook", "ifttt"), r"hooks?\.|hooks?/|webhook|ifttt\.com", finder("webhook", _SECRET, matches(_WEBHOOKS))),
    Rule(
        ("bearer", "token", "apikey", "api-key", "sso-key", "digest"),
        r"(?i)(?:^|[^A-Z0-9])(?:bearer|token|api-?key|sso-key|digest)[ \t]{1,8}[A-Z0-9._~+/=:-]{12}",
        finder(
            "bearer",
            _SECRET,
            matches_at(
                ("bearer", "token", "apikey", "api-key", "sso-key", "digest"),
                r"(?<![A-Za-z0-9])(?i:[a-z-]{5,7})[ \t]{1,8}(?P<v>[A-Za-z0-9._~+/=:-]{12,16384})",
                looks_random,
            ),
        ),
    ),
    Rule(
        ("basic",),
        r"(?i)(?:^|[^A-Z0-9])basic[ \t]{1,8}[A-Z0-9+/=_-]{6}",
        finder(
            "basic-auth",
            _SECRET,
            matches(_B + r"(?i:basic)[ \t]{1,8}(?P<v>[A-Za-z0-9+/=_-]{6,4096})", is_basic_credential),
        ),
    ),
    Rule(("://",), "", finder("url-password", _SECRET, _url_passwords)),
    Rule(
        ("@",),
        "",
        finder("url-password", _SECRET, _loose_passwords),
    ),
)
