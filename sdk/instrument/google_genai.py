"""Google's client for Gemini: model steps of generate_content, and the functions that the client runs by itself.

Each round of that loop is a request, so it is a model step as in a hand-written loop. Gemini gives most calls no id: what
answers one is known by tool and arguments, and a conversation by what was said and called in it so far.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from types import ModuleType
from typing import Any

from toolwitness.sdk import context
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument import steps
from toolwitness.sdk.instrument.exchange import Exchange
from toolwitness.sdk.instrument.google_functions import instrument_functions
from toolwitness.sdk.instrument.observed import said_as_error
from toolwitness.sdk.instrument.patching import Patches, argument
from toolwitness.sdk.instrument.steps import Answer, Asked, Proposed, Text, ToolAnswer
from toolwitness.sdk.scopes import DecisionScope

_METHODS = frozenset({"generateContent", "streamGenerateContent"})
_CONTENT = frozenset({"contents", "systemInstruction", "tools", "labels"})
_SCHEMAS = ("parametersJsonSchema", "parameters_json_schema", "parameters")
_OUTPUT_SCHEMAS = ("responseJsonSchema", "response_json_schema", "response")
_REFUSALS = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT"}
)


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap the one class that sends every request, and the functions of a private module that run the application's."""
    del module
    patches.when_imported("google.genai._api_client", lambda found: _client(patches, found))
    patches.when_imported("google.genai._extra_utils", lambda found: instrument_functions(patches, found))


def _client(patches: Patches, module: ModuleType) -> None:
    patches.methods(
        module.BaseApiClient,
        {
            "request": _request,
            "async_request": _arequest,
            "request_streamed": _streamed,
            "async_request_streamed": _astreamed,
        },
    )


def _begin(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exchange | None:
    with reading_guard:
        path, body = argument(args, kwargs, 1, "path"), argument(args, kwargs, 2, "request_dict")
        model, _, method = path.partition("?")[0].rpartition(":")
        if method not in _METHODS:
            return None
        turn = _Turn("gcp.vertex_ai" if client.vertexai else "gcp.gemini", model.rpartition("/")[2], body)
        turn.decision = steps.ask(turn.asked)
        return None if turn.decision is None else Exchange(turn.decision, turn)
    return None


def _request(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    exchange = _begin(instance, args, kwargs)
    if exchange is None:
        return wrapped(*args, **kwargs)
    with exchange:
        response = wrapped(*args, **kwargs)
    with reading_guard:
        exchange.answered(response)
    return response


async def _arequest(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    exchange = _begin(instance, args, kwargs)
    if exchange is None:
        return await wrapped(*args, **kwargs)
    with exchange:
        response = await wrapped(*args, **kwargs)
    with reading_guard:
        exchange.answered(response)
    return response


def _streamed(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _read(wrapped(*args, **kwargs), instance, args, kwargs)


def _read(inner: Iterator[Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    """The client's generator asks when it is first iterated, and so does this one."""
    exchange = _begin(instance, args, kwargs)
    yield from inner if exchange is None else exchange.read(_Within(exchange.decision, inner))


class _Within:
    """Iterates with a model step as the current scope, so that what is sent meanwhile is its and no tool's."""

    def __init__(self, decision: DecisionScope, inner: Iterator[Any]) -> None:
        self._decision, self._inner = decision, inner

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._decision.enter()
        try:
            return next(self._inner)
        finally:
            self._decision.leave()


async def _astreamed(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    exchange = _begin(instance, args, kwargs)
    if exchange is None:
        return await wrapped(*args, **kwargs)
    with exchange:
        responses: AsyncIterator[Any] = await wrapped(*args, **kwargs)
    read = exchange.aread(responses)
    weakref.finalize(read, exchange.conclude)  # one that is dropped unread ends the step too
    return read


class _Turn:
    """One request, and how its answer is read."""

    def __init__(self, provider: str, model: str, body: Mapping[str, Any]) -> None:
        self.decision: DecisionScope | None = None
        self.trail = _Trail()
        contents = body.get("contents") or ()
        marks = [mark for content in contents for mark in self.trail.follow(content)]
        latest = context.latest.get()
        # The same words in two conversations are told apart by the step before this one, where this context knows it.
        own = [] if latest is None or not marks else [f"{latest.id}:{marks[-1]}"]
        self.asked = Asked(
            provider=provider,
            model=model,
            tools=_tools(body),
            history=list(_history(body)),
            read=lambda parts: parts,
            settings={key: value for key, value in body.items() if key not in _CONTENT and key[:1] != "_"},
            keys=[*own, *reversed(marks)],
        )

    def answered(self, response: Any) -> Answer:
        """The whole answer."""
        chunks = _Chunks(self)
        calls = chunks.add(response)
        return replace(chunks.answer(), calls=calls)

    def events(self) -> _Chunks:
        """What reads the chunks."""
        return _Chunks(self)


class _Chunks:
    """Puts an answer together."""

    def __init__(self, turn: _Turn) -> None:
        self._turn = turn
        self._text: list[str] = []
        self._called = False
        self._facts: dict[str, Any] = {}
        self._reasons: set[Any] = set()
        self.over = False

    def add(self, response: Any) -> Sequence[Proposed]:
        """Take in one chunk, which holds its calls whole; the last one cannot be told from those before it."""
        chunk = json.loads(response.body) if response.body else {}
        parts: list[Any] = []
        self._facts.update({key: chunk[key] for key in ("modelVersion", "responseId") if key in chunk})
        self._reasons.add((chunk.get("promptFeedback") or {}).get("blockReason") and "SAFETY")
        for candidate in chunk.get("candidates") or ():
            self._reasons.add(candidate.get("finishReason"))
            parts.extend((candidate.get("content") or {}).get("parts") or ())
        self._text += [part["text"] for part in parts if type(part.get("text")) is str and not part.get("thought")]
        return [self._call(part["functionCall"]) for part in parts if (part.get("functionCall") or {}).get("name")]

    def _call(self, call: Mapping[str, Any]) -> Proposed:
        self._turn.trail.call(call)
        self._called = True
        return Proposed(call.get("id"), call["name"], call.get("args"))

    def answer(self) -> Answer:
        """What was said so far."""
        mark = self._turn.trail.mark()
        decision = self._turn.decision
        keys = [] if decision is None or not self._called else [f"{decision.id}:{mark}", mark]
        refused = not self._reasons.isdisjoint(_REFUSALS)
        failed = "MALFORMED_FUNCTION_CALL" in self._reasons
        return Answer(
            text="".join(self._text),
            model=self._facts.get("modelVersion"),
            id=self._facts.get("responseId"),
            finish="refused" if refused else "failed" if failed else None,
            keys=keys,
        )


class _Trail:
    """A digest of what users said and the model called so far, by which a conversation is known again."""

    def __init__(self) -> None:
        self._seen = blake2b(digest_size=16)

    def follow(self, content: Mapping[str, Any]) -> Iterator[str]:
        """Go on by one content; gives a mark where functions are called in it."""
        by_model, called = content.get("role") == "model", False
        for part in content.get("parts") or ():
            call, text = part.get("functionCall"), part.get("text")
            if call is not None:
                self.call(call)
                called = True
            elif not by_model and type(text) is str:
                self._seen.update(text.encode(errors="replace"))
        if called:
            yield self.mark()

    def call(self, call: Mapping[str, Any]) -> None:
        """Go on by one call."""
        self._seen.update(json.dumps([call.get("name"), call.get("args")], sort_keys=True).encode())

    def mark(self) -> str:
        """The digest so far."""
        return self._seen.hexdigest()


def _tools(body: Mapping[str, Any]) -> list[Any] | None:
    """Every declaration; those of cached contents and of the provider's MCP servers are not known."""
    tools = body.get("tools") or ()
    if body.get("cachedContent") or any("mcpServers" in tool for tool in tools):
        return None
    return [declared for tool in tools for declared in _declared(tool)]


def _declared(tool: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The functions of a tool object; one that runs at the provider is named by its kind."""
    for kind, value in tool.items():
        if kind != "functionDeclarations":
            yield {"name": kind, "type": kind}
            continue
        for function in value or ():
            schema = next((function[key] for key in _SCHEMAS if function.get(key) is not None), None)
            output = next((function[key] for key in _OUTPUT_SCHEMAS if function.get(key) is not None), None)
            yield {
                "name": function.get("name"),
                "description": function.get("description"),
                "input_schema": _json_schema(schema),
                "output_schema": _json_schema(output),
            }


def _json_schema(schema: Any) -> Any:
    """A schema of Gemini's own, whose types are in capitals and may be nullable, as the JSON Schema that it means."""
    if type(schema) is list:
        return [_json_schema(each) for each in schema]
    if type(schema) is not dict:
        return schema
    read = {key: _json_schema(value) for key, value in schema.items() if key != "nullable" or type(value) is not bool}
    kind = schema.get("type")
    if isinstance(kind, str):  # the client keeps its own enumeration
        read["type"] = [kind.lower(), "null"] if schema.get("nullable") is True else kind.lower()
    return read


def _history(body: Mapping[str, Any]) -> Iterator[list[Text | ToolAnswer]]:
    """What each content says that is no word of the model's; the system's comes first."""
    system = body.get("systemInstruction") or {}
    yield [Text("system", part["text"]) for part in system.get("parts") or () if "text" in part]
    called: list[Mapping[str, Any]] = []
    for content in body.get("contents") or ():
        parts = content.get("parts") or ()
        if content.get("role") == "model":
            called.extend(part["functionCall"] for part in parts if part.get("functionCall"))
            yield []
        else:
            yield [read for part in parts for read in _user_part(part, called)]


def _user_part(part: Mapping[str, Any], called: list[Mapping[str, Any]]) -> Iterable[Text | ToolAnswer]:
    answer = part.get("functionResponse")
    if answer is None:
        return [Text("user", part["text"])] if "text" in part else []
    name = answer.get("name")
    # Answers to parallel calls come in their order; each call is answered once.
    call = next((each for each in called if each.get("name") == name), None)
    if call is not None:
        called.remove(call)
    return [_tool_answer(answer, call)]


def _tool_answer(answer: Mapping[str, Any], call: Mapping[str, Any] | None) -> ToolAnswer:
    """What a function's answer says; the field `error` is Gemini's way to mark one."""
    response = answer.get("response")
    key, content = next(iter(response.items())) if type(response) is dict and len(response) == 1 else (None, response)
    if key not in {"result", "output", "error"}:
        content = response
    told = said_as_error(content) if key == "error" else None
    given = answer.get("id") or (call or {}).get("id")
    return ToolAnswer(given, content, told, None if call is None else (call["name"], call.get("args")))
