"""What the name of a field tells about its value: the vocabulary, and how words are looked up in it."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import Final

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.words import split_words, words_of

__all__ = ["ABOUT", "MAX_NAME", "name_class"]

MAX_NAME: Final = 64
"""Characters; a longer key is data, not a name."""

ABOUT: Final = "about"
"""The entry for names such as `has_password` and `token_count`: a number or truth value under them says no more than that."""

_LONGEST_PHRASE = 3


# Phrases are written without gaps and accents: `api key`, `apiKey` and `apikey` are the same run of letters.
_SECRET: Final = words_of("""
    password passwd pwd passphrase passcode pass pswd passwort kennwort contrasena clave senha motdepasse mdp parola
    wachtwoord adgangskode losenord salasana haslo heslo sifre jelszo
    secret token credential cred authorization auth cookie otp totp hotp pin puk cvv cvc csc cvn jwt bearer
    apikey accesskey privatekey secretkey signingkey encryptionkey masterkey accountkey sshkey licensekey licencekey
    decryptionkey sharedkey symmetrickey hmackey webhookkey sessionkey servicekey functionkey storagekey subscriptionkey
    deploykey authkey serverkey appkey clientkey passkey gpgkey pgpkey keymaterial
    sessionid jsessionid phpsessid sessid sid accesstoken refreshtoken idtoken clientsecret setcookie
    securitycode recoverycode verificationcode authcode smscode onetimecode logincode accesscode unlockcode
    pairingcode activationcode devicecode mfacode tfacode twofactorcode backupcode magiclink invitecode resetlink
    seedphrase mnemonic recoveryphrase connectionstring connstr connstring dsn databaseurl dburl mongouri redisurl webhookurl
    csrf xsrf securityanswer secretanswer signature sas
""")
_SENSITIVE: Final = words_of("""
    diagnosis diagnoses medical medication prescription allergy allergies disability hiv illness symptom patient disease
    religion ethnicity race sexualorientation sexuality politicalview biometric criminal bloodtype maritalstatus healthstatus
    immigrationstatus medicalrecord insurancenumber healthinsurance pregnancy
    healthrecord healthdata healthcondition labresult bloodpressure vaccination immunization dosage
    salary income wage compensation networth creditscore creditlimit accountbalance iban bic accountnumber accountno bankaccount
    routingnumber sortcode cardnumber cardno cardnum creditcard debitcard pan cardholder kontonummer gehalt salario
    ssn socialsecurity sozialversicherungsnummer nationalid nationalinsurance nino idnumber idcard idno taxid taxnumber
    vatnumber
    taxpayerid cpf cnpj dni nie curp aadhaar steuernummer
    driverlicense driverslicense drivinglicense drivinglicence driverlicence passportnumber passportno passport visanumber
    location lat lon lng latitude longitude geo gps coordinate geolocation
""")
_PERSONAL: Final = words_of("""
    email mail phone telephone mobile cellphone fax msisdn whatsapp wechat telegram imei
    correo courriel telefono telefon telefonnummer handynummer celular
    firstname lastname fullname givenname familyname middlename maidenname surname forename nickname displayname username login
    realname legalname nombre apellido apellidos prenom vorname nachname
    customername contactname recipientname patientname employeename guestname passengername sendername payeename beneficiary
    beneficiaryname holdername ownername username clientname studentname parentname
    address street postcode postalcode zipcode zip dob birth birthday birthdate dateofbirth birthplace
    direccion adresse anschrift strasse straße geburtsdatum fechadenacimiento
    gender sex ip ipaddress ipv4 ipv6 avatar licenseplate numberplate deviceid macaddress
""")
_INTERNAL: Final = words_of("""
    status cursor currency unit version kind type state ok success
    errorcode statuscode reasoncode currencycode countrycode languagecode
    hasmore sortorder orderby sort locale language lang timezone
""")
_COUNTS: Final = words_of("""
    count total page limit offset pagesize perpage pagenumber exitcode httpcode retrycount retries durationms elapsedms size
""")
"""Whole names that promise a number."""
_NEVER_ABOUT: Final = words_of("pin puk otp totp hotp cvv cvc csc cvn passcode")
"""Secrets that are numbers themselves, so that `require_pin` may hold one."""
_SAFE_PHRASES: Final = words_of("""
    pagetoken nexttoken continuationtoken synctoken nextpagetoken publickey primarykey sortkey cachekey foreignkey partitionkey
    idempotencykey countrycode areacode dialcode callingcode tokensper pertoken
""")

# A value under `max_tokens`, `has_password` or `token_type` is about the thing, it is not the thing.
_SAFE_HEADS: Final = words_of("""
    has is max min num count require requires required allow allows enable enabled disable disabled use uses with without
    supports can should show hide include total avg average
""")
_SAFE_TAILS: Final = words_of("""
    count limit type types kind status version policy length len total enabled required disabled verified consent friendly
    strength rate family format budget usage expired supported allowed confirmed banner total sum bucket
""")
_LABEL_TAILS: Final = words_of("type types kind status version format family")
"""Tails under which a short text is a label; under the others only numbers and truth values say what the name promises."""
_ABOUT_TAILS: Final = words_of("""
    id ids ref name url uri ttl expiry expires expiration at in method algorithm mode scope scopes issuer audience template
    field fields label hint prompt placeholder column param parameter header prefix suffix endpoint store manager service
    symbol supply pool window lifetime age duration date time day days seconds minutes provider rotation cost price
""")
_ABOUT_PERSON: Final = words_of(
    "template provider subject client app platform os carrier validation field fields column label placeholder"
)
_ONLY_LAST: Final = words_of("pass zip pan sid race sex sas login mail clave nombre mobile")
"""Words that mean the thing itself only at the end of a name, or alone: `db_pass` and not `pass_through`."""
_ENDINGS: Final = (
    "password",
    "passwd",
    "passphrase",
    "token",
    "secret",
    "apikey",
    "privatekey",
    "accesskey",
    "secretkey",
    "sessid",
)
"""Ends of words that are written together: `authtoken`, `dbpassword`."""

_SCRIPTS: Final[tuple[tuple[PrivacyClass, *tuple[tuple[str, ...], ...]], ...]] = (
    (
        PrivacyClass.SECRET,
        (
            "密码",
            "密碼",
            "口令",
            "密钥",
            "密鑰",
            "私钥",
            "私鑰",
            "令牌",
            "验证码",
            "驗證碼",
            "凭证",
            "凭据",
            "暗証",
            "認証コード",
        ),
        ("パスワード", "トークン", "비밀번호", "토큰", "인증번호", "пароль", "токен", "секрет"),
    ),
    (
        PrivacyClass.SENSITIVE,
        (
            "身份证",
            "身分證",
            "银行卡",
            "卡号",
            "账号",
            "工资",
            "薪资",
            "薪水",
            "病历",
            "诊断",
            "社保",
            "位置",
            "经纬",
            "给料",
            "月收入",
        ),
        ("口座番号", "マイナンバー", "診断", "주민등록번호", "계좌번호", "급여", "паспорт", "диагноз"),
    ),
    (
        PrivacyClass.PERSONAL,
        (
            "手机",
            "手機",
            "电话",
            "電話",
            "邮箱",
            "邮件",
            "姓名",
            "地址",
            "住址",
            "生日",
            "出生",
            "用户名",
            "微信",
            "护照",
            "昵称",
        ),
        (
            "收件人",
            "收货人",
            "联系人",
            "寄件人",
            "户名",
            "邮编",
            "住所",
            "氏名",
            "メール",
            "携帯",
            "이름",
            "전화",
            "주소",
            "이메일",
        ),
        ("телефон", "почта", "фамилия", "адрес"),
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
    ending = None if " " in name else _by_ending(words)  # a key of several words is a sentence, not a name with a tail
    return _by_script(words) or _by_phrase(words) or ending or _by_word(words) or _internal(words)


def _by_script(words: tuple[str, ...]) -> Named | None:
    """Look for words of scripts that may stand without gaps between words."""
    for word in words:
        if not word.isascii():
            for cls, *rows in _SCRIPTS:
                for entry in chain.from_iterable(rows):
                    if entry in word:
                        return cls, entry
    return None


def _by_phrase(words: tuple[str, ...]) -> Named | None:
    """Look for runs of two or three words: `session id` is a secret although `... id` in general is not."""
    for runs in (_runs(words, size) for size in range(2, _LONGEST_PHRASE + 1)):
        if any(run in _SAFE_PHRASES for run in runs):
            return PrivacyClass.UNKNOWN, "safe-phrase"
        if found := _look_up(runs):
            return found
    return None


def _by_ending(words: tuple[str, ...]) -> Named | None:
    """Let a name that is about a secret or a person pass, as `token_count` or `credentials_id`."""
    if len(words) < 2:  # noqa: PLR2004 - a head or tail needs something to stand beside
        return None
    if any(_listed(word, _SENSITIVE) for word in words):
        return None
    last = words[-1]
    protects = any(_listed(word, entries) for word in words for entries in (_SECRET, _PERSONAL)) or any(map(_ends, words))
    head = words[0] in _SAFE_HEADS and _NEVER_ABOUT.isdisjoint(words)
    if head or _listed(last, _SAFE_TAILS):
        label = last in _LABEL_TAILS and words[0] not in _SAFE_HEADS and not protects
        return PrivacyClass.INTERNAL, "label" if label else ABOUT
    about = _listed(last, _ABOUT_TAILS) and any(_listed(word, _SECRET) or _ends(word) for word in words[:-1])
    about = about or (_listed(last, _ABOUT_PERSON) and any(_listed(word, _PERSONAL) for word in words[:-1]))
    return (PrivacyClass.UNKNOWN, "about") if about else None


def _by_word(words: tuple[str, ...]) -> Named | None:
    """Look for single words, some of which mean the thing itself only where they end the name."""
    last = next((at for at in range(len(words) - 1, -1, -1) if not words[at].isdigit()), 0)
    found = _look_up(tuple(word for at, word in enumerate(words) if at == last or word not in _ONLY_LAST))
    if found is not None:
        return found
    ending = next((end for word in words if (end := _ends(word))), None)
    return None if ending is None else (PrivacyClass.SECRET, ending)


def _ends(word: str) -> str | None:
    return next((end for end in _ENDINGS if word.endswith(end)), None)


def _internal(words: tuple[str, ...]) -> Named | None:
    """Accept operational names only as the whole name: `code` says more about itself than `promo_code`."""
    whole = "".join(words)
    if whole in _COUNTS:
        return PrivacyClass.INTERNAL, ABOUT
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
