"""Agents of openai-agents over OpenAI's client, by both of its protocols."""

import asyncio

import agents as framework
import openai
import pytest
from agents.run import AgentRunner

from toolwitness.model.enums import Known, RecordKind
from toolwitness.sdk.instrument import openai_agents as instrumentation
from toolwitness.sdk.instrument.patching import Patched, Patches
from toolwitness.tests.fakes.agents import openai_agents as agents
from toolwitness.tests.fakes.orders import Orders, PermissionDeniedError

ALLOWED = [("input_validation", "allow", "enforced")]


@pytest.fixture(name="both")
def _both(instrument):
    """The framework and the client below it."""
    return lambda: instrument("openai_agents", "openai")


@pytest.fixture(name="ask")
def _ask(model):
    """`ask(script, tools, then=...)` runs an agent with these tools; `then` may go on with its result."""
    framework.set_tracing_disabled(True)

    def ask(script, tools, *, then=None, **options):
        async def go():
            async with openai.AsyncOpenAI(base_url=model.url + "/v1", api_key="k") as client:
                agent = agents.make(client, tools, **options)
                result = await framework.Runner.run(agent, f"[script:{script}]", max_turns=5)
                return result if then is None else await then(agent, result)

        return asyncio.run(go())

    return ask


def test_visible_tools_are_known_over_chat_completions_too(both, model):
    """The schemas are those that the client sent."""
    with both() as recorded:
        agents.run(model.url, "parallel", Orders(), "chat")
        call = next(one for one in recorded.records(RecordKind.CALL) if one.tool == "search_orders")

    assert (call.registered, call.visible, call.arguments_valid) == (Known.YES, Known.YES, "valid")


@pytest.mark.parametrize(("script", "gate"), [("badjson", "parse"), ("badargs", "input_validation")])
@pytest.mark.parametrize("mode", ["async", "stream"])
def test_refused_arguments_have_a_gate_and_no_attempt(both, model, mode, script, gate):
    """The framework's own span looks executed; the function was never reached."""
    with both() as recorded:
        agents.run(model.url, script, Orders(), mode)
        first, second = recorded.story()["calls"]

    assert first[1:3] == ("none", 0)
    assert first[3][-1] == (gate, "deny", "enforced")
    assert second == ("search_orders", "ok", 1, ALLOWED)


@pytest.mark.parametrize("mode", ["async", "stream"])
def test_an_unknown_tool_ends_the_run_with_a_gate(both, model, mode):
    """The framework raises; the call is refused for what it is."""
    with both() as recorded:
        with pytest.raises(framework.ModelBehaviorError):
            agents.run(model.url, "unknown", Orders(), mode)
        story, run = recorded.story(), recorded.one(RecordKind.RUN)

    assert story["calls"] == [("delete_everything", "none", 0, [("catalog", "deny", "enforced")])]
    assert run.run_outcome == "failure"


@pytest.mark.parametrize(
    ("script", "status", "error"), [("raises", "raised", "PermissionDeniedError"), ("timeout", "timeout", "TimeoutError")]
)
def test_what_the_framework_turns_into_text_was_raised_nevertheless(both, model, script, status, error):
    """The model gets words; the tool gave no answer that could be trusted."""
    with both() as recorded:
        agents.run(model.url, script, Orders())
        call = recorded.one(RecordKind.CALL)
        (attempt,) = recorded.attempts(call.call_id)

    assert (str(call.observation), call.error_type, attempt.error_type) == (status, error, error)


def test_a_tool_without_words_for_its_errors_raises_at_the_user(both, ask):
    """The exception goes through, and the run failed."""
    with both() as recorded:
        with pytest.raises(framework.UserError) as raised:
            ask("raises", agents.tools_of(Orders(), failure_error_function=None))
        call, run = recorded.one(RecordKind.CALL), recorded.one(RecordKind.RUN)

    assert isinstance(raised.value.__cause__, PermissionDeniedError)
    assert (call.error_type, run.run_outcome) == ("PermissionDeniedError", "failure")


def refund(order_id: str, amount_cents: int) -> str:
    """Refund an order."""
    return f"{order_id}: {amount_cents}"


@pytest.mark.parametrize(("approve", "expected"), [(True, ("ok", 1, "allow")), (False, ("none", 0, "deny"))])
def test_an_approval_holds_the_call_back_and_a_later_run_goes_on_with_it(both, ask, approve, expected):
    """One call id over both runs; a rejected one has no attempt."""
    tool = framework.function_tool(refund, name_override="submit_refund", needs_approval=True)

    async def answer(agent, result):
        state = result.to_state()
        for item in result.interruptions:
            (state.approve if approve else state.reject)(item)
        return await framework.Runner.run(agent, state)

    with both() as recorded:
        ask("approve", [tool], then=answer)
        calls = recorded.records(RecordKind.CALL)
        (call_id,) = {one.call_id for one in calls}
        confirmations = [verdict for kind, verdict, _ in recorded.gates(call_id) if kind == "confirmation"]

    assert confirmations[0] == "needs_approval"
    assert (str(calls[-1].observation), len(recorded.attempts(call_id)), confirmations[-1]) == expected


def test_a_guardrail_that_rejects_is_a_policy_gate(both, ask):
    """The model gets the guardrail's words as a result; nothing ran."""

    @framework.tool_input_guardrail
    def block(data):
        del data
        return framework.ToolGuardrailFunctionOutput.reject_content("not now")

    tool = framework.function_tool(refund, name_override="submit_refund")
    tool.tool_input_guardrails = [block]
    with both() as recorded:
        ask("approve", [tool])
        story = recorded.story()

    assert story["calls"] == [("submit_refund", "none", 0, [("policy", "deny", "enforced")])]


def test_a_guardrail_that_stops_the_run_is_one_too(both, ask):
    """Its exception goes through."""

    @framework.tool_input_guardrail
    def block(data):
        del data
        return framework.ToolGuardrailFunctionOutput.raise_exception()

    tool = framework.function_tool(refund, name_override="submit_refund")
    tool.tool_input_guardrails = [block]
    with both() as recorded:
        with pytest.raises(framework.ToolInputGuardrailTripwireTriggered):
            ask("approve", [tool])
        story = recorded.story()

    assert story["calls"] == [("submit_refund", "none", 0, [("policy", "deny", "enforced")])]


@pytest.mark.parametrize(("reached", "expected"), [(False, "before_dispatch"), (True, "while_running")])
def test_a_run_that_is_cancelled_says_how_far_its_call_was(both, model, reached, expected):
    """While a guardrail looked at it nothing had been dispatched; while its function ran, nobody knows what it did."""
    framework.set_tracing_disabled(True)

    async def go():
        waits = asyncio.Event()

        async def stop():
            waits.set()
            await asyncio.Event().wait()

        @framework.tool_input_guardrail
        async def look(data):
            del data
            if not reached:
                await stop()
            return framework.ToolGuardrailFunctionOutput.allow()

        async def pay(order_id: str, amount_cents: int) -> str:
            await stop()
            return f"{order_id}: {amount_cents}"

        tool = framework.function_tool(pay, name_override="submit_refund")
        tool.tool_input_guardrails = [look]
        async with openai.AsyncOpenAI(base_url=model.url + "/v1", api_key="k") as client:
            running = asyncio.create_task(framework.Runner.run(agents.make(client, [tool]), "[script:approve]"))
            await waits.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    with both() as recorded:
        asyncio.run(go())
        call, run = recorded.one(RecordKind.CALL), recorded.one(RecordKind.RUN)

    assert (str(call.cancellation), len(recorded.attempts(call.call_id))) == (expected, int(reached))
    assert (str(run.stopped_by), str(run.run_outcome)) == ("cancelled", "abandoned")


def test_a_tool_without_the_frameworks_wrapper_is_executed_too(both, ask):
    """A `FunctionTool` made by hand is invoked without any check."""

    async def invoke(context, arguments):
        del context
        return arguments

    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    tool = framework.FunctionTool("submit_refund", "Refund.", schema, invoke, strict_json_schema=False)
    with both() as recorded:
        ask("approve", [tool])
        story = recorded.story()

    assert story["calls"] == [("submit_refund", "ok", 1, [])]


def test_a_package_of_the_application_with_that_name_is_left_alone():
    """Only the framework has function tools."""
    patches = Patches()
    instrumentation.instrument(patches, type("agents", (), {}))

    assert not isinstance(AgentRunner.__dict__["run"], Patched)
