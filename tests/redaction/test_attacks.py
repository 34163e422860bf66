"""What an adversary found: each of these once let something out, or took a class down."""

from __future__ import annotations

import time

import pytest

from toolwitness.model.declared import Declared
from toolwitness.redaction import Clean, RedactionPolicy, clean
from toolwitness.redaction.definition import clean_definition
from toolwitness.redaction.placeholder import is_well_formed

WORD = "hunter" + "2"


def shown(value, schema=None):
    """The text of the copy in the default mode."""
    copy = clean(value, schema=schema)
    assert isinstance(copy, Clean)
    return copy.json()


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"who": WORD}, {"patternProperties": {"^x_": {"x-privacy": "public"}}}),
        ({"who": WORD}, {"patternProperties": {"^a": {"x-privacy": "public"}}, "additionalProperties": False}),
        ({"who": WORD}, {"patternProperties": {"^x_": {"enum": [WORD]}}}),
        ({"t": ["ok", WORD]}, {"properties": {"t": {"prefixItems": [{"x-privacy": "public"}]}}}),
        ({"status": WORD}, {"patternProperties": {"^status$": {"x-privacy": "secret"}}, "properties": {"status": {}}}),
    ],
)
def test_a_pattern_or_position_may_raise_a_class_and_never_lower_one(value, schema):
    """Whether it fits is not looked at, so what it says may be meant for another place."""
    assert WORD not in shown(value, schema)


@pytest.mark.parametrize("cls", ["sensitive", "secret"])
def test_a_listed_value_under_a_protected_parent_is_not_shown(cls):
    """Which of the listed values it is, is what was to be protected."""
    schema = {"properties": {"s": {"x-privacy": cls, "properties": {"c": {"enum": [WORD, "none"]}, "n": {"enum": [4821]}}}}}

    copy = shown({"s": {"c": WORD, "n": 4821}}, schema)

    assert WORD not in copy
    assert "4821" not in copy


@pytest.mark.parametrize(
    "value",
    [
        {"patients": {"JaneDoe": {"x": 1}}},
        {"diagnoses": {"JaneDoe": True}},
        {"password": {"properties": {"JaneDoe": {"type": "string"}}}},
        {"by_person": {"张三住在北京市朝阳区患有某种疾病的人": 1}},
    ],
)
def test_a_key_that_may_be_what_is_protected_is_not_shown(value):
    """Under a name that protects, undeclared keys are not shown, nor are words that are as long as a sentence."""
    copy = shown(value)

    assert "JaneDoe" not in copy
    assert "张三" not in copy


def test_usual_parts_of_an_address_keep_their_names():
    """What names a part of the thing is no content."""
    assert list(clean({"address": {"street": "x", "city": "y"}}).value["address"]) == ["street", "city"]


@pytest.mark.parametrize(
    "value",
    [
        {"count": WORD},
        {"total": "divorced"},
        {"has_password": WORD},
        {"password_status": WORD},
        {"is the password of bob": WORD},
        {"require_pin": 4821},
        {"code": 839201},
        {"status": "JaneDoe is not very well today"},
    ],
)
def test_an_operational_name_shows_only_what_it_promises(value):
    """Numbers under counts, short labels under labels; anything else under such a name leaves its shape."""
    [original] = value.values()

    assert str(original) not in shown(value)


def test_a_blank_reason_is_no_reason():
    """A declaration that lowers a class says why, in words."""
    policy = RedactionPolicy(classes={"*:args.token": Declared("public", reason=" ")})

    assert clean({"token": WORD}, policy=policy).value["token"]["$tw:redacted"]["why"] == "no-reason:name:token"


def test_values_that_a_definition_shows_are_redacted_by_the_name_of_their_place():
    """Defaults, examples and constants of protected places go; structure, descriptions and other defaults stay."""
    content = {
        "name": "login",
        "input_schema": {
            "properties": {
                "password": {"type": "string", "default": WORD, "description": "at least six signs"},
                "pin": {"const": 4821},
                "who": {"x-privacy": "personal", "examples": ["JaneDoe"]},
                "db": {"properties": {"secret": {"default": WORD}}},
                "limit": {"type": "integer", "default": 10},
                "card": {"default": 4111111111111111},
            }
        },
    }

    copy = clean_definition(content)

    assert not any(word in str(copy) for word in (WORD, "4821", "JaneDoe", "4111111111111111"))
    fields = copy["input_schema"]["properties"]
    assert fields["password"]["description"] == "at least six signs"
    assert fields["limit"] == {"type": "integer", "default": 10}


@pytest.mark.parametrize(
    "body",
    [
        {"c": "personal", "t": "string", "why": "password=hunter2 card 4111 1111 1111 1111"},
        {"c": "personal", "t": "string", "why": "name:email", "email": "jane"},
        {"c": "personal", "t": "string", "why": "default", "fmt": ["email"] * 9},
    ],
)
def test_a_forged_placeholder_is_none(body):
    """What a placeholder may say is a closed vocabulary with bounds."""
    assert not is_well_formed({"$tw:redacted": body})


@pytest.mark.parametrize("piece", ["%", "a%", "%x", "\uff05"])
def test_signs_of_percent_end_in_a_clean_copy(piece):
    """They are looked at once, not once for each of them."""
    start = time.thread_time()

    assert isinstance(clean({"note": (piece * 16_000)[:16_000]}), Clean)
    assert time.thread_time() - start < 0.2


@pytest.mark.parametrize(
    "text",
    [
        "max token: 4096",
        "token=1,024 of 2,048",
        "pass: 120, failed: 3",
        "pin=13",
        "next_page_token=CiAKGjBpNDd2Nmp2Zml2cXRwYjBpOXA",
    ],
)
def test_counts_and_page_tokens_are_kept(text):
    """A short number beside such a word counts something."""
    assert clean({"note": text}, policy=RedactionPolicy(unknown="scan")).value == {"note": text}
