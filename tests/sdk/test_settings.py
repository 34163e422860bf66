"""Settings: code over environment over default, and errors that tell what to do."""

import json
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.codec import decode
from toolwitness.model.exceptions import SettingsError
from toolwitness.redaction import RedactionPolicy, is_placeholder
from toolwitness.redaction.placeholder import TAG
from toolwitness.redaction.policy_file import load_policy
from toolwitness.sdk import Settings, setup


def test_code_beats_environment_beats_default():
    """The nearest word counts."""
    environment = {"TOOLWITNESS_SERVICE": "from-environment", "TOOLWITNESS_ENDPOINT": "http://e:1"}
    settings = Settings.load({"service": "from-code"}, environment)

    assert (settings.service, settings.endpoint, settings.exit_timeout_s) == ("from-code", "http://e:1", 1.8)


def test_headers_are_written_as_opentelemetry_does():
    """Pairs with commas between them."""
    assert Settings.load({}, {"TOOLWITNESS_HEADERS": "a=1, b=x=y"}).headers == {"a": "1", "b": "x=y"}


def test_a_bad_value_names_field_and_variable():
    """The error says which setting, and where it may come from, without echoing a secret."""
    with pytest.raises(SettingsError, match=r"export_timeout_s: .*TOOLWITNESS_EXPORT_TIMEOUT"):
        Settings.load({}, {"TOOLWITNESS_EXPORT_TIMEOUT": "soon"})


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("endpoint", 4318, "text"),
        ("headers", {"a": 1}, "a=1,b=2"),
        ("use_otel_exporter_variables", "perhaps", "true or false"),
        ("export_timeout_s", 0, "more than 0"),
        ("export_timeout_s", True, "more than 0"),
        ("exit_timeout_s", "nan", "0 or more"),
        ("exit_timeout_s", "-1", "0 or more"),
        ("queue_bytes", 1.5, "whole number"),
        ("queue_bytes", "inf", "whole number"),
        ("state_dir", 7, "path"),
    ],
)
def test_what_a_setting_takes(name, value, right):
    """The error says what would be right, for each kind of setting."""
    with pytest.raises(SettingsError, match=rf"{name}: .*{right}.*{Settings.variables()[name]}"):
        Settings.load({name: value}, {})


@pytest.mark.parametrize(("text", "on"), [("true", True), ("1", True), ("OFF", False), ("no", False)])
def test_a_switch_in_the_environment(text, on):
    """As other programs write it."""
    environment = {"TOOLWITNESS_USE_OTEL_EXPORTER_VARIABLES": text}
    assert Settings.load({}, environment).use_otel_exporter_variables is on


def test_an_unknown_setting_is_refused():
    """A misspelt setting is no setting."""
    with pytest.raises(SettingsError, match="endpont"):
        Settings.load({"endpont": "x"}, {})


def test_the_key_stays_out_of_reprs():
    """Settings may be printed."""
    assert "hush" not in repr(Settings(digest_key="hush", fingerprint_key="hush"))


def test_the_state_folder_follows_xdg(monkeypatch, tmp_path):
    """State belongs where the user's system keeps state."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert Settings.load({}, {}).state_dir == Path(tmp_path) / "toolwitness"


def test_a_policy_is_read_from_the_file_that_is_named(tmp_path):
    """In the environment or in code; in code also the policy itself."""
    path = tmp_path / "policy.toml"
    path.write_text('[classes]\n"refund:args.amount" = "internal"\n')
    given = RedactionPolicy(unknown="scan")

    assert Settings.load({}, {"TOOLWITNESS_POLICY": str(path)}).policy.selectors() == load_policy(path).selectors() != ()
    assert Settings.load({"policy": path}, {}).policy.selectors() == load_policy(path).selectors()
    assert Settings.load({"policy": given}, {}).policy is given


@pytest.mark.parametrize(
    ("value", "said"), [("none.toml", r"none\.toml cannot be read"), (3, "instance of RedactionPolicy")], ids=["file", "number"]
)
def test_a_policy_that_cannot_be_had_is_refused(value, said):
    """Recording under no policy in its place would show what was to be hidden."""
    with pytest.raises(SettingsError, match=rf"policy: .*{said}.*TOOLWITNESS_POLICY"):
        Settings.load({"policy": value}, {})


def test_a_fingerprint_key_needs_an_id():
    """Fingerprints under different keys must be told apart."""
    with pytest.raises(SettingsError, match="TOOLWITNESS_FINGERPRINT_KEY_ID"):
        setup.start(Settings(fingerprint_key="0123456789abcdef"), InMemorySpanExporter)


def _left(settings):
    """The arguments of one call, as they leave a process with these settings."""
    exporter = InMemorySpanExporter()
    setup.start(settings, lambda: exporter)
    with setup.active().call("refund", {"order": "W-1042", "email": "ines.moreau@example.com"}):
        pass
    setup.stop()
    (call,) = [record for span in exporter.get_finished_spans() if (record := decode(span.attributes)).kind == "call"]
    return json.loads(call.arguments)


def test_the_policy_decides_what_leaves_and_the_key_makes_fingerprints(tmp_path):
    """Equal values have equal fingerprints under one key; without one each process has its own."""
    policy = RedactionPolicy(classes={"refund:args.order": "internal"})
    keyed = {"state_dir": tmp_path, "policy": policy, "fingerprint_key": "0123456789abcdef", "fingerprint_key_id": "k1"}
    left = [_left(Settings(**keyed)) for _ in range(2)]
    left += [_left(Settings(**keyed, tenant="other")), _left(Settings(state_dir=tmp_path)), _left(Settings(state_dir=tmp_path))]
    marks = [arguments["email"][TAG]["fp"] for arguments in left]

    assert (left[0]["order"], is_placeholder(left[3]["order"])) == ("W-1042", True)
    assert marks[0] == marks[1]
    assert len(set(marks)) == 4
    assert [mark.startswith("k1:") for mark in marks] == [True, True, True, False, False]


def test_a_class_counts_for_the_version_it_was_given(tmp_path):
    """A declaration for one version of a tool says nothing of another; an odd version hides no other declaration."""
    policy = RedactionPolicy(classes={"refund@2:args.order": "internal", "refund:args.note": "internal"})
    left = {}
    for version in ("1", "2", "two words"):
        exporter = InMemorySpanExporter()
        setup.start(Settings(state_dir=tmp_path, policy=policy), lambda exporter=exporter: exporter)
        definition = ToolDefinition(name="refund", version=version)
        with setup.active().call("refund", {"order": "W-1042", "note": "n-1"}, definition=definition):
            pass
        setup.stop()
        (call,) = [record for span in exporter.get_finished_spans() if (record := decode(span.attributes)).kind == "call"]
        left[version] = [name for name, value in json.loads(call.arguments).items() if not is_placeholder(value)]

    assert left == {"1": ["note"], "2": ["order", "note"], "two words": ["note"]}


def test_every_setting_is_documented(root):
    """Each environment variable stands in the guide."""
    text = (root / "docs" / "settings.md").read_text()
    assert [name for name in Settings.variables().values() if name not in text] == []
