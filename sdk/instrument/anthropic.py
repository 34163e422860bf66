"""Anthropic's client: messages and beta messages, by whichever of its methods they are asked for.

Its beta tool runner asks by the same requests; what it does with the calls is told by `anthropic_runner`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from toolwitness.sdk.instrument import anthropic_runner
from toolwitness.sdk.instrument.anthropic_runner import content_of
from toolwitness.sdk.instrument.observed import said_as_error
from toolwitness.sdk.instrument.patching import Patches
from toolwitness.sdk.instrument.stainless import Client, field, texts
from toolwitness.sdk.instrument.steps import Answer, Asked, Proposed, Text, ToolAnswer

_PROVIDER = "anthropic"
_CONTENT = frozenset({"messages", "system", "tools", "model", "metadata", "mcp_servers", "thread"})
_UNKNOWN_MEMBERS = "toolset"
"""A tool object whose type holds this stands for tools that only the provider knows."""


def instrument(patches: Patches, module: ModuleType) -> None:
    """Wrap the client's requests and its tool runner."""
    del module
    Client({"/v1/messages": _Messages()}).instrument(patches, "anthropic")
    anthropic_runner.instrument(patches)


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
        calls=[_call(block) for block in kept if field(block, "type") == "tool_use"],
        model=field(message, "model"),
        id=field(message, "id"),
        finish="refused" if stop_reason == "refusal" else None,
    )


def _call(block: Any) -> Proposed:
    return Proposed(field(block, "id"), field(block, "name"), field(block, "input"))


def _read_message(message: Any) -> Iterator[Text | ToolAnswer]:
    role, content = field(message, "role"), field(message, "content")
    if role not in {"system", "user"}:
        return
    yield from texts(role, content)
    if not isinstance(content, str):
        for block in content or ():
            if field(block, "type") == "tool_result":
                answer = content_of(field(block, "content"))
                told = said_as_error(answer) if field(block, "is_error") is True else None
                yield ToolAnswer(field(block, "tool_use_id"), answer, told)


class _Events:
    """Puts a message together from its events; arguments stay the text that was sent, which the client would repair."""

    def __init__(self) -> None:
        self._message: Any = None
        self._blocks: dict[int, dict[str, Any]] = {}
        self._stop_reason: Any = None
        self.over = False

    def add(self, event: Any) -> Sequence[Proposed]:
        """Take in one event; a call is complete when its block stops."""
        kind = field(event, "type")
        if kind == "message_start":
            self._message = field(event, "message")
        elif kind == "content_block_start":
            self._start(field(event, "index"), field(event, "content_block"))
        elif kind == "content_block_delta":
            self._grow(field(event, "index"), field(event, "delta"))
        elif kind == "content_block_stop":
            return self._stop(field(event, "index"))
        elif kind == "message_delta":
            self._stop_reason = field(field(event, "delta"), "stop_reason")
        self.over = self.over or kind == "message_stop"
        return ()

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

    def _stop(self, index: int) -> Sequence[Proposed]:
        block = self._blocks.get(index)
        return () if block is None or block["type"] != "tool_use" else [_call(_whole(self._blocks.pop(index)))]

    def answer(self) -> Answer:
        """What was said so far; a call of which a part is missing has not been proposed."""
        blocks = [_whole(block) for block in self._blocks.values() if self.over or block["type"] != "tool_use"]
        return _answer(self._message, blocks, self._stop_reason)


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    """A block with its parts put together."""
    return {**block, "text": "".join(block["texts"]), "input": "".join(block["json"]) or block["input"]}
