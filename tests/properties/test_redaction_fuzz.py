"""Whatever an agent hands over: the redactor answers, with valid JSON, and leaves what it was given alone."""

from __future__ import annotations

import copy
import json
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.redaction import Clean, Minimal, RedactionPolicy, clean, project, scan_text
from toolwitness.redaction.credentials import CREDENTIALS
from toolwitness.redaction.detect import prefilter, scan_texts
from toolwitness.redaction.identifiers import IDENTIFIERS
from toolwitness.redaction.placeholder import TAG
from toolwitness.tests.properties.odd_objects import ODD

_DEEP, _MANY = 40, 50
POLICIES = [RedactionPolicy(), RedactionPolicy(unknown="scan"), RedactionPolicy(classes={"*:args.a": "public"})]
RULES = (*CREDENTIALS, *IDENTIFIERS)
BOTH_ENGINES = pytest.mark.skipif(not prefilter.use_re2, reason="RE2 is not installed: pip install 'toolwitness[redaction]'")


class Odd(NamedTuple):
    """Stands for an odd object until it is made, so that a failed example can be shown."""

    name: str


def made(recipe):
    """The value of a recipe."""
    if isinstance(recipe, Odd):
        return ODD[recipe.name]()
    if isinstance(recipe, dict):
        return {key: made(item) for key, item in recipe.items()}
    if isinstance(recipe, list | tuple):
        return type(recipe)(map(made, recipe))
    return recipe


FRAGMENTS = (
    *("password", "token", "api_key", "密码", "验证码", "contraseña", "Bearer", "Basic", "authorization", "ssn", "tel", "IBAN"),
    *(
        "=",
        ":",
        ": ",
        " is ",
        "是",
        " → ",
        '"',
        "'",
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&",
        ";",
        "\n",
        "\r\n",
        "\t",
        " ",
        "\x1f",
        "\x00",
    ),
    *(
        "://",
        "a:b@",
        "user@example.org",
        "@",
        "%3D",
        "%20",
        "&#64;",
        "\\u0070",
        "-----BEGIN PRIVATE KEY-----",
        "-----END",
        "--",
        "-p ",
    ),
    *(
        "ey" + "JhbGciOiJI.",
        "ey" + "J",
        "sk-" + "aB3dE5fG7hJ9kL1mN3",
        "gh" + "p_" + "a7Kd2" * 8,
        "AK" + "IA" + "Q3EGVRN7JX2LWT5B",
    ),
    *(
        "4111 1111 1111 1111",
        "+49 30 23125",
        "138-0013-8000",
        "219-09-9999",
        "203.0.113.7",
        "2001:db8::1",
        "DE89370400440532013000",
    ),
    *(
        "\u200b",
        "\u00ad",
        "\uff20",
        "\uff11\uff12",
        "\u2011",
        "\u00a0",
        "\ud800",
        "\U0001f512",
        "ß",
        "İ",
        "ﬁ",
        "x",
        "7",
        "<",
        ">",
        "...",
    ),
)
texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=14).map("".join)
keys = texts | st.sampled_from(["password", "email", "note", "a", "a.b", "items", "name", "value", TAG])
atoms = st.none() | st.booleans() | st.integers() | st.floats() | texts
json_values = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4) | inner.map(json.dumps),
    max_leaves=20,
)
recipes = st.recursive(
    st.sampled_from(list(ODD)).map(Odd) | atoms,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=8,
)
policies = st.sampled_from(POLICIES)


def no_constant(word):
    """Refuse what JSON does not have."""
    raise AssertionError(word)


def read(answer):
    """What a copy's JSON text says, as a strict reader of UTF-8 has it; None of a minimal answer."""
    if isinstance(answer, Minimal):
        return None
    assert isinstance(answer, Clean)
    return json.loads(answer.json().encode("utf-8", "strict"), parse_constant=no_constant)


def outline(value, above=()):
    """What a value is made of, by identity, without asking anything that may be foreign."""
    kind = type(value)
    if id(value) in above or len(above) == _DEEP:
        return id(value)
    inside = (*above, id(value))
    if kind is dict:
        return [(id(key), outline(item, inside)) for key, item in islice(value.items(), _MANY)]
    if kind is list or kind is tuple:
        return [outline(item, inside) for item in value[:_MANY]]
    return id(value)


@contextmanager
def searching(*, fast):
    """Search with RE2, or without."""
    before, prefilter.use_re2 = prefilter.use_re2, fast
    try:
        yield
    finally:
        prefilter.use_re2 = before


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"a": v}, lambda v: [v, v]], ids=["bare", "member", "items"])
@pytest.mark.parametrize("name", ODD)
def test_an_odd_object_is_answered_and_left_alone(name, wrap):
    """No code of the object runs, it stays as it was, and the copy is JSON."""
    value = wrap(ODD[name]())
    before = outline(value)

    for policy in POLICIES:
        read(clean(value, policy=policy))
    assert outline(value) == before


@given(recipe=recipes, policy=policies)
def test_odd_objects_anywhere_are_answered(recipe, policy):
    """The same holds for odd objects among others."""
    value = made(recipe)
    before = outline(value)

    read(clean(value, policy=policy))
    assert outline(value) == before


@given(value=json_values, policy=policies, again=st.booleans())
def test_any_json_value_is_answered_and_left_alone(value, policy, again):
    """The copy is JSON, and the value is equal to what it was, to the byte."""
    before, told = copy.deepcopy(value), repr(value)

    read(clean(value, policy=policy, again=again))
    assert repr(value) == told
    assert repr(before) == told


@given(recipe=json_values | recipes, policy=policies)
def test_cleaning_a_copy_again_changes_nothing(recipe, policy):
    """A second look finds nothing more and leaves the placeholders of the first; only beyond a limit may it cut the copy."""
    once = clean(made(recipe), policy=policy)
    if isinstance(once, Clean):
        twice = clean(once.value, policy=policy, again=True)

        assert twice.truncated or read(twice) == read(once)


@given(value=json_values)
def test_a_projection_is_cleaned_as_its_value(value):
    """Whether the copy is taken first on another thread makes no difference."""
    assert read(clean(project(value))) == read(clean(value))


@given(text=texts)
def test_findings_lie_in_the_text(text):
    """Each finding is a place in the text that was given, and they come in order."""
    found = scan_text(text)

    assert all(0 <= hit.start < hit.end <= len(text) for hit in found)
    assert list(found) == sorted(found, key=lambda hit: hit.start)


@given(several=st.lists(texts, max_size=6))
def test_texts_are_scanned_together_as_each_alone(several):
    """Nothing is found across two texts, and nothing is missed because of another one."""
    alone = {at: list(found) for at, text in enumerate(several) if (found := scan_text(text))}

    assert scan_texts(several) == alone


@pytest.mark.parametrize("fast", [pytest.param(True, marks=BOTH_ENGINES), False], ids=["RE2", "re"])
@given(text=st.lists(st.sampled_from([text for text in FRAGMENTS if text.isascii()]), max_size=8).map("".join))
def test_the_first_look_leaves_out_no_rule(fast, text):
    """A rule that finds something in a text is among those that the first look picks."""
    with searching(fast=fast):
        picked = prefilter(text)

    assert [rule.hints for rule in RULES if rule not in picked and next(rule.find(text), None) is not None] == []


@BOTH_ENGINES
@given(value=json_values, policy=policies)
def test_both_engines_give_the_same_copy(value, policy):
    """RE2 only makes it faster."""
    with searching(fast=True):
        fast = clean(value, policy=policy)
    with searching(fast=False):
        slow = clean(value, policy=policy)

    assert fast == slow


@BOTH_ENGINES
@given(text=texts)
def test_both_engines_find_the_same(text):
    """Every finding of one is one of the other."""
    with searching(fast=True):
        fast = scan_text(text)
    with searching(fast=False):
        slow = scan_text(text)

    assert fast == slow
