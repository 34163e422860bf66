"""Servers of fastmcp in this process."""

import asyncio
from contextlib import suppress

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools import Tool
from mcp.types import ToolAnnotations

import toolwitness
from toolwitness.model.enums import Known, RecordKind, SideEffect
from toolwitness.sdk import context
from toolwitness.tests.fakes.mcp_desk import from_elsewhere
from toolwitness.tests.fakes.orders import Orders

ALLOWED = [("input_validation", "allow", "enforced")]
REFUND = {"order_id": "A-17", "amount_cents": 1250}


def desk(orders):
    """A server of the orders' tools."""
    server = FastMCP("desk")
    server.add_tool(Tool.from_function(orders.search_orders, annotations=ToolAnnotations(read_only_hint=True)))
    for tool in (orders.get_weather, orders.cancel_order, orders.submit_refund, orders.flaky_lookup):
        server.add_tool(Tool.from_function(tool))
    return server


@pytest.fixture(name="serve")
def _serve(instrument):
    """`serve(server, use)` gives `use` a client of the server, and what was recorded."""

    def serve(server, use):
        async def main():
            async with Client(server) as client:
                return await use(client)

        with instrument("fastmcp", "mcp") as recorded:
            recorded.gave = asyncio.run(main())
            recorded.records()
        return recorded

    return serve


def asks(name, arguments):
    """What uses a client for one call from another process."""
    return lambda client: from_elsewhere(client.session, name, arguments)


def weather(function):
    """Orders with another `get_weather`, and what it saw of the attempt that it runs in."""
    orders = Orders()
    function.__name__ = "get_weather"
    orders.get_weather = function
    return orders


def test_a_served_call_is_a_call_with_one_attempt(serve):
    """With the definition that the server gives of the tool."""
    recorded = serve(desk(Orders()), asks("search_orders", {"query": "lamp"}))
    call = recorded.one(RecordKind.CALL)

    assert recorded.story()["calls"] == [("search_orders", "ok", 1, ALLOWED)]
    assert (call.server, call.registered, call.side_effect, call.arguments_valid) == (
        "desk",
        Known.YES,
        SideEffect.READ,
        "valid",
    )


def test_the_attempt_is_open_while_a_function_runs_in_a_thread(serve):
    """It was announced before, and what the function does finds it."""
    seen = []

    def plain(city: str) -> str:
        """Tell the weather of a city."""
        seen.append((context.current.get().call.tool, context.current.get().over))
        return city

    recorded = serve(desk(weather(plain)), asks("get_weather", {"city": "Berlin"}))

    assert seen == [("get_weather", False)]
    assert len(recorded.records(RecordKind.ATTEMPT_START)) == 1


def test_the_attempt_is_open_while_a_coroutine_runs(serve):
    """As in a thread."""
    seen = []

    async def awaited(city: str) -> str:
        """Tell the weather of a city."""
        await asyncio.sleep(0)
        seen.append((context.current.get().call.tool, context.current.get().over))
        return city

    serve(desk(weather(awaited)), asks("get_weather", {"city": "Berlin"}))

    assert seen == [("get_weather", False)]


@pytest.mark.parametrize(
    ("name", "arguments", "gate"),
    [("search_orders", {"limit": "lots"}, "input_validation"), ("delete_everything", {}, "catalog")],
)
def test_what_the_server_refuses_has_a_gate_and_no_attempt(serve, name, arguments, gate):
    """Nothing ran."""
    orders = Orders()
    recorded = serve(desk(orders), asks(name, arguments))

    assert recorded.story()["calls"] == [(name, "none", 0, [(gate, "deny", "enforced")])]
    assert orders.ledger == []


@pytest.mark.parametrize(
    ("name", "arguments", "error", "status"),
    [
        ("cancel_order", {"order_id": "A-17", "reason": "twice"}, "PermissionDeniedError", "raised"),
        ("submit_refund", REFUND, "TimeoutError", "timeout"),
    ],
)
def test_what_the_function_raised_is_known_before_it_becomes_text(serve, name, arguments, error, status):
    """The type of its own exception, on call and attempt."""
    recorded = serve(desk(Orders()), asks(name, arguments))
    call, attempt = recorded.one(RecordKind.CALL), recorded.one(RecordKind.ATTEMPT)

    assert (str(call.observation), call.error_type, attempt.error_type) == (status, error, error)


def test_a_validation_error_of_the_function_itself_is_no_refusal(serve):
    """Pydantic's, out of the function's own work."""

    def plain(city: str) -> str:
        """Tell the weather of a city."""
        return ToolAnnotations.model_validate({"title": [city]})

    recorded = serve(desk(weather(plain)), asks("get_weather", {"city": "Berlin"}))

    assert recorded.story()["calls"] == [("get_weather", "raised", 1, ALLOWED)]
    assert recorded.one(RecordKind.ATTEMPT).error_type == "ValidationError"


def test_generators_run_within_the_attempt(serve):
    """The framework reads them to their end."""
    seen = []

    def plain(city: str) -> list:
        """Tell the weather of a city."""
        seen.append(context.current.get().over)
        yield city

    recorded = serve(desk(weather(plain)), asks("get_weather", {"city": "Berlin"}))

    assert seen == [False]
    assert recorded.story()["calls"] == [("get_weather", "ok", 1, ALLOWED)]


def test_a_decorated_function_behind_a_server_is_the_attempt(serve):
    """No call more, and the decorator's word on side effects counts."""
    orders = Orders()
    orders.get_weather = toolwitness.tool(orders.get_weather, name="get_weather", side_effect="read")
    recorded = serve(desk(orders), asks("get_weather", {"city": "Berlin"}))

    assert recorded.story()["calls"] == [("get_weather", "ok", 1, ALLOWED)]
    assert str(recorded.one(RecordKind.CALL).side_effect) == "read"


def test_client_and_server_in_one_process_are_one_call(serve):
    """The client's attempt is the one, also for what the function does."""
    seen = []

    def plain(city: str) -> str:
        """Tell the weather of a city."""
        seen.append(context.current.get().call.id)
        return city

    async def use(client):
        await asyncio.gather(*(client.call_tool("get_weather", {"city": "Berlin"}) for _ in range(2)))

    recorded = serve(desk(weather(plain)), use)
    calls = recorded.records(RecordKind.CALL)

    assert [one[:3] for one in recorded.story()["calls"]] == [("get_weather", "ok", 1)] * 2
    assert sorted(seen) == sorted(call.call_id for call in calls)


def test_a_client_in_this_process_learns_what_the_function_raised(serve):
    """The client raises its words, and what was behind them is known."""

    async def use(client):
        with pytest.raises(ToolError):
            await client.call_tool("submit_refund", REFUND)

    call = serve(desk(Orders()), use).one(RecordKind.CALL)

    assert (str(call.observation), call.error_type) == ("timeout", "TimeoutError")


def test_a_tool_of_another_kind_is_an_attempt_as_a_whole(serve):
    """What it checks and runs is its own."""

    class Own(Tool):
        """As an application writes it."""

        async def run(self, arguments):
            """Answer."""
            return self.convert_result(str(arguments))

    server = FastMCP("desk")
    server.add_tool(Own(name="own", parameters={"type": "object"}))

    assert serve(server, asks("own", {"a": 1})).story()["calls"] == [("own", "ok", 1, [])]


def test_a_tool_of_a_mounted_server_is_one_call(serve):
    """Both servers handle it; it runs once."""
    outer = FastMCP("house")
    outer.mount(desk(Orders()), "desk")
    recorded = serve(outer, asks("desk_get_weather", {"city": "Berlin"}))

    assert [one[:3] for one in recorded.story()["calls"]] == [("get_weather", "ok", 1)]


def test_a_tool_that_forwards_to_another_is_the_one_call(serve):
    """It begins where the other's function does."""
    server = FastMCP("desk")
    server.add_tool(Tool.from_tool(Tool.from_function(Orders().get_weather), name="weather"))
    recorded = serve(server, asks("weather", {"city": "Berlin"}))

    assert [one[:3] for one in recorded.story()["calls"]] == [("weather", "ok", 1)]


def test_a_time_limit_of_the_server_is_no_answer(serve):
    """The function was stopped, and the client is told in words of the server's."""

    async def awaited(city: str) -> str:
        """Tell the weather of a city, never."""
        await asyncio.Event().wait()
        return city

    server = FastMCP("desk")
    server.add_tool(Tool.from_function(awaited, name="slow", timeout=0.1))

    async def use(client):
        with suppress(Exception):
            await from_elsewhere(client.session, "slow", {"city": "Berlin"})

    recorded = serve(server, use)

    assert recorded.story()["calls"] == [("slow", "raised", 1, ALLOWED)]


def test_servers_work_on_after_uninstrument(instrument):
    """What the framework remembers of functions does not outlive the instrumentation."""
    server = desk(Orders())

    async def main():
        return (await server.call_tool("get_weather", {"city": "Berlin"})).content[0].text

    with instrument("fastmcp") as recorded:
        during = asyncio.run(main())
    after = asyncio.run(main())

    assert (during, after) == ("7 degrees in Berlin", "7 degrees in Berlin")
    assert len(recorded.records(RecordKind.CALL)) == 1
