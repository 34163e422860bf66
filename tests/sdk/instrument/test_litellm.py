"""Loops over litellm need nothing but `instrument()`, whichever provider they ask."""

import asyncio
import gc
import inspect
import subprocess
import sys

import pytest

import toolwitness
from toolwitness.model.enums import Known, RecordKind
from toolwitness.tests.fakes.orders import OPENAI_TOOLS, Orders
from toolwitness.tests.sdk.instrument.conftest import needs

pytestmark = needs("litellm")

OWN = ("anthropic", "gemini", "deepseek", "mistral")
"""Providers that litellm asks by a client of its own."""
BOTH_CALLED = {
    "decisions": ["called", "answered"],
    "calls": [("search_orders", "ok", 0, []), ("get_weather", "ok", 0, [])],
    "runs": 1,
}


@pytest.fixture(name="agent", scope="module")
def _agent():
    """The agent, whose framework is imported with the first test only."""
    from toolwitness.tests.fakes.agents import litellm_chat  # noqa: PLC0415 -- an ImportError where it is not installed

    litellm_chat.imported()
    return litellm_chat


@pytest.fixture(name="litellm", scope="module")
def _litellm(agent):
    return agent.imported()


@pytest.fixture(name="asked")
def _asked(model, agent):
    """The keywords of one request of a mode and a script."""

    def asked(mode, script):
        messages = [{"role": "user", "content": f"Orders, please [script:{script}]"}]
        return {**agent.options(model.url, mode), "messages": messages, "tools": agent.tools()}

    return asked


MODES = (
    *("anthropic", "anthropic-stream", "anthropic-async", "gemini-astream", "deepseek"),
    *("openai", "openai-stream", "openai-async", "responses", "responses-async"),
)


@pytest.mark.parametrize("mode", MODES)
def test_parallel_calls_are_two_calls_of_one_decision(instrument, model, agent, mode):
    """Once, also where litellm asks by OpenAI's client, which is recorded as well."""
    assert agent.MODES == MODES
    with instrument("litellm", "openai") as recorded:
        assert agent.run(model.url, "parallel", Orders(), mode).startswith("Found order")
        story = recorded.story()

    assert story == BOTH_CALLED


def test_functions_that_were_imported_before_are_recorded(instrument, asked, litellm):
    """No function of the module is wrapped."""
    before = litellm.completion
    with instrument("litellm") as recorded:
        assert litellm.completion is before
        before(**asked("anthropic", "notool"))
        decision = recorded.one(RecordKind.DECISION)

    assert str(decision.finish) == "answered"


def test_visible_tools_and_use_are_known(instrument, model, agent):
    """The decision names provider, model and tools; results are traced to their use."""
    with instrument("litellm") as recorded:
        agent.run(model.url, "parallel", Orders(), "anthropic")
        call = next(one for one in recorded.records(RecordKind.CALL) if one.tool == "search_orders")
        decisions = sorted(recorded.records(RecordKind.DECISION), key=lambda one: one.decision_ordinal)

    assert (call.registered, call.visible, call.arguments_valid) == (Known.YES, Known.YES, "valid")
    assert (decisions[0].provider, decisions[0].model, decisions[0].visibility) == ("anthropic", "m", Known.YES)
    assert call.call_id in decisions[1].answer_sources


def test_a_request_without_tools_shows_none(instrument, asked, litellm):
    """Nothing offered is known, and not the same as not known."""
    with instrument("litellm") as recorded:
        litellm.completion(**{**asked("anthropic", "notool"), "tools": None})
        toolset = recorded.one(RecordKind.TOOLSET)

    assert toolset.members == ()


def test_settings_hold_no_credentials(instrument, asked, litellm):
    """Among litellm's options are keys; of them all only the known settings are kept."""
    with instrument("litellm") as recorded:
        litellm.completion(**asked("deepseek", "notool"), temperature=0.5, extra_headers={"x-secret": "s3cr3t-value"})
        spans = [span.to_json() for span in recorded.exporter.get_finished_spans() if toolwitness.flush() or True]
        decision = recorded.one(RecordKind.DECISION)

    assert decision.settings is not None
    assert not [span for span in spans if "s3cr3t" in span]


def test_bad_json_and_bad_arguments_are_seen_and_stop_nothing(instrument, model, agent):
    """The gates are only observed."""
    with instrument("litellm") as recorded:
        agent.run(model.url, "badjson", Orders(), "deepseek")
        agent.run(model.url, "badargs", Orders(), "deepseek")
        gates = {str(one.gate_kind): (str(one.gate_mode), one.pointers) for one in recorded.records(RecordKind.GATE)}

    assert gates == {"parse": ("observed", ()), "input_validation": ("observed", ("/limit", ""))}


def test_unknown_tool_was_not_offered(instrument, model, agent):
    """A call of a tool that stands in no list is a call nevertheless."""
    with instrument("litellm") as recorded:
        agent.run(model.url, "unknown", Orders(), "anthropic")
        call = next(one for one in recorded.records(RecordKind.CALL) if one.tool == "delete_everything")

    assert (call.registered, call.visible) == (Known.NO, Known.NO)


@pytest.mark.parametrize("script", ["raises", "timeout"])
def test_an_error_told_to_the_model_is_no_answer(instrument, model, agent, script):
    """A tool message that begins as an error message is recorded as one."""
    with instrument("litellm") as recorded:
        agent.run(model.url, script, Orders(), "anthropic")
        call = recorded.one(RecordKind.CALL)

    assert str(call.observation) == "raised"


@pytest.mark.parametrize("mode", ["anthropic", "gemini-astream"])
def test_a_decorated_tool_joins_the_call(instrument, model, agent, mode):
    """The decorator makes the attempt of the proposed call and no call more."""
    orders = Orders()
    orders.search_orders = toolwitness.tool(orders.search_orders, name="search_orders", side_effect="read")
    with instrument("litellm") as recorded:
        agent.run(model.url, "parallel", orders, mode)
        story = recorded.story()

    assert story["calls"] == [("search_orders", "ok", 1, []), ("get_weather", "ok", 0, [])]


@pytest.mark.parametrize("mode", OWN)
@pytest.mark.parametrize("stream", [False, True])
def test_every_provider_is_one_step(instrument, asked, litellm, mode, stream):
    """Whole or streamed, by whichever of litellm's handlers."""
    with instrument("litellm", "openai") as recorded:
        answer = litellm.completion(**asked(mode, "parallel"), stream=stream)
        if stream:
            list(answer)
        decision = recorded.one(RecordKind.DECISION)

    assert len(decision.chosen) == 2


@pytest.mark.parametrize("mode", ["anthropic", "deepseek", "openai"])
def test_a_request_that_fails_is_a_failed_decision(instrument, asked, litellm, mode):
    """The exception of litellm goes through as it is."""
    with instrument("litellm", "openai") as recorded:
        with pytest.raises(litellm.exceptions.RateLimitError):
            litellm.completion(**asked(mode, "http429"))
        decision = recorded.one(RecordKind.DECISION)

    assert str(decision.finish) == "failed"


def test_an_answer_that_litellm_cannot_read_is_a_failed_decision(instrument, asked, litellm, monkeypatch):
    """It came, and the caller gets an exception instead."""
    monkeypatch.setattr("litellm.llms.anthropic.chat.transformation.AnthropicConfig.transform_response", lambda *_: 1 / 0)
    with instrument("litellm") as recorded:
        with pytest.raises(litellm.exceptions.APIConnectionError):
            litellm.completion(**asked("anthropic", "parallel"))
        decision = recorded.one(RecordKind.DECISION)

    assert str(decision.finish) == "failed"


def test_a_retried_call_is_a_step_a_request(instrument, model, asked, litellm):
    """It asks again by a call of its own, so both are seen, in one run of the application."""
    with instrument("litellm") as recorded:
        with toolwitness.run("t-1"):
            litellm.completion(**asked("deepseek", "http429"), num_retries=1)
        story = recorded.story()

    assert len(model.requests) == 2
    assert story["decisions"] == ["failed", "answered"]


@pytest.mark.parametrize("read", [0, 1])
def test_streams_never_read_or_dropped_early_claim_nothing(instrument, asked, litellm, read):
    """Nothing is made up of what was not read."""
    with instrument("litellm") as recorded:
        stream = litellm.completion(**asked("anthropic", "parallel"), stream=True)
        for _ in range(read):
            next(stream)
        del stream
        gc.collect()

    assert recorded.one(RecordKind.DECISION).chosen == ()


def test_async_streams_may_be_closed_early(instrument, asked, litellm):
    """As the others."""

    async def ask():
        stream = await litellm.acompletion(**asked("anthropic", "notool"), stream=True)
        await anext(stream)
        await stream.aclose()

    with instrument("litellm") as recorded:
        asyncio.run(ask())

    assert recorded.one(RecordKind.DECISION).chosen == ()


def test_streamed_responses_go_on_with_each_other(instrument, model, agent, litellm):
    """It writes words of its own into a response's id, and takes them out of the next request."""
    options = agent.options(model.url, "responses")
    with instrument("litellm", "openai") as recorded:
        stream = litellm.responses(input="[script:parallel]", stream=True, **options)
        first = next(event for event in stream if event.type == "response.completed").response
        litellm.responses(input="And? [script:notool]", previous_response_id=first.id, **options)
        story = recorded.story()

    assert story["decisions"] == ["called", "answered"]
    assert story["runs"] == 1


def test_responses_of_other_providers_are_one_step(instrument, agent, model, litellm):
    """They are asked for as a chat below."""
    options = agent.options(model.url, "anthropic")
    tools = [{"type": "function", **tool["function"]} for tool in OPENAI_TOOLS]
    with instrument("litellm", "openai") as recorded:
        litellm.responses(input="[script:parallel]", tools=tools, **options)
        decision = recorded.one(RecordKind.DECISION)

    assert len(decision.chosen) == 2


def test_the_router_is_recorded_by_what_it_calls(instrument, model, agent, litellm):
    """Its deployments are asked by the same functions."""
    options = agent.options(model.url, "anthropic")
    with instrument("litellm") as recorded:
        router = litellm.Router(model_list=[{"model_name": "desk", "litellm_params": options}])
        router.completion(model="desk", messages=[{"role": "user", "content": "[script:parallel]"}])
        decision = recorded.one(RecordKind.DECISION)

    assert len(decision.chosen) == 2


@needs("agents")
@pytest.mark.parametrize("provider", ["anthropic", "gemini", "openai"])
def test_a_framework_finds_the_calls_that_litellm_saw_proposed(instrument, model, agent, provider):
    """Its ids are the ones that litellm gives, also where it made them up."""
    import agents  # noqa: PLC0415 -- another framework
    from agents.extensions.models.litellm_model import LitellmModel  # noqa: PLC0415 -- as above

    from toolwitness.tests.fakes.agents import openai_agents  # noqa: PLC0415 -- as above

    options = agent.options(model.url, provider)
    agents.set_tracing_disabled(True)
    tools = openai_agents.tools_of(Orders())
    asked = LitellmModel(model=options["model"], base_url=options["api_base"], api_key="k")
    desk = agents.Agent(name="orders", model=asked, tools=tools)
    with instrument("litellm", "openai", "openai_agents") as recorded:
        agents.Runner.run_sync(desk, "Orders, please [script:parallel]")
        story = recorded.story()

    allowed = [("input_validation", "allow", "enforced")]
    calls = [("search_orders", "ok", 1, allowed), ("get_weather", "ok", 1, allowed)]
    assert story == {**BOTH_CALLED, "calls": calls}


@pytest.mark.parametrize("mode", ["anthropic", "openai"])
def test_inside_a_decision_of_the_application_the_client_is_silent(instrument, asked, litellm, mode):
    """What the application records itself is not recorded twice."""
    with instrument("litellm", "openai") as recorded:
        with toolwitness.run("t-1"), toolwitness.decision("m", tools=OPENAI_TOOLS):
            litellm.completion(**asked(mode, "parallel"))
        story = recorded.story()

    assert (story["decisions"], story["calls"]) == (["unknown"], [])


def test_inside_a_run_of_the_application_it_is_that_run(instrument, model, agent):
    """Task and outcome of the application's run stand beside what the client tells."""
    with instrument("litellm") as recorded:
        with toolwitness.run("t-1", id="run-1"):
            agent.run(model.url, "parallel", Orders(), "anthropic")
        runs = {one.run_id for one in recorded.records() if one.kind in {RecordKind.CALL, RecordKind.DECISION, RecordKind.RUN}}

    assert runs == {"run-1"}


def test_mocked_answers_and_embeddings_are_no_model_steps(instrument, model, litellm):
    """No model is asked for a step."""
    with instrument("litellm", "openai") as recorded:
        litellm.completion(model="anthropic/m", messages=[{"role": "user", "content": "hi"}], mock_response="hello")
        with pytest.raises(litellm.exceptions.NotFoundError):
            litellm.embedding(model="mistral/m", input=["hi"], api_base=model.url + "/v1", api_key="k", max_retries=0)
        decisions = recorded.records(RecordKind.DECISION)

    assert decisions == []


def test_nothing_that_the_application_sees_of_litellm_is_changed(instrument, litellm):
    """Its callbacks are the application's, its methods look as before and are the same again."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler  # noqa: PLC0415 -- after it is known to be here

    lists = ("callbacks", "input_callback", "success_callback", "failure_callback", "_async_success_callback")
    seen, before = {name: list(getattr(litellm, name)) for name in lists}, AsyncHTTPHandler.post
    with instrument("litellm"):
        during = AsyncHTTPHandler.post
        same = inspect.iscoroutinefunction(during) and inspect.signature(during) == inspect.signature(before)
        assert {name: getattr(litellm, name) for name in lists} == seen

    assert (same, during is before, AsyncHTTPHandler.post is before) == (True, False, True)


def test_the_process_ends_as_without_us():
    """Neither its threads nor its native part keep it, or break it."""
    code = (
        "import os; os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'\n"
        "import toolwitness; toolwitness.instrument(only=['litellm']); import litellm\n"
        "litellm.completion(model='anthropic/m', messages=[{'role': 'user', 'content': 'hi'}], mock_response='hello')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stderr) == (0, "")
