"""A tool that a framework is about to run, refuse or hold back: the logical call that it does so for, and the agent's run."""

from __future__ import annotations

from typing import Any, cast

from toolwitness.model.json_text import json_or
from toolwitness.redaction import project
from toolwitness.sdk import context, setup
from toolwitness.sdk.calls import CallScope
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.scope import NO_SCOPE
from toolwitness.sdk.scopes import RunScope

_NO_JSON = object()


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


def call_of(tool: str, arguments: Any, *, id: str | None = None) -> CallScope:  # noqa: A002 -- the word that providers use
    """The logical call that a framework handles: the one that the model was seen to propose, else a new one.

    It is known by the provider's `id`; where the provider gives none, by tool and arguments, and then by the one that the
    framework made up. One that an earlier run left pending goes on.
    The caller ends it by `close()`. Where nothing is recorded, a scope that does nothing.
    """
    recorder = setup.active()
    if recorder is not None:
        with reading_guard:
            proposals, run = recorder.proposals, recorder.run_here()
            found = proposals.find(id, run=run)
            if found is not None:
                return found
            copy = project(arguments)
            called = (tool, copy.value)
            found = proposals.find(id, run=run, called=called)
            if found is not None:
                return found
            found = proposals.of_tool(tool, copy.value, context.latest.get(), unnamed=id is not None)
            if found is not None:
                if id is not None:
                    proposals.name(found, id)
                return found
            pending = proposals.take_pending(id, called)
            if pending is not None:
                return CallScope(pending.run, pending.tool, copy, continues=pending, awaited=True, id=id)
            return recorder.call(tool, copy, awaited=True, id=id)
    return cast("CallScope", NO_SCOPE)


def stop_proposed(run: RunScope, kind: str, reason: str) -> None:
    """Record that a framework ended an agent's run before it ran the calls that were still proposed in it, and end them.

    What it began to run, or holds back for somebody's answer, is not stopped by that.
    """
    with reading_guard:
        for call in list(run.open_calls.values()):
            if call.run is run and not call.begun and not call.held:
                call.gate(kind, "deny", reason=reason)
                call.close()


def refuse_arguments(call: CallScope, error: Any, arguments: Any = None) -> None:
    """Record that a framework refused a call's arguments, and end it.

    `error` is pydantic's ValidationError, of which places and keywords are kept and no values; another one tells nothing but
    that they were refused. `arguments` are the proposed ones, to tell text that is no JSON from data that does not fit.
    """
    with reading_guard:
        problems = _problems(error)
        if any(kind == "json_invalid" for _, kind in problems) or _unparsable(arguments):
            call.gate("parse", "deny", reason="invalid_json", contract="structure")
        else:
            call.gate(
                "input_validation",
                "deny",
                reason="invalid_arguments",
                contract="structure",
                pointers=[place for place, _ in problems],
                keywords=[kind for _, kind in problems],
            )
    call.close()


def _problems(error: Any) -> list[tuple[str, str]]:
    """JSON pointer and kind of each problem that pydantic found; none for another error."""
    if not hasattr(type(error), "errors"):
        return []
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [("".join(f"/{part}" for part in each["loc"]), each["type"]) for each in found]


def _unparsable(arguments: Any) -> bool:
    return type(arguments) is str and json_or(arguments, _NO_JSON) is _NO_JSON
