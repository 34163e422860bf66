"""Hand-written loops over OpenAI's client need nothing but `instrument()`."""

import asyncio
import gc

import openai
import pydantic
import pytest

import toolwitness
from toolwitness.model.enums import Known, ObservationStatus, RecordKind
from toolwitness.tests.fakes.agents import openai_chat
from toolwitness.tests.fakes.orders import OPENAI_TOOLS, Orders

RESPONSES_TOOLS = [{"type": "function", **tool["function"], "strict": False} for tool in OPENAI_TOOLS]


@pytest.fixture(name="client")
def _client(model):
    with openai.OpenAI(base_url=model.url + "/v1", api_key="k") as client:
        yield client


def ask(client, script, **options):
    """One request of chat completions."""
    messages = [{"role": "user", "content": f"Orders, please [script:{script}]"}]
    return client.chat.completions.create(model="m", messages=messages, tools=OPENAI_TOOLS, **options)


@pytest.mark.parametrize("mode", openai_chat.MODES)
def test_parallel_calls_are_two_calls_of_one_decision(instrument, model, mode):
    """Both are opened by the answer and closed by their tool messages."""
    with instrument("openai") as recorded:
        assert openai_chat.run(model.url, "parallel", Orders(), mode).startswith("Found order")
        story = recorded.story()

    assert story == {
        "decisions": ["called", "answered"],
        "calls": [("search_orders", "ok", 0, []), ("get_weather", "ok", 0, [])],
        "runs": 1,
    }


def test_visible_tools_and_use_are_known(instrument, model):
    """The decision names the tools with their schemas; results are traced to their use."""
    with instrument("openai") as recorded:
        openai_chat.run(model.url, "parallel", Orders())
        call = next(one for one in recorded.records(RecordKind.CALL) if one.tool == "search_orders")
        decisions = sorted(recorded.records(RecordKind.DECISION), key=lambda one: one.decision_ordinal)

    assert (call.registered, call.visible, call.arguments_valid) == (Known.YES, Known.YES, "valid")
    assert decisions[0].visibility is Known.YES
    assert call.call_id in decisions[1].answer_sources


def test_a_request_without_tools_shows_none(instrument, client):
    """Nothing offered is known, and not the same as not known."""
    with instrument("openai") as recorded:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "[script:notool]"}])
        decision = recorded.one(RecordKind.DECISION)
        toolset = recorded.one(RecordKind.TOOLSET)

    assert decision.visibility is Known.YES
    assert toolset.members == ()


def test_bad_json_and_bad_arguments_are_seen_and_stop_nothing(instrument, model):
    """The gates are only observed, and say where and by which keyword."""
    with instrument("openai") as recorded:
        openai_chat.run(model.url, "badjson", Orders())
        openai_chat.run(model.url, "badargs", Orders())
        gates = {
            str(one.gate_kind): (str(one.gate_mode), one.pointers, one.keywords) for one in recorded.records(RecordKind.GATE)
        }

    assert gates == {
        "parse": ("observed", (), ()),
        "input_validation": ("observed", ("/limit", ""), ("type", "additionalProperties")),
    }


def test_unknown_tool_was_not_offered(instrument, model):
    """A call of a tool that stands in no list is a call nevertheless."""
    with instrument("openai") as recorded:
        openai_chat.run(model.url, "unknown", Orders())
        call = next(one for one in recorded.records(RecordKind.CALL) if one.tool == "delete_everything")

    assert (call.registered, call.visible, call.observation) == (Known.NO, Known.NO, ObservationStatus.RAISED)


@pytest.mark.parametrize("script", ["raises", "timeout"])
def test_an_error_told_to_the_model_is_no_answer(instrument, model, script):
    """A tool message that begins as an error message is recorded as one, unclassified."""
    with instrument("openai") as recorded:
        openai_chat.run(model.url, script, Orders())
        call = recorded.one(RecordKind.CALL)

    assert (str(call.observation), str(call.error_class)) == ("raised", "unclassified")


def test_a_decorated_tool_joins_the_call(instrument, model):
    """The decorator makes the attempt of the proposed call and no call more."""
    orders = Orders()
    orders.search_orders = toolwitness.tool(orders.search_orders, name="search_orders", side_effect="read")
    with instrument("openai") as recorded:
        openai_chat.run(model.url, "parallel", orders)
        story = recorded.story()

    assert story["calls"] == [("search_orders", "ok", 1, []), ("get_weather", "ok", 0, [])]


def test_two_conversations_are_two_runs(instrument, model):
    """What links requests are ids of calls, so that one process may serve many users."""
    with instrument("openai") as recorded:
        openai_chat.run(model.url, "parallel", Orders())
        openai_chat.run(model.url, "raises", Orders())
        story = recorded.story()

    assert story["runs"] == 2


def test_inside_a_run_of_the_application_it_is_that_run(instrument, model):
    """Task and outcome of the application's run stand beside what the client tells."""
    with instrument("openai") as recorded:
        with toolwitness.run("t-1", id="run-1"):
            openai_chat.run(model.url, "parallel", Orders())
        runs = {one.run_id for one in recorded.records() if one.kind in {RecordKind.CALL, RecordKind.DECISION, RecordKind.RUN}}

    assert runs == {"run-1"}


def test_inside_a_decision_of_the_application_the_client_is_silent(instrument, client):
    """What the application records itself is not recorded twice."""
    with instrument("openai") as recorded:
        with toolwitness.run("t-1"), toolwitness.decision("m", tools=OPENAI_TOOLS):
            ask(client, "parallel")
        story = recorded.story()

    assert (story["decisions"], story["calls"]) == (["unknown"], [])


def test_what_never_comes_back_is_unfinished(instrument, client):
    """A call without a tool message is recorded without an observation."""
    with instrument("openai") as recorded:
        ask(client, "parallel")
        toolwitness.uninstrument()
        calls = [span for span in recorded.exporter.get_finished_spans() if span.name.startswith("execute_tool")]

    assert [span.attributes["toolwitness.observation.status"] for span in calls] == ["none", "none"]


def test_a_retried_request_is_one_decision(instrument, model):
    """What the client does about a 429 is its own business."""
    with instrument("openai") as recorded:
        openai_chat.run(model.url, "http429", Orders())
        decision = recorded.one(RecordKind.DECISION)

    assert len(model.requests) == 2
    assert str(decision.finish) == "answered"


def test_a_request_that_fails_is_a_failed_decision(instrument, client):
    """The client's exception goes through as it is."""
    with instrument("openai") as recorded:
        with pytest.raises(openai.APIConnectionError):
            ask(client.with_options(base_url="http://127.0.0.1:9/v1", max_retries=0), "parallel")
        decision = recorded.one(RecordKind.DECISION)

    assert str(decision.finish) == "failed"


def test_streams_never_read_or_closed_early_claim_nothing(instrument, client):
    """Nothing is made up of what was not read."""
    with instrument("openai") as recorded:
        stream = ask(client, "notool", stream=True)
        del stream
        gc.collect()
        with ask(client, "notool", stream=True) as stream:
            next(stream)
        del stream
        gc.collect()
        decisions = recorded.records(RecordKind.DECISION)

    assert [str(one.finish) for one in decisions] == ["unknown", "unknown"]


@pytest.mark.parametrize("stream", [False, True])
def test_raw_responses_are_read_too(instrument, client, stream):
    """`with_raw_response` gives its own object, which is read when the caller parses it."""
    with instrument("openai") as recorded:
        messages = [{"role": "user", "content": "[script:parallel]"}]
        raw = client.chat.completions.with_raw_response.create(model="m", messages=messages, stream=stream)
        parsed = raw.parse()
        if stream:
            list(parsed)
        decision = recorded.one(RecordKind.DECISION)

    assert len(decision.chosen) == 2


def test_a_parsed_stream_lives_on_without_its_raw_response(instrument, client):
    """The raw response is dropped at once, the stream is read later."""
    with instrument("openai") as recorded:
        messages = [{"role": "user", "content": "[script:parallel]"}]
        stream = client.chat.completions.with_raw_response.create(model="m", messages=messages, stream=True).parse()
        gc.collect()
        list(stream)
        decision = recorded.one(RecordKind.DECISION)

    assert len(decision.chosen) == 2


def test_streaming_responses_are_read_when_parsed(instrument, client):
    """`with_streaming_response` reads nothing by itself, so nothing is known before `parse`."""
    with instrument("openai") as recorded:
        messages = [{"role": "user", "content": "[script:parallel]"}]
        with client.chat.completions.with_streaming_response.create(model="m", messages=messages) as response:
            response.parse()
        decision = recorded.one(RecordKind.DECISION)

    assert len(decision.chosen) == 2


class Reply(pydantic.BaseModel):
    """What a parsed answer is."""

    text: str


def test_parse_and_the_stream_helper_are_recorded(instrument, client):
    """They go through the same request."""
    with instrument("openai") as recorded:
        messages = [{"role": "user", "content": "[script:parallel]"}]
        tools = [openai.pydantic_function_tool(Reply, name="search_orders")]
        with pytest.raises(pydantic.ValidationError):
            client.chat.completions.parse(model="m", messages=messages, tools=tools)
        with client.chat.completions.stream(model="m", messages=messages) as stream:
            list(stream)
        decisions = recorded.records(RecordKind.DECISION)

    assert [str(one.finish) for one in decisions] == ["failed", "called"]


@pytest.mark.parametrize("stream", [False, True])
def test_responses_link_by_previous_response(instrument, client, stream):
    """The second request holds only what is new; the response's id says which run it goes on with."""
    with instrument("openai") as recorded:
        first = client.responses.create(model="m", input="[script:parallel]", tools=RESPONSES_TOOLS, stream=stream)
        if stream:
            first = next(event for event in first if event.type == "response.completed").response
        outputs = [
            {"type": "function_call_output", "call_id": item.call_id, "output": '{"n": 1}'}
            for item in first.output
            if item.type == "function_call"
        ]
        client.responses.create(model="m", previous_response_id=first.id, input=outputs)
        story = recorded.story()
        second = max(recorded.records(RecordKind.DECISION), key=lambda one: one.decision_ordinal)

    assert story["calls"] == [("search_orders", "ok", 0, []), ("get_weather", "ok", 0, [])]
    assert story["runs"] == 1
    assert second.visibility is Known.UNKNOWN


def test_a_call_of_a_streamed_response_is_open_when_its_item_is_done(instrument, client):
    """A tool that runs before the answer ends is its attempt, and the whole response tells it no second time."""
    search = toolwitness.tool(Orders().search_orders, name="search_orders", side_effect="read")
    with instrument("openai") as recorded:
        with toolwitness.run("t-1"):
            for event in client.responses.create(model="m", input="[script:parallel]", tools=RESPONSES_TOOLS, stream=True):
                if event.type == "response.output_item.done" and event.item.name == "search_orders":
                    search(query="blue lamp", limit=3)
        story = recorded.story()

    assert story == {
        "decisions": ["called"],
        "calls": [("search_orders", "ok", 1, []), ("get_weather", "none", 0, [])],
        "runs": 1,
    }


def test_the_async_client_is_recorded(instrument, model):
    """One decision with both calls, also streamed."""

    async def both():
        async with openai.AsyncOpenAI(base_url=model.url + "/v1", api_key="k") as client:
            await ask(client, "parallel")
            async for _ in await ask(client, "parallel", stream=True):
                pass

    with instrument("openai") as recorded:
        asyncio.run(both())
        decisions = recorded.records(RecordKind.DECISION)

    assert [len(one.chosen) for one in decisions] == [2, 2]
