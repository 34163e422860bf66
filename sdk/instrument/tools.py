"""A tool that a framework is about to run, refuse or hold back: the logical call that it does so for, and the agent's run."""

from __future__ import annotations

from typing import Any, cast

from toolwitness.redaction import project
from toolwitness.sdk import context, setup
from toolwitness.sdk.calls import CallScope
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.scope import NO_SCOPE
from toolwitness.sdk.scopes import RunScope


def agent_run(agent: str | None = None, *, session: str | None = None, **facts: Any) -> RunScope:
    """Begin the run of an agent that a framework starts; inside a run, a part of it.

    To be used as `with agent_run("desk"):`. `session` is the framework's conversation or thread. Where nothing is recorded, a
    scope that does nothing.
    """
    recorder = setup.active()
    if recorder is not None:
        with reading_guard:
            return recorder.run(agent=agent, session=session, **facts)
    return cast("RunScope", NO_SCOPE)


def call_of(tool: str, arguments: Any, *, id: str | None = None, server: str = "") -> CallScope:  # noqa: A002 -- the word that providers use
    """The logical call that a framework handles: the one that the model was seen to propose, else a new one.

    It is known by the provider's `id`; without one, by tool and arguments. One that an earlier run left pending goes on.
    The caller ends it by `close()`. Where nothing is recorded, a scope that does nothing.
    """
    recorder = setup.active()
    if recorder is not None:
        with reading_guard:
            copy = project(arguments)
            proposals = recorder.proposals
            found = proposals.find(id) if id is not None else proposals.of_tool(tool, copy.value, context.latest.get())
            if found is not None:
                return found
            pending = proposals.take_pending(id)
            if pending is not None:
                return CallScope(pending.run, pending.tool, copy, continues=pending, awaited=True, id=id)
            return recorder.call(tool, copy, server=server, id=id)
    return cast("CallScope", NO_SCOPE)
