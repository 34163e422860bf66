"""Agents over Google's client need nothing but `instrument()`, whether they or the client run the functions."""

import asyncio
import copy
import gc
import inspect
import pickle
import threading

import pytest

import toolwitness
from toolwitness.model.enums import Known, RecordKind
from toolwitness.tests.fakes.model_server import J
from toolwitness.tests.fakes.orders import Orders
from toolwitness.tests.sdk.instrument.conftest import needs

genai = pytest.importorskip("google.genai")
from google.genai import _extra_utils, errors, types  # noqa: E402 -- after it is known to be here
from google.genai._api_client import BaseApiClient  # noqa: E402 -- as above

from toolwitness.tests.fakes.agents import gemini  # noqa: E402 -- as above

ALLOWED = [("input_validation", "allow", "enforced")]
AUTOMATIC = [mode for mode in gemini.MODES if mode.startswith("automatic") or mode == "chat"]
BY_HAND = [mode for mode in gemini.MODES if mode not in AUTOMATIC]
ASKED = {"model": "gemini-m", "contents": "Orders, please [script:parallel]"}


@pytest.fixture(name="client")
def _client(model):
    with gemini.client_of(model.url) as client:
        yield client


def answers(*calls):
    """What a request that goes on holds: the question, these calls and these answers to them."""
    called = [types.Part(function_call=types.FunctionCall(name=name, args=args, id=id_)) for name, args, id_, _ in calls]
    answered = [
        types.Part(function_response=types.FunctionResponse(name=name, response=response, id=id_))
        for name, _, id_, response in calls
    ]
    question = types.Content(role="user", parts=[types.Part(text=ASKED["contents"])])
    return [question, types.Content(role="model", parts=called), types.Content(role="user", parts=answered)]


@pytest.mark.parametrize("mode", BY_HAND)
def test_parallel_calls_are_two_calls_of_one_decision(instrument, model, mode):
    """Both are opened by the answer and closed by the function responses, without any id."""
    with instrument("google_genai") as recorded:
        assert gemini.run(model.url, "parallel", Orders(), mode).startswith("Found order")
        story = recorded.story()

    assert story == {
        "decisions": ["called", "answered"],
        "calls": [("search_orders", "ok", 0, []), ("get_weather", "ok", 0, [])],
        "runs": 1,
    }


@pytest.mark.parametrize("mode", AUTOMATIC)
def test_what_the_client_runs_is_the_attempt_of_its_call(instrument, model, mode):
    """Each round of the client's own loop is a model step, each function that it runs an attempt."""
    with instrument("google_genai") as recorded:
        assert gemini.run(model.url, "parallel", Orders(), mode).startswith("Found order")
        story = recorded.story()

    assert story == {
        "decisions": ["called", "answered"],
        "calls": [("search_orders", "ok", 1, ALLOWED), ("get_weather", "ok", 1, ALLOWED)],
        "runs": 1,
    }


@pytest.mark.parametrize("mode", ["sync", "automatic"])
def test_visible_tools_and_use_are_known(instrument, model, mode):
    """The decision names the tools with their schemas; results are traced to their use."""
    with instrument("google_genai") as recorded:
        gemini.run(model.url, "parallel", Orders(), mode)
        call = next(one for one in recorded.records(RecordKind.CALL) if one.tool == "search_orders")
        decisions = sorted(recorded.records(RecordKind.DECISION), key=lambda one: one.decision_ordinal)

    assert (call.registered, call.visible, call.arguments_valid) == (Known.YES, Known.YES, "valid")
    assert [one.visibility for one in decisions] == [Known.YES, Known.YES]
    assert (decisions[0].provider, decisions[0].model, decisions[0].response_model) == (
        *("gcp.gemini", "gemini-m", "fake-2026-01-01"),
    )
    assert call.call_id in decisions[1].answer_sources


def test_schemas_of_geminis_own_are_read(instrument, model, client):
    """Types in capitals and nullable fields mean what they mean in JSON Schema."""
    model.scripts["parallel"] = [[("search_orders", J({"query": "blue lamp", "limit": 3}))], "Found."]
    limit = {"type": "INTEGER", "nullable": True}
    schema = {"type": "OBJECT", "properties": {"query": {"type": "STRING"}, "limit": limit}, "required": ["query"]}
    tool = {"function_declarations": [{"name": "search_orders", "parameters": schema}]}
    asked = {"model": "gemini-m", "config": {"tools": [tool]}}
    history = answers(("search_orders", {"query": "blue lamp", "limit": 3}, None, {"result": {"n": 1}}))
    with instrument("google_genai") as recorded:
        client.models.generate_content(contents=history[:1], **asked)
        client.models.generate_content(contents=history, **asked)
        call = recorded.one(RecordKind.CALL)

    assert (call.visible, call.arguments_valid) == (Known.YES, "valid")


def test_tools_that_only_the_provider_knows_make_the_visible_ones_unknown(instrument, client):
    """Cached contents may bring tools; a tool that runs at Google's is one by its kind."""
    with instrument("google_genai") as recorded:
        client.models.generate_content(model="gemini-m", contents="[script:notool]", config={"cached_content": "c/1"})
        client.models.generate_content(model="gemini-m", contents="[script:notool]", config={"tools": [{"google_search": {}}]})
        visible = [one.visibility for one in recorded.records(RecordKind.DECISION)]
        toolset = recorded.one(RecordKind.TOOLSET)

    assert visible == [Known.UNKNOWN, Known.YES]
    assert [member.tool for member in toolset.members] == ["googleSearch"]


@pytest.mark.parametrize(
    ("script", "call"),
    [
        ("raises", ("cancel_order", "raised", 1, ALLOWED)),
        ("timeout", ("submit_refund", "timeout", 1, ALLOWED)),
        ("flaky", ("flaky_lookup", "raised", 1, ALLOWED)),
    ],
)
def test_what_a_function_raises_is_no_answer(instrument, model, script, call):
    """The client tells the model a text of its own making."""
    with instrument("google_genai") as recorded:
        gemini.run(model.url, script, Orders(), "automatic")
        story = recorded.story()

    assert story["calls"] == [call]


@pytest.mark.parametrize("mode", AUTOMATIC)
def test_arguments_that_the_client_refuses_have_no_attempt(instrument, model, mode):
    """The gate is the client's; the model asks again."""
    with instrument("google_genai") as recorded:
        gemini.run(model.url, "badargs", Orders(), mode)
        story = recorded.story()

    refused = [("input_validation", "deny", "observed"), ("input_validation", "deny", "enforced")]
    assert story["calls"] == [("search_orders", "none", 0, refused), ("search_orders", "ok", 1, ALLOWED)]


def test_a_missing_argument_stops_at_the_signature(instrument, model, client):
    """The client does not notice; Python does, before the body runs, so that nothing can have been done."""
    model.scripts["missing"] = [[("cancel_order", J({"order_id": "A-17"}))], "No."]
    orders = Orders()
    with instrument("google_genai") as recorded:
        client.models.generate_content(model="gemini-m", contents="[script:missing]", config={"tools": [orders.cancel_order]})
        attempt = recorded.one(RecordKind.ATTEMPT)

    assert orders.ledger == []
    assert (str(attempt.attempt_status), attempt.error_type) == ("error", "TypeError")
    assert (attempt.sent, attempt.effect_ruled_out) == (Known.NO, True)


@pytest.mark.parametrize("mode", AUTOMATIC)
def test_an_unknown_function_ends_the_loop_by_a_gate(instrument, model, mode):
    """The client raises a KeyError; the call was refused and not lost."""
    with instrument("google_genai") as recorded:
        with pytest.raises(KeyError, match="delete_everything"):
            gemini.run(model.url, "unknown", Orders(), mode)
        story = recorded.story()

    assert story["calls"] == [("delete_everything", "none", 0, [("catalog", "deny", "enforced")])]


def test_arguments_that_are_no_json_are_a_failed_step(instrument, model):
    """Google's server keeps them and says only that there were some."""
    with instrument("google_genai") as recorded:
        gemini.run(model.url, "badjson", Orders())
        story = recorded.story()

    assert (story["decisions"], story["calls"]) == (["failed"], [])


@pytest.mark.parametrize("mode", ["sync", *AUTOMATIC])
def test_a_decorated_tool_joins_the_call(instrument, model, mode):
    """The decorator makes no call more, and its word on side effects counts."""
    orders = Orders()
    orders.search_orders = toolwitness.tool(orders.search_orders, name="search_orders", side_effect="read")
    with instrument("google_genai") as recorded:
        gemini.run(model.url, "parallel", orders, mode)
        story = recorded.story()
        effects = {one.tool: str(one.side_effect) for one in recorded.records(RecordKind.CALL)}

    assert story["calls"][0][:3] == ("search_orders", "ok", 1)
    assert effects["search_orders"] == "read"


@pytest.mark.parametrize("mode", ["automatic-async", "automatic-astream"])
def test_async_functions_run_inside_their_attempt(instrument, model, mode):
    """Their coroutine functions are seen as such by the client and awaited once."""
    orders, seen = Orders(), []

    async def get_weather(city: str) -> str:
        """Tell the weather of a city."""
        seen.append(toolwitness.sdk.context.current.get())
        return Orders.get_weather(orders, city)

    orders.get_weather = get_weather
    with instrument("google_genai") as recorded:
        gemini.run(model.url, "parallel", orders, mode)
        story = recorded.story()

    assert story["calls"][1] == ("get_weather", "ok", 1, ALLOWED)
    assert [type(scope).__name__ for scope in seen] == ["AttemptScope"]


def test_equal_calls_of_one_answer_are_calls_of_their_own(instrument, model):
    """Where neither ids nor arguments tell them apart their order does."""
    twice = ("get_weather", J({"city": "Berlin"}))
    model.scripts["twice"] = [[twice, twice], "Cold."]
    with instrument("google_genai") as recorded:
        gemini.run(model.url, "twice", Orders(), "automatic")
        gemini.run(model.url, "twice", Orders(), "sync")
        story = recorded.story()

    by_client, by_hand = ("get_weather", "ok", 1, ALLOWED), ("get_weather", "ok", 0, [])
    assert sorted(story["calls"]) == sorted([by_client, by_client, by_hand, by_hand])
    assert story["runs"] == 2


def test_equal_calls_of_a_decorated_tool_have_an_attempt_each(instrument, model):
    """None gets both."""
    twice = ("search_orders", J({"query": "blue lamp"}))
    model.scripts["twice"] = [[twice, twice], "Found."]
    orders = Orders()
    orders.search_orders = toolwitness.tool(orders.search_orders, name="search_orders", side_effect="read")
    with instrument("google_genai") as recorded:
        gemini.run(model.url, "twice", orders, "sync")
        story = recorded.story()

    assert story["calls"] == [("search_orders", "ok", 1, []), ("search_orders", "ok", 1, [])]


def test_calls_with_ids_are_closed_by_them(instrument, model, client):
    """Where Google gives ids, answers may come in any order."""
    model.gives_ids = True
    berlin, kyoto = ({"city": "Berlin"}, {"city": "Kyoto"})
    model.scripts["ids"] = [[("get_weather", J(berlin)), ("get_weather", J(kyoto))], "Cold."]
    asked = {"model": "gemini-m", "config": {"tools": [gemini.DECLARED]}}
    question = types.Content(role="user", parts=[types.Part(text="[script:ids]")])
    with instrument("google_genai") as recorded:
        said = client.models.generate_content(contents=[question], **asked).candidates[0].content
        calls = [part.function_call for part in said.parts]
        given = [{"result": "7 degrees"}, {"error": "no such city"}]
        parts = [
            types.Part(function_response=types.FunctionResponse(name=call.name, response=response, id=call.id))
            for call, response in zip(calls, given, strict=True)
        ]
        back = types.Content(role="user", parts=parts[::-1])
        client.models.generate_content(contents=[question, said, back], **asked)
        story = recorded.story()

    assert story["calls"] == [("get_weather", "ok", 0, []), ("get_weather", "raised", 0, [])]
    assert story["runs"] == 1


def test_the_same_words_at_once_are_runs_of_their_own(instrument, model):
    """Agents with one prompt that run at the same time are told apart by their contexts."""

    def agent():
        for _ in range(3):
            gemini.run(model.url, "parallel", Orders(), "sync")

    with instrument("google_genai") as recorded:
        threads = [threading.Thread(target=agent) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        story = recorded.story()

    assert story["runs"] == 12
    assert {call[1] for call in story["calls"]} == {"ok"}


def test_a_conversation_goes_on_in_another_context(instrument, client):
    """What was said and called so far tells its run where no context does."""
    asked = {"model": "gemini-m", "config": {"tools": [gemini.DECLARED]}}
    history = answers(
        ("search_orders", {"query": "blue lamp", "limit": 3}, None, {"result": {"n": 1}}),
        ("get_weather", {"city": "Berlin"}, None, {"result": "7 degrees"}),
    )
    with instrument("google_genai") as recorded:
        for contents in (history[:1], history):
            thread = threading.Thread(target=client.models.generate_content, kwargs={"contents": contents, **asked})
            thread.start()
            thread.join()
        story = recorded.story()

    assert story == {
        "decisions": ["called", "answered"],
        "calls": [("search_orders", "ok", 0, []), ("get_weather", "ok", 0, [])],
        "runs": 1,
    }


def test_a_chat_is_one_run(instrument, client):
    """Later messages of a chat repeat the calls of earlier ones."""
    orders = Orders()
    with instrument("google_genai") as recorded:
        chat = client.chats.create(model="gemini-m", config={"tools": gemini.functions_of(orders)})
        chat.send_message("Orders, please [script:parallel]")
        chat.send_message("Thank you [script:notool]")
        story = recorded.story()

    assert story["decisions"] == ["called", "answered", "answered"]
    assert story["runs"] == 1


def test_inside_a_run_of_the_application_it_is_that_run(instrument, model):
    """Task and outcome of the application's run stand beside what the client tells."""
    with instrument("google_genai") as recorded:
        with toolwitness.run("t-1", id="run-1"):
            gemini.run(model.url, "parallel", Orders(), "automatic")
        runs = {one.run_id for one in recorded.records() if one.kind in {RecordKind.CALL, RecordKind.DECISION, RecordKind.RUN}}

    assert runs == {"run-1"}


@pytest.mark.parametrize("stream", [False, True])
def test_inside_a_decision_of_the_application_the_client_is_silent(instrument, client, stream):
    """What the application records itself is not recorded twice."""
    with instrument("google_genai") as recorded:
        with toolwitness.run("t-1"), toolwitness.decision("m", tools=[]):
            if stream:
                list(client.models.generate_content_stream(**ASKED))
            else:
                client.models.generate_content(**ASKED)
        story = recorded.story()

    assert (story["decisions"], story["calls"]) == (["unknown"], [])


@pytest.mark.parametrize("mode", ["sync", "stream", "async"])
def test_a_retried_request_is_one_decision(instrument, model, mode):
    """What the client does about a 429 is its own business."""
    with instrument("google_genai") as recorded:
        gemini.run(model.url, "http429", Orders(), mode)
        decision = recorded.one(RecordKind.DECISION)

    assert len(model.requests) == 2
    assert str(decision.finish) == "answered"


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_that_fails_is_a_failed_decision(instrument, model, stream):
    """The client's exception goes through as it is."""
    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=model.url))
    ask = client.models.generate_content_stream if stream else client.models.generate_content
    with instrument("google_genai") as recorded, client:
        with pytest.raises(errors.ClientError, match="429"):
            list(ask(model="gemini-m", contents="[script:http429]"))
        decision = recorded.one(RecordKind.DECISION)

    assert str(decision.finish) == "failed"


def test_a_stream_asks_when_it_is_read_and_may_be_closed_early(instrument, model, client):
    """One that is never read asks nothing; of one that is closed early is known what was read."""
    with instrument("google_genai") as recorded:
        client.models.generate_content_stream(**ASKED)
        asked = len(model.requests)
        stream = client.models.generate_content_stream(model="gemini-m", contents="[script:notool]")
        next(stream)
        stream.close()
        gc.collect()
        decision = recorded.one(RecordKind.DECISION)

    assert (asked, str(decision.finish)) == (0, "answered")


def test_an_async_stream_may_be_closed_early(instrument, model):
    """Of it is known what was read."""

    async def ask():
        async with gemini.client_of(model.url).aio as client:
            stream = await client.models.generate_content_stream(model="gemini-m", contents="[script:notool]")
            await anext(stream)
            await stream.aclose()

    with instrument("google_genai") as recorded:
        asyncio.run(ask())
        decision = recorded.one(RecordKind.DECISION)

    assert str(decision.finish) == "answered"


def test_an_async_stream_that_is_dropped_unread_ends_its_step(instrument, model):
    """Nothing is made up of what was not read."""

    async def drop():
        async with gemini.client_of(model.url).aio as client:
            api = client._api_client  # noqa: SLF001 -- the public generators ask only when they are read
            stream = await api.async_request_streamed("post", "models/m:streamGenerateContent", {"contents": []})
            del stream
            gc.collect()

    with instrument("google_genai") as recorded:
        asyncio.run(drop())
        decision = recorded.one(RecordKind.DECISION)

    assert str(decision.finish) == "unknown"


def test_other_requests_are_no_model_steps(instrument, client):
    """Counting tokens asks no model."""
    with instrument("google_genai") as recorded:
        with pytest.raises(errors.ClientError):
            client.models.count_tokens(model="gemini-m", contents="hello")
        decisions = recorded.records(RecordKind.DECISION)

    assert decisions == []


def test_what_is_wrapped_looks_and_pickles_as_before(instrument):
    """Also the functions of a module, which are found by name again."""
    before = inspect.signature(_extra_utils.invoke_function_from_dict_args_async)
    plain = BaseApiClient.request
    with instrument("google_genai"):
        wrapped = _extra_utils.invoke_function_from_dict_args_async
        assert inspect.iscoroutinefunction(wrapped)
        assert inspect.signature(wrapped) == before
        assert copy.deepcopy(wrapped) is wrapped
        assert pickle.loads(pickle.dumps(wrapped)) is wrapped  # noqa: S301 -- made in this line
        assert inspect.iscoroutinefunction(BaseApiClient.async_request)

    assert BaseApiClient.request is plain


@needs("pydantic_ai")
@pytest.mark.parametrize("equal", [False, True])
def test_a_framework_finds_calls_that_have_no_ids(instrument, model, equal):
    """It makes ids up, and the call that it handles is the one that the client saw proposed."""
    from pydantic_ai import Agent  # noqa: PLC0415 -- another framework
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 -- as above
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415 -- as above

    if equal:
        model.scripts["parallel"] = [[("get_weather", J({"city": "Berlin"}))] * 2, "Found order."]
    orders = Orders()
    google = GoogleModel("gemini-m", provider=GoogleProvider(client=gemini.client_of(model.url)))
    agent = Agent(google, name="orders", tools=[orders.search_orders, orders.get_weather])
    with instrument("google_genai", "pydantic_ai") as recorded:
        assert agent.run_sync(ASKED["contents"]).output.startswith("Found order")
        story = recorded.story()

    assert story == {
        "decisions": ["called", "answered"],
        "calls": [("get_weather" if equal else "search_orders", "ok", 1, ALLOWED), ("get_weather", "ok", 1, ALLOWED)],
        "runs": 1,
    }
