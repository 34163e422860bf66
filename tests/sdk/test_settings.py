"""Settings: code over environment over default, and errors that tell what to do."""

from pathlib import Path

import pytest

from toolwitness.model.exceptions import SettingsError
from toolwitness.sdk import Settings


def test_code_beats_environment_beats_default():
    """The nearest word counts."""
    environment = {"TOOLWITNESS_SERVICE": "from-environment", "TOOLWITNESS_ENDPOINT": "http://e:1"}
    settings = Settings.load({"service": "from-code"}, environment)

    assert (settings.service, settings.endpoint, settings.exit_timeout_s) == ("from-code", "http://e:1", 2.0)


def test_headers_are_written_as_opentelemetry_does():
    """Pairs with commas between them."""
    assert Settings.load({}, {"TOOLWITNESS_HEADERS": "a=1, b=x=y"}).headers == {"a": "1", "b": "x=y"}


def test_a_bad_value_names_field_and_variable():
    """The error says which setting, and where it may come from, without echoing a secret."""
    with pytest.raises(SettingsError, match=r"export_timeout_s: .*TOOLWITNESS_EXPORT_TIMEOUT"):
        Settings.load({}, {"TOOLWITNESS_EXPORT_TIMEOUT": "soon"})


def test_an_unknown_setting_is_refused():
    """A misspelt setting is no setting."""
    with pytest.raises(SettingsError, match="endpont"):
        Settings.load({"endpont": "x"}, {})


def test_the_key_stays_out_of_reprs():
    """Settings may be printed."""
    assert "hush" not in repr(Settings(digest_key="hush"))


def test_the_state_folder_follows_xdg(monkeypatch, tmp_path):
    """State belongs where the user's system keeps state."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert Settings.load({}, {}).state_dir == Path(tmp_path) / "toolwitness"


def test_every_setting_is_documented(root):
    """Each environment variable stands in the guide."""
    text = (root / "docs" / "settings.md").read_text()
    assert [name for name in Settings.variables().values() if name not in text] == []
