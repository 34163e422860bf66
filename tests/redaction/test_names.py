from __future__ import annotations

import pytest

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.names import name_class

SECRET = ["password", "userPwd", "DB_PASSWORD", "apiKey", "x-api-key", "accesskey", "privateKey", "authorization", "cookie"]
SECRET += [
    "session_id",
    "JSESSIONID",
    "token",
    "csrf_token",
    "accessTokens",
    "otp",
    "pin",
    "cvv",
    "密码",
    "登录口令",
    "passWord",
]
PERSONAL = ["email", "e-mail", "contactEmail", "phone", "first_name", "lastName", "address", "dob", "birthDate", "userName"]
PERSONAL += ["手机号", "邮箱", "收件人姓名", "zip_code", "ip"]
SENSITIVE = ["diagnosis", "salary", "iban", "cardNumber", "ssn", "latitude", "lat", "blood_type", "身份证号", "total_salary"]
INTERNAL = [
    "status",
    "count",
    "total",
    "page",
    "limit",
    "offset",
    "currency",
    "errorCode",
    "max_tokens",
    "token_count",
]
INTERNAL += ["has_password", "password_policy", "token_type", "is_admin"]
SILENT = ["note", "sku", "name", "promo_code", "key", "monkey", "tokens", "description", ""]


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (cls, name)
        for cls, names in [
            (PrivacyClass.SECRET, SECRET),
            (PrivacyClass.PERSONAL, PERSONAL),
            (PrivacyClass.SENSITIVE, SENSITIVE),
            (PrivacyClass.INTERNAL, INTERNAL),
        ]
        for name in names
    ],
)
def test_a_name_suggests_its_class(cls, name):
    """A field's name gives the class that its vocabulary lists."""
    assert name_class(name) is not None
    assert name_class(name)[0] is cls


@pytest.mark.parametrize("name", SILENT)
def test_other_names_say_nothing(name):
    """A name outside the vocabulary gives no class."""
    assert name_class(name) is None


@pytest.mark.parametrize("name", ["credentials_id", "next_page_token", "secretName"])
def test_a_name_about_a_secret_is_no_secret_and_clears_nothing(name):
    """What only refers to a secret is unknown."""
    assert name_class(name)[0] is PrivacyClass.UNKNOWN


def test_a_long_key_is_data_and_no_name():
    """A key beyond the length of a name is not looked up."""
    assert name_class("password" * 20) is None
