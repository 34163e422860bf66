"""Conversations that cannot be told apart by ids alone, since their provider numbers calls anew in each."""

import gc
import json

import httpx
import openai
import pytest

import toolwitness
from toolwitness.model.enums import RecordKind

TOOLS = [{"type": "function", "function": {"name": "charge", "parameters": {"type": "object"}}}]
DECLINED, PAID = '{"error": "card declined"}', '{"paid": true}'


def _answer(request):
    """A call of `charge` with the first word of the user, always by the same id; after a tool message a text."""
    messages = json.loads(request.content)["messages"]
    who = next(message["content"] for message in messages if message["role"] == "user")
    call = {"id": "call_0", "type": "function", "function": {"name": "charge", "arguments": json.dumps({"who": who})}}
    told = messages[-1]["role"] == "tool"
    message = {"role": "assistant", "content": "done" if told else None, **({} if told else {"tool_calls": [call]})}
    choice = {"index": 0, "message": message, "finish_reason": "stop" if told else "tool_calls"}
    return httpx.Response(200, json={"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})


@pytest.fixture(name="client")
def _client():
    with openai.OpenAI(api_key="k", http_client=httpx.Client(transport=httpx.MockTransport(_answer))) as client:
        yield client


def conversation(client, who, result):
    """A loop in two steps, so that several can be interleaved."""
    messages = [{"role": "user", "content": who}]
    message = client.chat.completions.create(model="m", messages=messages, tools=TOOLS).choices[0].message
    yield
    messages += [message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": "call_0", "content": result}]
    client.chat.completions.create(model="m", messages=messages, tools=TOOLS)
    yield


def interleaved(*conversations):
    """Every first step, then every second one."""
    for _ in range(2):
        for each in conversations:
            next(each)


def observations(recorded):
    """Of each call, in the order of proposals: what came back, and how many runs and decisions there are."""
    calls = sorted(recorded.records(RecordKind.CALL), key=lambda one: str(one.observation))
    decisions = recorded.records(RecordKind.DECISION)
    steps = sorted(sum(one.run_id == run for one in decisions) for run in {one.run_id for one in decisions})
    return [str(one.observation) for one in calls], steps


def test_two_conversations_with_the_same_ids_keep_their_results(instrument, client):
    """What was declined for one is never said of the other's payment, and each has its own two steps."""
    with instrument("openai") as recorded:
        interleaved(conversation(client, "alice", DECLINED), conversation(client, "bob", PAID))
        seen = observations(recorded)

    assert seen == (["error", "ok"], [2, 2])


def test_two_conversations_in_one_run_are_both_read(instrument, client):
    """Their histories are equally long; each tool message closes its call."""
    with instrument("openai") as recorded:
        with toolwitness.run("both"):
            first = conversation(client, "alice", PAID)
            interleaved(first)
            interleaved(conversation(client, "bob", PAID))
        seen = observations(recorded)

    assert seen == (["ok", "ok"], [4])


def test_the_same_words_and_ids_at_once_are_nobody_s_for_sure(instrument, client):
    """Where nothing tells two calls apart, neither gets the other's result."""
    with instrument("openai") as recorded:
        interleaved(conversation(client, "eve", DECLINED), conversation(client, "eve", DECLINED))
        outcomes, _ = observations(recorded)

    assert set(outcomes) <= {"error", "none"}


def test_a_history_that_slides_is_read(instrument, model):
    """A loop that keeps its last messages only loses no result."""
    del model
    numbers = iter(range(1, 9))

    def answer(request):
        del request
        number = next(numbers)
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "charge", "arguments": f'{{"n": {number}}}'}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return httpx.Response(
            200, json={"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        )

    messages = [{"role": "user", "content": "pay them all"}]
    with (
        instrument("openai") as recorded,
        openai.OpenAI(api_key="k", http_client=httpx.Client(transport=httpx.MockTransport(answer))) as client,
    ):
        for number in range(1, 9):
            message = client.chat.completions.create(model="m", messages=messages[-4:], tools=TOOLS).choices[0].message
            messages += [message.model_dump(exclude_none=True)]
            messages += [{"role": "tool", "tool_call_id": f"call_{number}", "content": PAID}]
        ended = [str(one.observation) for one in recorded.records(RecordKind.CALL)]

    assert ended == ["ok"] * 7


def test_a_tool_with_arguments_that_the_application_adds_is_the_call_s_attempt(instrument, client):
    """A tenant beside what the model gave makes no second call."""

    @toolwitness.tool(side_effect="write")
    def charge(who, tenant):
        return {"paid": who, "tenant": tenant}

    with instrument("openai") as recorded:
        steps = conversation(client, "alice", PAID)
        next(steps)
        charge(who="alice", tenant="t-1")
        next(steps)
        calls = recorded.records(RecordKind.CALL)
        attempts = recorded.records(RecordKind.ATTEMPT)

    assert [one.call_id for one in attempts] == [one.call_id for one in calls]


def test_what_the_application_runs_beside_is_no_second_try(instrument, client):
    """A fee that it pays by the same tool is a call of its own, and leaves the result of the first."""

    @toolwitness.tool(side_effect="write")
    def charge(who):
        return {"paid": who}

    with instrument("openai") as recorded:
        steps = conversation(client, "alice", PAID)
        next(steps)
        charge(who="alice")
        charge(who="the house")
        next(steps)
        calls = recorded.records(RecordKind.CALL)
        attempts = recorded.records(RecordKind.ATTEMPT)

    assert sorted(one.call_id for one in attempts) == sorted(one.call_id for one in calls)
    assert len(calls) == 2


def test_a_stream_that_breaks_off_proposes_no_half_call(instrument, model):
    """What the application never got whole is not called bad JSON of the model's."""
    with (
        instrument("openai") as recorded,
        openai.OpenAI(base_url=model.url + "/v1", api_key="k") as client,
    ):
        question = [{"role": "user", "content": "[script:parallel]"}]
        stream = client.chat.completions.create(model="m", messages=question, tools=TOOLS, stream=True)
        for chunk in stream:
            calls = chunk.choices[0].delta.tool_calls if chunk.choices else None
            if calls and calls[0].function.arguments:
                break
        stream.close()
        del stream, chunk
        gc.collect()
        decisions = recorded.records(RecordKind.DECISION)
        gates = recorded.records(RecordKind.GATE)

    assert (len(decisions), gates) == (1, [])


def test_a_decorated_tool_that_did_not_run_has_no_result(instrument, client):
    """What a loop tells the model in its place is no answer of the tool's, so nothing succeeded."""

    @toolwitness.tool(side_effect="write")
    def charge(who):
        return {"paid": who}

    with instrument("openai") as recorded:
        interleaved(conversation(client, "alice", "The user does not want that."))
        outcomes, _ = observations(recorded)

    assert (outcomes, recorded.records(RecordKind.ATTEMPT)) == (["none"], [])
