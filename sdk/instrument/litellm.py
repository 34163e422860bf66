"""litellm: the model steps that it sends by an HTTP client of its own, whichever provider they go to; see ADR 0019.

What it sends by OpenAI's client is recorded there. Its logging object goes along with every call, from the request that is to
leave to the answer in OpenAI's shape, so both are found by it.
"""

from __future__ import annotations

import base64
import functools
import weakref
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from types import ModuleType
from typing import Any

from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument import steps
from toolwitness.sdk.instrument.exchange import Exchange
from toolwitness.sdk.instrument.openai import Chat, Responses
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.instrument.steps import Answer

_CALLS = frozenset({"completion", "acompletion", "responses", "aresponses"})
_ITERATORS = ("ResponsesAPIStreamingIterator", "SyncResponsesAPIStreamingIterator", "MockResponsesAPIStreamingIterator")
_CHAT_END, _RESPONSES_END = "/chat/completions", "/responses"
_SETTINGS = (
    *("temperature", "top_p", "max_tokens", "max_completion_tokens", "n", "stop", "seed", "presence_penalty", "stream"),
    *("frequency_penalty", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort"),
)
_WRITTEN_ID = "response_id:"

_waiting: weakref.WeakKeyDictionary[Any, Exchange] = weakref.WeakKeyDictionary()
"""The step that waits for its answer, by litellm's logging object."""
_announced: ContextVar[weakref.ref[Any] | None] = ContextVar("toolwitness_litellm", default=None)
"""The logging object that was last told of a request to be sent; some requests do not name it."""


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap the HTTP client, what announces a request to it, and the places that every answer goes through."""
    del module
    for name, patch in (
        ("litellm.llms.custom_httpx.http_handler", _client),
        ("litellm.litellm_core_utils.litellm_logging", _logging),
        ("litellm.caching.caching_handler", _caching),
        ("litellm.litellm_core_utils.streaming_handler", _streaming),
        ("litellm.responses.streaming_iterator", _responses),
    ):
        patches.when_imported(name, functools.partial(patch, patches))
    patches.when_undone(_conclude)


def _conclude() -> None:
    """End every step by what was read so far."""
    while _waiting:
        _waiting.popitem()[1].conclude()


def _client(patches: Patches, module: ModuleType) -> None:
    patches.method(module.HTTPHandler, "post", _post)
    patches.method(module.AsyncHTTPHandler, "post", _apost)


def _logging(patches: Patches, module: ModuleType) -> None:
    patches.methods(module.Logging, {"pre_call": _announce, "failure_handler": _failed})


def _caching(patches: Patches, module: ModuleType) -> None:
    """Every whole answer is offered to the cache, also where there is none."""
    patches.methods(module.LLMCachingHandler, {"sync_set_cache": _answered, "async_set_cache": _answered})


def _streaming(patches: Patches, module: ModuleType) -> None:
    patches.methods(module.CustomStreamWrapper, {"__init__": _opened, "__next__": _next, "__anext__": _anext})


def _responses(patches: Patches, module: ModuleType) -> None:
    for name in _ITERATORS:
        iterator = getattr(module, name)
        patches.methods(
            iterator, {each: how for each, how in (("__next__", _next), ("__anext__", _anext)) if each in vars(iterator)}
        )


# -- requests ------------------------------------------------------------------------------------------------------


def _announce(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with reading_guard:
        _announced.set(weakref.ref(instance))
    return wrapped(*args, **kwargs)


def _begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exchange | None:
    with reading_guard:
        url, logging = argument(args, kwargs, 0, "url"), kwargs.get("logging_obj")
        if logging is None:
            logging = _announced_for(url)
        if logging is None or logging.call_type not in _CALLS:
            return None
        details = logging.model_call_details
        route, body = (_RESPONSES, _sent(details)) if url.endswith(_RESPONSES_END) else (_CHAT, _chat(details))
        decision = steps.ask(replace(route.asked(body), provider=str(details.get("custom_llm_provider"))))
        if decision is None:
            return None
        exchange = _waiting[logging] = Exchange(decision, route)
        weakref.finalize(logging, exchange.conclude)  # where no more is seen of it
        return exchange
    return None


def _announced_for(url: Any) -> Any:
    """The logging object that was told of a request to just this address, where the request does not name it."""
    announced = _announced.get()
    logging = None if announced is None else announced()
    if logging is None or type(url) is not str or not url.endswith((_CHAT_END, _RESPONSES_END)):
        return None
    return logging if logging.model_call_details["additional_args"].get("api_base") == url else None


def _sent(details: Mapping[str, Any]) -> Mapping[str, Any]:
    body: Mapping[str, Any] = details["additional_args"]["complete_input_dict"]
    return body


def _chat(details: Mapping[str, Any]) -> dict[str, Any]:
    """The request as the application made it, in OpenAI's words; among the other options are credentials."""
    options = details.get("optional_params") or {}
    body = {name: options[name] for name in _SETTINGS if name in options}
    tools = details.get("tools") or options.get("tools")
    return {**body, "model": details.get("model"), "messages": details.get("messages"), "tools": tools}


def _post(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    exchange = _begin(args, kwargs)
    if exchange is None:
        return wrapped(*args, **kwargs)
    with exchange:
        return wrapped(*args, **kwargs)


async def _apost(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    exchange = _begin(args, kwargs)
    if exchange is None:
        return await wrapped(*args, **kwargs)
    with exchange:
        return await wrapped(*args, **kwargs)


# -- answers -------------------------------------------------------------------------------------------------------


def _answered(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    del instance
    with reading_guard:
        exchange = _waiting.pop(kwargs["kwargs"].get("litellm_logging_obj"), None)
        if exchange is not None:
            exchange.answered(argument(args, kwargs, 0, "result"))
    return wrapped(*args, **kwargs)


def _failed(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with reading_guard:
        exchange = _waiting.pop(instance, None)
        if exchange is not None:
            exchange.conclude(argument(args, kwargs, 0, "exception"))
    return wrapped(*args, **kwargs)


def _opened(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    wrapped(*args, **kwargs)
    with reading_guard:
        exchange = _waiting.get(instance.logging_obj)
        if exchange is not None:  # else the request is sent when the stream is first read
            weakref.finalize(instance, exchange.conclude)


def _next(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        event = wrapped(*args, **kwargs)
    except BaseException as error:
        _over(instance, error)
        raise
    _add(instance, event)
    return event


async def _anext(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        event = await wrapped(*args, **kwargs)
    except BaseException as error:
        _over(instance, error)
        raise
    _add(instance, event)
    return event


def _add(stream: Any, event: Any) -> None:
    """Read an event before the caller has it; the request may have been sent just now, by reading the first."""
    with reading_guard:
        exchange = _waiting.get(stream.logging_obj)
        if exchange is not None:
            exchange.add(event)


def _over(stream: Any, error: BaseException) -> None:
    with reading_guard:
        exchange = _waiting.pop(stream.logging_obj, None)
        if exchange is not None:
            exchange.conclude(None if isinstance(error, StopIteration | StopAsyncIteration) else error)


class _Responses(Responses):
    """The responses API, without the words of its own that litellm writes into ids."""

    def answered(self, response: Any) -> Answer:
        """The answer, by the provider's id, which later requests are sent with."""
        answer = super().answered(response)
        return replace(answer, id=_providers_id(answer.id))


def _providers_id(given: str | None) -> str | None:
    """The provider's id of a response in litellm's, which is base64 of `litellm:...;response_id:<id>`."""
    head, _, coded = (given or "").partition("_")
    try:
        words = base64.b64decode(coded, validate=True).decode()
    except ValueError:
        return given
    return words.partition(_WRITTEN_ID)[2] or given if head == "resp" else given


_CHAT, _RESPONSES = Chat(), _Responses()
