from __future__ import annotations

import random
import string
import time

import pytest

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.detect import MAX_HITS, scan_text

_RNG = random.Random(7)  # noqa: S311 - made-up values, not keys


def made_up(count, letters=string.ascii_letters + string.digits):
    """Return letters that look drawn at random, so that no key stands in this file."""
    return "".join(_RNG.choice(letters) for _ in range(count - 1)) + "7"


def with_luhn(digits):
    """Return digits with the check digit that makes a card number of them."""
    return next(digits + str(last) for last in range(10) if any(hit.rule == "card" for hit in scan_text(digits + str(last))))


KEYS = {
    "vendor-key": ["sk-" + made_up(40), "ghp" + "_" + made_up(42), "AKIA" + made_up(16, string.ascii_uppercase)],
    "jwt": [".".join(["eyJ" + made_up(20), "eyJ" + made_up(30), made_up(30)])],
    "bearer": ["Bearer " + made_up(24)],
    "basic-auth": ["Basic " + "dXNlcjpwYXNz" + "d29yZA=="],
    "private-key": ["-----BEGIN RSA PRIVATE " + "KEY-----\n" + made_up(60) + "\n-----END RSA PRIVATE " + "KEY-----"],
    "url-password": ["postgres://app:" + made_up(9) + "#x@db/x"],
    "assignment": [
        "password=" + made_up(9),
        '"api_key": "' + made_up(9) + '"',
        "dbPassword: " + made_up(9),
        "密码\uff1a" + made_up(9),
    ],
}


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in KEYS.items() for text in texts])
def test_secrets_are_found_anywhere_in_a_text(rule, text):
    """A secret is found alone and in prose, as class secret, to its last character."""
    for around in (text, f"say {text}\nand more"):
        found = [hit for hit in scan_text(around) if hit.rule == rule]

        assert [hit.cls for hit in found] == [PrivacyClass.SECRET]
        assert max(hit.end for hit in found) >= around.index(text) + len(text.rstrip('"')) - len("@db/x" * ("@" in text))


@pytest.mark.parametrize(
    ("rule", "cls", "text"),
    [
        ("email", PrivacyClass.PERSONAL, "someone" + "@example.org"),
        ("phone", PrivacyClass.PERSONAL, "+44 20 7946 0958"),
        ("phone", PrivacyClass.PERSONAL, "139" + "12345678"),
        ("card", PrivacyClass.SENSITIVE, with_luhn("4" + "0" * 8 + "123456")),
        ("iban", PrivacyClass.SENSITIVE, "GB82 WEST 1234 5698 7654 32"),
        ("us-ssn", PrivacyClass.SENSITIVE, "219-09-" + "9999"),
        ("cn-id", PrivacyClass.SENSITIVE, "11010519491231" + "002X"),
    ],
)
def test_personal_and_sensitive_numbers_are_found_at_their_place(rule, cls, text):
    """A finding has its rule, class and exact span."""
    found = scan_text(f"see {text}, please")

    assert [(hit.start, hit.end, hit.rule, hit.cls) for hit in found if hit.rule == rule] == [(4, 4 + len(text), rule, cls)]


@pytest.mark.parametrize(
    "text",
    [
        "left-pad@1.2.3",
        "task-runner-disk-usage-report",
        "sk-this-is-only-a-slug-of-words",
        "1747731000",
        "4111 1111 1111 1112",
        "3f2b8c1e-8046-4297-901e-a0020f11c0de",
        "max_tokens=512",
        "tokenizationId: f865",
        "MantleAPI_version=0a1b2c3d",
        "basic authentication is off",
        "GITHUB_API_KEY=\nNEXT_LINE=1",
        "http://host:8080/path",
        "2026-01-02T03:04:05",
        "",
    ],
)
def test_ordinary_text_gives_no_finding(text):
    """Versions, slugs, times, ids and counts are left alone."""
    assert scan_text(text) == ()


def test_look_alike_and_invisible_characters_are_seen_through():
    """Fullwidth and zero-width characters hide nothing, and offsets are those of the given text."""
    text = "to some\u200bone\uff20exam\u200bple.org now"

    [hit] = scan_text(text)

    assert text[hit.start : hit.end] == "some\u200bone\uff20exam\u200bple.org"


def test_too_many_hits_cover_the_rest_of_the_text():
    """Beyond the cap, the last finding reaches to the end."""
    text = " ".join(f"user{number}@example.org" for number in range(MAX_HITS * 3))

    found = scan_text(text)

    assert len(found) == MAX_HITS + 1
    assert found[-1].end == len(text)


@pytest.mark.parametrize(
    "piece",
    [
        *("sk-", "eyJ", "eyJaaaaaa.", "a@", "@", ".", "a.", "://", "://a:", "://:@", "-----BEGIN PRIVATE KEY", "1", "1 "),
        *("4-", "+1", "+1 ", "a", "a=", "password=", '"', "password:'", "Bearer ", "basic a", "A1", "GB82 ", "0-"),
        *("\u200b", "密码", "=a:"),
    ],
)
def test_a_scan_is_linear(piece):
    """Sixteen thousand characters of what patterns dislike most take a bounded time."""
    text = (piece * 16_384)[:16_384]

    start = time.thread_time()
    scan_text(text)

    assert time.thread_time() - start < 0.5
