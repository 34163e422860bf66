from __future__ import annotations

import pytest

from toolwitness.model.enums import PrivacyClass
from toolwitness.model.exceptions import SettingsError
from toolwitness.redaction import clean, run_key
from toolwitness.redaction.placeholder import is_well_formed
from toolwitness.redaction.policy import Action, Handling, RedactionPolicy


@pytest.mark.parametrize("selector", ["args.note", ":args", "tool:", ""])
def test_a_selector_without_tool_or_path_is_refused(selector):
    """A selector that could never match is a mistake, and is named."""
    with pytest.raises(SettingsError, match="not of the form"):
        RedactionPolicy(classes={selector: PrivacyClass.PUBLIC})


def test_an_unknown_class_is_refused():
    """A class outside the closed set is a mistake."""
    with pytest.raises(SettingsError, match="names no privacy class"):
        RedactionPolicy(classes={"tool:args": "pubic"})


def test_an_unknown_mode_is_refused():
    """Unclassified values can only be shaped or scanned."""
    with pytest.raises(SettingsError, match="must be 'shape' or 'scan'"):
        RedactionPolicy(unknown="keep")


def test_the_most_particular_tool_is_asked_first():
    """Declarations for server and tool come before those for the tool, and those for every tool come last."""
    classes = {"*:args": PrivacyClass.SECRET, "pay:args": PrivacyClass.PERSONAL, "bank/pay:args": PrivacyClass.PUBLIC}
    policy = RedactionPolicy(classes=classes)

    assert [table["args"].cls for table in policy.tables("bank/pay")] == ["public", "personal", "secret"]
    assert [table["args"].cls for table in policy.tables("other/pay")] == ["personal", "secret"]
    assert [table["args"].cls for table in policy.tables(None)] == ["secret"]


def test_only_public_and_internal_values_are_kept_by_default():
    """Every other class, unknown included, loses its content."""
    kept = [cls for cls in PrivacyClass if RedactionPolicy().action(cls) is Action.KEEP]

    assert kept == [PrivacyClass.PUBLIC, PrivacyClass.INTERNAL]


def test_scanning_keeps_unknown_values_alone():
    """The setting for unknown values touches no other class."""
    kept = [cls for cls in PrivacyClass if RedactionPolicy(unknown="scan").action(cls) is Action.KEEP]

    assert kept == [PrivacyClass.PUBLIC, PrivacyClass.INTERNAL, PrivacyClass.UNKNOWN]


def test_a_tool_may_be_meant_in_one_version_only():
    """A selector with a version holds for that version and goes before those without."""
    policy = RedactionPolicy(classes={"pay@2:args": "internal", "pay:args": "sensitive", "bank/pay@2:args": "public"})

    assert [table["args"].cls for table in policy.tables("bank/pay@2")] == ["public", "internal", "sensitive"]
    assert [table["args"].cls for table in policy.tables("bank/pay@3")] == ["sensitive"]
    assert [table["args"].cls for table in policy.tables("@scope/pay")] == ["sensitive"]


def test_secrets_are_never_shown():
    """No handling makes the copy show what is secret."""
    for action in (Action.KEEP, Action.TRUNCATE):
        with pytest.raises(SettingsError, match="never shown"):
            RedactionPolicy(handling={PrivacyClass.SECRET: Handling(action)})


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        (Action.SHAPE, {"c", "t", "len", "why"}),
        (Action.FINGERPRINT, {"c", "t", "len", "fp", "why"}),
        (Action.HASH, {"c", "t", "fp", "why"}),
        (Action.DROP, {"c", "why"}),
    ],
)
def test_each_action_tells_what_it_promises(action, fields):
    """A placeholder has the fields of its class's action, and no more."""
    policy = RedactionPolicy(handling={PrivacyClass.PERSONAL: Handling(action)})

    copy = clean({"city": "Springfield", "email": "somebody"}, policy=policy, fingerprints=run_key())

    assert copy.value["email"]["$tw:redacted"].keys() == fields
    assert is_well_formed(copy.value["email"])


def test_a_truncated_text_ends_with_a_word_and_says_so():
    """Truncating comes after masking and leaves whole words; a schema cannot be checked against what was cut."""
    policy = RedactionPolicy(classes={"*:args.note": "internal"}, handling={PrivacyClass.INTERNAL: Handling(Action.TRUNCATE)})
    words = "write to someone" + "@example.org " + "about the delivery of several desk lamps " * 3

    copy = clean({"note": words}, policy=policy)

    assert copy.value["note"] == "write to [email] about the delivery of several desk lamps about<cut>"
    assert copy.truncated
