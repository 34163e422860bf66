"""Canonical JSON and digests (A5)."""

import math

from hypothesis import given
from hypothesis import strategies as st

from toolwitness.model.catalog import ToolDefinition, members_of, read_definition, toolset_digest
from toolwitness.model.digest import canonical_json, digest, is_under, key_digest, keyed_digest
from toolwitness.model.enums import Known, SideEffect

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers() | st.none(), inner, max_size=3),
)


@given(ANYTHING)
def test_it_is_total(value):
    """Every value that is not cyclic has a digest, lone surrogates, bytes and NaN included."""
    assert len(digest(value)) == 64


@given(st.dictionaries(st.text(), st.integers()))
def test_order_of_keys_does_not_matter(value):
    """Two objects with the same members have one digest."""
    assert digest(value) == digest(dict(reversed(value.items())))


def test_integers_are_exact():
    """Integers beyond what a float holds stay apart."""
    assert canonical_json({"n": 2**53 + 1}) == '{"n":9007199254740993}'


def test_not_a_number_has_text():
    """NaN is written, since a digest must not fail."""
    assert canonical_json(math.nan) == "NaN"


def test_a_key_changes_a_keyed_digest():
    """Without the key, a value cannot be compared with its digest."""
    assert keyed_digest(b"one", {"a": 1}) != keyed_digest(b"two", {"a": 1})


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def test_openai_anthropic_and_mcp_shapes_are_one_definition():
    """The same tool has the same digest in each provider's shape."""
    shapes = [
        {"type": "function", "function": {"name": "t", "description": "d", "parameters": SCHEMA}},
        {"name": "t", "description": "d", "input_schema": SCHEMA},
        {"name": "t", "description": "d", "inputSchema": SCHEMA},
    ]
    assert len({read_definition(shape).definition_digest for shape in shapes}) == 1


def test_an_unknown_schema_has_no_digest():
    """A tool shown by name only has an unknown schema, not an empty one."""
    assert ToolDefinition(name="t").schema_digest is None


def test_mcp_hints_tell_the_side_effect():
    """Read-only, destructive and idempotent hints are taken as they are given."""
    tool = read_definition({"name": "t", "annotations": {"readOnlyHint": True, "idempotentHint": True}})
    assert (tool.side_effect, tool.idempotent) == (SideEffect.READ, Known.YES)


def test_a_description_changes_the_definition_and_not_the_schema():
    """The two digests answer two questions."""
    one, two = (ToolDefinition(name="t", description=text, input_schema=SCHEMA) for text in ("a", "b"))
    assert one.schema_digest == two.schema_digest
    assert one.definition_digest != two.definition_digest


def test_a_toolset_does_not_depend_on_order():
    """The same tools in another order are the same set."""
    tools = [ToolDefinition(name=name, server=server) for name, server in [("b", "s"), ("a", "s"), ("a", "r")]]
    assert toolset_digest(members_of(tools)) == toolset_digest(members_of(reversed(tools)))


@given(st.binary(), st.binary(), st.text(), st.text())
def test_the_digest_of_a_key_tells_the_key_and_the_secret(secret, other, key, another):
    """Equal for the same of both alone, and in the form of every keyed digest."""
    told = key_digest(secret, key)

    assert (len(told), told == key_digest(secret, another)) == (32, key == another)
    assert is_under(secret, told)
    # HMAC pads a key with zeros, so those that differ by them are one.
    assert is_under(other, told) == (secret.rstrip(b"\0") == other.rstrip(b"\0"))
