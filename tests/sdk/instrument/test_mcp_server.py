"""MCP servers in this process, of the classes that call functions and of the low-level one."""

import asyncio
import socket
import threading
from contextlib import contextmanager, nullcontext, suppress

import mcp
import pytest
import uvicorn
from mcp import types

import toolwitness
from toolwitness.model.enums import Known, RecordKind, SideEffect
from toolwitness.sdk import context
from toolwitness.tests.fakes.mcp_desk import NEW, connected, desk, from_elsewhere, low_level_desk
from toolwitness.tests.fakes.orders import Orders

ALLOWED = [("input_validation", "allow", "enforced")]
LOW = [] if NEW else ALLOWED
"""The first major version checks arguments for low-level servers too."""
REFUND = {"order_id": "A-17", "amount_cents": 1250}


@pytest.fixture(name="serve")
def _serve(instrument):
    """`serve(server, use)` gives `use` a session with the server, and what was recorded."""

    def serve(server, use):
        async def main():
            async with connected(server) as session:
                return await use(session)

        with instrument("mcp") as recorded:
            recorded.gave = asyncio.run(main())
            recorded.records()
        return recorded

    return serve


@contextmanager
def listening(app):
    """The URL of an application that is served by a thread."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(5)


def asks(name, arguments):
    """What uses a session for one call from another process."""
    return lambda session: from_elsewhere(session, name, arguments)


def test_a_served_call_is_a_call_with_one_attempt_of_a_run_of_its_own(serve):
    """With the definition that the server gives of the tool, and no announcement of one that only reads."""
    recorded = serve(desk(Orders()), asks("search_orders", {"query": "lamp"}))
    call = recorded.one(RecordKind.CALL)

    assert recorded.story()["calls"] == [("search_orders", "ok", 1, ALLOWED)]
    assert (call.server, call.registered, call.side_effect, call.arguments_valid) == (
        "desk",
        Known.YES,
        SideEffect.READ,
        "valid",
    )
    assert recorded.records(RecordKind.ATTEMPT_START) == []


def test_each_served_call_is_in_a_run_of_its_own(serve):
    """Clients are strangers to each other, and so are their calls."""

    async def use(session):
        await asyncio.gather(*(from_elsewhere(session, "get_weather", {"city": city}) for city in ("Berlin", "Berlin", "Rome")))

    recorded = serve(desk(Orders()), use)
    runs = {call.run_id for call in recorded.records(RecordKind.CALL)}

    assert [one[:3] for one in recorded.story()["calls"]] == [("get_weather", "ok", 1)] * 3
    assert len(runs) == 3


def test_the_attempt_is_open_while_the_function_runs(serve):
    """It was announced before, and what the function does finds it."""
    orders, seen = Orders(), []

    def submit_refund(order_id: str) -> str:
        """Refund an order."""
        scope = context.current.get()
        seen.append((scope.call.tool, scope.unclaimed, scope.over))
        return order_id

    orders.submit_refund = submit_refund
    recorded = serve(desk(orders), asks("submit_refund", {"order_id": "A-17"}))

    assert seen == [("submit_refund", True, False)]
    assert recorded.one(RecordKind.ATTEMPT_START).tool == "submit_refund"


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


def test_places_are_named_and_values_are_not(serve):
    """Pointer and keyword of each problem."""
    gate = serve(desk(Orders()), asks("search_orders", {"limit": "lots"})).one(RecordKind.GATE)

    assert dict(zip(gate.pointers, gate.keywords, strict=True)) == {"/query": "missing", "/limit": "int_parsing"}


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


@pytest.mark.parametrize("side_effect", ["read", "write"])
def test_a_decorated_function_behind_a_server_is_the_attempt(serve, side_effect):
    """No call more, and the decorator's word on side effects counts."""
    orders = Orders()
    orders.get_weather = toolwitness.tool(orders.get_weather, name="get_weather", side_effect=side_effect)
    recorded = serve(desk(orders), asks("get_weather", {"city": "Berlin"}))

    assert recorded.story()["calls"] == [("get_weather", "ok", 1, ALLOWED)]
    assert str(recorded.one(RecordKind.CALL).side_effect) == side_effect


def test_client_and_server_in_one_process_are_one_call(serve):
    """The client's attempt is the one, also for what the function does."""
    orders, seen = Orders(), []

    def get_weather(city: str) -> str:
        """Tell the weather of a city."""
        seen.append(context.current.get().call.id)
        return city

    orders.get_weather = get_weather

    async def use(session):
        await asyncio.gather(*(session.call_tool("get_weather", {"city": "Berlin"}) for _ in range(2)))

    recorded = serve(desk(orders), use)
    calls = recorded.records(RecordKind.CALL)

    assert [one[:3] for one in recorded.story()["calls"]] == [("get_weather", "ok", 1)] * 2
    assert sorted(seen) == sorted(call.call_id for call in calls)


def test_a_decorated_function_behind_client_and_server_is_still_one_call(serve):
    """The client's attempt is what it runs for."""
    orders = Orders()
    orders.get_weather = toolwitness.tool(orders.get_weather, name="get_weather")
    recorded = serve(desk(orders), lambda session: session.call_tool("get_weather", {"city": "Berlin"}))

    assert recorded.story()["calls"] == [("get_weather", "ok", 1, [])]


def test_a_client_in_this_process_learns_what_the_function_raised(serve):
    """The error text is not all that is known."""
    recorded = serve(desk(Orders()), lambda session: session.call_tool("submit_refund", REFUND))
    call, attempt = recorded.one(RecordKind.CALL), recorded.one(RecordKind.ATTEMPT)

    assert (str(call.observation), str(call.transport_status), call.error_type) == ("timeout", "ok", "TimeoutError")
    assert (str(attempt.attempt_status), attempt.transport) == ("timeout", "mcp")


def test_a_call_without_any_client_is_recorded_too(serve):
    """A program may ask its server itself."""
    server = desk(Orders())

    async def use(_):
        await server.call_tool("get_weather", {"city": "Berlin"})

    assert serve(server, use).story()["calls"] == [("get_weather", "ok", 1, ALLOWED)]


def test_a_request_that_is_cancelled_has_no_answer(serve):
    """The client gave up, and the function was stopped."""
    orders = Orders()

    async def get_weather(city: str) -> str:
        """Tell the weather of a city, never."""
        await asyncio.Event().wait()
        return city

    orders.get_weather = get_weather

    async def use(session):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await from_elsewhere(session, "get_weather", {"city": "Berlin"})

    recorded = serve(desk(orders), use)

    assert recorded.story()["calls"] == [("get_weather", "none", 1, ALLOWED)]
    assert str(recorded.one(RecordKind.ATTEMPT).attempt_status) == "cancelled"


@pytest.fixture(name="serve_low")
def _serve_low(instrument):
    """`serve_low(handle, use)` is `serve` for a low-level server that is made when everything is instrumented."""

    def serve_low(handle, use):
        async def main():
            async with connected(low_level_desk(handle)) as session:
                return await use(session)

        with instrument("mcp") as recorded:
            asyncio.run(main())
            recorded.records()
        return recorded

    return serve_low


def test_a_handler_of_a_low_level_server_is_an_attempt(serve_low):
    """It is open while the handler runs."""
    seen = []

    async def handle(name, arguments):
        seen.append((name, arguments, context.current.get().call.tool))
        return "7 degrees"

    recorded = serve_low(handle, asks("get_weather", {"city": "Berlin"}))

    assert seen == [("get_weather", {"city": "Berlin"}, "get_weather")]
    assert recorded.story()["calls"] == [("get_weather", "ok", 1, LOW)]
    assert len(recorded.records(RecordKind.ATTEMPT_START)) == 1


def test_what_a_handler_raises_is_recorded_with_its_type(serve_low):
    """Whatever the server tells the client."""

    async def handle(name, arguments):
        del name, arguments
        raise ConnectionError("lost")

    async def use(session):
        with pytest.raises(mcp.MCPError) if NEW else nullcontext():
            await from_elsewhere(session, "get_weather", {"city": "Berlin"})

    recorded = serve_low(handle, use)

    assert recorded.story()["calls"] == [("get_weather", "raised", 1, LOW)]
    assert recorded.one(RecordKind.ATTEMPT).error_type == "ConnectionError"


def test_client_and_low_level_server_in_one_process_are_one_call(serve_low):
    """As with the others."""

    async def handle(name, arguments):
        del arguments
        return name

    recorded = serve_low(handle, lambda session: session.call_tool("get_weather", {"city": "Berlin"}))

    assert [one[:3] for one in recorded.story()["calls"]] == [("get_weather", "ok", 1)]


@pytest.mark.skipif(not NEW, reason="the first major version has no such answer")
@pytest.mark.parametrize("elsewhere", [True, False], ids=["server", "client"])
def test_a_server_that_asks_for_input_has_not_answered(serve, elsewhere):
    """What the function did until then is not known."""
    orders = Orders()

    def submit_refund(order_id: str) -> types.InputRequiredResult:
        """Refund an order, after a question."""
        return types.InputRequiredResult(request_state=order_id)

    orders.submit_refund = submit_refund

    async def use(session):
        if elsewhere:
            with suppress(ValueError):  # what this way of asking cannot read
                await from_elsewhere(session, "submit_refund", {"order_id": "A-17"})
        else:
            await session.call_tool("submit_refund", {"order_id": "A-17"}, allow_input_required=True)

    recorded = serve(desk(orders), use)

    assert [one[:3] for one in recorded.story()["calls"]] == [("submit_refund", "none", 1)]
    assert str(recorded.one(RecordKind.ATTEMPT).attempt_status) == "cancelled"


@pytest.mark.skipif(not NEW, reason="the client of the first major version has another name")
def test_over_http_in_one_process_it_is_one_call_too(instrument):
    """The server runs in a thread of its own and finds the request that waits."""

    async def use(url):
        async with mcp.Client(url) as client:
            await asyncio.gather(*(client.call_tool("get_weather", {"city": city}) for city in ("Berlin", "Rome")))

    with instrument("mcp") as recorded:
        with listening(desk(Orders()).streamable_http_app()) as url:
            asyncio.run(use(f"{url}/mcp"))
        attempts = recorded.records(RecordKind.ATTEMPT)
        story = recorded.story()

    assert [one[:3] for one in story["calls"]] == [("get_weather", "ok", 1)] * 2
    assert {attempt.transport for attempt in attempts} == {"mcp"}
