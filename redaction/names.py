"""What the name of a field tells about its value: the vocabulary, and how words are looked up in it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.words import split_words

__all__ = ["MAX_NAME", "name_class"]

MAX_NAME: Final = 64
"""Characters; a longer key is data, not a name."""

_LONGEST_PHRASE = 3


def _phrases(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Phrases are written without gaps: `api key`, `apiKey` and `apikey` are the same run of letters.
_SECRET: Final = _phrases("""
    password passwd pwd passphrase passcode pass passwort contraseña senha motdepasse
    secret token credential cred authorization auth cookie otp totp pin cvv cvc csc jwt bearer
    apikey accesskey privatekey secretkey signingkey encryptionkey masterkey accountkey sshkey licensekey
    sessionid jsessionid sessionkey sessid sid accesstoken refreshtoken idtoken clientsecret setcookie
    securitycode recoverycode verificationcode authcode smscode onetimecode seedphrase mnemonic connectionstring connstr dsn
    csrf xsrf securityanswer signature
""")
_SENSITIVE: Final = _phrases("""
    diagnosis diagnoses medical medication prescription allergy allergies disability hiv illness symptom patient
    religion ethnicity sexualorientation politicalview biometric criminal bloodtype maritalstatus healthstatus
    immigrationstatus medicalrecord insurancenumber
    salary income wage networth creditscore iban bic accountnumber accountno bankaccount routingnumber sortcode
    cardnumber cardno creditcard debitcard pan cardholder
    ssn socialsecurity nationalid idnumber idcard taxid driverlicense driverslicense drivinglicense drivinglicence
    passportnumber passportno passport
    location lat lon lng latitude longitude geo gps coordinate geolocation
""")
_PERSONAL: Final = _phrases("""
    email mail phone telephone mobile cellphone fax msisdn whatsapp wechat
    firstname lastname fullname givenname familyname middlename maidenname surname nickname displayname username login
    customername contactname recipientname patientname employeename guestname passengername
    address street postcode postalcode zipcode zip dob birth birthday birthdate dateofbirth
    gender ip ipaddress ipv4 ipv6 avatar licenseplate
""")
_INTERNAL: Final = _phrases("""
    status code count total page limit offset cursor currency unit version kind type state ok success
    errorcode statuscode exitcode httpcode reasoncode currencycode countrycode languagecode
    pagesize perpage pagenumber hasmore sortorder orderby sort locale language lang timezone
    retrycount retries durationms elapsedms
""")
_SAFE_PHRASES: Final = _phrases("pagetoken nexttoken continuationtoken synctoken nextpagetoken")

# A value under `max_tokens`, `has_password` or `token_type` is about the thing, it is not the thing.
_SAFE_HEADS: Final = _phrases("has is max min num count require requires required allow enable enabled")
_SAFE_TAILS: Final = _phrases("count limit type types kind status version policy length len total enabled required")
_ABOUT_TAILS: Final = _phrases("id ids ref name url uri ttl expiry expires expiration at in format method algorithm usage")

_CJK: Final = (
    (PrivacyClass.SECRET, ("密码", "密碼", "口令", "密钥", "私钥", "令牌", "验证码", "凭证", "凭据")),
    (PrivacyClass.SENSITIVE, ("身份证", "银行卡", "卡号", "工资", "薪资", "薪水", "病历", "诊断", "社保", "位置", "经纬")),
    (
        PrivacyClass.PERSONAL,
        ("手机", "电话", "邮箱", "邮件", "姓名", "地址", "住址", "生日", "出生", "用户名", "微信", "护照"),
    ),
)
_BY_CLASS: Final = (
    (PrivacyClass.SECRET, _SECRET),
    (PrivacyClass.SENSITIVE, _SENSITIVE),
    (PrivacyClass.PERSONAL, _PERSONAL),
)

Named = tuple[PrivacyClass, str]
"""A class, and the entry of the vocabulary that gave it (never the name that was looked up)."""


@lru_cache(maxsize=4096)
def name_class(name: str) -> Named | None:
    """Return the class that a field's name suggests and the entry that says so, or None where it says nothing."""
    if len(name) > MAX_NAME:
        return None
    words = split_words(name)
    return _by_script(words) or _by_phrase(words) or _by_ending(words) or _by_word(words) or _internal(words)


def _by_script(words: tuple[str, ...]) -> Named | None:
    """Look for Chinese words, which stand without gaps between them."""
    for word in words:
        if not word.isascii():
            for cls, entries in _CJK:
                for entry in entries:
                    if entry in word:
                        return cls, entry
    return None


def _by_phrase(words: tuple[str, ...]) -> Named | None:
    """Look for runs of two or three words: `session id` is a secret although `... id` in general is not."""
    for runs in (_runs(words, size) for size in range(2, _LONGEST_PHRASE + 1)):
        if any(run in _SAFE_PHRASES for run in runs):
            return PrivacyClass.UNKNOWN, "page-token"
        if found := _look_up(runs):
            return found
    return None


def _by_ending(words: tuple[str, ...]) -> Named | None:
    """Let a name that is about a secret or a person pass, as `token_count` or `credentials_id`."""
    if len(words) < 2:  # noqa: PLR2004 - a head or tail needs something to stand beside
        return None
    if any(_listed(word, _SENSITIVE) for word in words):
        return None
    if words[0] in _SAFE_HEADS or words[-1] in _SAFE_TAILS:
        return PrivacyClass.INTERNAL, "about"
    about_secret = words[-1] in _ABOUT_TAILS and any(_listed(word, _SECRET) for word in words)
    return (PrivacyClass.UNKNOWN, "about") if about_secret else None


def _by_word(words: tuple[str, ...]) -> Named | None:
    return _look_up(words)


def _internal(words: tuple[str, ...]) -> Named | None:
    """Accept operational names only as the whole name: `code` says more about itself than `promo_code`."""
    whole = "".join(words)
    return (PrivacyClass.INTERNAL, whole) if whole in _INTERNAL else None


def _runs(words: tuple[str, ...], size: int) -> tuple[str, ...]:
    return tuple("".join(words[start : start + size]) for start in range(len(words) - size + 1))


def _look_up(runs: tuple[str, ...]) -> Named | None:
    for cls, entries in _BY_CLASS:
        for run in runs:
            if entry := _listed(run, entries):
                return cls, entry
    return None


def _listed(run: str, entries: frozenset[str]) -> str | None:
    """Return the entry for a word or its plural; `tokens` are counted far more often than they are secret."""
    if run in entries:
        return run
    single = run[:-1]
    return single if run.endswith("s") and run != "tokens" and single in entries else None
