"""What a redacted copy can still tell about a schema, and what it leaves open."""

import pytest

from toolwitness.model.enums import Validity
from toolwitness.model.records import Failure
from toolwitness.model.validity import MAX_FAILURES, Check, Checker
from toolwitness.redaction import RedactionPolicy, clean
from toolwitness.redaction.validity import check_copy

VALID = Check(Validity.VALID)
DATE, ID = "2024-02-03", "12345678-1234-1234-1234-123456789abc"


def invalid(*failures):
    """The check of an original that certainly fails there."""
    return Check(Validity.INVALID, tuple(Failure(*place) for place in failures))


def left(*places):
    """The check of an original of which these places are open."""
    return Check(Validity.INDETERMINATE, tuple(Failure(*place) for place in places))


def of(schema, value):
    """What the usual copy of a value tells of the schema."""
    return check_copy(schema, clean(value).value)


def member(schema):
    """A schema for an object with a member `a` of that schema."""
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "string"}, "x", VALID),
        ({"type": ["integer", "string"]}, "x", VALID),
        ({"type": "integer"}, "x", invalid(("/a", "type"))),
        ({"type": "integer"}, 5, VALID),
        ({"type": "number"}, 5, VALID),
        ({"type": "number"}, 5.5, VALID),
        ({"type": "integer"}, 5.0, left(("/a", "type"))),
        ({"type": "boolean"}, 5.5, invalid(("/a", "type"))),
        ({"type": "string", "pattern": "^x"}, "x", left(("/a", "pattern"))),
        ({"pattern": "^x"}, 5, VALID),
        ({"minimum": 3}, 5, left(("/a", "minimum"))),
        ({"minimum": 3}, "x", VALID),
        ({"enum": ["a", "b"]}, "x", left(("/a", "enum"))),
        ({"enum": [1, 2, None]}, "x", invalid(("/a", "enum"))),
        ({"const": 1}, 2.5, left(("/a", "const"))),
        ({"const": {"b": 1}}, "x", invalid(("/a", "const"))),
        ({"minLength": 3}, "x" * 9, VALID),
        ({"minLength": 30}, "x" * 9, invalid(("/a", "minLength"))),
        ({"minLength": 12}, "x" * 9, left(("/a", "minLength"))),
        ({"maxLength": 16}, "x" * 9, VALID),
        ({"maxLength": 8}, "x" * 9, invalid(("/a", "maxLength"))),
        ({"maxLength": 12}, "x" * 9, left(("/a", "maxLength"))),
        ({"format": "uuid"}, ID, VALID),
        ({"format": "uuid"}, DATE, invalid(("/a", "format"))),
        ({"format": "date"}, DATE, left(("/a", "format"))),
        ({"format": "flight-number"}, "x", VALID),
        ({"title": "what it is for", "x-privacy": "personal"}, "x", VALID),
        (True, "x", VALID),
        (False, "x", invalid(("/a", "falseSchema"))),
    ],
)
def test_a_placeholder_tells_type_size_and_shape(schema, value, expected):
    """Whatever follows from those is certain; the rest is open."""
    assert of(member(schema), {"a": value}) == expected


@pytest.mark.parametrize("value", [True, None, "", [], {}, [True, None]])
def test_what_redaction_keeps_is_checked_as_it_is(value):
    """Booleans, nulls and what is empty are the original's own."""
    assert of(member({"const": value}), {"a": value, "b": "hidden"}) == VALID
    assert of(member({"const": 0}), {"a": value, "b": "hidden"}).verdict is Validity.INVALID


def test_listed_values_stay_and_are_checked():
    """A schema's own enum members are shown to everyone, so that they decide."""
    schema = member({"enum": ["eur", "usd"]})

    assert check_copy(schema, clean({"a": "eur"}, schema=schema).value) == VALID


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"required": ["a", "c"]}, invalid(("", "required"))),
        ({"required": ["a", "b"]}, VALID),
        ({"additionalProperties": False, "properties": {"a": {}}}, invalid(("", "additionalProperties"))),
        ({"additionalProperties": False, "properties": {"a": {}, "b": {}}}, VALID),
        ({"additionalProperties": {"type": "string"}}, invalid(("/*", "type"))),
        ({"minProperties": 3}, invalid(("", "minProperties"))),
        ({"maxProperties": 2}, VALID),
        ({"properties": {"b": {"minItems": 3}}}, invalid(("/b", "minItems"))),
        ({"properties": {"b": {"maxItems": 2}}}, VALID),
        ({"properties": {"b": {"items": {"type": "integer"}}}}, VALID),
        ({"properties": {"b": {"items": {"type": "string"}}}}, invalid(("/b/0", "type"), ("/b/1", "type"))),
        ({"properties": {"b": {"items": {"maximum": 9}}}}, left(("/b/0", "maximum"), ("/b/1", "maximum"))),
        ({"properties": {"b": {"uniqueItems": True}}}, left(("/b", "uniqueItems"))),
        ({"propertyNames": {"maxLength": 1}}, left(("", "propertyNames"))),
        ({"patternProperties": {"^a": {"type": "string"}}}, left(("", "patternProperties"))),
    ],
)
def test_the_shape_of_objects_and_arrays_is_known(schema, expected):
    """Names, counts and places stay, and are checked."""
    assert of(schema, {"a": "hidden", "b": [1, 2]}) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, VALID),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, invalid(("", "anyOf"))),
        ({"anyOf": [{"type": "integer"}, {"pattern": "x"}]}, left(("", "anyOf"))),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, VALID),
        ({"oneOf": [{"type": "string"}, {"minLength": 1}, {"pattern": "x"}]}, invalid(("", "oneOf"))),
        ({"oneOf": [{"type": "string"}, {"pattern": "x"}]}, left(("", "oneOf"))),
        ({"allOf": [{"type": "string"}, {"pattern": "x"}]}, left(("", "pattern"))),
        ({"allOf": [{"type": "null"}, {"pattern": "x"}]}, invalid(("", "type"))),
        ({"not": {"type": "null"}}, VALID),
        ({"not": {"type": "string"}}, invalid(("", "not"))),
        ({"not": {"pattern": "x"}}, left(("", "not"))),
        ({"if": {"type": "string"}, "then": {"minLength": 1}, "else": False}, VALID),
        ({"if": {"pattern": "x"}, "then": {"type": "string"}}, VALID),
        ({"if": {"pattern": "x"}, "then": {"type": "null"}}, left(("", "if"))),
        ({"$defs": {"n": {"type": "string"}}, "$ref": "#/$defs/n"}, VALID),
        ({"$defs": {"n": {"type": "null"}}, "$ref": "#/$defs/n"}, invalid(("", "type"))),
        ({"$defs": {"n": {"$anchor": "n"}}, "$ref": "#n"}, left(("", "$ref"))),
    ],
)
def test_branches_decide_where_every_way_leads_there(schema, expected):
    """An answer that hangs on what is hidden is open, one that comes out the same either way is not."""
    assert of(schema, "hidden") == expected


@pytest.mark.parametrize("key", ["two words", "bob@example.org", "$tw:redacted", "x" * 65])
def test_a_masked_key_may_have_been_any(key):
    """Of an object with such a key nobody knows which members it has, only that it has more than are seen."""
    schema = {"properties": {key: {"type": "null"}}, "required": [key], "additionalProperties": False}

    found = of(schema, {key: 1, "seen": 2})

    assert found == invalid(("", "additionalProperties"))
    assert of({**schema, "additionalProperties": True}, {key: 1}).verdict is Validity.INDETERMINATE
    assert of({"minProperties": 1}, {key: 1, "seen": 1}) == VALID


def test_text_of_which_a_part_was_masked_is_no_longer_the_original():
    """Its type is known, its length and letters are not."""
    copy = clean({"a": "write to bob@example.org"}, policy=RedactionPolicy(unknown="scan")).value

    assert "bob" not in copy["a"]
    assert check_copy(member({"type": "string", "maxLength": 5}), copy) == left(("/a", "maxLength"))


def test_json_in_a_text_was_written_again():
    """Its white space is not the original's."""
    assert of(member({"maxLength": 7}), {"a": '{ "b": true }'}) == left(("/a", "maxLength"))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object"}, VALID),
        ({"type": "array"}, invalid(("", "type"))),
        ({"required": ["c"]}, left(("", "required"))),
        ({"maxProperties": 1}, invalid(("", "maxProperties"))),
        ({"properties": {"a": {"type": "null"}}}, left(("/a", "type"))),
        ({"properties": {"b": {"const": False}}}, invalid(("/b", "const"))),
        ({"properties": {"c": {"type": "string"}}}, left(("/c", "properties"))),
    ],
)
def test_a_truncated_copy_may_lack_anything(schema, expected):
    """A text in it may stand for something else, and its objects may have had more members."""
    copy = clean({"a": object(), "b": True})

    assert copy.truncated
    assert check_copy(schema, copy.value, truncated=True) == expected


def test_a_schema_that_cannot_be_used_leaves_everything_open():
    """As it does for raw values."""
    assert of({"type": "nonsense"}, {"a": "x"}) == left()
    assert of({"$ref": "https://example.org/x"}, {"a": "x"}) == left()
    assert of({"$schema": "https://json-schema.org/draft/2020-12/schema", "$dynamicRef": "#"}, "x").verdict == "indeterminate"


def test_open_places_are_told_up_to_a_limit():
    """As failures are."""
    assert len(of({"items": {"pattern": "x"}}, ["hidden"] * 100).failures) == MAX_FAILURES


def test_a_schema_that_would_take_for_ever_is_given_up():
    """References that double are followed for a limited number of steps."""
    definitions = {f"a{level}": {"allOf": [{"$ref": f"#/$defs/a{level + 1}"}] * 2} for level in range(13)}

    assert of({"$defs": {**definitions, "a13": {"type": "string"}}, "$ref": "#/$defs/a0"}, "hidden") == left()


@pytest.mark.parametrize("copy", [{"$tw:redacted": 5}, {"$tw:redacted": {"t": "list", "len": []}}, "[email]", (1, 2), object()])
def test_what_is_no_copy_of_ours_may_be_anything(copy):
    """A placeholder that somebody altered tells nothing."""
    assert check_copy({"type": "null"}, copy) == left(("", "type"))


def test_a_checker_can_be_kept_for_many_copies():
    """It answers as its schema does."""
    checker = Checker(member({"type": "string"}))

    assert [check_copy(checker, clean({"a": value}).value) for value in ("x", 1)] == [VALID, invalid(("/a", "type"))]
