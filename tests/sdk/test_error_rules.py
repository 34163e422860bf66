"""Rules of the application's own: how their file is read, and that they win."""

import subprocess
import sys

import pytest

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import ErrorClass, RecordKind, SideEffect
from toolwitness.model.errors import OwnRule
from toolwitness.model.exceptions import SettingsError
from toolwitness.sdk import ManualClock, Recorder, SeededIds, Settings

GOOD = """
[[rule]]
exception = "shop.errors.OutOfStock"
class = "permanent"
tool = "pay"
no_effect = true

[[rule]]
code = "card_declined"
class = "permanent"
business = true
"""
RULES = (
    OwnRule("exception", "shop.errors.OutOfStock", ErrorClass.PERMANENT, tool="pay", no_effect=True),
    OwnRule("code", "card_declined", ErrorClass.PERMANENT, business=True),
)


@pytest.fixture(name="load")
def _load(tmp_path):
    """`load(text)` gives the settings with this text as their file of rules."""

    def load(text):
        path = tmp_path / "errors.toml"
        path.write_text(text)
        return Settings.load({}, {"TOOLWITNESS_ERROR_RULES": str(path)})

    return load


def test_a_file_is_read_in_its_order(load):
    """By path, from code or environment."""
    assert load(GOOD).error_rules == RULES


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[rule]]\nhttp = \n", "is no TOML.*line 2"),
        ("", "'rule' is missing; the file must hold tables"),
        ("[rule]\n", "'rule' is {}; the file must hold tables"),
        ("[[rules]]\n", "the file has the key 'rules'; allowed are rule"),
        ('[[rule]]\nclass = "permanent"', "rule 1 has none of them; it must have exactly one of exception, http, grpc"),
        ('[[rule]]\nhttp = 409\ncode = "a"\nclass = "conflict"', "rule 1 has http and code"),
        ('[[rule]]\nhttp = "409"\nclass = "conflict"', "rule 1.http is '409'; it must be a status such as 409"),
        ('[[rule]]\nhttp = 4090\nclass = "conflict"', "rule 1.http is 4090"),
        ('[[rule]]\ngrpc = "aborted"\nclass = "conflict"', "rule 1.grpc is 'aborted'; it must be one of INVALID_ARGUMENT"),
        ('[[rule]]\nexception = "OutOfStock"\nclass = "conflict"', "rule 1.exception is 'OutOfStock'; it must be the module"),
        ("[[rule]]\nhttp = 409", "rule 1.class is missing; it must be one of validation, stale_reference"),
        ('[[rule]]\nhttp = 409\nclass = "bad"', "rule 1.class is 'bad'"),
        ('[[rule]]\nhttp = 409\nclass = "conflict"\nretry = true', "rule 1 has the key 'retry'; allowed are"),
        ('[[rule]]\nhttp = 409\nclass = "conflict"\nno_effect = 1', "rule 1.no_effect is 1; it must be true or false"),
        ('[[rule]]\nhttp = 409\nclass = "conflict"\ntool = ""', "rule 1.tool is ''; it must be the name of a tool"),
        (GOOD + '[[rule]]\ncode = "card_declined"\nclass = "conflict"', "rule 3 is about code = 'card_declined' again"),
    ],
)
def test_a_bad_file_names_the_rule_and_what_would_be_right(load, text, problem):
    """Nothing in it is passed over."""
    with pytest.raises(SettingsError, match=r"errors\.toml:? .*" + problem):
        load(text)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    """An agent must not run without the rules that it was given."""
    with pytest.raises(SettingsError, match=r"nowhere\.toml cannot be read"):
        Settings(error_rules=tmp_path / "nowhere.toml")


@pytest.fixture(name="ruled")
def _ruled(recorded):
    """A recorder with the rules of the good file."""
    recorded.recorder = Recorder(
        exporter=recorded.exporter,
        clock=ManualClock(1),
        key=b"k",
        ids=SeededIds("test"),
        inline=True,
        error_rules=(*RULES, OwnRule("exception", "builtins.TimeoutError", ErrorClass.PERMANENT, tool="pay", no_effect=True)),
    )
    return recorded


def test_a_declared_exception_proves_that_nothing_happened(ruled):
    """The application says that it comes before any commit (A13); of another tool it says nothing."""
    with ruled.recorder.run():
        for tool in ("pay", "book"):
            with pytest.raises(TimeoutError), ruled.recorder.call(tool) as call, call.attempt():
                raise TimeoutError
    found = [(str(one.error_class), one.effect_ruled_out) for one in ruled.records(RecordKind.ATTEMPT)]

    assert found == [("permanent", True), ("unknown_commit", False)]


def test_an_answer_can_be_a_no_on_business_grounds(ruled):
    """A rule says so by the code that the service names."""
    with ruled.recorder.run(), ruled.recorder.call("pay") as call:
        with call.attempt():
            pass
        call.result({"error": {"code": "card_declined"}})
    record = ruled.one(RecordKind.CALL)

    assert (str(record.observation), str(record.transport_status), record.vendor_code) == (
        "business_error",
        "ok",
        "card_declined",
    )


def test_what_the_application_says_stands(ruled):
    """Neither an answer nor the table overrules a status or class that was given."""
    with ruled.recorder.run(), ruled.recorder.call("look") as call:
        with call.attempt() as attempt:
            attempt.end("error", error_class="conflict", vendor_code="rate_limit_error")
        call.result({"error": "the last line of a log"}, status="ok")
    call, attempt = ruled.one(RecordKind.CALL), ruled.one(RecordKind.ATTEMPT)

    assert (str(call.observation), call.error_class) == ("ok", None)
    assert (str(attempt.error_class), attempt.vendor_code) == ("conflict", "rate_limit_error")


@pytest.mark.parametrize(("side_effect", "expected"), [("read", "temporary"), ("write", "unknown_commit")])
def test_a_time_that_ran_out_is_known_without_a_type(recorded, side_effect, expected):
    """The application says so itself; for a tool that may write it may have happened."""
    definition = ToolDefinition(name="t", side_effect=SideEffect(side_effect))
    with recorded.recorder.run(), recorded.recorder.call("t", definition=definition) as call:
        with call.attempt() as attempt:
            attempt.end("timeout")
        call.result(None, status="timeout")

    found = [str(record.error_class) for record in recorded.records() if record.kind in {"attempt", "call"}]

    assert found == [expected, expected]


def test_a_later_attempt_that_went_well_leaves_no_class(recorded):
    """The class of a call is that of how it ended."""
    with recorded.recorder.run(), recorded.recorder.call("t") as call:
        with pytest.raises(TimeoutError), call.attempt():
            raise TimeoutError
        with call.attempt():
            pass
        call.result({"error": None})

    assert recorded.one(RecordKind.CALL).error_class is None


def test_the_start_of_an_agent_loads_none_of_it():
    """The table and what reads answers are the worker's (docs/adr/0015)."""
    script = (
        "import sys, toolwitness, toolwitness.sdk.recorder, toolwitness.sdk.setup\n"
        "names = ('model.errors', 'model.error_table', 'model.envelope', 'sdk.failures', 'sdk.error_file')\n"
        "print([name for name in names if 'toolwitness.' + name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
