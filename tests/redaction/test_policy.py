from __future__ import annotations

import pytest

from toolwitness.model.enums import PrivacyClass
from toolwitness.model.exceptions import SettingsError
from toolwitness.redaction.policy import Action, RedactionPolicy


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

    assert [table["args"] for table in policy.tables("bank/pay")] == ["public", "personal", "secret"]
    assert [table["args"] for table in policy.tables("other/pay")] == ["personal", "secret"]
    assert [table["args"] for table in policy.tables(None)] == ["secret"]


def test_only_public_and_internal_values_are_kept_by_default():
    """Every other class, unknown included, loses its content."""
    kept = [cls for cls in PrivacyClass if RedactionPolicy().action(cls) is Action.KEEP]

    assert kept == [PrivacyClass.PUBLIC, PrivacyClass.INTERNAL]


def test_scanning_keeps_unknown_values_alone():
    """The setting for unknown values touches no other class."""
    kept = [cls for cls in PrivacyClass if RedactionPolicy(unknown="scan").action(cls) is Action.KEEP]

    assert kept == [PrivacyClass.PUBLIC, PrivacyClass.INTERNAL, PrivacyClass.UNKNOWN]
