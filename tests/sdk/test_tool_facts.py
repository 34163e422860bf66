"""What the settings say of tools."""

import pytest

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.exceptions import SettingsError
from toolwitness.sdk.clock import SeededIds
from toolwitness.sdk.recorder import Recorder
from toolwitness.sdk.settings import Settings
from toolwitness.sdk.state import Journal

FILE = """
[tools.search]
side_effect = "read"

[tools."bank/pay"]
side_effect = "write"
idempotent = true
owner = "payments"
settle_after = 600
"""


@pytest.fixture(name="load")
def _load(tmp_path):
    def load(text):
        path = tmp_path / "tools.toml"
        path.write_text(text)
        return Settings.load({}, {"TOOLWITNESS_TOOLS": str(path)}).tools

    return load


@pytest.fixture(name="recorder")
def _recorder(load, recorded, tmp_path):
    """A recorder with the settings of the file, and a journal in `tmp_path`."""
    return Recorder(
        exporter=recorded.exporter,
        clock=recorded.clock,
        key=b"k",
        ids=SeededIds("tools"),
        inline=True,
        journal=Journal(tmp_path),
        tools=load(FILE),
    )


def call(recorder, tool, server="", **facts):
    """One call of a tool with an attempt, and nothing known of it but by the settings."""
    with recorder.run("t") as run, run.call(tool, {}, server=server, **facts) as made, made.attempt():
        pass
    recorder.flush()


def test_a_tool_that_nobody_describes_is_what_the_file_says(recorder, recorded):
    """Also who must act, and when "not found" proves something."""
    call(recorder, "pay", server="bank")

    told = recorded.one("call")
    assert (told.side_effect, told.idempotent, told.owner, told.settle_after_s) == ("write", "yes", "payments", 600.0)
    assert told.definition_digest is None


def test_a_name_alone_is_meant_on_every_server(recorder, recorded, tmp_path):
    """What is known to be reading needs no line in the journal."""
    call(recorder, "search", server="anywhere")

    assert recorded.one("call").side_effect == "read"
    assert list((tmp_path / "journal").rglob("*.jsonl")) == []


def test_the_file_counts_more_than_the_hints_of_a_tool_server(recorder, recorded):
    """A server that calls its payments reading is not believed where somebody knows better."""
    hinted = ToolDefinition(name="pay", server="bank", side_effect="read", owner="the vendor")
    with recorder.run("t") as run, run.decision("m", tools=[hinted]) as step, step.call("pay", {}, server="bank"):
        pass
    recorder.flush()

    told = recorded.one("call")
    assert (told.side_effect, told.owner) == ("write", "payments")


def test_a_tool_that_is_not_in_the_file_is_what_else_is_known(recorder, recorded):
    """Nothing is said of it, so nothing changes."""
    call(recorder, "pay", server="other", definition=ToolDefinition(name="pay", server="other", side_effect="destructive"))

    assert recorded.one("call").side_effect == "destructive"


def test_a_call_that_names_no_server_is_of_the_only_tool_of_that_name(recorded):
    """A model proposes a name; who must act, and on which server, is known by the one tool that has it."""
    recorder = recorded.recorder
    recorder.register(ToolDefinition(name="pay", server="bank", owner="payments"))
    call(recorder, "pay")
    recorder.register(ToolDefinition(name="pay", server="other"))
    call(recorder, "pay")

    assert [(told.server, told.owner) for told in recorded.records("call")] == [("bank", "payments"), ("", None)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tools = 3", "it must hold tables"),
        ("[tools.pay]\nsideeffect = 'write'", "has sideeffect; allowed are side_effect, idempotent, owner, settle_after"),
        ("[tools.pay]\nside_effect = 'writes'", "tool 'pay': 'writes' is not a valid SideEffect"),
        ("[tools.pay]\nidempotent = 'yes'", "idempotent is true or false, not 'yes'"),
        ("[tools.pay]\nsettle_after = 'soon'", "settle_after is a number of seconds"),
        ("[tools.'bank/']\nside_effect = 'read'", "'bank/' has no name"),
        ("[tools", "is no TOML"),
    ],
)
def test_a_file_that_says_something_else_is_refused(load, text, said):
    """With the tool, what was seen and what would be right: silence could make a payment look like a look-up."""
    with pytest.raises(SettingsError, match="file of tools") as refused:
        load(text)

    assert said in str(refused.value)
