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


def beside(provider_id: str, begun_by: int) -> str:
    """A key for a provider's id in the conversation that began with a text of this hash."""
    return f"{provider_id} {begun_by}"


def _data(arguments: Any) -> Any:
    """Arguments that are JSON text as what they say."""
    return json_or(arguments, arguments) if type(arguments) is str else arguments


def _meant(found: list[_Proposal], run: RunScope | None, called: tuple[str, Any] | None) -> CallScope | None:
    if len(found) > 1 and run is not None:
        found = [one for one in found if one.call.run.id == run.id] or found
    if len(found) > 1 and called is not None:
        tool, arguments = called[0], _data(called[1])
        found = [one for one in found if one.call.tool == tool and one.arguments == arguments]
    return found[0].call if len(found) == 1 else None


def _added_to(proposed: Any, executed: Any) -> bool:
    """Whether the arguments that ran are those proposed and more, such as a tenant."""
    if type(proposed) is not dict or type(executed) is not dict or not proposed:
        return False
    return all(name in executed and executed[name] == value for name, value in proposed.items())


def _first(equal: list[_Proposal]) -> CallScope:
    """Of calls that may stand for each other the first for which nothing ran yet."""
    return next((one.call for one in equal if not one.call.begun), equal[0].call)


class Proposals:
    """What is open in one process; the oldest call is ended as unfinished where more than 4,096 are."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: OrderedDict[str, _Proposal] = OrderedDict()
        self._by_provider_id: dict[str, list[str]] = {}
        self._by_tool: dict[str, dict[str, _Proposal]] = {}
        self._runs: OrderedDict[str, RunScope | None] = OrderedDict()
        self._pending: OrderedDict[str, _Proposal] = OrderedDict()

    def add(self, call: CallScope, arguments: Any) -> None:
        """Keep a call that was just proposed, with the bounded copy of its arguments; most providers send JSON text."""
        provider_id = call.facts.get("id")
        excess = None
        with self._lock:
            proposal = self._open[call.id] = _Proposal(call, _data(arguments), provider_id)
            self._by_tool.setdefault(call.tool, {})[call.id] = proposal
            if provider_id is not None:
                self._by_provider_id.setdefault(provider_id, []).append(call.id)
            if len(self._open) > _OPEN_KEPT:
                excess = next(iter(self._open.values())).call
        if provider_id is not None:
            self._remember_call(provider_id, call)
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
            of_id = self._by_provider_id.get(proposal.provider_id, [])
            if call.id in of_id:
                of_id.remove(call.id)
            if not of_id:
                self._by_provider_id.pop(proposal.provider_id, None)
            if call.held and not call.answered:
                self._pending[call.id] = proposal
                if len(self._pending) > _PENDING_KEPT:
                    self._pending.popitem(last=False)

    def take_pending(self, provider_id: str | None, called: tuple[str, Any] | None = None) -> CallScope | None:
        """The call of the provider's id that was held back when its run ended, told apart as by `find`; it goes on now."""
        with self._lock:
            held = [one for one in self._pending.values() if provider_id is not None and one.provider_id == provider_id]
            call = _meant(held, None, called)
            if call is not None:
                del self._pending[call.id]
        return call

    def find(
        self, provider_id: str | None, *, run: RunScope | None = None, called: tuple[str, Any] | None = None
    ) -> CallScope | None:
        """The open call of the provider's id.

        Providers may number their calls anew in each conversation. Of several, the one is meant that is of this run, else the
        one with this tool and these arguments, a bounded copy; None where that does not tell either.
        """
        with self._lock:
            found = [self._open[call_id] for call_id in self._by_provider_id.get(provider_id or "", ())]
        return _meant(found, run, called)

    def name(self, call: CallScope, provider_id: str) -> None:
        """Know a call by an id that a framework made up, since the provider gives none."""
        with self._lock:
            proposal = self._open.get(call.id)
            if proposal is not None:
                self._open[call.id] = self._by_tool[call.tool][call.id] = proposal._replace(provider_id=provider_id)
                self._by_provider_id.setdefault(provider_id, []).append(call.id)

    def _remember_call(self, provider_id: str, call: CallScope) -> None:
        """Know a call's run by the call's id, and where two runs have it, by the id beside what their users began with."""
        with self._lock:
            other = self._runs.get(provider_id, call.run)
            self.remember(provider_id, call.run if other is not None and other.id == call.run.id else None)
        if call.decision is not None and call.decision.begun_by is not None:
            self.remember(beside(provider_id, call.decision.begun_by), call.run)

    def remember(self, key: str, run: RunScope | None) -> None:
        """Know a run again by an id of the provider's or of the application's: of a call, response, conversation or trace.

        None where the id tells two runs no longer apart.
        """
        with self._lock:
            self._runs[key] = run
            self._runs.move_to_end(key)
            if len(self._runs) > _RUNS_KEPT:
                self._runs.popitem(last=False)

    def run(self, key: str | None) -> RunScope | None:
        """The run that is known by that id, and the only one."""
        with self._lock:
            return self._runs.get(key or "")

    def of_tool(self, tool: str, arguments: Any, latest: DecisionScope | None, *, unnamed: bool = False) -> CallScope | None:
        """The open call for which a tool runs that was told no id, or `unnamed` calls know none; None where it cannot be told.

        It is one that `latest`, the last model step of this context, proposed with these arguments or with a part of them, to
        which the application added, or its only one of that tool, where nothing ran for it yet; else one with these arguments,
        where only one step of the process proposed such. `arguments` is a bounded copy.
        """
        with self._lock:
            open_ones = self._by_tool.get(tool, {}).values()
            waiting = [one for one in open_ones if one.call.waits and not (unnamed and one.provider_id is not None)]
        own = [one for one in waiting if latest is not None and one.call.decision is latest]
        same = [one for one in own if one.arguments == arguments] or [one for one in own if _added_to(one.arguments, arguments)]
        if same or (len(own) == 1 and not own[0].call.begun):
            return _first(same or own)
        same = [] if own else [one for one in waiting if one.arguments == arguments]
        steps = {one.call.decision for one in same}
        return _first(same) if len(same) == 1 or (len(steps) == 1 and None not in steps) else None

    def given(self, call: CallScope, arguments: Any) -> bool:
        """Whether these are the arguments of an open call, perhaps with what the application added; never where it has none."""
        with self._lock:
            proposal = self._open.get(call.id)
        return proposal is not None and _added_to(proposal.arguments, arguments)

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
