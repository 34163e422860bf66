"""Whether raw values fit a schema, and what may be told of it."""

import json
import socket
import subprocess
import sys
import time

import pytest

from toolwitness.model.enums import Validity
from toolwitness.model.records import Failure
from toolwitness.model.validity import MAX_FAILURES, Check, Checker, Checkers, check

VALID, INDETERMINATE = Check(Validity.VALID), Check(Validity.INDETERMINATE)
DRAFT_4, DRAFT_7 = "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#"
ORDER = {
    "type": "object",
    "properties": {
        "sku": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "count": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"enum": ["new", "used"]}},
        "a/b~c": {"type": "null"},
    },
    "required": ["sku"],
    "additionalProperties": False,
}


def invalid(*failures):
    """The check of a value that fails there."""
    return Check(Validity.INVALID, tuple(Failure(pointer, keyword) for pointer, keyword in failures))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"sku": "ABC", "count": 2, "tags": ["new"]}, VALID),
        ({"sku": "abc"}, invalid(("/sku", "pattern"))),
        ({"sku": "ABC", "count": 0}, invalid(("/count", "minimum"))),
        ({"sku": "ABC", "count": "2"}, invalid(("/count", "type"))),
        ({"sku": "ABC", "tags": ["new", "old"]}, invalid(("/tags/1", "enum"))),
        ({"count": 2}, invalid(("", "required"))),
        ({"sku": "ABC", "colour": "red"}, invalid(("", "additionalProperties"))),
        ({"sku": "ABC", "a/b~c": 1}, invalid(("/a~1b~0c", "type"))),
        ("ABC", invalid(("", "type"))),
    ],
)
def test_failures_are_pointers_and_keywords(value, expected):
    """Each place that does not fit is told by its JSON pointer and the schema's keyword."""
    assert check(ORDER, value) == expected


def test_nothing_of_the_value_is_told():
    """Neither values nor keys that the schema does not declare leave."""
    schema = {
        "properties": {"people": {"additionalProperties": {"type": "object", "properties": {"age": {"type": "integer"}}}}}
    }

    found = check(schema, {"people": {"Bob Smith": {"age": "bob-secret"}, "Eve": 3}})

    assert set(found.failures) == {Failure("/people/*/age", "type"), Failure("/people/*", "type")}
    assert not any(text in repr(found) for text in ("Bob", "Eve", "bob-secret"))


def test_a_closed_object_fails_by_the_same_keyword_with_and_without_properties():
    """A tool without parameters that is given one is told as any other that is given one too many."""
    assert check({"additionalProperties": False}, {"a": 1}) == invalid(("", "additionalProperties"))
    assert check({"properties": {"b": {}}, "additionalProperties": False}, {"a": 1}) == invalid(("", "additionalProperties"))


def test_failures_are_told_up_to_a_limit():
    """A value that fails everywhere is told by its first places."""
    found = check({"items": {"type": "string"}}, list(range(500)))

    assert found.verdict is Validity.INVALID
    assert found.failures == tuple(Failure(f"/{place}", "type") for place in range(MAX_FAILURES))


def test_a_value_with_very_many_places_is_told_by_the_first():
    """To list every failure of a large value would take too long."""
    schema = {"items": {"allOf": [{"type": "string"}] * 10}}

    assert check(schema, list(range(5000))) == invalid(("/0", "type"))


@pytest.mark.parametrize("reference", ["https://example.org/schema.json", "http://127.0.0.1:1/x", "file:///etc/hostname"])
def test_a_reference_to_another_document_is_never_fetched(monkeypatch, reference):
    """What stands elsewhere is not known here."""

    def refuse(*_arguments, **_named):
        raise AssertionError("something was fetched")

    monkeypatch.setattr(socket.socket, "connect", refuse)

    assert check({"type": "object", "properties": {"a": {"$ref": reference}}}, {"a": 1}) == INDETERMINATE


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strng"},
        {"minimum": "1"},
        {"pattern": "("},
        {"pattern": "^(?=a)b"},
        {"$ref": "#/nowhere"},
        {"$schema": "https://example.org/own-dialect"},
        {"properties": {1: {"type": "string"}}, "required": 5},
        {"enum": ["x" * 300_000]},
        {"allOf": [{"pattern": f"a{number}"} for number in range(300)]},
        None,
        "object",
        [{"type": "object"}],
        {"minimum": float("nan")},
        {"enum": ["\ud800"]},
    ],
    ids=lambda schema: json.dumps(schema, default=str)[:40],
)
def test_a_schema_that_cannot_be_used_is_indeterminate(schema):
    """Broken, foreign or too large: the value may fit or not."""
    assert check(schema, {"a": 1}) == INDETERMINATE


def test_a_schema_that_holds_itself_is_indeterminate():
    """A cycle of Python objects is no JSON."""
    schema = {"type": "object"}
    schema["properties"] = {"a": schema}

    assert check(schema, {}) == INDETERMINATE


def cyclic():
    """A list that holds itself twice."""
    value = []
    value += [value, value]
    return value


def nested(levels):
    """Lists inside lists."""
    value = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, {1, 2}, "\ud800", cyclic(), nested(100_000), list(range(50_000))],
    ids=["object", "integer key", "set", "half a character", "cycle", "very deep", "very long"],
)
def test_a_value_that_is_no_json_or_too_large_is_indeterminate(value):
    """Whatever the value is, the answer is a check."""
    assert check({"items": {"$ref": "#"}, "type": ["array", "object", "string"]}, value) == INDETERMINATE


def doubling(levels):
    """A schema of a few objects that would be held against a value 2 ** levels times."""
    definitions = {"a0": {"type": "integer"}}
    for level in range(levels):
        definitions[f"a{level + 1}"] = {"allOf": [{"$ref": f"#/$defs/a{level}"}] * 2}
    return {"$defs": definitions, "$ref": f"#/$defs/a{levels}"}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (doubling(60), 1),
        ({"properties": {"x": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}, json.loads('{"x":' * 60 + "1" + "}" * 60)),
        ({"pattern": "^(a+)+$"}, "a" * 100_000 + "b"),
    ],
    ids=["references that double", "references that double at each level", "pattern"],
)
def test_what_would_take_for_ever_ends_soon(schema, value):
    """A schema or pattern that is made to cost time is given up, or matched in linear time."""
    before = time.process_time()

    check(schema, value)

    assert time.process_time() - before < 5


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}],
    ids=["itself", "a part", "a definition"],
)
def test_a_reference_to_itself_says_nothing(schema):
    """It comes back to where it was, and every value fits."""
    assert check(schema, 1) == VALID


def test_a_tree_of_any_depth_can_be_checked():
    """References that come back with each level of the value are usual, and cost no more than the value has levels."""
    schema = {
        "type": "object",
        "properties": {name: {"items": {"$ref": "#"}} for name in ("and", "or", "not")} | {"field": {"type": "string"}},
    }

    assert check(schema, {"and": [{"or": [{"field": "a"}, {"not": [{"field": "b"}]}]}]}) == VALID
    assert check(schema, {"and": [{"or": [{"field": 1}]}]}) == invalid(("/and/0/or/0/field", "type"))


def test_the_draft_is_the_one_that_the_schema_names():
    """Draft 4 has an exclusive minimum that is a boolean, and no `const`; 2020-12 is meant where nothing is said."""
    assert check({"$schema": DRAFT_4, "minimum": 3, "exclusiveMinimum": True}, 3) == invalid(("", "exclusiveMinimum"))
    assert check({"$schema": DRAFT_4, "const": 1}, 2) == VALID
    assert check({"const": 1}, 2) == invalid(("", "const"))
    assert check({"minimum": 3, "exclusiveMinimum": True}, 3) == INDETERMINATE
    assert [Checker({"$schema": draft}).draft for draft in (DRAFT_4, DRAFT_7)] == [4, 7]
    assert Checker({}).draft == 2020


def test_formats_are_checked_and_unknown_ones_are_not():
    """A date must be one, whatever the draft; a format that nobody knows says nothing."""
    assert check({"format": "date"}, "2024-02-30") == invalid(("", "format"))
    assert check({"$schema": DRAFT_7, "format": "date"}, "tomorrow") == invalid(("", "format"))
    assert check({"format": "flight-number"}, "?") == VALID


def test_large_integers_are_exact():
    """Neither schema nor value is rounded."""
    assert check({"maximum": 2**70}, 2**70) == VALID
    assert check({"maximum": 2**70}, 2**70 + 1) == invalid(("", "maximum"))


def test_a_part_of_a_schema_can_be_held_against_a_part_of_a_value():
    """References of the part still point into the whole."""
    checker = Checker({"$defs": {"n": {"type": "integer"}}, "properties": {"a/b": {"items": {"$ref": "#/$defs/n"}}}})

    assert checker.check_part("/properties/a~1b", [1]) == VALID
    assert checker.check_part("/properties/a~1b", ["x"]) == invalid(("/0", "type"))
    assert checker.check_part("/nowhere", 1) == INDETERMINATE


def test_a_schema_is_compiled_once_for_its_digest():
    """Checkers are kept by digest, the least recently used of them forgotten."""
    kept = Checkers(most=2)
    first, second = kept.of("a", {"type": "string"}), kept.of("b", {})
    kept.of("a", {"type": "string"})
    kept.of("c", {})

    assert kept.of("a", {"type": "string"}) is first
    assert kept.of("b", {}) is not second


def test_the_validator_is_loaded_when_something_is_checked():
    """An agent that checks nothing does not load it."""
    code = "import sys, toolwitness.sdk.recorder; print('jsonschema_rs' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
