"""Anthropic's tool runner: each tool that it runs is an attempt, begun before the tool's own code."""

import asyncio
import gc
import logging
import weakref

import anthropic
import pytest
from anthropic.lib.tools import BetaAsyncRunnableToolset, BetaRunnableToolset

import toolwitness
from toolwitness.model.enums import RecordKind
from toolwitness.tests.fakes.agents import anthropic_messages
from toolwitness.tests.fakes.agents.anthropic_messages import RUNNERS, TOOLS, runner_tools
from toolwitness.tests.fakes.orders import Orders

ALLOWED = [("input_validation", "allow", "enforced")]
DENIED = [("input_validation", "deny", "enforced")]
every_runner = pytest.mark.parametrize("mode", RUNNERS)


def asked(script, tools):
    """What the runner is asked, to play a script."""
    return {
        "model": "m",
        "max_tokens": 256,
        "messages": [{"role": "user", "content": f"Orders, please [script:{script}]"}],
        "tools": tools,
    }


@pytest.fixture(name="client")
def _client(model):
    with anthropic.Anthropic(base_url=model.url, api_key="k") as client:
        yield client


@every_runner
def test_parallel_calls_are_one_decision_with_two_executed_calls(instrument, model, mode):
    """Each tool ran once, for the call that the model proposed, in one run."""
    with instrument("anthropic") as recorded:
        assert anthropic_messages.run(model.url, "parallel", Orders(), mode).startswith("Found order")
        story = recorded.story()

    assert story == {
        "decisions": ["called", "answered"],
        "calls": [("search_orders", "ok", 1, ALLOWED), ("get_weather", "ok", 1, ALLOWED)],
        "runs": 1,
    }


@every_runner
def test_a_decorated_tool_is_the_attempt_that_the_runner_opened(instrument, model, mode):
    """No call more, and no run more where the tool runs before the answer has ended."""
    orders = Orders()
    orders.search_orders = toolwitness.tool(orders.search_orders, name="search_orders", side_effect="read")
    with instrument("anthropic") as recorded:
        anthropic_messages.run(model.url, "parallel", orders, mode)
        story = recorded.story()

    assert story["calls"] == [("search_orders", "ok", 1, ALLOWED), ("get_weather", "ok", 1, ALLOWED)]
    assert story["runs"] == 1


@every_runner
@pytest.mark.parametrize(
    "told", [("raises", "raised", "PermissionDeniedError"), ("timeout", "timeout", "TimeoutError")], ids=["raises", "timeout"]
)
def test_what_a_tool_raised_is_known_by_its_type(instrument, model, mode, told):
    """Before the runner makes text of it."""
    script, status, kind = told
    with instrument("anthropic") as recorded:
        anthropic_messages.run(model.url, script, Orders(), mode)
        call, attempt = recorded.one(RecordKind.CALL), recorded.one(RecordKind.ATTEMPT)

    assert (str(call.observation), call.error_type, attempt.error_type) == (status, kind, kind)


@every_runner
def test_refused_arguments_are_a_gate_without_an_attempt(instrument, model, mode):
    """The runner checks them in the method that runs the tool, whose function was not reached."""
    with instrument("anthropic") as recorded:
        anthropic_messages.run(model.url, "badargs", Orders(), mode)
        story = recorded.story()
        (gate,) = [
            one for one in recorded.records(RecordKind.GATE) if str(one.verdict) == "deny" and str(one.gate_mode) == "enforced"
        ]

    assert [(tool, said, tried) for tool, said, tried, _ in story["calls"]] == [
        ("search_orders", "none", 0),
        ("search_orders", "ok", 1),
    ]
    assert (str(gate.gate_kind), gate.pointers, gate.keywords) == (
        "input_validation",
        ("/limit", "/colour"),
        ("int_parsing", "unexpected_keyword_argument"),
    )


@every_runner
@pytest.mark.filterwarnings("ignore:Tool 'delete_everything' not found")
def test_an_unknown_tool_is_a_gate_without_an_attempt(instrument, model, mode):
    """The runner answers for it."""
    with instrument("anthropic") as recorded:
        anthropic_messages.run(model.url, "unknown", Orders(), mode)
        story = recorded.story()

    assert story["calls"][0][2:] == (0, [("catalog", "deny", "enforced")])
    assert story["calls"][1][:3] == ("search_orders", "ok", 1)


def test_a_validation_error_of_the_tool_s_own_is_raised_in_an_attempt(instrument, client):
    """The runner says of both that arguments are invalid; here the function had begun."""
    begun = []

    @anthropic.beta_tool(input_schema=TOOLS[1]["input_schema"])
    def get_weather(city: str) -> str:
        """Tell the weather."""
        begun.append(city)
        return runner_tools(Orders())[1].call({"town": city})  # which raises the same two errors

    with instrument("anthropic") as recorded:
        client.beta.messages.tool_runner(**asked("odd", [get_weather])).until_done()
        call = recorded.one(RecordKind.CALL)
        story = recorded.story()

    assert (begun, story["calls"]) == (["Berlin"], [("get_weather", "raised", 1, ALLOWED)])
    assert call.error_type == "ValueError"


@pytest.mark.parametrize(("caught", "status"), [(False, "error"), (True, "raised")])
def test_an_error_that_is_meant_as_an_answer_is_one(instrument, client, caught, status):
    """Raised while another error was handled, it says nothing of what the tool did."""

    @anthropic.beta_tool(input_schema=TOOLS[1]["input_schema"])
    def get_weather(city: str) -> str:
        """Tell the weather."""
        raise anthropic.lib.tools.ToolError("no such city") from (ConnectionError(city) if caught else None)

    with instrument("anthropic") as recorded:
        client.beta.messages.tool_runner(**asked("odd", [get_weather])).until_done()
        call = recorded.one(RecordKind.CALL)

    assert (str(call.observation), call.error_type) == (status, "ToolError")


def test_an_eager_tool_that_the_stream_is_left_after_has_run(instrument, client):
    """The second call was proposed and never run, the first ran; neither is lost where the application stops reading."""
    orders = Orders()
    with instrument("anthropic") as recorded:
        with toolwitness.run("t-1"):
            tools = runner_tools(orders)
            runner = client.beta.messages.tool_runner(**asked("parallel", tools), stream=True, run_tools_eagerly=True)
            for event in next(runner):
                if event.type == "content_block_stop" and event.index == 2:
                    break
            runner.close()
        del runner
        gc.collect()
        story = recorded.story()

    assert [entry[0] for entry in orders.ledger] == ["search_orders"]
    assert story == {
        "decisions": ["called"],
        "calls": [("search_orders", "ok", 1, ALLOWED), ("get_weather", "none", 0, [])],
        "runs": 1,
    }


def test_a_tool_with_a_call_of_its_own_is_an_attempt(instrument, client):
    """Nobody sees where it checks its arguments."""

    class Weather(anthropic.lib.tools.BetaBuiltinFunctionTool):
        def to_dict(self):
            return TOOLS[1]

        def call(self, given):
            raise KeyError(given["city"])

    with instrument("anthropic") as recorded:
        client.beta.messages.tool_runner(**asked("odd", [Weather()])).until_done()
        call, attempt = recorded.one(RecordKind.CALL), recorded.one(RecordKind.ATTEMPT)

    assert (str(call.observation), call.error_type, attempt.error_type) == ("raised", "KeyError", "KeyError")


def test_arguments_that_validation_changed_are_told(instrument, client):
    """The function ran with another type than the model gave."""
    ran = []

    @anthropic.beta_tool(input_schema=TOOLS[1]["input_schema"])
    def get_weather(city: bytes) -> str:
        """Tell the weather."""
        ran.append(city)
        return "7 degrees"

    with instrument("anthropic") as recorded:
        client.beta.messages.tool_runner(**asked("odd", [get_weather])).until_done()
        call = recorded.one(RecordKind.CALL)

    assert (ran, call.executed_arguments is None) == ([b"Berlin"], False)


def test_a_tool_that_is_a_method_of_what_holds_it_goes_with_it(instrument, client):
    """Nothing of ours keeps an agent alive that is run once."""

    class Agent:
        def __init__(self):
            self.tools = [
                anthropic.beta_tool(self.get_weather, name="get_weather", description="", input_schema=TOOLS[1]["input_schema"])
            ]

        def get_weather(self, city: str) -> str:
            return city

    agent = Agent()
    gone = weakref.ref(agent)
    with instrument("anthropic"):
        client.beta.messages.tool_runner(**asked("odd", agent.tools)).until_done()
        toolwitness.flush()
        del agent
        gc.collect()

    assert gone() is None


def test_a_cancelled_tool_is_an_attempt_that_was_cancelled(instrument, model):
    """The task that runs the runner was cancelled while the tool waited."""

    async def play():
        waiting = asyncio.Event()

        @anthropic.beta_async_tool(input_schema=TOOLS[1]["input_schema"])
        async def get_weather(city: str) -> str:
            """Tell the weather."""
            waiting.set()
            await asyncio.Event().wait()
            return city

        async with anthropic.AsyncAnthropic(base_url=model.url, api_key="k") as client:
            task = asyncio.ensure_future(client.beta.messages.tool_runner(**asked("odd", [get_weather])).until_done())
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with instrument("anthropic") as recorded:
        asyncio.run(play())
        attempt = recorded.one(RecordKind.ATTEMPT)

    assert str(attempt.attempt_status) == "cancelled"


def test_what_a_tool_held_when_it_raised_goes_with_its_frame(instrument, client, monkeypatch):
    """No exception is kept, and no cycle of ours waits for the garbage collector."""
    monkeypatch.setattr(logging.getLogger("anthropic.lib.tools._beta_runner"), "disabled", True)  # it keeps exceptions here
    held = []

    @anthropic.beta_tool(input_schema=TOOLS[1]["input_schema"])
    def get_weather(city: str) -> str:
        """Tell the weather."""
        orders = Orders()
        held.append(weakref.ref(orders))
        raise KeyError(city)

    with instrument("anthropic"):
        gc.collect()
        gc.disable()
        try:
            client.beta.messages.tool_runner(**asked("odd", [get_weather])).until_done()
            alive = held[0]()
        finally:
            gc.enable()

    assert alive is None


class Browser(BetaRunnableToolset):
    """A toolset as the application writes one."""

    toolset_name = "browser"

    def to_dict(self):
        """The entry that is sent."""
        return {"type": "browser_toolset_20260801"}

    def call(self, context, name, given):
        """Run a member."""
        del context
        if name == "click":
            raise KeyError(given["ref"])
        return name


class AsyncBrowser(BetaAsyncRunnableToolset):
    """The same, asynchronous."""

    toolset_name = "browser"
    to_dict = Browser.to_dict

    async def call(self, context, name, given):
        """Run a member."""
        return Browser.call(self, context, name, given)


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_members_of_a_toolset_are_attempts_until_one_fails(instrument, model, asynchronous, eager):
    """What comes after it in the turn is not executed, and the model is told so."""
    calls = [("browser/navigate", '{"url": "-"}'), ("browser/click", '{"ref": "a"}'), ("browser/navigate", '{"url": "+"}')]
    model.scripts["browse"] = [calls, "Done."]
    how = {"stream": True, "run_tools_eagerly": True} if eager else {}

    async def ask():
        async with anthropic.AsyncAnthropic(base_url=model.url, api_key="k") as client:
            await client.beta.messages.tool_runner(**asked("browse", [AsyncBrowser()]), **how).until_done()

    with instrument("anthropic") as recorded:
        if asynchronous:
            asyncio.run(ask())
        else:
            with anthropic.Anthropic(base_url=model.url, api_key="k") as client:
                client.beta.messages.tool_runner(**asked("browse", [Browser()]), **how).until_done()
        story = recorded.story()

    assert story["calls"] == [
        ("navigate", "ok", 1, []),
        ("click", "raised", 1, []),
        ("navigate", "none", 0, [("dependency", "deny", "enforced")]),
    ]
