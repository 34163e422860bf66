"""OpenAI's client: chat completions and responses, by whichever of its methods they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from toolwitness.model.json_text import json_or
from toolwitness.sdk.instrument.patching import Patches
from toolwitness.sdk.instrument.stainless import Client, field, texts
from toolwitness.sdk.instrument.steps import Answer, Asked, Proposed, Text, ToolAnswer

_PROVIDER = "openai"
_CONTENT = frozenset({"messages", "input", "instructions", "tools", "functions", "model", "prompt", "metadata", "user"})
_LAST_EVENTS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_ROLES = frozenset({"system", "developer", "user"})


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap the client's requests."""
    del module
    Client({"/chat/completions": Chat(), "/responses": Responses()}).instrument(patches, "openai")


def _settings(body: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in _CONTENT}


class Chat:
    """Chat completions."""

    def asked(self, body: Mapping[str, Any]) -> Asked:
        """The request; without `tools` the model is shown none."""
        tools = [*map(_chat_tool, body.get("tools") or ()), *(body.get("functions") or ())]
        return Asked(
            provider=_PROVIDER,
            model=body.get("model"),
            tools=tools,
            history=list(body.get("messages") or ()),
            read=_read_message,
            settings=_settings(body),
        )

    def answered(self, response: Any) -> Answer:
        """The answer of every choice."""
        messages = [field(choice, "message") for choice in field(response, "choices") or ()]
        refused = any(field(message, "refusal") for message in messages)
        filtered = any(field(choice, "finish_reason") == "content_filter" for choice in field(response, "choices") or ())
        return Answer(
            text="\n".join(text for message in messages if isinstance(text := field(message, "content"), str)),
            calls=[call for message in messages for call in _chat_calls(message)],
            model=field(response, "model"),
            id=field(response, "id"),
            finish="refused" if refused or filtered else None,
        )

    def events(self) -> _ChatEvents:
        """What reads the chunks."""
        return _ChatEvents()


def _chat_tool(tool: Any) -> Any:
    """A tool object with its name where it is looked for; a custom tool has it one level down."""
    custom = field(tool, "custom")
    return {"name": field(custom, "name"), "description": field(custom, "description")} if custom is not None else tool


def _chat_calls(message: Any) -> Iterator[Proposed]:
    for call in field(message, "tool_calls") or ():
        function, custom = field(call, "function"), field(call, "custom")
        if function is not None:
            yield Proposed(field(call, "id"), field(function, "name"), field(function, "arguments"))
        elif custom is not None:
            yield Proposed(field(call, "id"), field(custom, "name"), {"input": field(custom, "input")})
    function = field(message, "function_call")
    if function is not None:
        yield Proposed(None, field(function, "name"), field(function, "arguments"))


def _read_message(message: Any) -> Iterable[Text | ToolAnswer]:
    role = field(message, "role")
    if role in _ROLES:
        yield from texts(role, field(message, "content"))
    elif role == "tool":
        yield ToolAnswer(field(message, "tool_call_id"), field(message, "content"))


class _ChatEvents:
    """Puts an answer together from chunks."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[tuple[int, int], dict[str, Any]] = {}
        self._refused = self._finished = False
        self._id: str | None = None
        self._model: str | None = None
        self.over = False

    def add(self, event: Any) -> Sequence[Proposed]:
        """Take in one chunk; neither the last one nor a call's last part can be told from those before it."""
        self._id, self._model = field(event, "id") or self._id, field(event, "model") or self._model
        for choice in field(event, "choices") or ():
            delta = field(choice, "delta")
            content = field(delta, "content")
            if isinstance(content, str):
                self._text.append(content)
            self._refused = self._refused or bool(field(delta, "refusal"))
            self._finished = self._finished or field(choice, "finish_reason") is not None
            for part in field(delta, "tool_calls") or ():
                self._add_call((field(choice, "index") or 0, field(part, "index") or 0), part)
        return ()

    def _add_call(self, place: tuple[int, int], part: Any) -> None:
        call = self._calls.setdefault(place, {"id": None, "name": None, "arguments": []})
        function = field(part, "function")
        call["id"] = field(part, "id") or call["id"]
        call["name"] = field(function, "name") or call["name"]
        arguments = field(function, "arguments")
        if isinstance(arguments, str):
            call["arguments"].append(arguments)

    def answer(self) -> Answer:
        """What was said so far; in a stream that broke off, a call whose arguments are not whole has not been proposed."""
        told = [Proposed(call["id"], call["name"], "".join(call["arguments"])) for call in self._calls.values() if call["name"]]
        calls = [call for call in told if self._finished or json_or(call.arguments, None) is not None]
        finish = "refused" if self._refused else None
        return Answer(text="".join(self._text), calls=calls, model=self._model, id=self._id, finish=finish)


class Responses:
    """The responses API."""

    def asked(self, body: Mapping[str, Any]) -> Asked:
        """The request. A stored prompt or conversation may bring tools of its own, so without `tools` they are not known."""
        given = body.get("input")
        history: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())
        if isinstance(body.get("instructions"), str):
            history.insert(0, {"role": "system", "content": body["instructions"]})
        conversation, previous = body.get("conversation"), body.get("previous_response_id")
        keys = [key for key in (previous, conversation if isinstance(conversation, str) else field(conversation, "id")) if key]
        stored = bool(keys or body.get("prompt"))
        tools = body.get("tools")
        return Asked(
            provider=_PROVIDER,
            model=body.get("model"),
            tools=None if tools is None and stored else [_responses_tool(tool) for tool in tools or ()],
            history=history,
            read=_read_item,
            whole=not keys,
            settings=_settings(body),
            keys=keys,
        )

    def answered(self, response: Any) -> Answer:
        """The answer of every output item."""
        items = field(response, "output") or ()
        texts = [part for item in items if field(item, "type") == "message" for part in field(item, "content") or ()]
        refused = any(field(part, "type") == "refusal" for part in texts)
        conversation = field(field(response, "conversation"), "id")
        return Answer(
            text="\n".join(text for part in texts if isinstance(text := field(part, "text"), str)),
            calls=[call for item in items if (call := _item_call(item)) is not None],
            model=field(response, "model"),
            id=field(response, "id"),
            finish="refused" if refused else None,
            keys=[conversation] if conversation else [],
        )

    def events(self) -> _ResponsesEvents:
        """What reads the events."""
        return _ResponsesEvents(self)


def _responses_tool(tool: Any) -> Any:
    """A tool object; one that runs at the provider is named by its type."""
    kind = field(tool, "type")
    if field(tool, "name") is None and kind not in {None, "mcp", "namespace"}:
        return {"name": kind, "type": kind}
    return tool


def _item_call(item: Any) -> Proposed | None:
    kind = field(item, "type")
    if kind == "function_call":
        return Proposed(field(item, "call_id"), field(item, "name"), field(item, "arguments"))
    if kind == "custom_tool_call":
        return Proposed(field(item, "call_id"), field(item, "name"), {"input": field(item, "input")})
    return None


def _read_item(item: Any) -> Iterable[Text | ToolAnswer]:
    kind, role = field(item, "type"), field(item, "role")
    if kind in {"function_call_output", "custom_tool_call_output"}:
        yield ToolAnswer(field(item, "call_id"), field(item, "output"))
    elif role in _ROLES:
        yield from texts(role, field(item, "content"))


class _ResponsesEvents:
    """Reads the response that the stream ends with, or what items were done before it broke off."""

    def __init__(self, route: Responses) -> None:
        self._route = route
        self._response: Any = None
        self._items: list[Any] = []
        self._given: set[str | None] = set()
        self.over = False

    def add(self, event: Any) -> Sequence[Proposed]:
        """Take in one event; a call is complete when its item is done."""
        kind = field(event, "type")
        if kind == "response.created" or kind in _LAST_EVENTS:
            self._response = field(event, "response")
        elif kind == "response.output_item.done":
            return self._done(field(event, "item"))
        self.over = kind in _LAST_EVENTS
        return ()

    def _done(self, item: Any) -> Sequence[Proposed]:
        self._items.append(item)
        call = _item_call(item)
        if call is None:
            return ()
        self._given.add(call.id)
        return [call]

    def answer(self) -> Answer:
        """What was said so far, but for the calls that were done."""
        known = {name: field(self._response, name) for name in ("id", "model", "conversation")}
        whole = field(self._response, "output")
        answer = self._route.answered(self._response if whole else {**known, "output": self._items})
        return replace(answer, calls=[call for call in answer.calls if call.id not in self._given])
