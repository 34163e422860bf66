"""Hand-written loops over OpenAI's client need nothing but `instrument()`."""

import asyncio
import gc
import json

import openai
import pytest
from openai import _base_client

import toolwitness
from toolwitness.model.enums import Known, ObservationStatus, RecordKind
from toolwitness.tests.fakes.orders import OPENAI_TOOLS, Orders


def run_tool(orders, name, arguments):
    """A loop's own dispatch: what goes wrong is told to the model as text."""
    try:
        return json.dumps(getattr(orders, name)(**json.loads(arguments)))
    except Exception as error:  # noqa: BLE001 -- a typical loop tells the model whatever went wrong
        return f"Error: {error}"


def chat(model, script, orders, *, stream=False, turns=5):
    """A typical loop over chat completions; gives the final text."""
    client = openai.OpenAI(base_url=model.url + "/v1", api_key="k")
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Orders, please [script:{script}]"}]
    for _ in range(turns):
        answer = client.chat.completions.create(model="m", messages=messages, tools=OPENAI_TOOLS, stream=stream)
        message = assembled(answer) if stream else answer.choices[0].message.model_dump(exclude_none=True)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            content = run_tool(orders, call["function"]["name"], call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    raise AssertionError("the loop did not end")


def assembled(stream):
    """The message that a stream's chunks make."""
    text, calls = "", {}
    for chunk in stream:
        delta = chunk.choices[0].delta
        text += delta.content or ""
        for part in delta.tool_calls or ():
            call = calls.setdefault(part.index, {"id": part.id, "type": "function", "function": {"name": "", "arguments": ""}})
            call["function"]["name"] += part.function.name or ""
            call["function"]["arguments"] += part.function.arguments or ""
    return {"role": "assistant", "content": text, **({"tool_calls": list(calls.values())} if calls else {})}


@pytest.mark.parametrize("stream", [False, True])
def test_parallel_calls_are_two_calls_of_one_decision(instrument, model, stream):
    """Both are opened by the answer and closed by their tool messages."""
    with instrument("openai") as recorded:
        assert chat(model, "parallel", Orders(), stream=stream).startswith("Found order")
        story = recorded.story()

    assert story == {
        "decisions": ["called", "answered"],
        "calls": [("search_orders", "ok", 0, []), ("get_weather", "ok", 0, [])],
        "runs": 1,
    }


def test_visible_tools_schemas_and_use_are_known(instrument, model):
    """The decision names the tools with their schemas; arguments are traced to the user, results to their use."""
    with instrument("openai") as recorded:
        chat(model, "parallel", Orders())
        call = next(one for one in recorded.records(RecordKind.CALL) if one.tool == "search_orders")
        decisions = sorted(recorded.records(RecordKind.DECISION), key=lambda one: one.decision_ordinal)

    assert (call.registered, call.visible, call.arguments_valid) == (Known.YES, Known.YES, "valid")
    assert decisions[0].visibility is Known.YES
    assert call.call_id in decisions[1].answer_sources


def test_bad_json_and_bad_arguments_are_seen_and_stop_nothing(instrument, model):
    """The gate is only observed."""
    with instrument("openai") as recorded:
        chat(model, "badjson", Orders())
        chat(model, "badargs", Orders())
        gates = [(str(one.gate_kind), str(one.gate_mode), one.pointers) for one in recorded.records(RecordKind.GATE)]

    assert gates[0] == ("parse", "observed", ())
    assert gates[1][:2] == ("input_validation", "observed")
    assert "/limit" in gates[1][2]


def test_unknown_tool_was_not_offered(instrument, model):
    """A call of a tool that stands in no list is a call nevertheless."""
    with instrument("openai") as recorded:
        chat(model, "unknown", Orders())
        call = next(one for one in recorded.records(RecordKind.CALL) if one.tool == "delete_everything")

    assert (call.registered, call.visible, call.observation) == (Known.NO, Known.NO, ObservationStatus.ERROR)


@pytest.mark.parametrize(("script", "status"), [("raises", "error"), ("timeout", "error")])
def test_an_error_told_to_the_model_is_no_answer(instrument, model, script, status):
    """A tool message that begins as an error message is recorded as one, unclassified."""
    with instrument("openai") as recorded:
        chat(model, script, Orders())
        call = recorded.one(RecordKind.CALL)

    assert (str(call.observation), str(call.error_class)) == (status, "unclassified")


def test_a_decorated_tool_joins_the_call(instrument, model):
    """The decorator makes the attempt of the proposed call and no call more."""
    orders = Orders()
    orders.search_orders = toolwitness.tool(orders.search_orders, name="search_orders", side_effect="read")
    with instrument("openai") as recorded:
        chat(model, "parallel", orders)
        story = recorded.story()

    assert story["calls"] == [("search_orders", "ok", 1, []), ("get_weather", "ok", 0, [])]


def test_two_conversations_are_two_runs(instrument, model):
    """What links requests are ids of calls, so that one process may serve many users."""
    with instrument("openai") as recorded:
        chat(model, "parallel", Orders())
        chat(model, "raises", Orders())
        story = recorded.story()

    assert story["runs"] == 2


def test_what_never_comes_back_is_unfinished(instrument, model):
    """A call without a tool message is recorded without an observation."""
    with instrument("openai") as recorded:
        with pytest.raises(AssertionError, match="did not end"):
            chat(model, "parallel", Orders(), turns=1)
        toolwitness.flush()
        recorded.exporter.clear()
        toolwitness.uninstrument()
        calls = [span for span in recorded.exporter.get_finished_spans() if span.name.startswith("execute_tool")]

    assert len(calls) == 2
    assert {span.attributes["toolwitness.observation.status"] for span in calls} == {"none"}


def test_async(instrument, model):
    """The async client is recorded too."""

    async def ask():
        client = openai.AsyncOpenAI(base_url=model.url + "/v1", api_key="k")
        messages = [{"role": "user", "content": "[script:parallel]"}]
        return await client.chat.completions.create(model="m", messages=messages, tools=OPENAI_TOOLS)

    with instrument("openai") as recorded:
        asyncio.run(ask())
        decision = recorded.one(RecordKind.DECISION)

    assert len(decision.chosen) == 2


def test_a_stream_that_is_never_read_or_closed_early_is_a_decision_without_claims(instrument, model):
    """Nothing is made up of what was not read."""
    with instrument("openai") as recorded:
        client = openai.OpenAI(base_url=model.url + "/v1", api_key="k")
        messages = [{"role": "user", "content": "[script:notool]"}]
        stream = client.chat.completions.create(model="m", messages=messages, stream=True)
        del stream
        with client.chat.completions.create(model="m", messages=messages, stream=True) as stream:
            next(stream)
        del stream
        gc.collect()
        decisions = recorded.records(RecordKind.DECISION)

    assert [str(one.finish) for one in decisions] == ["unknown", "unknown"]


def test_after_uninstrument_nothing_is_wrapped():
    """Every method is the one that it was."""
    before = _base_client.SyncAPIClient.__dict__["request"]
    toolwitness.instrument(only=["openai"])
    during = _base_client.SyncAPIClient.__dict__["request"]
    toolwitness.uninstrument()
    after = _base_client.SyncAPIClient.__dict__["request"]

    assert before is after
    assert during is not before
