from __future__ import annotations

import pytest

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.classify import Judgement, Place, Schema, Source, classify, inheritable, step_into

SECRET_PARENT = Judgement(PrivacyClass.SECRET, "name:credential", Source.NAME)
POLICY_PARENT = Judgement(PrivacyClass.SENSITIVE, "policy", Source.POLICY)


def judge(key, *, node=None, value="x", table=None, inherited=None):
    """Return the class of `args.<key>` as text."""
    schema = None if node is None else Schema(node, (node,))
    tables = () if table is None else (table,)
    return classify(Place(f"args.{key}", key, schema, value), tables, inherited).cls.value


def test_policy_goes_before_schema_and_schema_before_name():
    """The strongest voice that answers decides."""
    node = {"x-privacy": "personal"}

    assert judge("password", node=node, table={"args.password": PrivacyClass.PUBLIC}) == "public"
    assert judge("password", node=node) == "personal"
    assert judge("password") == "secret"
    assert judge("note") == "unknown"


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
    assert judge("greeting", node=node, value=value) == cls


def test_local_references_are_followed_and_loops_end():
    """A reference into the same schema is followed; one that goes round in circles counts as sensitive."""
    root = {"$defs": {"a": {"x-privacy": "public"}, "loop": {"$ref": "#/$defs/loop"}}}
    good = Schema(root, ({"$ref": "#/$defs/a"},))
    loop = Schema(root, ({"$ref": "#/$defs/loop"},))

    assert classify(Place("args.x", "x", good, "v"), (), None).cls == "public"
    assert classify(Place("args.x", "x", loop, "v"), (), None).cls == "sensitive"


def test_foreign_references_are_not_followed():
    """A reference that leaves the schema tells nothing."""
    assert judge("x", node={"$ref": "https://example.org/schema"}) == "unknown"
    assert judge("x", node={"$ref": "#/nowhere/at/all"}) == "unknown"


def test_a_child_inherits_and_its_name_may_only_raise():
    """Under a secret, an operational name is still secret; under a personal parent, a secret name is secret."""
    personal = Judgement(PrivacyClass.PERSONAL, "name:address", Source.NAME)

    assert judge("status", inherited=SECRET_PARENT) == "secret"
    assert judge("note", inherited=personal) == "personal"
    assert judge("password", inherited=personal) == "secret"


def test_a_declared_child_may_lower_what_it_inherits():
    """A schema's word on the child beats the parent's name, and a policy's word beats both."""
    assert judge("kind", node={"x-privacy": "public"}, inherited=SECRET_PARENT) == "public"
    assert judge("kind", table={"args.kind": PrivacyClass.PUBLIC}, inherited=POLICY_PARENT) == "public"


def test_a_schema_does_not_lower_what_the_policy_declared():
    """The application's word on a container holds for members that only the schema calls public."""
    assert judge("kind", node={"x-privacy": "public"}, inherited=POLICY_PARENT) == "sensitive"


def test_a_container_clears_its_members_only_where_that_was_declared():
    """An operational name hands nothing down; a declaration does, and so does every class above unknown."""
    named = Judgement(PrivacyClass.INTERNAL, "name:status", Source.NAME)
    declared = Judgement(PrivacyClass.INTERNAL, "schema:x-privacy", Source.SCHEMA)

    assert inheritable(named) is None
    assert inheritable(declared) is declared
    assert inheritable(SECRET_PARENT) is SECRET_PARENT


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
