import re
import sys

import pytest

from toolwitness.model.enums import PrivacyClass
from toolwitness.model.exceptions import MissingExtraError, SettingsError
from toolwitness.redaction.policy import Action, Declared, Handling
from toolwitness.redaction.policy_file import load_policy


@pytest.fixture(name="load")
def fixture_load(tmp_path):
    """`load(text, name)` -> the policy of a file with that text."""

    def load(text, name="policy.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return load_policy(path)

    return load


@pytest.fixture(name="guide", scope="module")
def fixture_guide(root):
    """`guide(language)` -> the first example of that language in the guide."""
    text = (root / "docs" / "redaction.md").read_text(encoding="utf-8")
    return lambda language: re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)[1]


def content(policy):
    """All that a policy says."""
    handling = {PrivacyClass(cls): said for cls, said in policy.handling.items()}
    return policy.unknown, policy.selectors(), handling


def test_the_guide_s_policy_is_the_same_in_yaml_toml_and_code(load, guide):
    """Its three examples say the same."""
    in_code = {}
    exec(guide("python"), in_code)  # noqa: S102 -- the guide's own example

    in_yaml, in_toml = load(guide("yaml")), load(guide("toml"), "policy.toml")

    assert content(in_yaml) == content(in_toml) == content(in_code["policy"])


def test_everything_in_a_file_is_taken_over(load):
    """Classes with and without a reason, what happens to each class, for how long and for whom."""
    policy = load("""
unknown: scan
classes:
  "refund:args.amount": internal
  "*:args.token": {class: public, reason: a ticker symbol}
handling:
  personal: {action: hash, retention: 30d, access: [support, finance]}
  secret: {access: []}
""")

    assert content(policy) == (
        "scan",
        (
            ("refund", "args.amount", Declared(PrivacyClass.INTERNAL)),
            ("*", "args.token", Declared(PrivacyClass.PUBLIC, reason="a ticker symbol")),
        ),
        {
            PrivacyClass.PERSONAL: Handling(action=Action.HASH, retention_days=30, access=("support", "finance")),
            PrivacyClass.SECRET: Handling(),
        },
    )


def test_an_empty_file_declares_nothing(load):
    """A file of comments alone leaves everything as it is."""
    assert content(load("# later\n")) == ("shape", (), {})


REFUSED = {
    "a misspelt section": ("clases: {}", "the file has the key 'clases'; allowed are unknown, classes, handling"),
    "a list": ("- 1", "the file is [1]; it must be a mapping"),
    "a mode": ("unknown: keep", "unknown is 'keep'; it must be one of shape, scan"),
    "a word that YAML reads as true": ("unknown: yes", "unknown is True; it must be one of shape, scan"),
    "a misspelt class": ("classes: {'a:args': pubic}", "classes.'a:args' is 'pubic'; it must be one of public, internal"),
    "no class": ("classes: {'a:args': {reason: x}}", "classes.'a:args' has no 'class'"),
    "nothing": ("classes: {'a:args': }", "classes.'a:args' is empty; it must be one of"),
    "a misspelt member": ("classes: {'a:args': {clas: x}}", "classes.'a:args' has the key 'clas'; allowed are class, reason"),
    "an empty reason": ("classes: {'a:args': {class: public, reason: ' '}}", "classes.'a:args'.reason is ' '"),
    "a selector without a path": ("classes: {refund: public}", "selector 'refund' is not of the form 'tool:path'"),
    "a class that there is not": ("handling: {private: {}}", "handling has the key 'private'; allowed are public"),
    "an action that there is not": ("handling: {personal: {action: mask}}", "handling.personal.action is 'mask'; it must be"),
    "a retention without a unit": ("handling: {personal: {retention: 30}}", "handling.personal.retention is 30; it must be"),
    "a retention of nothing": ("handling: {personal: {retention: 0d}}", "handling.personal.retention is '0d'; it must be"),
    "access as a text": ("handling: {personal: {access: all}}", "handling.personal.access is 'all'; it must be a list"),
    "access twice": ("handling: {personal: {access: [a, a]}}", "handling.personal.access names 'a' twice"),
    "secrets that would be shown": ("handling: {secret: {action: keep}}", "secrets are never shown"),
    "a key that stands twice": ("unknown: scan\nunknown: shape", "the key 'unknown' stands twice in the mapping at line 1"),
    "a selector that stands twice": ("classes:\n  'a:b': public\n  'a:b': secret", "the key 'a:b' stands twice"),
    "a list as a key": ("classes: {[a]: public}", "the mapping at line 1 has a list or mapping as a key"),
    "a number as a key": ("classes: {1: public}", "classes has the key 1, which is no text"),
    "no YAML": ("classes: [}", "it is no YAML"),
    "a Python object": ("unknown: !!python/name:os.system", "it is no YAML"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_understood_is_refused(load, case):
    """The error names the file, the place, what was seen and what would be right."""
    text, said = REFUSED[case]
    with pytest.raises(SettingsError) as refused:
        load(text)

    assert "policy.yaml: " in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [("unknown = 1\nunknown = 2", "it is no TOML"), ("[clases]", "has the key 'clases'")],
    ids=["twice", "key"],
)
def test_toml_is_held_to_the_same(load, text, said):
    """Doubled and unknown keys are refused there too."""
    with pytest.raises(SettingsError, match=said):
        load(text, "policy.toml")


def test_a_file_of_another_kind_is_refused(load):
    """The name says what a file is."""
    with pytest.raises(SettingsError, match=r"ends in '\.json'; it must be a \.toml, \.yaml or \.yml file"):
        load("{}", "policy.json")


def test_a_file_that_is_not_there_is_named(tmp_path):
    """A policy that cannot be read is an error, never an empty policy."""
    with pytest.raises(SettingsError, match=r"none\.toml cannot be read"):
        load_policy(tmp_path / "none.toml")


def test_without_pyyaml_the_next_step_is_told(load, monkeypatch):
    """YAML is an extra; TOML needs nothing."""
    monkeypatch.setitem(sys.modules, "yaml", None)

    with pytest.raises(MissingExtraError, match=r"pip install pyyaml, or write the policy as \.toml"):
        load("unknown: scan")
    assert load('unknown = "scan"', "policy.toml").unknown == "scan"
