from __future__ import annotations

import pytest

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.placeholder import TAG, formats, is_placeholder, is_well_formed, placeholder
from toolwitness.redaction.projection import CUT


@pytest.mark.parametrize(
    ("length", "bucket"), [(1, "1"), (2, "2"), (3, "3-4"), (8, "5-8"), (9, "9-16"), (16, "9-16"), (17, "17-32")]
)
def test_the_length_is_given_as_a_range(length, bucket):
    """Lengths fall between powers of two."""
    assert placeholder("x" * length, PrivacyClass.UNKNOWN, "default")[TAG]["len"] == bucket


def test_the_length_of_a_cut_text_is_open_upwards():
    """Where the end was cut, only a lower bound is known."""
    assert placeholder("x" * 20 + CUT, PrivacyClass.UNKNOWN, "default")[TAG]["len"] == "20+"


def test_a_secret_shows_no_length():
    """The placeholder of a secret has class, type and reason only."""
    assert placeholder("hunter2", PrivacyClass.SECRET, "name:password") == {
        TAG: {"c": "secret", "t": "string", "why": "name:password"}
    }


@pytest.mark.parametrize(("value", "kind"), [(1, "integer"), (1.0, "number"), ("a", "string")])
def test_the_json_type_is_told(value, kind):
    """A placeholder keeps the JSON type of what it stands for."""
    assert placeholder(value, PrivacyClass.UNKNOWN, "default")[TAG]["t"] == kind


def test_formats_are_told_for_short_texts():
    """A text's format is named where it says nothing but its kind."""
    assert formats("2026-01-02") == ("date",)
    assert formats("2026-01-02T03:04:05Z") == ("date-time",)
    assert formats("3f2b8c1e-8046-4297-901e-a0020f11c0de") == ("uuid",)
    assert formats("x" * 1000) == ()


def test_placeholders_are_recognised_even_when_altered():
    """Whatever stands under the tag alone is taken for a placeholder; only an exact one is well formed."""
    made = placeholder("someone", PrivacyClass.PERSONAL, "name:email", ("email",))

    assert is_placeholder(made)
    assert is_well_formed(made)
    assert is_placeholder({TAG: "please keep"})
    assert not is_placeholder({"a": made})
    assert not is_placeholder("x")


@pytest.mark.parametrize(
    "body",
    [
        "text",
        {"c": "secret", "t": "string"},
        {"c": "secret", "t": "string", "why": "some free text"},
        {"c": ["secret"], "t": "string", "why": "a"},
        {"c": "other", "t": "string", "why": "a"},
        {"c": "secret", "t": "string", "why": "a", "more": "text"},
        {"c": "unknown", "t": "string", "why": "a", "len": "free text"},
        {"c": "unknown", "t": "string", "why": "a", "fmt": "free text"},
    ],
)
def test_a_placeholder_with_room_for_content_is_not_well_formed(body):
    """Anything beyond the fixed words of a placeholder could carry an original."""
    assert not is_well_formed({TAG: body})
