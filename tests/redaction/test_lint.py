"""What `toolwitness check` finds, asked of the library; the command has its own tests."""

import gzip
import json
from collections import Counter

import pytest

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.catalog_file import catalog_of, identity, read_catalog
from toolwitness.model.declared import Declared
from toolwitness.model.enums import PrivacyClass
from toolwitness.model.exceptions import BrokenFileError
from toolwitness.redaction import Clean, clean
from toolwitness.redaction.annotations import misplaced
from toolwitness.redaction.baseline import baseline_of, read_baseline, write_baseline
from toolwitness.redaction.describe import MAX_SPOTS, describe
from toolwitness.redaction.fields import root
from toolwitness.redaction.lint import Code, lint
from toolwitness.redaction.placeholder import TAG
from toolwitness.redaction.policy import Action, Handling, RedactionPolicy
from toolwitness.redaction.policy_file import load_policy

TEXT = {"type": "string"}
CLOSED = {"type": "object", "additionalProperties": False}
NOTHING = RedactionPolicy()


def tool(properties=None, *, name="refund", **facts):
    """A tool with these arguments and no others; its results are internal."""
    schema = {**CLOSED, "properties": properties or {}}
    facts.setdefault("output_schema", {"type": "object", "x-privacy": "internal"})
    return ToolDefinition(**{"name": name, "input_schema": schema, **facts})


def fields(definition, policy=NOTHING):
    """Path, class and rule of each argument."""
    return [(field.path, field.cls.value, field.why) for field in describe(definition, policy) if field.path.startswith("args")]


def codes(*definitions, policy=NOTHING, **more):
    """Code, tool and path of each finding."""
    return [(finding.code.value, finding.tool, finding.path) for finding in lint(definitions, policy, **more)]


# -- every field, its class and why ---------------------------------------------------------------------------------------


def test_each_voice_is_named():
    """Policy, schema, name, or nobody."""
    definition = tool(
        {
            "order": {**TEXT, "x-privacy": "internal"},
            "pin": {**TEXT, "writeOnly": True},
            "to": {**TEXT, "format": "email"},
            "speed": {"enum": ["slow", "fast"]},
            "dry": {"type": "boolean"},
            "phone": TEXT,
            "amount": {"type": "number"},
            "note": TEXT,
        }
    )

    assert fields(definition, RedactionPolicy(classes={"refund:args.amount": "internal"})) == [
        ("args.order", "internal", "schema:x-privacy"),
        ("args.pin", "secret", "schema:writeOnly"),
        ("args.to", "personal", "schema:format-email"),
        ("args.speed", "public", "schema:enum"),
        ("args.dry", "public", "schema:boolean"),
        ("args.phone", "personal", "name:phone"),
        ("args.amount", "internal", "policy"),
        ("args.note", "unknown", "default"),
    ]


NESTED = {
    "references": ({"$ref": "#/$defs/text"}, ["args.x"]),
    "items": ({"type": "array", "items": TEXT}, ["args.x[]"]),
    "items of items": ({"type": "array", "items": {"type": "array", "items": TEXT}}, ["args.x[][]"]),
    "positions": ({"type": "array", "prefixItems": [TEXT, {**CLOSED, "properties": {"a": TEXT}}]}, ["args.x[]", "args.x[].a"]),
    "an array of anything": ({"type": "array"}, ["args.x"]),
    "members": ({**CLOSED, "properties": {"a": TEXT, "b": {**CLOSED, "properties": {"c": TEXT}}}}, ["args.x.a", "args.x.b.c"]),
    "an object of anything": ({"type": "object"}, ["args.x"]),
    "an object of nothing": (CLOSED, []),
    "further members": ({"type": "object", "additionalProperties": TEXT}, ["args.x.*"]),
    "members by pattern": ({**CLOSED, "patternProperties": {"^n": TEXT}}, ["args.x.*"]),
    "options": ({"anyOf": [TEXT, {**CLOSED, "properties": {"a": TEXT}}]}, ["args.x", "args.x.a"]),
    "all of several": ({"allOf": [{**CLOSED, "properties": {"a": TEXT}}, {"type": "object"}]}, ["args.x.a"]),
    "a condition": ({**CLOSED, "if": {}, "then": {"properties": {"a": TEXT}}}, ["args.x.a"]),
    "anything": ({}, ["args.x"]),
    "true": (True, ["args.x"]),
    "false": (False, []),
    "a name with a dot": ({**CLOSED, "properties": {"a.b": TEXT}}, ['args.x["a.b"]']),
    "a type that no validator knows": ({"type": "dict", "properties": {"a": {"type": "any"}}}, ["args.x.a"]),
    "contradictions": ({"type": "string", "$ref": "#/$defs/number"}, ["args.x"]),
    "itself": ({"$ref": "#/$defs/tree"}, ["args.x.name", "args.x.kids[].name"]),
}


@pytest.mark.parametrize("case", NESTED)
def test_every_leaf_of_a_schema_is_a_field(case):
    """Whatever keywords lead to it; a schema that refers to itself is followed once."""
    schema, paths = NESTED[case]
    kids = {"type": "array", "items": {"$ref": "#/$defs/tree"}}
    definitions = {
        "text": TEXT,
        "number": {"type": "integer"},
        "tree": {**CLOSED, "properties": {"name": TEXT, "kids": kids}},
    }
    definition = tool(input_schema={**CLOSED, "properties": {"x": schema}, "$defs": definitions})

    assert [path for path, _, _ in fields(definition)] == paths


def test_both_parts_are_described():
    """Arguments first, then results; a part without a schema is one field."""
    definition = ToolDefinition(name="t", input_schema={"properties": {"a": TEXT}})
    both = ToolDefinition(name="t", input_schema=None, output_schema={"properties": {"b": TEXT}})

    assert [field.path for field in describe(definition, NOTHING)] == ["args.a", "result"]
    assert [field.path for field in describe(both, NOTHING)] == ["args", "result.b"]


def test_what_follows_from_a_class_stands_beside_it():
    """The action, for how long, for whom, and the reason for a lower class."""
    policy = RedactionPolicy(
        classes={"refund:args.token": Declared("public", reason="a ticker symbol")},
        handling={PrivacyClass.PERSONAL: Handling(action=Action.HASH, retention_days=30, access=("support",))},
    )
    token, email = describe(tool({"token": TEXT, "email": TEXT}), policy)[:2]

    assert (token.cls, token.action, token.reason, token.retention_days) == ("public", "keep", "a ticker symbol", None)
    assert (email.cls, email.action, email.retention_days, email.access) == ("personal", "hash", 30, ("support",))


def test_a_tool_s_own_classes_count_and_the_policy_s_come_first():
    """`@toolwitness.tool(classes=...)` is a declaration like any other."""
    definition = tool({"a": TEXT, "b": TEXT}, classes={"args.a": "internal", "args.b": "internal"}, server="shop", version="2")
    policy = RedactionPolicy(classes={"shop/refund@2:args.b": "personal"})

    assert fields(definition, policy) == [("args.a", "internal", "policy"), ("args.b", "personal", "policy")]


def test_a_class_counts_for_the_version_it_was_given():
    """A declaration for one version says nothing of another."""
    policy = RedactionPolicy(classes={"refund@1:args.a": "internal"})

    assert fields(tool({"a": TEXT}, version="1"), policy) == [("args.a", "internal", "policy")]
    assert fields(tool({"a": TEXT}, version="2"), policy) == [("args.a", "unknown", "default")]


SAMPLES = {
    "string": "some words",
    "number": 12.5,
    "integer": 7,
    "object": {"inner": "some words"},
    "array": ["some words"],
}


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("key", ["note", "password", "email", "status", "patient"])
def test_what_is_described_is_what_redaction_does(kind, key):
    """A field that is shown as kept is kept, and one that is not is not, by name, type and nesting."""
    value = SAMPLES[kind]
    schema = {"type": kind} | ({"properties": {"inner": TEXT}, "additionalProperties": False} if kind == "object" else {})
    schema |= {"items": TEXT} if kind == "array" else {}
    definition = tool({key: schema})
    copy = clean({key: value}, tool=identity(definition), schema=definition.input_schema)
    assert isinstance(copy, Clean)
    left = copy.value[key]
    left = left["inner"] if kind == "object" else left[0] if kind == "array" else left
    (field,) = [field for field in describe(definition, NOTHING) if field.path.startswith("args")]

    kept = field.action is Action.KEEP
    assert (isinstance(left, dict), left if kept else left[TAG]["c"]) == (not kept, left if kept else field.cls.value)


# -- what is wrong --------------------------------------------------------------------------------------------------------


def test_a_catalog_that_says_everything_passes():
    """No finding at all."""
    definition = tool({"order": {**TEXT, "x-privacy": "internal"}, "dry": {"type": "boolean"}})

    assert codes(definition, policy=RedactionPolicy(classes={"refund:args.order": "internal"})) == []


def test_a_field_of_which_nobody_says_anything_is_a_finding():
    """Unknown by default is; unknown because somebody said so is not."""
    definition = tool({"note": TEXT, "free": {**TEXT, "x-privacy": "unknown"}, "token_id": TEXT})

    assert codes(definition) == [("unclassified", "refund", "args.note")]


def test_the_fix_of_an_undeclared_member_is_about_its_object():
    """Paths have no wildcards, so that `args.headers.*` cannot be declared, but `args.headers` can."""
    definition = tool({"headers": {"type": "object", "additionalProperties": TEXT}}, version="2")
    (found,) = lint([definition], NOTHING)

    assert (found.path, found.fix) == ("args.headers.*", 'add x-privacy to its schema, or "refund:args.headers" to the policy')
    assert codes(definition, policy=RedactionPolicy(classes={"refund:args.headers": "internal"})) == []


def test_missing_schemas_are_told():
    """No input schema is a field without a class; no output schema, as most servers have none, is a warning."""
    definition = ToolDefinition(name="t")
    found = lint([definition], NOTHING)

    assert [(one.code, one.path, one.warning) for one in found] == [
        (Code.UNCLASSIFIED, "args", False),
        (Code.NO_OUTPUT_SCHEMA, "result", True),
    ]
    assert codes(definition, policy=RedactionPolicy(classes={"t:*": "internal"})) == []


@pytest.mark.parametrize(
    ("schema", "warned"),
    [
        ({"type": "object"}, True),
        ({"type": "object", "additionalProperties": True}, True),
        ({"type": "object", "additionalProperties": {}}, True),
        ({"type": "object", "x-privacy": "internal"}, False),
        ({"type": "object", "additionalProperties": {"type": "string", "x-privacy": "internal"}}, False),
        ({"allOf": [{"type": "object"}, CLOSED]}, False),
        ({"anyOf": [{"type": "object"}, CLOSED]}, True),
        (CLOSED, False),
    ],
    ids=["absent", "true", "anything", "class", "described", "all-of", "one-open", "closed"],
)
def test_members_that_the_schema_does_not_name_are_a_warning(schema, warned):
    """Unless they are forbidden, described, or inherit a class."""
    found = lint([tool(input_schema={**schema, "properties": {}})], NOTHING)

    assert [(one.code, one.path, one.warning) for one in found] == [(Code.OPEN_OBJECT, "args", True)] * warned


def test_lowering_needs_a_reason_wherever_it_is_done():
    """By the policy, where it has no effect without one, and by the schema; on a container as well as on a field."""
    definition = tool(
        {
            "password": {**TEXT, "x-privacy": "public"},
            "token": TEXT,
            "email": {**TEXT, "x-privacy": "internal", "x-privacy-reason": "the shop's own"},
            "patient": {**CLOSED, "x-privacy": "internal", "properties": {"room": TEXT}},
            "phone": TEXT,
        }
    )
    policy = RedactionPolicy(
        classes={"refund:args.token": "public", "refund:args.phone": Declared("public", reason="the shop's own")}
    )

    assert codes(definition, policy=policy) == [
        ("lowered-without-reason", "refund", "args.password"),
        ("lowered-without-reason", "refund", "args.token"),
        ("lowered-without-reason", "refund", "args.patient"),
    ]
    assert fields(definition, policy)[1] == ("args.token", "secret", "no-reason:name:token")


SELECTORS = {
    "refund:args.amuont": "args has no member 'amuont'; did you mean 'amount'?",
    "refund:args.amount.cents": "args.amount is no object",
    "refund:args.items.sku": "args.items is no object; a path goes through an array by []",
    "refund:args[]": "args is no array",
    "refund:args.items[].color": "args.items[] has no member 'color'; it has sku",
    "refund:args.*": "args has no member '*': a path has no wildcards, so name the members, or the object that holds them",
    "refund:argument": "a path begins with args, result or error, and goes on as in args.items[].sku",
    "refund:args..": "args has no member ''; it has amount, items, note",
    "refnd:args": "no such tool is in the catalog",
    "bank/refund:args": "no such tool is in the catalog",
    "refund@3:args": "refund has no version 3 here, but 2",
    "*:args.colour": "args has no member 'colour'; it has amount, items, note",
}
ITEMS = {"type": "array", "items": {**CLOSED, "x-privacy": "internal", "properties": {"sku": TEXT}}}


@pytest.mark.parametrize("selector", SELECTORS)
def test_a_selector_that_reaches_nothing_is_a_finding(selector):
    """No such tool, version or path; the message says where it ends."""
    definition = tool(
        {"amount": {"type": "integer"}, "items": ITEMS, "note": TEXT}, server="shop", version="2", classes={"args": "internal"}
    )
    found = lint([definition], RedactionPolicy(classes={selector: "internal"}))

    assert [(one.code, one.message, one.warning) for one in found] == [(Code.UNREACHABLE_SELECTOR, SELECTORS[selector], False)]


@pytest.mark.parametrize(
    "selector",
    [
        "*:*",
        "refund:*",
        "shop/refund:args.items[].sku",
        "refund@2:args",
        "shop/refund@2:args.amount",
        "refund:args.note.inside.a.text[].of.json",
        "*:error",
        "*:result.x.y[]",
    ],
)
def test_a_selector_that_reaches_something_is_none(selector):
    """By any of a tool's names; below texts there may be JSON, and where a schema is open there may be anything."""
    definition = tool(
        {"amount": {"type": "integer"}, "items": ITEMS, "note": TEXT}, server="shop", version="2", classes={"args": "internal"}
    )

    assert codes(definition, policy=RedactionPolicy(classes={selector: "internal"})) == []


def test_where_the_catalog_has_no_versions_a_version_cannot_be_judged():
    """Not known is neither right nor wrong: a warning."""
    (found,) = lint([tool()], RedactionPolicy(classes={"refund@2:args": "internal"}))

    assert (found.code, found.warning) == (Code.UNREACHABLE_SELECTOR, True)


def test_a_selector_for_every_tool_need_reach_but_one():
    """`*` is a net."""
    assert (
        codes(
            tool(name="a"), tool({"amount": {"type": "boolean"}}), policy=RedactionPolicy(classes={"*:args.amount": "public"})
        )
        == []
    )


def test_a_tool_s_own_classes_must_reach_something_too():
    """A misspelt path in the decorator protects nothing."""
    assert codes(tool({"a": {"type": "boolean"}}, classes={"args.b": "secret"})) == [
        ("unreachable-selector", "refund", "args.b")
    ]


def test_a_schema_without_end_is_cut_and_told():
    """What is beyond the limit counts as not checked."""
    wide = {f"f{number}": {"type": "boolean"} for number in range(MAX_SPOTS + 1)}

    assert codes(tool(wide)) == [("unchecked", "refund", "args")]


# -- annotations that nobody hears ----------------------------------------------------------------------------------------

PRIVATE = {"type": "string", "x-privacy": "personal"}
UNHEARD = {
    "beside $ref in an old draft": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {"a": {"$ref": "#/$defs/t", "x-privacy": "personal"}},
        },
        "/properties/a/x-privacy",
    ),
    "in a default": ({"default": {"x-privacy": "personal"}}, "/default/x-privacy"),
    "in an example": ({"examples": [{"a": {"x-privacy": "personal"}}]}, "/examples/0/a/x-privacy"),
    "in listed values": ({"enum": [{"x-privacy": "personal"}]}, "/enum/0/x-privacy"),
    "in a keyword of one's own": ({"x-ui": {"x-privacy": "personal"}}, "/x-ui/x-privacy"),
    "in unused definitions": ({"$defs": {"unused": PRIVATE}}, "/$defs/unused/x-privacy"),
    "in unused old definitions": ({"definitions": {"unused": PRIVATE}}, "/definitions/unused/x-privacy"),
    "under not": ({"not": PRIVATE}, "/not/x-privacy"),
    "under then": ({"if": {}, "then": {"properties": {"a": PRIVATE}}}, "/then/properties/a/x-privacy"),
    "under contains": ({"contains": PRIVATE}, "/contains/x-privacy"),
    "under names": ({"propertyNames": PRIVATE}, "/propertyNames/x-privacy"),
    "under dependent schemas": ({"dependentSchemas": {"a": PRIVATE}}, "/dependentSchemas/a/x-privacy"),
    "in an array of items": ({"items": [PRIVATE]}, "/items/0/x-privacy"),
    "under unevaluated": ({"unevaluatedProperties": PRIVATE}, "/unevaluatedProperties/x-privacy"),
    "where nothing is allowed": (
        {"additionalProperties": {"not": {}, "x-privacy": "personal"}},
        "/additionalProperties/x-privacy",
    ),
    "lowering one option": ({"anyOf": [{"x-privacy": "public"}, {}]}, "/anyOf/0/x-privacy"),
    "lowering by reference from an option": (
        {"anyOf": [{"$ref": "#/$defs/low"}], "$defs": {"low": {"x-privacy": "internal"}}},
        "/$defs/low/x-privacy",
    ),
    "among the properties": ({"properties": {"x-privacy": "personal"}}, "/properties/x-privacy"),
    "with an underscore": ({"x_privacy": "personal"}, "/x_privacy"),
    "in camel case": ({"xPrivacy": "personal"}, "/xPrivacy"),
    "in capitals": ({"X-Privacy": "personal"}, "/X-Privacy"),
    "without the x": ({"privacy": "personal"}, "/privacy"),
    "write_only": ({"write_only": True}, "/write_only"),
    "write-only as a text": ({"writeOnly": "true"}, "/writeOnly"),
    "write-only in definitions": ({"$defs": {"unused": {"writeOnly": True}}}, "/$defs/unused/writeOnly"),
    "of no such class": ({"x-privacy": "pii"}, "/x-privacy"),
    "of no class at all": ({"x-privacy": ["personal"]}, "/x-privacy"),
    "a reason alone": ({"x-privacy-reason": "because"}, "/x-privacy-reason"),
}


@pytest.mark.parametrize("case", UNHEARD)
def test_an_annotation_that_nobody_hears_is_found(case):
    """With a pointer to it."""
    schema, pointer = UNHEARD[case]
    schema = {**schema, "$defs": {"t": {"type": "string"}, **schema.get("$defs", {})}}

    assert [one.pointer for one in misplaced(schema)] == [pointer]


HEARD = {
    "at the top": ({"x-privacy": "personal"}, []),
    "of a member": ({"properties": {"a": PRIVATE}}, ["a"]),
    "of a member by pattern": ({"patternProperties": {"^a": PRIVATE}}, ["a"]),
    "of further members": ({"additionalProperties": PRIVATE}, ["a"]),
    "of items": ({"items": PRIVATE}, [None]),
    "of a position": ({"prefixItems": [PRIVATE, {}]}, [None]),
    "of an option": ({"anyOf": [{}, PRIVATE]}, []),
    "of one of several": ({"oneOf": [PRIVATE]}, []),
    "of all": ({"allOf": [PRIVATE]}, []),
    "by reference": ({"properties": {"a": {"$ref": "#/$defs/p"}}, "$defs": {"p": PRIVATE}}, ["a"]),
    "beside a reference": ({"properties": {"a": {"$ref": "#/$defs/p", "x-privacy": "personal"}}, "$defs": {"p": {}}}, ["a"]),
    "of a member of an option": ({"anyOf": [{"properties": {"a": {"type": "string", "x-privacy": "personal"}}}]}, ["a"]),
}


@pytest.mark.parametrize("case", HEARD)
def test_what_is_not_found_is_what_redaction_hears(case):
    """No finding, and the place has the class."""
    schema, keys = HEARD[case]
    place = root(NOTHING, "t", "args", schema)
    for key in keys:
        place = place.item(container=False) if key is None else place.member(key)

    assert (misplaced(schema), place.judgement.cls) == ((), PrivacyClass.PERSONAL)


QUIET = [
    {"properties": {"writeOnly": {"type": "boolean"}, "x_privacy": {"type": "string"}}},
    {"privacy": "see our policy"},
    {"examples": [{"writeOnly": True, "privacy": 1}]},
    {"writeOnly": False},
    {"x-privacy": "internal", "x-privacy-reason": "because"},
]


@pytest.mark.parametrize("schema", QUIET, ids=["names", "a-text", "data", "false", "a-reason"])
def test_names_and_values_are_no_annotations(schema):
    """A member may be called anything, and data may hold anything."""
    assert misplaced(schema) == ()


def test_what_stands_outside_of_the_schemas_is_found():
    """On the tool itself, or in MCP's hints, where nobody looks."""
    catalog = catalog_of([{"name": "t", "x-privacy": "secret", "annotations": {"xPrivacy": "secret"}, "parameters": {}}])
    (one,) = catalog.tools
    found = codes(one.definition, policy=RedactionPolicy(classes={"*:*": "internal"}), unread={"t": one.unread})

    assert [(code, path) for code, _, path in found if code == "misplaced-annotation"] == [
        ("misplaced-annotation", "tool#/x-privacy"),
        ("misplaced-annotation", "tool#/annotations/xPrivacy"),
    ]


# -- the baseline ---------------------------------------------------------------------------------------------------------


def test_nothing_differs_from_a_baseline_of_now(tmp_path):
    """What was written is what is compared."""
    definition = tool({"a": PRIVATE}, server="shop", version="2")
    write_baseline(tmp_path / "b.json", baseline_of([definition], NOTHING))

    assert codes(definition, baseline=read_baseline(tmp_path / "b.json")) == []


def test_fields_that_came_went_or_changed_class_are_findings():
    """Each by its path; a tool that came or went as one."""
    before = baseline_of([tool({"a": PRIVATE, "b": PRIVATE}), tool(name="gone")], NOTHING)
    now = [tool({"a": {**TEXT, "x-privacy": "sensitive"}, "c": PRIVATE}), tool(name="came")]

    assert codes(*now, baseline=before) == [
        ("changed-class", "refund", "args.a"),
        ("new-field", "refund", "args.c"),
        ("removed-field", "refund", "args.b"),
        ("new-field", "came", "*"),
        ("removed-field", "gone", "*"),
    ]


def test_a_new_version_of_a_tool_is_compared_with_the_one_before():
    """Only a catalog that has several versions at once tells them apart."""
    one, two = tool({"a": PRIVATE}, version="1"), tool({"a": PRIVATE, "b": PRIVATE}, version="2")

    assert list(baseline_of([one], NOTHING)) == ["refund"]
    assert codes(two, baseline=baseline_of([one], NOTHING)) == [("new-field", "refund", "args.b")]
    assert codes(one, two, baseline=baseline_of([one], NOTHING)) == [("new-field", "refund@2", "args.b")]
    assert codes(one, two, baseline=baseline_of([one, two], NOTHING)) == []


def test_a_baseline_is_sorted_and_holds_fields_and_classes_alone(tmp_path):
    """The same bytes whatever the order of tools and fields, and no word of a description."""
    first = tool({"b": {**PRIVATE, "description": "private words"}, "a": PRIVATE}, description="private words")
    again = tool({"a": PRIVATE, "b": PRIVATE})
    write_baseline(tmp_path / "one.json", baseline_of([first, tool(name="alpha")], NOTHING))
    write_baseline(tmp_path / "two.json", baseline_of([tool(name="alpha"), again], NOTHING))

    assert (tmp_path / "one.json").read_text() == (tmp_path / "two.json").read_text()
    assert json.loads((tmp_path / "one.json").read_text()) == {
        "baseline": 1,
        "tools": {
            "alpha": {"result": "internal"},
            "refund": {"args.a": "personal", "args.b": "personal", "result": "internal"},
        },
    }


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"baseline": 2, "tools": {}}', '{"baseline": 1, "tools": {"a": {"b": "pii"}}}']
)
def test_a_file_that_is_no_baseline_is_named(tmp_path, text):
    """With what to do."""
    (tmp_path / "b.json").write_text(text)

    with pytest.raises(BrokenFileError, match=r"b\.json is no baseline .*--update-baseline"):
        read_baseline(tmp_path / "b.json")


# -- the guide, and real catalogs -----------------------------------------------------------------------------------------


def test_the_guide_s_catalog_passes_under_the_guide_s_policy(root, tmp_path):
    """Its example is one that `toolwitness check` accepts."""
    text = (root / "docs" / "redaction.md").read_text(encoding="utf-8")
    blocks = [text.partition(f"```{language}\n")[2].partition("```")[0] for language in ("json", "yaml")]
    (tmp_path / "catalog.json").write_text(blocks[0])
    (tmp_path / "policy.yaml").write_text(blocks[1])
    tools = read_catalog(tmp_path / "catalog.json").tools

    assert lint([one.definition for one in tools], load_policy(tmp_path / "policy.yaml")) == ()


@pytest.fixture(name="live", scope="module")
def fixture_live(shared):
    """The 527 tools of 70 real MCP servers."""
    with gzip.open(shared / "data" / "livemcpbench" / "tools.json.gz", "rt", encoding="utf-8") as file:
        return catalog_of(json.load(file)).tools


def test_real_tools_are_described_whole(live):
    """Every property that any of their schemas names at the top stands among the fields, or leads to one."""
    missed = []
    for one in live:
        paths = [field.path for field in describe(one.definition, NOTHING)]
        for key in (one.definition.input_schema or {}).get("properties", {}):
            path = f'args["{key}"]' if "." in key else f"args.{key}"
            if not any(found == path or found.startswith((f"{path}.", f"{path}[")) for found in paths):
                missed.append((identity(one.definition), key))

    assert (len(live), missed) == (527, [])


def test_real_tools_are_mostly_undeclared_and_say_nothing_wrong(live):
    """None of them knows our annotations, so each finding is one that a real catalog gives."""
    found = Counter(
        one.code
        for one in lint(
            [one.definition for one in live], NOTHING, unread={identity(one.definition): one.unread for one in live}
        )
    )

    assert set(found) == {Code.UNCLASSIFIED, Code.OPEN_OBJECT, Code.NO_OUTPUT_SCHEMA}
    assert found[Code.NO_OUTPUT_SCHEMA] == sum(one.definition.output_schema is None for one in live) == 423


def test_real_tools_can_be_declared_at_one_stroke(live):
    """A class for the whole of every tool leaves nothing undeclared, and names still raise it."""
    policy = RedactionPolicy(classes={"*:*": "internal"})
    definitions = [one.definition for one in live]
    voices = Counter(field.why.partition(":")[0] for definition in definitions for field in describe(definition, policy))

    assert lint(definitions, policy) == ()
    assert set(voices) == {"policy", "name", "schema"}


def test_a_field_that_only_a_declaration_names_is_a_field():
    """Below a result whose schema tells no members, what the policy shows is described, and a change of it is a finding."""
    tool = ToolDefinition(name="refund", input_schema={"type": "object", "properties": {}})
    policy = RedactionPolicy(classes={"refund:result.items[].sku": "public", "refund:result": "sensitive"})

    described = {field.path: field.cls.value for field in describe(tool, policy)}

    assert described["result.items[].sku"] == "public"
    assert described["result"] == "sensitive"
