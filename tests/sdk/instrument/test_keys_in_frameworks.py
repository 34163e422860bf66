"""Idempotency keys in tools that a framework or a model client's loop runs: what they are does not hang on recording."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

import toolwitness
from toolwitness.model.enums import RecordKind
from toolwitness.model.exceptions import IdempotencyKeyError
from toolwitness.tests.fakes import bank
from toolwitness.tests.fakes.bank import LostError, losing, outcomes, paying, seen, send

openai = pytest.importorskip("openai")


@pytest.fixture(autouse=True)
def _fresh():
    bank.fresh()


def by_langchain():
    """A framework that knows the tool by another name, and calls it with what the model gave and its own defaults."""
    tools = pytest.importorskip("langchain_core.tools")
    tool = tools.StructuredTool.from_function(send, name="transfer", description="Send money.")
    for end in (LostError(), {"ok": True}, {"ok": True}):
        outcomes.append(end)
        try:
            tool.invoke({"amount": 5})
        except LostError:
            continue
        asyncio.run(tool.ainvoke({"amount": 5}))


def by_openai_client():
    """A loop around a bare client: the tool runs between two requests."""

    def answer(request):
        number = len(json.loads(request.content)["messages"])
        function = {"name": "send", "arguments": '{ "amount": 5.0 }'}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        choice = {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}
        return httpx.Response(
            200, json={"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        )

    messages = [{"role": "user", "content": "pay"}]
    with openai.OpenAI(api_key="k", http_client=httpx.Client(transport=httpx.MockTransport(answer))) as client:
        for end in (LostError(), {"ok": True}, {"ok": True}):
            message = client.chat.completions.create(model="m", messages=messages).choices[0].message
            outcomes.append(end)
            try:
                told = json.dumps(send(amount=5))
            except LostError:
                told = "the connection was lost"
            call = message.tool_calls[0].id
            messages += [message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call, "content": told}]


def by_client_and_itself():
    """The application pays a second time with the same arguments, which the model did not propose."""
    by_openai_client()
    paying(5)
    paying(5)


WAYS = {"langchain": by_langchain, "openai": by_openai_client, "both": by_client_and_itself}


@pytest.mark.parametrize("way", WAYS)
def test_the_keys_are_those_of_the_same_agent_without_recording(instrument, way):
    """What was lost has the key of what repeats it, all else has its own."""
    with toolwitness.run(id="invoice-7"):
        WAYS[way]()
    bare = [*seen]
    bank.fresh()
    with instrument("openai", "langchain") as recorded:
        with toolwitness.run(id="invoice-8"):
            WAYS[way]()
        digests = {one.key_digest for one in recorded.records(RecordKind.CALL)}
    assert pattern(seen) == pattern(bare)
    assert bare[0] == bare[1]
    assert len({*bare}) == len(bare) - 1
    assert len(digests) == len({*bare})


def pattern(keys):
    """Which of them are the same."""
    return [keys.index(key) for key in keys]


def test_a_tool_runs_for_no_call_of_another_run(instrument):
    """The same arguments, proposed in one run and used in another, are two payments."""
    with instrument("openai"):
        with toolwitness.run(id="invoice-7"):
            by_openai_client()
        with toolwitness.run(id="invoice-8"):
            losing(5)
    assert seen[-1] not in seen[:-1]


def in_pool(function):
    """In a pool's thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def in_thread(function):
    """In a thread of its own; what it raises is raised."""
    ended = []

    def run():
        try:
            ended.append(function())
        except IdempotencyKeyError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(ended[0], IdempotencyKeyError):
        raise ended[0]
    return ended[0]


@pytest.mark.parametrize("handing", [in_pool, in_thread])
def test_a_thread_that_does_not_know_its_run_gets_no_key(instrument, handing):
    """Recording takes the run along into threads; without it an unrelated key would repeat nothing."""
    with instrument("threads"), toolwitness.run(id="invoice-7"):
        assert handing(lambda: losing(5)) == losing(5)
    with toolwitness.run(id="invoice-7"), pytest.raises(IdempotencyKeyError, match="copy_context"):
        handing(lambda: losing(5))
    assert handing(lambda: losing(6))
