import json
from pathlib import Path

import pytest

from toolwitness.collector.importers.tau_bench import is_catalogue, is_records, read_catalogue, read_record
from toolwitness.collector.importers.trajectory import Message, Observation, RecordError, Step
from toolwitness.model.enums import AttemptStatus, ErrorClass, Exposure, Known, ObservationStatus, OutcomeSource, RunOutcome

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(name="records", scope="module")
def fixture_records():
    """The records of the made-up file."""
    return json.loads((FIXTURES / "tau_small.json").read_text(encoding="utf-8"))


@pytest.fixture(name="catalogue", scope="module")
def fixture_catalogue():
    """Its tools."""
    return read_catalogue(json.loads((FIXTURES / "tau_small_tools.json").read_text(encoding="utf-8")))


@pytest.fixture(name="finished")
def fixture_finished(records, catalogue):
    """The run that was verified."""
    return read_record(records[0], catalogue)


@pytest.fixture(name="unfinished")
def fixture_unfinished(records, catalogue):
    """The run that broke off."""
    return read_record(records[1], catalogue)


def _run(*messages, **facts):
    return {"task_id": 1, "trial": 0, "reward": 0.0, "info": {}, "traj": list(messages), **facts}


def test_files_are_told_apart(records):
    """Results and catalogue are recognised, each as itself only."""
    tools = json.loads((FIXTURES / "tau_small_tools.json").read_text(encoding="utf-8"))

    assert (is_records(records), is_catalogue(records)) == (True, False)
    assert (is_records(tools), is_catalogue(tools)) == (False, True)


def test_one_assistant_message_is_one_decision(finished):
    """Decisions are the assistant's messages, with their calls and text."""
    assert [(len(step.calls), step.text) for step in finished.steps] == [
        (1, ""),
        (1, "I renew it now."),
        (2, ""),
        (0, "Tidal Charts is reserved. Call EXT-5512."),
    ]


def test_events_keep_the_order_of_the_file(finished):
    """Messages, decisions and results stand in the order in which they happened."""
    kinds = [type(event) for event in finished.events]

    assert kinds == [Message, Message, Step, Observation, Step, Observation, Step, Observation, Observation, Step, Message]


def test_repeated_ids_pair_by_order(finished):
    """Two calls with one id get the results in order, the first still open call first."""
    assert [finished.observations[position].status for position in (0, 1)] == [ObservationStatus.OK, ObservationStatus.ERROR]


def test_parallel_results_pair_by_id(finished):
    """Results of one message's calls find their call when they come in another order."""
    assert [finished.observations[position].value for position in (2, 3)] == ["[]", "EXT-5512"]


def test_empty_result_is_no_error(finished):
    """A search that found nothing is empty; a bare string is an answer like any other."""
    assert [finished.observations[position].status for position in (2, 3)] == [ObservationStatus.EMPTY, ObservationStatus.OK]


@pytest.mark.parametrize("text", ["", " \n", "[]", "{}", "null", " [] "])
def test_nothing_in_any_spelling_is_empty(text):
    """No text, null, and empty arrays and objects are empty results."""
    call = {"id": "a", "function": {"name": "find", "arguments": "{}"}}
    run = read_record(_run({"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "a", "content": text}))

    assert run.observations[0].status is ObservationStatus.EMPTY


def test_error_is_unclassified_and_was_sent(finished):
    """An error result is a failed attempt of no known class that did leave the process."""
    seen = finished.observations[1]

    assert (seen.attempt, seen.error_class, seen.sent) == (AttemptStatus.ERROR, ErrorClass.UNCLASSIFIED, Known.YES)


def test_reward_is_success(finished):
    """A full reward is a success, and the reward says so."""
    assert (finished.outcome, finished.outcome_source, finished.reward) == (RunOutcome.SUCCESS, OutcomeSource.REWARD, 1.0)


@pytest.mark.parametrize(("reward", "outcome"), [(1.0, "success"), (0.9999999, "success"), (0.99, "failure"), (0.0, "failure")])
def test_verified_reward_decides(reward, outcome):
    """A verified reward below 1 - 1e-6 is a failure."""
    run = read_record(_run({"role": "user", "content": "hi"}, reward=reward, info={"reward_info": {"reward": reward}}))

    assert (run.outcome, run.outcome_source, run.reward) == (outcome, "reward", reward)


def test_unverified_zero_is_no_failure(unfinished):
    """Reward 0 without reward_info was never judged: abandoned, by nobody's word, with no reward."""
    assert (unfinished.outcome, unfinished.outcome_source, unfinished.reward) == ("abandoned", "unknown", None)


def test_missing_reward_is_unknown():
    """Without a reward nothing is said about the outcome."""
    assert read_record(_run({"role": "user", "content": "hi"}, reward=None)).outcome is RunOutcome.UNKNOWN


def test_broken_arguments_stay_raw(unfinished):
    """Arguments that are no JSON are kept as the string they were."""
    assert [(call.parsed, call.arguments) for call in unfinished.calls[:2]] == [
        (False, '{"loan": "LOAN-1'),
        (False, "not json either"),
    ]


def test_missing_result_is_no_observation(unfinished):
    """A call whose result is not in the file has none, and a result without a call is counted, not attached."""
    assert sorted(unfinished.observations) == [0, 1, 2]
    assert unfinished.orphan_results == 1


def test_unknown_action_is_an_error(unfinished):
    """The environment's other way of refusing is an error too, and the tool stands in no catalogue."""
    assert unfinished.observations[2].status is ObservationStatus.ERROR
    assert unfinished.calls[2].registered is Known.NO


def test_catalogue_makes_all_tools_visible(finished, catalogue):
    """With the catalogue every decision saw all of it."""
    assert all(step.tools is catalogue.definitions and step.exposure is Exposure.EXPLICIT for step in finished.steps)
    assert {(call.visible, call.registered) for call in finished.calls} == {(Known.YES, Known.YES)}


def test_without_catalogue_visibility_is_unknown(records):
    """Without it nothing is claimed about what could be seen or is registered."""
    run = read_record(records[0])

    assert {step.tools for step in run.steps} == {None}
    assert {(call.visible, call.registered) for call in run.calls} == {(Known.UNKNOWN, Known.UNKNOWN)}


def test_ids_follow_the_content(records):
    """The same record has the same seed and run id with and without catalogue; another content has others."""
    changed = {**records[0], "reward": 0.5}

    assert read_record(records[0]).seed == read_record(dict(records[0])).seed
    assert read_record(records[0]).seed != read_record(changed).seed
    assert read_record(records[0]).run_id.startswith("tau-bench-7-2-")


@pytest.mark.parametrize(
    ("position", "reason"),
    [
        (2, "trajectory_without_messages"),
        (3, "trajectory_without_messages"),
        (4, "record_is_no_object"),
        (5, "malformed_tool_call"),
    ],
)
def test_bad_records_have_a_reason(records, position, reason):
    """What cannot be read is refused under a stable word."""
    with pytest.raises(RecordError) as caught:
        read_record(records[position])

    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("text", "malformed_message"),
        ({"role": "oracle"}, "unknown_role"),
        ({"role": "assistant", "tool_calls": {}}, "malformed_tool_call"),
    ],
)
def test_bad_messages_have_a_reason(message, reason):
    """So is a record in which a message has not a chat's shape."""
    with pytest.raises(RecordError) as caught:
        read_record(_run(message))

    assert caught.value.reason == reason


def test_content_parts_are_joined():
    """A content given as parts is the texts of its parts."""
    parts = [{"type": "text", "text": "one"}, {"type": "image_url"}, {"type": "text", "text": "two"}]

    assert read_record(_run({"role": "user", "content": parts})).events == (Message(role="user", text="one\ntwo"),)
