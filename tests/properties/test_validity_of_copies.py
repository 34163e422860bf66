"""A redacted copy never contradicts its original about a schema."""

import json

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from toolwitness.collector.receive.scan import Scan
from toolwitness.model.enums import PrivacyClass, Validity
from toolwitness.model.validity import check
from toolwitness.redaction import Clean, RedactionPolicy, clean, project
from toolwitness.redaction.policy import Handling
from toolwitness.redaction.projection import Limits
from toolwitness.redaction.validity import check_copy

NAMES = ["id", "note", "email", "items", "two words", "$tw:redacted", "x[0]"]
TEXTS = [
    "", "a", "ab", "EUR", "bob@example.org", "write to bob@example.org today", '{"a": 1}', "[1, 2]", "[email]", "2024-02-30",
    "2024-02-03", "2024-02-03T04:05:06Z", "12345678-1234-1234-1234-123456789abc", "4111 1111 1111 1111", "x" * 40, "<cut>",
]  # fmt: skip
NUMBERS = [0, 1, 2, -1, 1.0, 1.5, 4111111111111111, 2**70]
SCALARS = st.sampled_from([None, True, False, *TEXTS, *NUMBERS])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]
SIZES = st.integers(0, 3)
LEAVES = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(TYPES)}),
    st.fixed_dictionaries({"type": st.lists(st.sampled_from(TYPES), min_size=1, max_size=2, unique=True)}),
    st.fixed_dictionaries({"enum": st.lists(SCALARS, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"const": VALUES}),
    st.fixed_dictionaries({"minimum": st.sampled_from([0, 1, 1.5])}),
    st.fixed_dictionaries({"exclusiveMaximum": st.sampled_from([0, 1, 1.5])}),
    st.fixed_dictionaries({"pattern": st.sampled_from(["^a", "@", "[0-9]", "^$"])}),
    st.fixed_dictionaries({"format": st.sampled_from(["date", "date-time", "uuid", "email", "phone", "unheard-of"])}),
    st.fixed_dictionaries({"minLength": st.integers(0, 20)}),
    st.fixed_dictionaries({"maxLength": st.integers(0, 20)}),
    st.sampled_from([True, False, {}, {"x-privacy": "public"}, {"writeOnly": True}, {"$ref": "#"}, {"$ref": "#/$defs/d"}]),
)


def _schemas(inner):
    members = st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3)
    some = st.lists(inner, min_size=1, max_size=3)
    words = {
        "type": st.sampled_from(["object", "array"]),
        "properties": members,
        "patternProperties": st.fixed_dictionaries({"^e": inner}),
        "additionalProperties": inner,
        "propertyNames": inner,
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "dependentRequired": st.fixed_dictionaries({"id": st.just(["note"])}),
        "unevaluatedProperties": inner,
        "minProperties": SIZES,
        "maxProperties": SIZES,
        "items": inner,
        "prefixItems": some,
        "contains": inner,
        "uniqueItems": st.booleans(),
        "minItems": SIZES,
        "maxItems": SIZES,
        "anyOf": some,
        "oneOf": some,
        "allOf": some,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "$defs": st.fixed_dictionaries({"d": inner}),
    }
    chosen = st.lists(st.sampled_from(sorted(words)), min_size=1, max_size=4, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: words[name] for name in names}))


SCHEMAS = st.recursive(LEAVES, _schemas, max_leaves=10)
DRAFTS = st.sampled_from([None, "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#"])
POLICIES = st.sampled_from(
    [
        RedactionPolicy(),
        RedactionPolicy(unknown="scan"),
        RedactionPolicy(classes={"*:*": PrivacyClass.PUBLIC}),
        RedactionPolicy(handling={PrivacyClass.UNKNOWN: Handling("drop")}),
        RedactionPolicy(handling={PrivacyClass.UNKNOWN: Handling("truncate")}),
    ]
)


def of_draft(schema, draft):
    """The schema as one of that draft, where it can be."""
    return {**schema, "$schema": draft} if draft is not None and isinstance(schema, dict) else schema


def agree(schema, original, copy, *, truncated=False):
    """Whether what the copy tells is what the original tells, or open."""
    told, true = check_copy(schema, copy, truncated=truncated), check(schema, original)
    event(f"copy {told.verdict}")
    return told.verdict in {Validity.INDETERMINATE, true.verdict}


@settings(max_examples=400)
@given(schema=SCHEMAS, draft=DRAFTS, value=VALUES, policy=POLICIES, shown=st.booleans())
@example(schema={"format": "date"}, draft=None, value="2024-02-30", policy=RedactionPolicy(), shown=True)
@example(schema={"type": "integer"}, draft=None, value=1.0, policy=RedactionPolicy(), shown=True)
@example(schema={"required": ["two words"]}, draft=None, value={"two words": 1}, policy=RedactionPolicy(), shown=True)
@example(schema={"maxLength": 7}, draft=None, value='{"a": 1}', policy=RedactionPolicy(), shown=True)
def test_a_copy_never_contradicts_its_original(schema, draft, value, policy, shown):
    """What a copy calls valid or invalid is so of the original too, also of a schema that it was not redacted by."""
    schema = of_draft(schema, draft)
    original = project(value)
    cleaned = clean(original, schema=schema if shown and isinstance(schema, dict) else None, policy=policy)

    assert isinstance(cleaned, Clean)
    assert agree(schema, original.value, json.loads(cleaned.json()), truncated=cleaned.truncated)


@settings(max_examples=200)
@given(schema=SCHEMAS, value=VALUES, depth=st.integers(1, 3), nodes=st.integers(0, 6), length=st.integers(0, 8))
def test_a_truncated_copy_never_contradicts_its_original(schema, value, depth, nodes, length):
    """What a limit left out may have been anything."""
    cut = project(value, limits=Limits(depth=depth, nodes=nodes, string=length))
    cleaned = clean(cut, policy=RedactionPolicy(unknown="scan"))

    assert isinstance(cleaned, Clean)
    assert agree(schema, value, cleaned.value, truncated=cleaned.truncated)


@settings(max_examples=200)
@given(schema=SCHEMAS, value=VALUES)
def test_a_copy_that_a_collector_masked_never_contradicts_its_original(schema, value):
    """The collector's second look changes texts, numbers and names."""
    row = {"arguments": json.dumps(value)}
    scan = Scan()
    scan.add(row)
    scan.mask(lambda: False)

    assert agree(schema, value, json.loads(row["arguments"]))
