"""MCP clients of a server in another process, which answers what a test needs."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

import anyio
import openai
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import toolwitness
from toolwitness.model.enums import Known, RecordKind, SideEffect
from toolwitness.tests.fakes import mcp_stdio_server
from toolwitness.tests.fakes.orders import OPENAI_TOOLS

SECONDS = float if int(version("mcp").partition(".")[0]) > 1 else lambda count: timedelta(seconds=count)
"""A time as the installed major version takes it."""
SERVER = StdioServerParameters(command=sys.executable, args=["-S", str(Path(mcp_stdio_server.__file__))])


@asynccontextmanager
async def connected(*, listed=True, **options):
    """A session with the server, which has listed its tools."""
    async with stdio_client(SERVER) as (read, write), ClientSession(read, write, **options) as session:
        await session.initialize()
        if listed:
            await session.list_tools()
        yield session


@pytest.fixture(name="play")
def _play(instrument):
    """`with play(use) as recorded:` gives `use` a session, and what was recorded."""

    def play(use, *names, **options):
        async def main():
            async with connected(**options) as session:
                await use(session)

        with instrument("mcp", *names) as recorded:
            asyncio.run(main())
            recorded.records()
        return recorded

    return play


async def failing(session, name, error=Exception):
    """Call a tool and expect it to raise."""
    with pytest.raises(error):
        await session.call_tool(name, {"query": "lamp"})


def test_a_request_outside_of_anything_is_a_call_with_one_attempt(play):
    """What the server listed is the tool's definition, by the server's own name."""
    recorded = play(lambda session: session.call_tool("search_orders", {"query": "lamp"}))
    call, attempt = recorded.one(RecordKind.CALL), recorded.one(RecordKind.ATTEMPT)

    assert (call.tool, call.server, call.registered, call.arguments_valid) == ("search_orders", "desk", Known.YES, "valid")
    assert (str(call.observation), str(call.side_effect)) == ("ok", "read")
    assert (str(attempt.attempt_status), attempt.transport, attempt.sent) == ("ok", "mcp", Known.YES)


def test_hints_of_the_server_are_the_side_effect(play):
    """Only what is said to read is spared the announcement before it runs."""

    async def use(session):
        for name in ("search_orders", "submit_refund", "get_weather"):
            await session.call_tool(name)

    recorded = play(use)
    effects = {one.tool: one.side_effect for one in recorded.records(RecordKind.CALL)}
    announced = {one.tool for one in recorded.records(RecordKind.ATTEMPT_START)}

    assert effects == {
        "search_orders": SideEffect.READ,
        "submit_refund": SideEffect.DESTRUCTIVE,
        "get_weather": SideEffect.UNKNOWN,
    }
    assert announced == {"submit_refund", "get_weather"}


def test_a_tool_that_was_not_listed_has_no_known_effect(play):
    """Nothing is claimed of it."""
    recorded = play(lambda session: session.call_tool("picture"), listed=False)

    assert recorded.one(RecordKind.ATTEMPT_START).side_effect is SideEffect.UNKNOWN


def test_parallel_requests_are_calls_of_their_own(play):
    """With the same arguments too."""

    async def use(session):
        await asyncio.gather(*(session.call_tool("search_orders", {"query": "lamp"}) for _ in range(3)))

    recorded = play(use)
    calls = recorded.records(RecordKind.CALL)

    assert [len(recorded.attempts(call.call_id)) for call in calls] == [1, 1, 1]


@pytest.mark.parametrize(("name", "status"), [("submit_refund", "error"), ("cancel_order", "raised")])
def test_an_error_result_is_an_answer_over_a_good_transport(play, name, status):
    """The tool's own word; a server's words for what its tool raised prove nothing."""
    recorded = play(lambda session: session.call_tool(name))
    call, attempt = recorded.one(RecordKind.CALL), recorded.one(RecordKind.ATTEMPT)

    assert (str(call.observation), str(call.transport_status), str(attempt.attempt_status)) == (status, "ok", "ok")


def test_an_error_of_the_protocol_is_raised_with_its_code(play):
    """What the server refused may have begun, as far as anybody can tell."""
    recorded = play(lambda session: failing(session, "delete_everything"))
    call, attempt = recorded.one(RecordKind.CALL), recorded.one(RecordKind.ATTEMPT)

    assert (str(call.observation), call.vendor_code) == ("raised", "-32602")
    assert (str(attempt.attempt_status), attempt.vendor_code, attempt.sent) == ("error", "-32602", Known.UNKNOWN)
    assert (str(call.error_class), str(attempt.error_class)) == ("validation", "validation")


def test_a_time_that_ran_out_is_a_timeout(play):
    """The request was sent, so a tool that may write may have done so."""

    async def use(session):
        with pytest.raises(Exception, match=r"(?i)timed out"):
            await session.call_tool("silent", read_timeout_seconds=SECONDS(0.1))

    recorded = play(use)
    call, attempt = recorded.one(RecordKind.CALL), recorded.one(RecordKind.ATTEMPT)

    assert (str(call.observation), str(attempt.attempt_status), attempt.effect_ruled_out) == ("timeout", "timeout", False)


def test_a_connection_that_is_lost_after_sending_leaves_it_open_whether_it_was(play):
    """The next request on it was never sent, which is proven."""

    async def use(session):
        await failing(session, "die")
        await failing(session, "get_weather")

    recorded = play(use)
    sent = {call.tool: recorded.attempts(call.call_id)[0].sent for call in recorded.records(RecordKind.CALL)}

    assert sent == {"die": Known.UNKNOWN, "get_weather": Known.NO}
    assert {str(call.observation) for call in recorded.records(RecordKind.CALL)} == {"raised"}


def test_what_the_application_handles_meanwhile_proves_nothing(play):
    """A request that it sends while it handles a closed stream is not one that was not sent."""

    async def use(session):
        closed, reader = anyio.create_memory_object_stream(1)
        for end in (closed, reader):
            end.close()
        try:
            await closed.send(None)
        except anyio.ClosedResourceError:
            await failing(session, "delete_everything")

    assert play(use).one(RecordKind.ATTEMPT).sent is Known.UNKNOWN


def test_a_request_that_is_cancelled_has_no_answer(play):
    """The attempt is cancelled, and nothing came back."""

    async def use(session):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await session.call_tool("silent")

    recorded = play(use)

    assert str(recorded.one(RecordKind.ATTEMPT).attempt_status) == "cancelled"
    assert str(recorded.one(RecordKind.CALL).observation) == "none"


def test_texts_are_the_result_and_of_other_blocks_the_type(play, monkeypatch):
    """Structured content comes first, as the agent reads it."""
    told = []
    monkeypatch.setattr("toolwitness.sdk.calls.CallScope.result", lambda _, answer, **_facts: told.append(answer))

    async def use(session):
        for name in ("search_orders", "get_weather", "picture"):
            await session.call_tool(name)

    play(use)

    assert told == [{"orders": [{"id": "A-17"}]}, "7 degrees in Berlin", [{"type": "image"}, "7 degrees in Berlin"]]


@pytest.mark.parametrize("name", ["search_orders", "desk__search_orders"])
def test_under_an_open_call_it_is_an_attempt_of_it(play, name):
    """A second request is a second try; a prefix of the host tells servers apart."""

    async def use(session):
        with toolwitness.call(name, {"query": "lamp"}):
            await session.call_tool("search_orders", {"query": "lamp"})
            await session.call_tool("search_orders", {"query": "lamp"})

    recorded = play(use)
    call = recorded.one(RecordKind.CALL)

    assert (call.tool, str(call.observation), len(recorded.attempts(call.call_id))) == (name, "ok", 2)


def test_under_the_call_of_another_tool_it_is_a_call_of_its_own(play):
    """One that needs another tool's answer."""

    async def use(session):
        with toolwitness.call("plan_trip", {}), toolwitness.call("other", {}):
            await session.call_tool("get_weather", {"city": "Berlin"})

    recorded = play(use)
    attempts = {call.tool: len(recorded.attempts(call.call_id)) for call in recorded.records(RecordKind.CALL)}

    assert attempts == {"plan_trip": 0, "other": 0, "get_weather": 1}


def test_inside_an_attempt_it_is_how_that_attempt_travels(play):
    """A decorated tool that asks a server is one call with one attempt."""

    async def use(session):
        @toolwitness.tool
        async def lookup(query: str) -> str:
            answer = await session.call_tool("search_orders", {"query": query})
            return answer.content[0].text

        await lookup("lamp")

    recorded = play(use)
    call, attempt = recorded.one(RecordKind.CALL), recorded.one(RecordKind.ATTEMPT)

    assert (call.tool, attempt.transport, attempt.vendor_code) == ("lookup", "mcp", None)


def test_an_error_inside_an_attempt_leaves_its_code_there(play):
    """The attempt ends as its own code says."""

    async def use(session):
        with toolwitness.call("lookup", {}) as call, call.attempt():
            await failing(session, "delete_everything")

    assert play(use).one(RecordKind.ATTEMPT).vendor_code == "-32602"


def test_a_call_that_a_model_proposed_is_found_by_tool_and_arguments(play, model):
    """A loop over a bare client passes its calls on; the tool messages end them."""

    async def use(session):
        messages = [{"role": "user", "content": "Orders, please [script:parallel]"}]
        async with openai.AsyncOpenAI(base_url=model.url + "/v1", api_key="k") as client:
            answer = await client.chat.completions.create(model="m", messages=messages, tools=OPENAI_TOOLS)
            messages.append(answer.choices[0].message.model_dump(exclude_none=True))
            calls = messages[-1]["tool_calls"]
            asked = [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]
            results = await asyncio.gather(*(session.call_tool(*each) for each in asked))
            for call, result in zip(calls, results, strict=True):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result.content[0].text})
            await client.chat.completions.create(model="m", messages=messages, tools=OPENAI_TOOLS)

    recorded = play(use, "openai")
    calls = recorded.records(RecordKind.CALL)

    assert [one[:3] for one in recorded.story()["calls"]] == [("search_orders", "ok", 1), ("get_weather", "ok", 1)]
    assert {call.tool: str(call.side_effect) for call in calls} == {"search_orders": "read", "get_weather": "unknown"}
    assert all(call.decision_id is not None for call in calls)


@pytest.mark.parametrize(
    ("names", "calls"),
    [
        (["desk__get_weather"], [("desk__get_weather", "ok", 1)]),
        (
            ["a__get_weather", "b__get_weather"],
            [("a__get_weather", "none", 0), ("b__get_weather", "none", 0), ("get_weather", "ok", 1)],
        ),
    ],
    ids=["one", "two"],
)
def test_a_prefix_of_the_host_is_seen_through_where_it_is_the_only_one(play, model, names, calls):
    """A tool of that name on two servers cannot be told apart."""
    model.scripts["prefixed"] = [[(name, "{}") for name in names], "It is 7 degrees."]

    async def use(session):
        async with openai.AsyncOpenAI(base_url=model.url + "/v1", api_key="k") as client:
            messages = [{"role": "user", "content": "Weather, please [script:prefixed]"}]
            await client.chat.completions.create(model="m", messages=messages)
            await session.call_tool("get_weather", {})

    recorded = play(use, "openai")

    assert sorted(one[:3] for one in recorded.story()["calls"]) == calls


def test_what_is_sent_is_what_would_be_sent_without_us(instrument):
    """Not even the ids of our spans, which the package would send along, in an attempt of a decorated tool neither."""

    async def use(session):
        @toolwitness.tool
        async def lookup():
            return await session.call_tool("echo", {"query": "lamp"})

        answers = [await session.call_tool("echo", {"query": "lamp"}, meta={"own": 1}), await lookup()]
        return [answer.content[0].text for answer in answers]

    async def main():
        async with connected() as session:
            return await use(session)

    bare = asyncio.run(main())
    with instrument("mcp"):
        with_us = asyncio.run(main())

    assert with_us == bare


def test_what_the_application_declared_stands(play, monkeypatch):
    """A server's hint does not make a reading tool of one that the application knows to write."""
    monkeypatch.setattr("toolwitness.sdk.setup._declared", {})

    @toolwitness.tool(name="search_orders", server="desk", side_effect="write")
    def declared():
        """Never called."""

    recorded = play(lambda session: session.call_tool("search_orders", {"query": "lamp"}))

    assert recorded.one(RecordKind.CALL).side_effect is SideEffect.WRITE


def test_after_uninstrument_nothing_is_wrapped():
    """Every method is the one that it was."""
    before = ClientSession.__dict__["call_tool"]
    toolwitness.instrument(only=["mcp"])
    during = ClientSession.__dict__["call_tool"]
    toolwitness.uninstrument()

    assert ClientSession.__dict__["call_tool"] is before
    assert during is not before
