"""Chat messages in OpenAI's shape to events, with calls and results paired by their order in the trajectory.

A call id is not a key: recorded files repeat ids within one trajectory and across trajectories. A result belongs to the
first still open call with its id.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolwitness.collector.importers.trajectory import Event, Message, Observation, ProposedCall, RecordError, Step
from toolwitness.model.json_text import json_or

_UNREADABLE = object()
_SPEAKERS = frozenset({"system", "developer", "user"})


@dataclass(frozen=True, slots=True)
class RawCall:
    """One entry of an assistant message's `tool_calls`; `parsed` is False where `arguments` is a string that is no JSON."""

    name: str
    arguments: Any
    parsed: bool
    provider_call_id: str | None


def text_of(content: Any) -> str:
    """The text of a message's content: a string, nothing, or a list of parts of which the texts count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content, ensure_ascii=False)
    return "\n".join(part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str))


def _arguments(given: Any) -> tuple[Any, bool]:
    if not isinstance(given, str):
        return ({} if given is None else given), True
    parsed = json_or(given, _UNREADABLE)
    return (given, False) if parsed is _UNREADABLE else (parsed, True)


def _raw_call(entry: Any) -> RawCall:
    function = entry.get("function") if isinstance(entry, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise RecordError("malformed_tool_call")
    arguments, parsed = _arguments(function.get("arguments"))
    call_id = entry.get("id")
    return RawCall(function["name"], arguments, parsed, call_id if isinstance(call_id, str) else None)


class ChatReader(ABC):
    """Reads one trajectory's messages; a format says what calls, results and visible tools mean in it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.orphan_results = 0
        self._calls: list[ProposedCall] = []
        self._open: list[int] = []

    @abstractmethod
    def propose(self, raw: RawCall) -> ProposedCall:
        """The call that `raw` is."""

    @abstractmethod
    def step(self, text: str, calls: tuple[ProposedCall, ...]) -> Step:
        """The decision that an assistant message is."""

    @abstractmethod
    def observe(self, position: int, call: ProposedCall, text: str) -> Observation:
        """What a result's text says about `call`, the one at `position`."""

    def read(self, messages: Any) -> tuple[Event, ...]:
        """The events of a trajectory; raises RecordError where the messages have not the shape of a chat."""
        if not isinstance(messages, list) or not messages:
            raise RecordError("trajectory_without_messages")
        for message in messages:
            if not isinstance(message, Mapping):
                raise RecordError("malformed_message")
            self._read_message(message)
        return tuple(self.events)

    def _read_message(self, message: Mapping[str, Any]) -> None:
        role, text = message.get("role"), text_of(message.get("content"))
        if role == "assistant":
            self._read_step(text, message.get("tool_calls"))
        elif role == "tool":
            self._read_result(message.get("tool_call_id"), text)
        elif role in _SPEAKERS:
            self.events.append(Message(role="user" if role == "user" else "system", text=text))
        else:
            raise RecordError("unknown_role")

    def _read_step(self, text: str, entries: Any) -> None:
        if not isinstance(entries, list | None):
            raise RecordError("malformed_tool_call")
        calls = tuple(self.propose(_raw_call(entry)) for entry in entries or ())
        self._open.extend(range(len(self._calls), len(self._calls) + len(calls)))
        self._calls.extend(calls)
        self.events.append(self.step(text, calls))

    def _read_result(self, call_id: Any, text: str) -> None:
        position = next((at for at in self._open if self._calls[at].provider_call_id == call_id), None)
        if position is None:
            self.orphan_results += 1
            return
        self._open.remove(position)
        self.events.append(self.observe(position, self._calls[position], text))
