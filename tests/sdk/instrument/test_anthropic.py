"""Hand-written loops over Anthropic's client and its tool runner need nothing but `instrument()`."""

import asyncio
import gc

import anthropic
import pytest

import toolwitness
from toolwitness.model.enums import Known, RecordKind
from toolwitness.tests.fakes.agents import anthropic_messages
from toolwitness.tests.fakes.agents.anthropic_messages import TOOLS
from toolwitness.tests.fakes.orders import Orders

ASKED = {"model": "m", "max_tokens": 256, "tools": TOOLS}


@pytest.fixture(name="client")
def _client(model):
    with anthropic.Anthropic(base_url=model.url, api_key="k") as client:
        yield client


def question(script):
    """The messages that play a script."""
    return [{"role": "user", "content": f"Orders, please [script:{script}]"}]


@pytest.mark.parametrize("mode", ["sync", "stream", "async", "raw"])
def test_parallel_calls_are_two_calls_of_one_decision(instrument, model, mode):
    """Both are opened by the answer and closed by their tool results; what the client itself emits is not counted."""
    with instrument("anthropic") as recorded:
        assert anthropic_messages.run(model.url, "parallel", Orders(), mode).startswith("Found order")
        story = recorded.story()

    assert story == {
        "decisions": ["called", "answered"],
        "calls": [("search_orders", "ok", 0, []), ("get_weather", "ok", 0, [])],
        "runs": 1,
    }


def test_visible_tools_are_known(instrument, model):
    """The decision names the tools with the schemas that were sent."""
    with instrument("anthropic") as recorded:
        anthropic_messages.run(model.url, "parallel", Orders())
        call = next(one for one in recorded.records(RecordKind.CALL) if one.tool == "search_orders")

    assert (call.registered, call.visible, call.arguments_valid) == (Known.YES, Known.YES, "valid")


@pytest.mark.parametrize("mode", anthropic_messages.MODES)
def test_a_result_that_is_an_error_is_recorded_as_one(instrument, model, mode):
    """`is_error` is the protocol's own word."""
    with instrument("anthropic") as recorded:
        anthropic_messages.run(model.url, "raises", Orders(), mode)
        call = recorded.one(RecordKind.CALL)

    assert (str(call.observation), str(call.error_class)) == ("raised", "unclassified")


def test_streamed_arguments_that_are_no_json_stay_what_was_sent(instrument, client):
    """The client repairs a cut object; what the model sent was no JSON."""
    with instrument("anthropic") as recorded:
        with client.messages.stream(messages=question("badjson"), **ASKED) as stream:
            stream.until_done()
        toolwitness.flush()
        toolwitness.uninstrument()
        spans = recorded.exporter.get_finished_spans()
    gates = [span.attributes for span in spans if span.attributes["toolwitness.record"] == "gate"]

    assert [(one["toolwitness.gate.kind"], one["toolwitness.gate.mode"]) for one in gates] == [("parse", "observed")]


def test_tools_of_mcp_servers_are_not_known(instrument, client):
    """The provider asks those servers itself, so what the model saw is unknown, not nothing."""
    with instrument("anthropic") as recorded:
        servers = [{"type": "url", "url": "https://example.org/mcp", "name": "orders"}]
        client.beta.messages.create(messages=question("notool"), mcp_servers=servers, **ASKED)
        decision = recorded.one(RecordKind.DECISION)

    assert decision.visibility is Known.UNKNOWN


def test_a_retried_request_is_one_decision(instrument, model):
    """What the client does about a 429 is its own business."""
    with instrument("anthropic") as recorded:
        anthropic_messages.run(model.url, "http429", Orders())
        decision = recorded.one(RecordKind.DECISION)

    assert len(model.requests) == 2
    assert str(decision.finish) == "answered"


def test_streams_never_read_or_closed_early_claim_nothing(instrument, client):
    """Nothing is made up of what was not read."""
    with instrument("anthropic") as recorded:
        stream = client.messages.create(messages=question("parallel"), stream=True, **ASKED)
        del stream
        gc.collect()
        with client.messages.create(messages=question("parallel"), stream=True, **ASKED) as stream:
            next(stream)
        del stream
        gc.collect()
        decisions = recorded.records(RecordKind.DECISION)

    assert [str(one.finish) for one in decisions] == ["unknown", "unknown"]


def test_a_call_is_open_when_its_block_has_ended(instrument, client):
    """A tool that runs before the answer ends is its attempt, in its run; the call that was cut off was never proposed."""
    search = toolwitness.tool(Orders().search_orders, name="search_orders", side_effect="read")
    with instrument("anthropic") as recorded:
        with toolwitness.run("t-1"), client.messages.create(messages=question("parallel"), stream=True, **ASKED) as stream:
            for event in stream:
                if event.type == "content_block_stop" and event.index == 1:
                    search(query="blue lamp", limit=3)
                if event.type == "content_block_delta" and event.index == 2:
                    break
        del stream
        gc.collect()
        story = recorded.story()

    assert story == {"decisions": ["called"], "calls": [("search_orders", "ok", 1, [])], "runs": 1}


def test_a_call_of_an_asynchronous_stream_is_open_when_its_block_has_ended(instrument, model):
    """As in a synchronous one; the task leaves the stream early."""
    search = toolwitness.tool(Orders().search_orders, name="search_orders", side_effect="read")

    async def ask():
        client = anthropic.AsyncAnthropic(base_url=model.url, api_key="k")
        async with client, client.messages.stream(messages=question("parallel"), **ASKED) as stream:
            async for event in stream:
                if event.type == "content_block_stop" and event.index == 1:
                    search(query="blue lamp", limit=3)
                    break

    with instrument("anthropic") as recorded:
        with toolwitness.run("t-1"):
            asyncio.run(ask())
        gc.collect()
        story = recorded.story()

    assert story == {"decisions": ["called"], "calls": [("search_orders", "ok", 1, [])], "runs": 1}


def test_the_async_client_streams_too(instrument, model):
    """One decision with both calls."""

    async def ask():
        client = anthropic.AsyncAnthropic(base_url=model.url, api_key="k")
        async with client, client.messages.stream(messages=question("parallel"), **ASKED) as stream:
            await stream.until_done()

    with instrument("anthropic") as recorded:
        asyncio.run(ask())
        decision = recorded.one(RecordKind.DECISION)

    assert len(decision.chosen) == 2
