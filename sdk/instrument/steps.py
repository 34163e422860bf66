"""A model step as every client and framework tells it: what was asked, what came back, and which calls were proposed.

An instrumentation translates its own objects and calls `ask` before the request, `answer` or `fail` after it. Where another
wrapper records the step already (a framework around a client, the application's own `toolwitness.decision`), `ask` gives None
and nothing more is to be told.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toolwitness.redaction import project
from toolwitness.sdk import context, setup
from toolwitness.sdk.calls import CallScope
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.instrument.observed import Said, said
from toolwitness.sdk.proposals import beside
from toolwitness.sdk.recorder import Recorder
from toolwitness.sdk.scopes import DecisionScope, RunScope


class Text(NamedTuple):
    """A system or user text of the history."""

    role: str
    text: str


class ToolAnswer(NamedTuple):
    """A tool message of the history: the provider's id of the call that it answers, and what it says.

    `told` is how it reads where the protocol has a field for that; None leaves it to the content. Where the protocol has no
    ids, `called` are tool and arguments of the call, as the history repeats them.
    """

    id: str | None
    content: Any
    told: Said | None = None
    called: tuple[str, Any] | None = None


class Proposed(NamedTuple):
    """A tool call in a model's answer; `arguments` as the model gave them, text or data."""

    id: str | None
    tool: str
    arguments: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request to a model.

    `tools` are tool objects as `toolwitness.decision` takes them, None where they are not known. `history` are messages as
    the client was given them, which `read` translates one by one; `whole` is False where only the newest are sent. `keys` are
    ids by which the run may be known: of an earlier response, of a conversation.
    """

    provider: str
    model: str | None
    tools: Sequence[Any] | None
    history: Sequence[Any] = ()
    read: Callable[[Any], Iterable[Text | ToolAnswer]] = field(default=lambda _: ())
    whole: bool = True
    settings: dict[str, Any] | None = None
    keys: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model answered. `finish` where neither text nor calls tell it: `refused`, `failed`."""

    text: str | None = None
    calls: Sequence[Proposed] = ()
    model: str | None = None
    id: str | None = None
    finish: str | None = None
    keys: Sequence[str] = ()


def ask(asked: Asked) -> DecisionScope | None:
    """Begin a model step, in the current run, else in the one that the history or its keys belong to, else in a new one.

    Tool messages in the history end the calls that they answer. None where nothing is recorded or another records this step.
    """
    with reading_guard:
        recorder, scope = setup.active(), context.current.get()
        if recorder is None or (isinstance(scope, DecisionScope) and not scope.over):
            return None
        parts = [part for message in asked.history for part in asked.read(message)]
        begun_by = _begun_by(parts)
        run = recorder.run_here() or _run_of_history(recorder, asked, parts, begun_by)
        _take_in(run, [(_mark(part, begun_by), part) for part in parts], whole=asked.whole)
        decision = DecisionScope(run, asked.model, tools=asked.tools, provider=asked.provider, settings=asked.settings)
        decision.begun_by = begun_by
        for key in asked.keys:
            recorder.proposals.remember(key, run)
        context.latest.set(decision)
        return decision
    return None


def _begun_by(parts: Sequence[Text | ToolAnswer]) -> int | None:
    """A hash of the first thing that the user said."""
    users = (part.text for part in parts if isinstance(part, Text) and part.role == "user" and type(part.text) is str)
    return next(map(hash, users), None)


def _run_of_history(recorder: Recorder, asked: Asked, parts: Sequence[Text | ToolAnswer], begun_by: int | None) -> RunScope:
    """The run that a request outside of any scope goes on with; a new one where nothing tells."""
    proposals = recorder.proposals
    trace = context.application_trace_id()
    for key in (*asked.keys, *_answered(parts, begun_by), *(() if trace is None else (trace,))):
        run = proposals.run(key)
        if run is not None and not run.inherited:
            return run
    run = recorder.current_run()
    if trace is not None:
        proposals.remember(trace, run)
    return run


def _answered(parts: Sequence[Text | ToolAnswer], begun_by: int | None) -> Iterable[str]:
    """Keys of answered calls, the latest first."""
    for part in reversed(parts):
        if isinstance(part, ToolAnswer) and part.id is not None:
            if begun_by is not None:
                yield beside(part.id, begun_by)
            yield part.id


def _take_in(run: RunScope, parts: Sequence[tuple[Hashable, Text | ToolAnswer]], *, whole: bool) -> None:
    for at in run.fresh([mark for mark, _ in parts]) if whole else range(len(parts)):
        part = parts[at][1]
        if isinstance(part, ToolAnswer):
            _end(run, part)
        elif type(part.text) is str and part.text:
            role = "user" if part.role == "user" else "system"
            run.recorder.note(len(part.text), "message", run.id, role, part.text)


def _mark(part: Text | ToolAnswer, begun_by: int | None) -> Hashable:
    """What a part of a history says, without its text; an answer in another conversation is another one."""
    if isinstance(part, Text):
        return part.role, _hash(part.text)
    return begun_by, part.id, _hash(part.content)


def _hash(said: Any) -> int | None:
    return hash(said) if type(said) is str else None


def _end(run: RunScope, part: ToolAnswer) -> None:
    """End a call by its tool message; what the tool itself returned is better known where it was seen."""
    proposals = run.recorder.proposals
    call = proposals.find(part.id, run=run)
    if call is not None and call.run.id != run.id:
        call = None  # another conversation's, of which the provider numbers its calls as in this one
    if part.id is None and part.called is not None:
        tool, arguments = part.called
        call = proposals.of_run(run, tool, project(arguments).value)
    if call is None:
        held = proposals.take_pending(part.id)
        call = None if held is None else CallScope(held.run, held.tool, continues=held, awaited=True, id=part.id)
    if call is not None:
        if call.asked and not call.begun:
            # An approval was asked for, and the model is answered although nothing ran: the answer was no.
            call.gate("confirmation", "deny")
        elif not call.answered and (call.begun or not setup.decorated(call.tool)):
            # Of a decorated tool it is known that it did not run here: what the model is told is the loop's own word.
            call.result(part.content, **(part.told or said(part.content)).facts())
        call.close()


def answer(decision: DecisionScope, answered: Answer) -> None:
    """End a model step by its answer, which opens the calls that it proposes."""
    with reading_guard:
        decision.facts.update(response_model=answered.model, response_id=answered.id)
        if answered.text:
            decision.answer(answered.text)
        for proposed in answered.calls:
            propose(decision, proposed)
        if answered.finish is not None and not decision.chosen:
            decision.finish(answered.finish)
        for key in (answered.id, *answered.keys):
            if key is not None:
                decision.recorder.proposals.remember(key, decision.run)
    with reading_guard:
        decision.close()


def propose(decision: DecisionScope, proposed: Proposed) -> None:
    """Open a call that the model proposes; a stream may show it before the step ends."""
    copy = project(proposed.arguments)
    CallScope(decision.run, proposed.tool, copy, decision=decision, awaited=True, id=proposed.id)


def fail(decision: DecisionScope) -> None:
    """End a model step that brought no answer."""
    with reading_guard:
        decision.finish("failed")
        decision.close()
