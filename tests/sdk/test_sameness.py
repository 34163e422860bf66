"""Whether what ran is what was approved: a change is told as one, and nothing else is."""

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.model.enums import Known
from toolwitness.redaction import project
from toolwitness.sdk.sameness import same_arguments

SCHEMA = {"type": "object", "properties": {"to": {}, "amount": {}, "currency": {"default": "EUR"}, "note": {"default": None}}}
APPROVED = {"to": "bob", "amount": 5}


class Currency(Enum):
    """What pydantic makes of a text."""

    EUR = "EUR"


def judged(approved, ran, schema=SCHEMA):
    """What is said of arguments as a tool got them."""
    copy = project(ran)
    return same_arguments(project(approved).value, copy.value, schema, whole=not copy.truncated)


@pytest.mark.parametrize(
    ("approved", "ran"),
    [
        (APPROVED, {"amount": 5, "to": "bob"}),
        (APPROVED, {**APPROVED, "amount": 5.0}),
        (APPROVED, {**APPROVED, "currency": "EUR", "note": None}),
        ({**APPROVED, "currency": "EUR"}, APPROVED),
        ({"at": "2026-11-02"}, {"at": date(2026, 11, 2)}),
        ({"unit": "EUR"}, {"unit": Currency.EUR}),
        ({"rows": [{"id": 1}, {"id": 2}]}, {"rows": ({"id": 1}, {"id": 2})}),
        (APPROVED, {"order": APPROVED}),
        (["a", 1], ["a", 1]),
        ("free text", "free text"),
    ],
)
def test_the_same(approved, ran):
    """Order, declared defaults and the types that a framework makes of JSON change nothing."""
    assert judged(approved, ran) is Known.YES


@pytest.mark.parametrize(
    ("approved", "ran"),
    [
        (APPROVED, {**APPROVED, "amount": 6}),
        (APPROVED, {**APPROVED, "amount": 5.01}),
        (APPROVED, {**APPROVED, "to": "eve"}),
        (APPROVED, {**APPROVED, "amount": None}),
        (APPROVED, {"to": "bob"}),
        (APPROVED, {**APPROVED, "currency": "USD"}),
        ({"account": "90071992547409930"}, {"account": 90071992547409931}),
        ({"sure": True}, {"sure": False}),
        ({"dry_run": True, **APPROVED}, APPROVED),
        ({"rows": [1, 2]}, {"rows": [1, 2, 3]}),
        ({"rows": [1, 2]}, {"rows": [2, 1]}),
        ({"at": "2026-11-02"}, {"at": date(2026, 11, 3)}),
        (APPROVED, {"order": {**APPROVED, "amount": 50}}),
        ({"a": {"b": 1}}, {"a": {"b": 2}}),
        ("free text", "other text"),
        (APPROVED, {**APPROVED, "amount": 6, "blob": object()}),
    ],
)
def test_another(approved, ran):
    """A value that differs, one that is gone, and a declared default that somebody replaced."""
    assert judged(approved, ran) is Known.NO


@pytest.mark.parametrize(
    ("approved", "ran"),
    [
        (APPROVED, {**APPROVED, "tenant": "t-1"}),
        (APPROVED, {**APPROVED, "amount": "5"}),
        (APPROVED, {**APPROVED, "amount": Decimal("5.00")}),
        (APPROVED, {**APPROVED, "to": "Bob "}),
        (APPROVED, {"to": "bob", "*": [5]}),
        (APPROVED, {**APPROVED, "session": object()}),
        ({**APPROVED, "note": None, "x": None}, APPROVED),
        ({"at": "2026-11-02T10:00:00Z"}, {"at": datetime(2026, 11, 2, 10, tzinfo=UTC)}),
        ({"where": '{"a": 1}'}, {"where": {"a": 1}}),
        ({"sure": "true"}, {"sure": True}),
        ({"file": "a"}, {"file": Path("a"), "more": {1: b"x"}}),
        ({"text": "x" * 100_000}, {"text": "x" * 99_999}),
    ],
)
def test_nobody_can_tell(approved, ran):
    """What an application adds of its own, what was turned into another type, and what the copy does not hold."""
    assert judged(approved, ran) is Known.UNKNOWN


def test_without_a_schema_no_default_is_known():
    """What was added may have been one."""
    assert judged(APPROVED, {**APPROVED, "currency": "USD"}, None) is Known.UNKNOWN


def test_a_schema_that_is_none_is_as_good_as_no_schema():
    """Tool servers send anything."""
    for schema in ("x", [], {"properties": []}, {"properties": {"currency": 1}}, True):
        assert judged(APPROVED, {**APPROVED, "currency": "USD"}, schema) is Known.UNKNOWN


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_it_is_total_and_never_calls_the_same_a_change(one, other):
    """Any value compared with itself is not another, and any two have an answer."""
    assert judged(one, one) is not Known.NO
    assert judged(one, other) in Known
