"""Raw arguments are held against every version of the tool's schema that this process knows, before they are redacted."""

import json

import pytest

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.digest import digest
from toolwitness.model.enums import Validity
from toolwitness.model.records import ArgumentCheck, Failure
from toolwitness.redaction import project
from toolwitness.redaction.projection import Limits
from toolwitness.sdk.versions import ArgumentChecks, SchemaVersions

FIRST = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
SECOND = {"type": "object", "properties": {"amount": {"type": "integer", "maximum": 100}}, "required": ["amount"]}
THIRD = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount", "currency"]}


def shown(schema, name="pay"):
    """A tool object as a model is shown it."""
    return {"name": name, "input_schema": schema}


def proposed(recorded, arguments, *versions, **facts):
    """The record of a call proposed after these versions were shown one after another."""
    with recorded.recorder.run("t") as run:
        for schema in versions:
            with run.decision("m", tools=[shown(schema)]) as step:
                pass
        with run.decision("m", tools=[shown(versions[-1])]) as step, step.call("pay", arguments, **facts):
            pass
    return recorded.one("call")


def test_arguments_that_fit_are_valid(recorded):
    """The verdict is that of the version which the model was shown, and names it by its digest."""
    call = proposed(recorded, {"amount": 5}, FIRST)

    assert call.arguments_valid is Validity.VALID
    assert call.argument_checks == (ArgumentCheck(digest(FIRST), Validity.VALID),)
    assert call.schema_digest == digest(FIRST)


def test_every_version_that_was_shown_has_a_verdict(recorded):
    """The one of the call comes first, and decides; the others tell what another version would have said.

    The first that was shown is what an attempt goes by that no decision tells of, so that it comes next.
    """
    call = proposed(recorded, {"amount": 500}, THIRD, SECOND, FIRST)

    assert call.arguments_valid is Validity.VALID
    assert call.argument_checks == (
        ArgumentCheck(digest(FIRST), Validity.VALID),
        ArgumentCheck(digest(THIRD), Validity.INVALID, (Failure("", "required"),)),
        ArgumentCheck(digest(SECOND), Validity.INVALID, (Failure("/amount", "maximum"),)),
    )


def test_a_declared_version_counts_too(recorded):
    """What the application declared of its tool is a version beside the one that the model was shown."""
    recorded.recorder.register(ToolDefinition(name="pay", input_schema=SECOND))
    call = proposed(recorded, {"amount": 500}, FIRST)

    assert [check.schema_digest for check in call.argument_checks] == [digest(FIRST), digest(SECOND)]
    assert call.arguments_valid is Validity.VALID


def test_a_declared_tool_that_no_model_was_shown_is_checked(recorded):
    """Outside of any decision the declaration is what the call was made under."""
    recorded.recorder.register(ToolDefinition(name="pay", input_schema=FIRST))
    with recorded.recorder.run("t"), recorded.recorder.call("pay", {"amount": "5"}):
        pass

    call = recorded.one("call")

    assert (call.schema_digest, call.arguments_valid) == (digest(FIRST), Validity.INVALID)


def test_without_a_schema_nothing_is_said(recorded):
    """A tool of which no schema is known has neither verdict nor checks."""
    with recorded.recorder.run("t") as run, run.decision("m") as step, step.call("pay", {"amount": 5}):
        pass

    call = recorded.one("call")

    assert (call.arguments_valid, call.argument_checks) == (None, ())


def test_a_version_says_something_of_a_call_that_was_made_under_none(recorded):
    """It is no verdict on the call, whose own version nobody knows."""
    with recorded.recorder.run("t") as run:
        with run.decision("m", tools=[shown(FIRST)]):
            pass
        with run.decision("m", tools=[{"name": "pay"}]) as step, step.call("pay", {"amount": 5}):
            pass

    call = recorded.one("call")

    assert (call.schema_digest, call.arguments_valid) == (None, None)
    assert call.argument_checks == (ArgumentCheck(digest(FIRST), Validity.VALID),)


@pytest.mark.parametrize("text", ['{"amount": 5}', ' \n{"amount": 5}'])
def test_arguments_as_json_text_are_checked_as_what_they_say(recorded, text):
    """Models propose arguments as text."""
    assert proposed(recorded, text, FIRST).arguments_valid is Validity.VALID


@pytest.mark.parametrize("arguments", ['{"amount": 5', "", "five", [5], 5, True, "[5]"])
def test_arguments_that_are_no_object_fit_no_version(recorded, arguments):
    """Text that is no JSON object is of the wrong type, also for a schema that does not say so."""
    call = proposed(recorded, arguments, {})

    assert call.argument_checks == (ArgumentCheck(digest({}), Validity.INVALID, (Failure("", "type"),)),)


@pytest.mark.parametrize("arguments", [{"amount": 2**80}, {"amount": 5, "note": "x" * 70_000}, {"amount": object()}, None])
def test_what_the_recording_cut_or_was_not_told_is_indeterminate(recorded, arguments):
    """Nobody can tell whether what is missing fits."""
    call = proposed(recorded, arguments, FIRST)

    assert call.argument_checks == (ArgumentCheck(digest(FIRST), Validity.INDETERMINATE),)


def test_text_that_was_cut_is_not_called_unreadable(recorded):
    """JSON text that lost its end in the recording was whole when it was proposed."""
    cut = project('{"amount": 5}', limits=Limits(string=5))

    assert proposed(recorded, cut, FIRST).arguments_valid is Validity.INDETERMINATE


def test_verdicts_outlast_redaction_and_hold_nothing_of_the_arguments(recorded):
    """The redacted copy alone could not tell that the pattern failed; neither value nor key of the model's leaves."""
    schema = {"properties": {"to": {"type": "string", "pattern": "^[a-z]+$"}}, "additionalProperties": {"type": "integer"}}
    call = proposed(recorded, {"to": "Bob Smith", "Eve Jones": "hers"}, schema)
    exported = json.dumps([dict(span.attributes) for span in recorded.spans()])

    assert call.arguments_valid is Validity.INVALID
    assert set(call.argument_checks[0].failures) == {Failure("/to", "pattern"), Failure("/*", "type")}
    assert not any(text in exported for text in ("Bob", "Eve", "hers"))


def test_tools_are_told_apart_by_their_server(recorded):
    """A tool of the same name elsewhere is another tool."""
    other = ToolDefinition(name="pay", server="other", input_schema=THIRD)
    with recorded.recorder.run("t") as run:
        with run.decision("m", tools=[other, ToolDefinition(name="pay", server="bank", input_schema=FIRST)]) as step:
            call = step.call("pay", {"amount": 5}, server="bank")
        call.close()

    assert [check.schema_digest for check in recorded.one("call").argument_checks] == [digest(FIRST)]


def test_a_schema_that_cannot_be_used_is_indeterminate(recorded):
    """A broken schema says nothing, and the call is recorded all the same."""
    call = proposed(recorded, {"amount": 5}, {"type": "nonsense"})

    assert call.arguments_valid is Validity.INDETERMINATE


def test_the_versions_of_a_tool_are_limited():
    """The latest sixteen are kept."""
    versions = SchemaVersions()
    for number in range(20):
        versions.remember(ToolDefinition(name="pay", input_schema={"maxProperties": number}))

    assert [schema["maxProperties"] for schema in versions.of(("", "pay")).values()] == list(range(19, 3, -1))


def test_the_tools_are_limited():
    """Those that were shown, declared or called last are kept."""
    versions = SchemaVersions()
    for number in range(1025):
        versions.remember(ToolDefinition(name=f"tool {number}", input_schema={}))
        versions.remember(ToolDefinition(name="tool 1", input_schema={}))

    assert (versions.of(("", "tool 0")), versions.of(("", "tool 1"))) == ({}, {digest({}): {}})


def test_the_version_of_the_call_comes_first_of_two_declarations():
    """Of a shown and a declared definition of one tool, the shown one is what the call was made under."""
    definitions = [ToolDefinition(name="pay", input_schema=schema) for schema in (FIRST, SECOND)]
    checks = ArgumentChecks(SchemaVersions())

    for _ in range(2):
        told = checks.of({"amount": 500}, ("", "pay"), tuple(definitions), whole=True)
        assert [(check.schema_digest, check.verdict) for check in told] == [
            (digest(FIRST), Validity.VALID),
            (digest(SECOND), Validity.INVALID),
        ]
