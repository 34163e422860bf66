from __future__ import annotations

import hashlib
import hmac

import pytest

from toolwitness.model.enums import PrivacyClass
from toolwitness.model.exceptions import SettingsError
from toolwitness.redaction import FingerprintKey, clean, run_key

TENANT = FingerprintKey("k1", b"0123456789abcdef", tenant="acme")
PERSONAL = PrivacyClass.PERSONAL


def test_equal_values_have_equal_fingerprints_under_one_key():
    """A fingerprint depends on key, tenant, class and value, on each of them."""
    other_tenant = FingerprintKey("k1", b"0123456789abcdef", tenant="other")
    other_key = FingerprintKey("k1", b"another secret key", tenant="acme")
    mine = TENANT.of("Springfield", PERSONAL)

    assert mine == TENANT.of("Springfield", PERSONAL)
    others = {key.of("Springfield", PERSONAL) for key in (other_tenant, other_key)}
    assert len({mine, *others, TENANT.of("Shelbyville", PERSONAL), TENANT.of("Springfield", PrivacyClass.SENSITIVE)}) == 5


def test_a_fingerprint_is_hmac_sha256_under_a_derived_key():
    """The value is that of RFC 5869 and RFC 2104, worked out here step by step."""
    extracted = hmac.new(b"toolwitness fingerprint", b"0123456789abcdef", hashlib.sha256).digest()
    derived = hmac.new(extracted, b"acme\x1ftenant\x1fpersonal\x01", hashlib.sha256).digest()
    expected = hmac.new(derived, b"string\x1fSpringfield", hashlib.sha256).hexdigest()[:32]

    assert TENANT.of("Springfield", PERSONAL) == f"k1:{expected}"


@pytest.mark.parametrize("value", ["ab", "12345", "123456", "2001-02-03", "1.2.2001", "false", 7, 999_999])
def test_what_could_be_found_by_trying_has_no_fingerprint(value):
    """Short texts, short numbers and dates are so few that all could be tried by whoever may call the tool."""
    assert TENANT.of(value, PERSONAL) is None


def test_a_secret_has_no_fingerprint():
    """A guess at a secret cannot be confirmed by its fingerprint."""
    assert TENANT.of("a long enough secret", PrivacyClass.SECRET) is None


def test_a_runs_key_is_another_every_time():
    """Fingerprints of two runs say nothing about each other."""
    assert run_key().of("Springfield", PERSONAL) != run_key().of("Springfield", PERSONAL)


@pytest.mark.parametrize(("kid", "secret", "seen"), [("", b"x" * 16, "''"), ("a:b", b"x" * 16, "'a:b'"), ("k", b"x", "1")])
def test_an_unusable_key_is_refused(kid, secret, seen):
    """A key needs a short plain id and sixteen bytes; the error says what was seen, never the secret."""
    with pytest.raises(SettingsError, match=seen):
        FingerprintKey(kid, secret)


def test_a_key_does_not_show_its_secret():
    """What is printed of a key may stand in a log."""
    assert "0123456789abcdef" not in repr(TENANT)


def test_personal_values_carry_a_fingerprint_where_there_is_a_key():
    """Without a key there is none; with one, equal values in different places can be seen to be equal."""
    value = {"email": "somebody at home", "contact": {"phone": "somebody at home"}}

    copy = clean(value, fingerprints=TENANT).value

    assert copy["email"]["$tw:redacted"]["fp"] == copy["contact"]["phone"]["$tw:redacted"]["fp"]
    assert "fp" not in clean(value).value["email"]["$tw:redacted"]
