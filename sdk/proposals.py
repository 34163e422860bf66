"""Calls that a model proposed and nothing has ended yet, and the runs they belong to, found again by what comes later.

A bare model client tells neither where a run begins nor when a tool runs. What links its requests are the provider's own ids:
a tool message names the call that it answers, a request may name the response or conversation that it goes on from.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from toolwitness.model.json_text import json_or

if TYPE_CHECKING:
    from toolwitness.sdk.calls import CallScope
    from toolwitness.sdk.scopes import DecisionScope, RunScope

_OPEN_KEPT = 4096
_RUNS_KEPT = 4096
_PENDING_KEPT = 1024


class _Proposal(NamedTuple):
    call: CallScope
    arguments: Any
    provider_id: str | None


def _first(equal: list[_Proposal]) -> CallScope:
    """Of calls that may stand for each other the first for which nothing ran yet."""
    return next((one.call for one in equal if not one.call.begun), equal[0].call)


class Proposals:
    """What is open in one process; the oldest call is ended as unfinished where more than 4,096 are."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: OrderedDict[str, _Proposal] = OrderedDict()
        self._by_provider_id: dict[str, str] = {}
        self._by_tool: dict[str, dict[str, _Proposal]] = {}
        self._runs: OrderedDict[str, RunScope] = OrderedDict()
        self._pending: OrderedDict[str, CallScope] = OrderedDict()

    def add(self, call: CallScope, arguments: Any) -> None:
        """Keep a call that was just proposed, with the bounded copy of its arguments; most providers send JSON text."""
        provider_id = call.facts.get("id")
        excess = None
        data = json_or(arguments, arguments) if type(arguments) is str else arguments
        with self._lock:
            proposal = self._open[call.id] = _Proposal(call, data, provider_id)
            self._by_tool.setdefault(call.tool, {})[call.id] = proposal
            if provider_id is not None:
                self._by_provider_id[provider_id] = call.id
            if len(self._open) > _OPEN_KEPT:
                excess = next(iter(self._open.values())).call
        if provider_id is not None:
            self.remember(provider_id, call.run)
        if excess is not None:
            excess.close()

    def forget(self, call: CallScope) -> None:
        """Drop a call that ended."""
        with self._lock:
            proposal = self._open.pop(call.id, None)
            if proposal is None:
                return
            of_tool = self._by_tool[call.tool]
            del of_tool[call.id]
            if not of_tool:
                del self._by_tool[call.tool]
            if proposal.provider_id is None:
                return
            if self._by_provider_id.get(proposal.provider_id) == call.id:
                del self._by_provider_id[proposal.provider_id]
            if call.held and not call.answered:
                self._pending[proposal.provider_id] = call
                if len(self._pending) > _PENDING_KEPT:
                    self._pending.popitem(last=False)

    def take_pending(self, provider_id: str | None) -> CallScope | None:
        """The call of the provider's id that was held back when its run ended; it goes on now."""
        with self._lock:
            return self._pending.pop(provider_id or "", None)

    def find(self, provider_id: str | None) -> CallScope | None:
        """The open call of the provider's id."""
        with self._lock:
            proposal = self._open.get(self._by_provider_id.get(provider_id or "", ""))
        return None if proposal is None else proposal.call

    def name(self, call: CallScope, provider_id: str) -> None:
        """Know a call by an id that a framework made up, since the provider gives none."""
        with self._lock:
            proposal = self._open.get(call.id)
            if proposal is not None:
                self._open[call.id] = self._by_tool[call.tool][call.id] = proposal._replace(provider_id=provider_id)
                self._by_provider_id[provider_id] = call.id

    def remember(self, key: str, run: RunScope) -> None:
        """Know a run again by an id of the provider's or of the application's: of a call, response, conversation or trace."""
        with self._lock:
            self._runs[key] = run
            self._runs.move_to_end(key)
            if len(self._runs) > _RUNS_KEPT:
                self._runs.popitem(last=False)

    def run(self, key: str | None) -> RunScope | None:
        """The run that is known by that id."""
        with self._lock:
            return self._runs.get(key or "")

    def of_tool(self, tool: str, arguments: Any, latest: DecisionScope | None, *, unnamed: bool = False) -> CallScope | None:
        """The open call for which a tool runs that was told no id, or `unnamed` calls know none; None where it cannot be told.

        It is one that `latest`, the last model step of this context, proposed with these arguments, or its only one of that
        tool; else one with these arguments, where only one step of the process proposed such. `arguments` is a bounded copy.
        """
        with self._lock:
            open_ones = self._by_tool.get(tool, {}).values()
            waiting = [one for one in open_ones if one.call.waits and not (unnamed and one.provider_id is not None)]
        own = [one for one in waiting if latest is not None and one.call.decision is latest]
        same = [one for one in own if one.arguments == arguments]
        if same or len(own) == 1:
            return _first(same or own)
        same = [] if own else [one for one in waiting if one.arguments == arguments]
        steps = {one.call.decision for one in same}
        return _first(same) if len(same) == 1 or (len(steps) == 1 and None not in steps) else None

    def of_run(self, run: RunScope, tool: str, arguments: Any) -> CallScope | None:
        """The first open call of a run with this tool and these arguments, a bounded copy: the one that is answered first."""
        with self._lock:
            found = [one.call for one in self._by_tool.get(tool, {}).values() if one.arguments == arguments]
        return next((call for call in found if call.run.id == run.id), None)

    def close(self) -> None:
        """End every open call; none of them got an answer."""
        with self._lock:
            calls = [proposal.call for proposal in self._open.values()]
        for call in calls:
            call.close()
