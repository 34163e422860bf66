from __future__ import annotations

import itertools

import pytest

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction import RedactionPolicy, clean
from toolwitness.redaction.fields import Judgement, Source, inheritable, root
from toolwitness.redaction.policy import Declared
from toolwitness.redaction.schema import Schema, step_into

SECRET_PARENT = {"x-privacy": "secret"}


def field_of(path, *, node=None, above=None, classes=None):
    """Return the place of `args.<path>` in a tool `t`; `node` is the schema of the last key, `above` of the one before."""
    keys = path.split(".")
    schema = node or {}
    for number, key in enumerate(reversed(keys)):
        schema = {"properties": {key: schema}}
        if number == 0 and above is not None:
            schema.update(above)
    policy = RedactionPolicy(classes={f"t:args.{name}": said for name, said in (classes or {}).items()})
    found = root(policy, "t", "args", schema if node or above else None)
    for key in keys:
        found = found.member(key)
    return found


def class_of(path, **known):
    """Return the class of the place as text."""
    return field_of(path, **known).judgement.cls.value


def class_of_value(node, value):
    """Return the class that a value of a field gets from its schema."""
    found = field_of("greeting", node=node)
    listed = any(type(entry) is type(value) and entry == value for entry in found.listed)
    return (found.if_listed if listed else found.judgement).cls.value


def test_policy_goes_before_schema_and_schema_before_name():
    """The strongest voice that answers decides."""
    node = {"x-privacy": "personal"}

    assert class_of("password", node=node, classes={"password": Declared("public", "a demo")}) == "public"
    assert class_of("password", node=node) == "personal"
    assert class_of("password") == "secret"
    assert class_of("note") == "unknown"


@pytest.mark.parametrize(
    ("node", "value", "cls"),
    [
        ({"x-privacy": "sensitive"}, "x", "sensitive"),
        ({"x-privacy": "pubic"}, "x", "sensitive"),
        ({"x-privacy": ["public"]}, "x", "sensitive"),
        ({"writeOnly": True}, "x", "secret"),
        ({"format": "password"}, "x", "secret"),
        ({"format": "email"}, "x", "personal"),
        ({"format": "uuid"}, "x", "unknown"),
        ({"enum": ["a", "b"]}, "a", "public"),
        ({"enum": ["a", "b"]}, "someone's name", "unknown"),
        ({"enum": [1]}, 1.0, "unknown"),
        ({"const": "a"}, "a", "public"),
        ({"const": "a"}, "b", "unknown"),
        ({"anyOf": [{"type": "null"}, {"enum": ["a"]}]}, "a", "public"),
        ({"anyOf": [{"type": "string"}, {"writeOnly": True}]}, "a", "secret"),
        ({"anyOf": [{"x-privacy": "public"}, {"type": "string"}]}, "a", "unknown"),
        ({"x-privacy": "public", "anyOf": [{"type": "null"}, {"type": "string"}]}, "a", "public"),
    ],
)
def test_a_schema_declares_its_values(node, value, cls):
    """Annotations, formats and listed values give a class; a value that is not listed gets none from the list."""
    assert class_of_value(node, value) == cls


def test_a_listed_number_is_public_only_as_the_same_kind_of_number():
    """Equal values of other types, such as 1 and 1.0 or true, are not the listed one."""
    schema = {"properties": {"level": {"enum": [1, 2.5]}}}

    assert clean({"level": 1}, schema=schema).value == {"level": 1}
    assert clean({"level": 1.0}, schema=schema).value != {"level": 1.0}


def test_local_references_are_followed_and_loops_end():
    """A reference into the same schema is followed; one that goes round in circles counts as sensitive."""
    schema = {
        "$defs": {"a": {"x-privacy": "public"}, "loop": {"$ref": "#/$defs/loop"}},
        "properties": {"x": {"$ref": "#/$defs/a"}, "y": {"$ref": "#/$defs/loop"}},
    }
    top = root(RedactionPolicy(), None, "args", schema)

    assert top.member("x").judgement.cls == "public"
    assert top.member("y").judgement.cls == "sensitive"


def test_foreign_references_are_not_followed():
    """A reference that leaves the schema tells nothing."""
    assert class_of("x", node={"$ref": "https://example.org/schema"}) == "unknown"
    assert class_of("x", node={"$ref": "#/nowhere/at/all"}) == "unknown"


def test_a_child_inherits_and_its_name_may_only_raise():
    """Under a secret, an operational name is still secret; under a personal parent, a secret name is secret."""
    assert class_of("password.status") == "secret"
    assert class_of("address.note") == "personal"
    assert class_of("address.password") == "secret"


def test_a_schema_may_lower_what_the_parents_name_says():
    """A schema's word on the child itself beats the class that comes from the parent's name."""
    assert class_of("password.kind", node={"x-privacy": "public"}) == "public"


def test_a_policy_lowers_only_with_a_reason():
    """Below what schema, name or parent say, a declaration without a reason is not followed, and the copy says so."""
    with_reason = {"token": Declared(PrivacyClass.PUBLIC, "a ticker symbol")}
    without = field_of("token", classes={"token": "public"})

    assert class_of("token", classes=with_reason) == "public"
    assert (without.judgement.cls, without.judgement.why) == ("secret", "no-reason:name:token")
    assert class_of("address.city", classes={"address.city": "internal"}) == "personal"
    assert class_of("memo", node={"x-privacy": "sensitive"}, classes={"memo": "internal"}) == "sensitive"


def test_what_was_lowered_is_known_with_its_reason():
    """A place tells the higher class that its declaration overrules, and why that was done."""
    lowered = field_of("token", classes={"token": Declared("public", "a ticker symbol")})

    assert (lowered.lowered.cls, lowered.reason) == ("secret", "a ticker symbol")
    assert field_of("note", classes={"note": "public"}).lowered is None


def test_a_declaration_needs_no_reason_against_the_applications_own_word():
    """What the policy says of a tool as a whole is its default, not somebody else's warning."""
    assert class_of("kind", classes={"kind": "public"}) == "public"
    policy = RedactionPolicy(classes={"t:*": "sensitive", "t:args.kind": "public"})
    assert root(policy, "t", "args", None).member("kind").judgement.cls == "public"


def test_a_schema_does_not_lower_what_the_policy_declared():
    """The application's word on a container holds for members that only the schema calls public."""
    schema = {"properties": {"kind": {"x-privacy": "public"}}}
    policy = RedactionPolicy(classes={"t:*": "sensitive"})

    assert root(policy, "t", "args", schema).member("kind").judgement.cls == "sensitive"


def test_a_container_clears_its_members_only_where_that_was_declared():
    """An operational name hands nothing down; a declaration does, and so does every class above unknown."""
    named = Judgement(PrivacyClass.INTERNAL, "name:status", Source.NAME)
    declared = Judgement(PrivacyClass.INTERNAL, "schema:x-privacy", Source.SCHEMA)
    secret = Judgement(PrivacyClass.SECRET, "name:credential", Source.NAME)

    assert inheritable(named) is None
    assert inheritable(declared) is declared
    assert inheritable(secret) is secret


def test_places_are_worked_out_once():
    """The same place is the same object, however often a tool is called; another schema has places of its own."""
    policy, schema = RedactionPolicy(), {"properties": {"a": {"type": "string"}}}

    assert root(policy, "t", "args", schema).member("a") is root(policy, "t", "args", schema).member("a")
    assert root(policy, "t", "args", dict(schema)) is not root(policy, "t", "args", schema)


def test_a_place_forgets_members_beyond_its_limit():
    """Objects with ids for keys do not fill the memory."""
    top = root(RedactionPolicy(), None, "args", {"type": "object"})
    for letters in itertools.product("abcdefghijkl", repeat=4):
        top.member("".join(letters))

    assert len(top.members) <= 512


def test_a_schema_is_stepped_into_by_key_and_item():
    """Members are described by properties, else additionalProperties; array members by items."""
    sku = {"type": "string"}
    node = {"properties": {"items": {"items": {"properties": {"sku": sku}}}}, "additionalProperties": {"format": "email"}}
    top = Schema(node, (node,))

    items, named = step_into(top, "items")
    member, _ = step_into(items, None)
    inner, _ = step_into(member, "sku")
    other, other_named = step_into(top, "other")

    assert (named, other_named) == (True, False)
    assert inner.branches == (sku,)
    assert other.branches == ({"format": "email"},)
    assert step_into(inner, "more") == (None, False)
