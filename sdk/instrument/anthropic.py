"""Anthropic's client: messages and beta messages, by whichever of its methods they are asked for.

Its beta tool runner asks by the same requests and sends tool results the same way, so it is recorded as a hand-written loop is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from toolwitness.sdk.instrument.observed import said_as_error
from toolwitness.sdk.instrument.patching import Patches
from toolwitness.sdk.instrument.stainless import Client, field, texts
from toolwitness.sdk.instrument.steps import Answer, Asked, Proposed, Text, ToolAnswer

_PROVIDER = "anthropic"
_CONTENT = frozenset({"messages", "system", "tools", "model", "metadata", "mcp_servers", "thread"})
_UNKNOWN_MEMBERS = "toolset"
"""A tool object whose type holds this stands for tools that only the provider knows."""


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap the client's requests."""
    del module
    Client({"/v1/messages": _Messages()}).instrument(patches, "anthropic")


class _Messages:
    """The messages API."""

    def asked(self, body: Mapping[str, Any]) -> Asked:
        """The request; without `tools` the model is shown none, but for those that only the provider knows."""
        tools = [_tool(tool) for tool in body.get("tools") or ()]
        history: list[Any] = [{"role": "system", "content": body.get("system")}, *(body.get("messages") or ())]
        # A message thread keeps tools and earlier messages at the provider.
        previous = field(body.get("thread"), "previous_message_id")
        known = not body.get("mcp_servers") and not (previous and not tools)
        return Asked(
            provider=_PROVIDER,
            model=body.get("model"),
            tools=tools if known else None,
            history=history,
            read=_read_message,
            whole=previous is None,
            settings={key: value for key, value in body.items() if key not in _CONTENT},
            keys=[previous] if previous else [],
        )

    def answered(self, response: Any) -> Answer:
        """The answer of every block."""
        return _answer(response, field(response, "content") or (), field(response, "stop_reason"))

    def events(self) -> _Events:
        """What reads the events."""
        return _Events()


def _tool(tool: Any) -> Any:
    """A tool object; one of Anthropic's own kinds is named, one that stands for unknown tools stays unreadable."""
    kind = field(tool, "type")
    if field(tool, "name") is None and isinstance(kind, str) and _UNKNOWN_MEMBERS not in kind:
        return {"name": kind, "type": kind}
    return tool


def _answer(message: Any, blocks: Iterable[Any], stop_reason: Any) -> Answer:
    kept = list(blocks)
    return Answer(
        text="\n".join(
            text for block in kept if field(block, "type") == "text" and isinstance(text := field(block, "text"), str)
        ),
        calls=[
            Proposed(field(block, "id"), field(block, "name"), field(block, "input"))
            for block in kept
            if field(block, "type") == "tool_use"
        ],
        model=field(message, "model"),
        id=field(message, "id"),
        finish="refused" if stop_reason == "refusal" else None,
    )


def _read_message(message: Any) -> Iterator[Text | ToolAnswer]:
    role, content = field(message, "role"), field(message, "content")
    if role not in {"system", "user"}:
        return
    yield from texts(role, content)
    if not isinstance(content, str):
        for block in content or ():
            if field(block, "type") == "tool_result":
                answer = _content(field(block, "content"))
                told = said_as_error(answer) if field(block, "is_error") is True else None
                yield ToolAnswer(field(block, "tool_use_id"), answer, told)


def _content(content: Any) -> Any:
    """What a tool result says: a single text as such, else its blocks."""
    if isinstance(content, list) and len(content) == 1 and field(content[0], "type") == "text":
        return field(content[0], "text")
    return content


class _Events:
    """Puts a message together from its events; arguments stay the text that was sent, which the client would repair."""

    def __init__(self) -> None:
        self._message: Any = None
        self._blocks: dict[int, dict[str, Any]] = {}
        self._stop_reason: Any = None

    def add(self, event: Any) -> bool:
        """Take in one event."""
        kind = field(event, "type")
        if kind == "message_start":
            self._message = field(event, "message")
        elif kind == "content_block_start":
            self._start(field(event, "index"), field(event, "content_block"))
        elif kind == "content_block_delta":
            self._grow(field(event, "index"), field(event, "delta"))
        elif kind == "message_delta":
            self._stop_reason = field(field(event, "delta"), "stop_reason")
        return bool(kind == "message_stop")

    def _start(self, index: int, block: Any) -> None:
        kept = {name: field(block, name) for name in ("type", "id", "name", "input")}
        self._blocks[index] = {**kept, "texts": [field(block, "text") or ""], "json": []}

    def _grow(self, index: int, delta: Any) -> None:
        block = self._blocks.get(index)
        if block is not None:
            for name, into in (("text", "texts"), ("partial_json", "json")):
                part = field(delta, name)
                if isinstance(part, str):
                    block[into].append(part)

    def answer(self) -> Answer:
        """What was said so far."""
        blocks = [
            {**block, "text": "".join(block["texts"]), "input": "".join(block["json"]) or block["input"]}
            for block in self._blocks.values()
        ]
        return _answer(self._message, blocks, self._stop_reason)
