from __future__ import annotations

import copy
import json
import threading

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolwitness import redaction
from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction import Clean, Minimal, RedactionPolicy, clean, is_placeholder, project
from toolwitness.redaction import clean as clean_function
from toolwitness.redaction.cleaning import failures
from toolwitness.redaction.names import name_class
from toolwitness.redaction.placeholder import ESCAPED, TAG
from toolwitness.redaction.projection import CUT, Projection

CANARY = "quartz-lantern-7741"
SCAN = RedactionPolicy(unknown="scan")
EMAIL = "someone" + "@example.org"
VENDOR_KEY = "ghp" + "_" + "Ab3" * 12

atoms = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=20)
keys = st.text(max_size=8) | st.sampled_from(["status", "password", "items", "email", TAG, "value", "name"])
values = st.recursive(
    atoms, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5), max_leaves=30
)
policies = st.sampled_from([None, SCAN, RedactionPolicy(classes={"*:*": PrivacyClass.PUBLIC})])


def body(placeholder):
    """Return what a placeholder tells."""
    assert is_placeholder(placeholder)
    return placeholder[TAG]


def test_the_public_names_are_the_promised_ones():
    """The package offers sixteen names, in order, and has them."""
    assert redaction.__all__ == sorted(redaction.__all__)
    assert len(redaction.__all__) == 16
    assert all(hasattr(redaction, name) for name in redaction.__all__)


def test_shape_stays_and_leaves_become_placeholders():
    """Keys, nesting, array lengths, booleans, nulls and empty containers stay; unclassified leaves lose their content."""
    cleaned = clean({"items": [{"sku": "A-1", "qty": 2}, {}], "gift": True, "coupon": None, "tags": [], "note": ""})

    assert list(cleaned.value) == ["items", "gift", "coupon", "tags", "note"]
    assert body(cleaned.value["items"][0]["sku"]) == {"c": "unknown", "t": "string", "len": "3-4", "why": "default"}
    assert body(cleaned.value["items"][0]["qty"]) == {"c": "unknown", "t": "integer", "why": "default"}
    assert cleaned.value["items"][1] == {}
    assert (cleaned.value["gift"], cleaned.value["coupon"], cleaned.value["tags"], cleaned.value["note"]) == (
        True,
        None,
        [],
        "",
    )
    assert (cleaned.redacted, cleaned.truncated) == (2, False)


def test_operational_values_are_kept():
    """Status words and counts are readable without any declaration."""
    value = {"status": "open", "count": 3, "max_tokens": 512, "error_code": "E_LIMIT"}

    assert clean(value).value == value


def test_free_text_under_an_operational_name_is_not_kept():
    """A name such as `status` clears labels, not sentences or objects."""
    cleaned = clean({"status": f"told {CANARY} to come back on Monday", "state": {"who": CANARY}})

    assert CANARY not in cleaned.json()


@pytest.mark.parametrize("key", ["note", "password", "email", "salary", "验证码", "x", "a.b", "", "k" * 300])
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"more": v}, json.dumps, lambda v: json.dumps([v])])
def test_a_value_that_nothing_allows_never_leaves(key, wrap):
    """A planted text under an unclassified or protected name is absent, however it is wrapped."""
    cleaned = clean({key: wrap(CANARY)})

    assert isinstance(cleaned, Clean)
    assert CANARY not in cleaned.json()


@given(values, keys)
def test_a_planted_text_never_leaves_whatever_stands_around_it(value, key):
    """The same holds in arbitrary surroundings."""
    named = name_class(key)
    assume(named is None or named[0] is not PrivacyClass.INTERNAL)

    cleaned = clean([value, {key: [value, CANARY]}, CANARY, {"password": {"x": value, "y": CANARY}}])

    assert CANARY not in cleaned.json() if isinstance(cleaned, Clean) else cleaned.reason


@given(values, policies)
def test_the_answer_is_valid_json_and_the_value_is_untouched(value, policy):
    """Whatever comes in, strict JSON that UTF-8 can carry comes out, and the original is as before."""
    before = copy.deepcopy(value)

    cleaned = clean(value, policy=policy)

    assert isinstance(cleaned, Clean)
    assert json.loads(cleaned.json().encode()) == cleaned.value
    assert repr(value) == repr(before)


@given(values)
def test_cleaning_again_changes_nothing(value):
    """A copy that was cleaned before keeps its placeholders and is otherwise cleaned to itself."""
    once = clean(value)

    assert clean(once.value, again=True).value == once.value


@pytest.mark.parametrize("text", [CANARY, f"Dear {CANARY}", "7", f'"{CANARY}"', f"[{CANARY}", f'{{"a": "{CANARY}"'])
def test_free_text_keeps_its_shape_only(text):
    """A bare text that is not JSON is unknown."""
    assert body(clean(text, part="result").value)["c"] == "unknown"


def test_json_texts_are_cleaned_by_their_structure():
    """A JSON text is parsed, cleaned and written as JSON text again, through several levels."""
    inner = json.dumps({"apiKey": CANARY, "status": "ok"})

    cleaned = clean({"body": json.dumps({"payload": inner})})
    parsed = json.loads(json.loads(cleaned.value["body"])["payload"])

    assert parsed["status"] == "ok"
    assert body(parsed["apiKey"])["c"] == "secret"


def test_doubled_keys_of_a_json_text_hide_nothing():
    """Of a doubled key only what the parser kept is written again."""
    assert CANARY not in clean('{"status": "%s", "status": "ok"}' % (CANARY * 9), part="result").json()


def test_json_texts_too_deep_to_parse_are_text():
    """A text of brackets alone neither fails nor passes."""
    assert body(clean("[" * 10_000).value)["c"] == "unknown"


def test_a_secret_shows_neither_length_nor_keys():
    """Under a secret name only the structure is left."""
    cleaned = clean({"credentials": {"user-of-old": "a", "x": {"y": 1}}})

    assert cleaned.value["credentials"].keys() == {"[key]", "[key]#1"}
    assert body(cleaned.value["credentials"]["[key]"]) == {"c": "secret", "t": "string", "why": "name:credential"}


@pytest.mark.parametrize(
    ("selector", "tool"),
    [
        ("pay:args.items[].sku", "pay"),
        ("pay:args.items[].sku", "bank/pay"),
        ("bank/pay:args.items[].sku", "bank/pay"),
        ("*:args.items[].sku", "pay"),
        ("*:args.items[].sku", None),
        ("pay:*", "pay"),
        ("pay:args.items", "pay"),
    ],
)
def test_a_declared_field_is_kept(selector, tool):
    """A policy's selector reaches the field, for its tool."""
    policy = RedactionPolicy(classes={selector: PrivacyClass.INTERNAL})

    assert clean({"items": [{"sku": "A-1"}]}, tool=tool, policy=policy).value == {"items": [{"sku": "A-1"}]}


@pytest.mark.parametrize("tool", ["other", "pay/other", None])
def test_a_declaration_does_not_reach_other_tools(tool):
    """The same field of another tool stays unknown."""
    policy = RedactionPolicy(classes={"pay:args.sku": PrivacyClass.PUBLIC})

    assert is_placeholder(clean({"sku": "A-1"}, tool=tool, policy=policy).value["sku"])


def test_a_key_cannot_pose_as_a_declared_path():
    """A key with a dot in it is not the nested field that the policy cleared."""
    policy = RedactionPolicy(classes={"*:args.a.b": PrivacyClass.PUBLIC, '*:args["c.d"]': PrivacyClass.PUBLIC})

    cleaned = clean({"a.b": CANARY, "a": {"b": "kept"}, "c.d": "kept"}, policy=policy).value

    assert is_placeholder(cleaned["a.b"])
    assert (cleaned["a"]["b"], cleaned["c.d"]) == ("kept", "kept")


def test_only_the_offending_span_of_a_kept_text_is_masked():
    """Personal data in a kept text is replaced by the rule's name, and the rest stays."""
    cleaned = clean({"note": f"write to {EMAIL} today"}, policy=SCAN)

    assert cleaned.value == {"note": "write to [email] today"}
    assert cleaned.redacted == 1


def test_a_secret_is_masked_even_in_a_text_that_was_declared_public():
    """A key goes, the words around it stay; a text that is nothing but the key is raised as a whole."""
    policy = RedactionPolicy(classes={"*:args.note": PrivacyClass.PUBLIC})

    cleaned = clean({"note": f"use {VENDOR_KEY} for now"}, policy=policy)

    assert cleaned.value == {"note": "use [vendor-key] for now"}
    alone = clean({"note": VENDOR_KEY}, policy=policy).value["note"]
    assert body(alone) == {"c": "secret", "t": "string", "why": "value:vendor-key"}


def test_the_application_may_clear_personal_data():
    """A text that the policy itself calls public is only searched for secrets."""
    policy = RedactionPolicy(classes={"*:args.contact": PrivacyClass.PUBLIC})

    assert clean({"contact": EMAIL}, policy=policy).value == {"contact": EMAIL}
    by_schema = clean({"contact": f"to {EMAIL}"}, schema={"properties": {"contact": {"x-privacy": "public"}}})
    assert by_schema.value["contact"] == "to [email]"


def test_a_kept_number_that_is_a_phone_or_card_number_is_not_kept():
    """Detectors look at long integers too."""
    assert body(clean({"count": 13912345678}).value["count"])["why"] == "value:phone"
    assert clean({"count": 13912345}).value == {"count": 13912345}


def test_a_detector_raises_an_unknown_value():
    """A placeholder tells the class and format that a detector saw, never the match."""
    assert body(clean({"note": EMAIL}).value["note"]) == {
        "c": "personal",
        "t": "string",
        "len": "17-32",
        "fmt": ["email"],
        "why": "value:email",
    }


@pytest.mark.parametrize(
    "value",
    [
        {"headers": [{"name": "X-Api-Key", "value": CANARY}]},
        {"headers": [["authorization", CANARY]]},
        {"argv": ["psql", "--password", CANARY, "--host", "db1"]},
        {"text": f"{{'user': 'lw', 'password': '{CANARY}'}}"},
    ],
)
def test_a_label_beside_a_value_names_it(value):
    """Pairs, flags and assignments in kept values are read as name and value."""
    assert CANARY not in clean(value, policy=SCAN).json()


def test_lists_of_names_are_no_pairs():
    """Field names in a list announce nothing."""
    value = {"required": ["username", "password"], "hits": ["reset_password", "create_session", "x"]}

    assert clean(value, policy=SCAN).value == value


@pytest.mark.parametrize("key", [EMAIL, VENDOR_KEY, "k" * 65, "a\nb"])
def test_keys_that_are_data_do_not_leave(key):
    """A key that a detector knows, or that is no name, is masked; two of them stay two."""
    cleaned = clean({key: True, key + " ": False}, policy=SCAN)

    assert key not in cleaned.json()
    assert len(cleaned.value) == 2


def test_a_key_of_the_schema_stays():
    """A key that the schema itself names is no payload."""
    name = "k" * 65

    assert clean({name: True}, schema={"properties": {name: {}}}).value == {name: True}


def test_a_payload_with_the_tag_is_escaped():
    """Text of a tool or model cannot pass for a placeholder of ours."""
    cleaned = clean({"a": {TAG: {"c": "secret", "t": "string", "why": "x"}}, "b": {TAG: True, ESCAPED: False}})

    assert not is_placeholder(cleaned.value["a"])
    assert cleaned.value["b"] == {ESCAPED: True, f"{ESCAPED}#1": False}


def test_half_a_secret_before_a_cut_does_not_leave():
    """What stands just before the end that a limit took is left out, since no detector can know it."""
    text = "word " * 4000 + VENDOR_KEY
    at = 16 * 1024 - 12
    text = text[: at - 1] + " " + VENDOR_KEY + text

    kept = clean({"note": text}, policy=SCAN).value["note"]

    assert kept.endswith(CUT)
    assert VENDOR_KEY[:6] not in kept


def test_a_projection_gives_the_same_answer_as_its_value():
    """The copy may be taken earlier, elsewhere."""
    value = {"status": "open", "note": CANARY, "o": object()}

    assert clean(project(value)) == clean(value)
    assert clean(value).truncated


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (Projection({"a": object()}, 1, False), "error"),
        (Projection([None] * 30_000, 1, False), "size"),
    ],
)
def test_what_cannot_be_cleaned_leaves_nothing(value, reason):
    """Beyond the limits, or when the redactor fails, only the reason is left, and it is counted."""
    before = failures()

    assert clean(value) == Minimal(reason)
    assert failures() == before + 1


def test_too_deep_a_value_leaves_nothing():
    """A projection deeper than any that this package makes gives no copy."""
    deep = []
    for _ in range(5_000):
        deep = [deep]

    assert clean(Projection(deep, 1, False)) == Minimal("depth")


def test_too_slow_a_copy_leaves_nothing(monkeypatch):
    """When the time is over, only the reason is left."""
    monkeypatch.setattr("toolwitness.redaction.walk._MAX_SECONDS", -1)

    assert clean(list(range(100))) == Minimal("time")


class _Broken(dict):
    def get(self, *_):
        raise ValueError(CANARY)


def test_a_broken_schema_leaves_nothing():
    """A schema that fails when it is read costs the content, not the agent."""
    assert clean({"a": CANARY}, schema=_Broken(a=1)) == Minimal("error")


@pytest.mark.parametrize(
    "schema", [{"properties": 1}, {"anyOf": "x"}, {"$ref": 5}, {"enum": 5}, {"items": [1]}, {"format": []}]
)
def test_a_malformed_schema_is_no_failure(schema):
    """Keywords of a wrong type tell nothing."""
    assert clean({"a": [CANARY]}, schema=schema).redacted == 1


def test_failures_are_counted_across_threads():
    """No failure is lost when several threads fail at once."""
    before = failures()
    broken = Projection(object(), 1, False)
    threads = [threading.Thread(target=lambda: [clean_function(broken) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures() == before + 800
