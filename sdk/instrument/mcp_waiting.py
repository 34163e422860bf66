"""Requests of this process's own MCP clients that wait for an answer.

A server in the same process may serve them in a task or thread that does not know their attempt; by tool and arguments it finds
it, so that one call is not recorded twice.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from toolwitness.sdk.calls import AttemptScope


class Request:
    """A `tools/call` on its way; `error` is what the tool raised, where its server is in this process."""

    __slots__ = ("arguments", "attempt", "error", "tool")

    def __init__(self, tool: str, arguments: Any, attempt: AttemptScope) -> None:
        self.tool, self.arguments, self.attempt = tool, arguments, attempt
        self.error: BaseException | None = None


_lock = threading.Lock()
_waiting: dict[int, Request] = {}


@contextmanager
def waits(request: Request) -> Iterator[None]:
    """While this lasts, a server of this process may take the request."""
    with _lock:
        _waiting[id(request)] = request
    try:
        yield
    finally:
        with _lock:
            _waiting.pop(id(request), None)


def take(tool: str, arguments: Any) -> Request | None:
    """The request for this tool with these arguments, a bounded copy, that waits longest and was not taken yet."""
    with _lock:
        found = next((one for one in _waiting.values() if one.tool == tool and one.arguments == arguments), None)
        return None if found is None else _waiting.pop(id(found))
