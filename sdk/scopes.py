"""What an agent loop holds while it runs: one object a run, decision, call and attempt, cheap to make and to end.

Each takes an id and a start time when made, and hands the worker one note when something happened. Nothing here looks into
the agent's values beyond the bounded projection, and nothing raises: every public method is wrapped by the guard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextvars import Token
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import (
    AttemptStatus,
    Contract,
    DecisionFinish,
    ErrorClass,
    Exposure,
    GateKind,
    GateMode,
    Known,
    ObservationStatus,
    OutcomeSource,
    RunOutcome,
    SideEffect,
    Verdict,
)
from toolwitness.redaction import Projection, project
from toolwitness.redaction.projection import Limits
from toolwitness.sdk import context
from toolwitness.sdk.assemble import Assembler
from toolwitness.sdk.guard import guard

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from toolwitness.sdk.recorder import Recorder

_NO_SIZE = 64
RESULT_LIMITS = Limits(string=256 * 1024, event=256 * 1024)
"""Results are looked through for values that are used again, so more of them is kept in memory than will ever leave."""


class Scope:
    """What all scopes share: a recorder, ids, a start, and being the current scope inside `with`."""

    __slots__ = ("_token", "parent_span_id", "recorder", "span_id", "start_ns", "trace_id")

    def __init__(self, recorder: Recorder, trace_id: str, parent_span_id: str | None) -> None:
        self.recorder = recorder
        self.trace_id = trace_id
        self.span_id = recorder.ids.span_id()
        self.parent_span_id = parent_span_id
        self.start_ns = recorder.clock()
        self._token: Token[Scope | None] | None = None

    def _enter(self) -> None:
        self._token = context.enter(self)

    def _leave(self) -> None:
        if self._token is not None:
            context.leave(self._token)
            self._token = None

    def _conclude(self, error: BaseException | None) -> None:
        """End the scope, by an exception where there is one."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Make this the current scope."""
        with guard:
            self._enter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the scope; the exception goes on as it is."""
        with guard:
            self._leave()
            self._conclude(error)

    async def __aenter__(self) -> Self:
        """As `with`."""
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """As `with`."""
        self.__exit__(kind, error, trace)


class RunScope(Scope):
    """One task given to the agent. `id` is the application's id, else the trace id."""

    __slots__ = (
        "_ended",
        "_messages_seen",
        "agent",
        "call_ordinals",
        "category",
        "decision_ordinals",
        "id",
        "inferred",
        "labels",
        "last_decision",
        "nested",
        "outcome",
        "reward",
        "session",
        "source",
        "task",
        "trial",
    )

    def __init__(
        self,
        recorder: Recorder,
        *,
        trace_id: str,
        outer: RunScope | None = None,
        parent_span_id: str | None = None,
        id: str | None = None,  # noqa: A002 -- the word that users know
        task: str | None = None,
        agent: str | None = None,
        category: str | None = None,
        trial: int | None = None,
        session: str | None = None,
        labels: Mapping[str, str] | None = None,
        inferred: bool = False,
    ) -> None:
        super().__init__(recorder, trace_id, parent_span_id)
        shared = outer if id is None else None
        self.nested = shared is not None
        self.id: str = id or (shared.id if shared is not None else trace_id)
        self.task, self.agent, self.category, self.trial, self.session = task, agent, category, trial, session
        self.labels = labels
        self.inferred = inferred
        self.outcome, self.source = RunOutcome.UNKNOWN, OutcomeSource.UNKNOWN
        self.reward: float | None = None
        self.last_decision: DecisionScope | None = None
        self.decision_ordinals: count[int] = count(1) if shared is None else shared.decision_ordinals
        self.call_ordinals: count[int] = count(1) if shared is None else shared.call_ordinals
        self._messages_seen = 0
        self._ended = False
        if not self.nested:
            recorder.note(_NO_SIZE, Assembler.run_started, self.id)

    def message(self, role: str, text: str) -> None:
        """Tell a system or user text that the model reads, so that argument values can be traced to it."""
        with guard:
            if type(text) is str and role in {"system", "user", "developer"}:
                self.recorder.note(len(text), Assembler.message, self.id, "user" if role == "user" else "system", text)

    def messages(self, history: Sequence[Any]) -> None:
        """Tell the chat history as it is sent to the model; only messages that came since the last time are looked at."""
        with guard:
            fresh = history[self._messages_seen :] if len(history) >= self._messages_seen else history
            self._messages_seen = len(history)
            for message in fresh:
                if type(message) is dict:
                    for text in _texts(message.get("content")):
                        self.message(str(message.get("role")), text)

    def finish(
        self,
        outcome: RunOutcome | str,
        *,
        source: OutcomeSource | str = OutcomeSource.APPLICATION,
        reward: float | None = None,
    ) -> None:
        """Say how the task ended and who says so; a run that is not told stays `unknown`."""
        with guard:
            self.outcome, self.source, self.reward = RunOutcome(outcome), OutcomeSource(source), reward

    def decision(self, model: str | None = None, **facts: Any) -> DecisionScope:
        """Begin a model step of this run; see `toolwitness.decision`."""
        with guard:
            return DecisionScope(self, model, **facts)
        return cast("DecisionScope", NO_SCOPE)

    def call(self, tool: str, arguments: Any = None, **facts: Any) -> CallScope:
        """Propose a call outside of any decision; see `toolwitness.call`."""
        with guard:
            return CallScope(self, tool, arguments, **facts)
        return cast("CallScope", NO_SCOPE)

    def _conclude(self, error: BaseException | None) -> None:
        if error is not None and self.outcome is RunOutcome.UNKNOWN:
            stopped = isinstance(error, KeyboardInterrupt | asyncio.CancelledError)
            self.finish(RunOutcome.ABANDONED if stopped else RunOutcome.FAILURE)
        self.close()

    def close(self) -> None:
        """End the run; only the first time counts."""
        with guard:
            if not self._ended and not self.nested and not self.inferred:
                self.recorder.note(_NO_SIZE, Assembler.run_ended, self, self.recorder.clock())
            self._ended = True


def _texts(content: Any) -> list[str]:
    """The texts of a chat message: a string, or the text parts of a list."""
    if type(content) is str:
        return [content]
    if type(content) is not list:
        return []
    return [part["text"] for part in content if type(part) is dict and type(part.get("text")) is str]


class DecisionScope(Scope):
    """One model step. `id` names it on its calls."""

    __slots__ = ("_ended", "chosen", "end", "facts", "id", "model", "noted", "ordinal", "run", "said")

    def __init__(
        self,
        run: RunScope,
        model: str | None = None,
        *,
        tools: Sequence[Any] | None = None,
        messages: Sequence[Any] | None = None,
        candidates: Sequence[Any] | None = None,
        removals: Sequence[tuple[str, str, str]] = (),
        exposure: Exposure | str | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(run.recorder, run.trace_id, run.span_id)
        self.run, self.model, self.id = run, model, self.span_id
        self.ordinal = next(run.decision_ordinals)
        self.facts = facts
        self.chosen: list[str] = []
        self.said = False
        self.noted: Any = None  # the worker's own notes on this step
        self.end: DecisionFinish | None = None
        self._ended = False
        run.last_decision = self
        if messages is not None:
            run.messages(messages)
        if exposure is None:
            exposure = Exposure.UNKNOWN if tools is None else Exposure.EXPLICIT
        visible, all_tools = None if tools is None else list(tools), None if candidates is None else list(candidates)
        self.recorder.note(_NO_SIZE, Assembler.decision_started, self, visible, all_tools, tuple(removals), Exposure(exposure))

    def answer(self, text: str) -> None:
        """Tell what the model said in this step, beside calls or instead of them."""
        with guard:
            if type(text) is str and text:
                self.said = True
                self.recorder.note(len(text), Assembler.answered, self, text)

    def finish(self, finish: DecisionFinish | str) -> None:
        """Say what the step came to where calls and answer do not tell."""
        with guard:
            self.end = DecisionFinish(finish)

    def call(self, tool: str, arguments: Any = None, **facts: Any) -> CallScope:
        """Open the logical call that the model proposes in this step; see `toolwitness.call`."""
        with guard:
            return CallScope(self.run, tool, arguments, decision=self, **facts)
        return cast("CallScope", NO_SCOPE)

    def _conclude(self, error: BaseException | None) -> None:
        if error is not None and self.end is None:
            self.end = DecisionFinish.FAILED
        self.close()

    def close(self) -> None:
        """End the step; only the first time counts."""
        with guard:
            if not self._ended:
                self._ended = True
                self.recorder.note(_NO_SIZE, Assembler.decision_ended, self, self.recorder.clock(), tuple(self.chosen))


class CallScope(Scope):
    """One logical call, from its proposal to the observation. `id` is its key everywhere."""

    __slots__ = (
        "_attempts",
        "_observed",
        "closed",
        "decision",
        "definition",
        "facts",
        "id",
        "noted",
        "open_attempts",
        "ordinal",
        "run",
        "server",
        "tool",
    )

    def __init__(
        self,
        run: RunScope,
        tool: str,
        arguments: Any = None,
        *,
        server: str = "",
        decision: DecisionScope | None = None,
        definition: ToolDefinition | None = None,
        parent_span_id: str | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(run.recorder, run.trace_id, parent_span_id or run.span_id)
        self.run, self.decision, self.id = run, decision, self.span_id
        self.tool, self.server = tool, server
        self.definition = definition or run.recorder.definition(server, tool)
        self.facts = facts
        self.ordinal = next(run.call_ordinals)
        self.open_attempts = 0
        self.closed = False
        self._attempts = count(1)
        self._observed: tuple[Any, ...] | None = None
        self.noted: Any = None  # the worker's own notes on this call
        if decision is not None:
            decision.chosen.append(self.id)
        copy = arguments if type(arguments) is Projection else project(arguments)
        self.recorder.note(copy.size, Assembler.call_proposed, self, copy)

    @property
    def side_effect(self) -> SideEffect:
        """What the tool may do, as far as its definition tells."""
        return SideEffect.UNKNOWN if self.definition is None else self.definition.side_effect

    def gate(
        self,
        kind: GateKind | str,
        verdict: Verdict | str,
        *,
        reason: str | None = None,
        rule: str | None = None,
        rule_version: str | None = None,
        contract: Contract | str | None = None,
        observed: bool = False,
        pointers: Sequence[str] = (),
        keywords: Sequence[str] = (),
        approver: str | None = None,
    ) -> None:
        """Record a check's answer. `observed` marks one that could not have stopped the call."""
        with guard:
            facts = {
                "gate_kind": GateKind(kind),
                "verdict": Verdict(verdict),
                "gate_mode": GateMode.OBSERVED if observed else GateMode.ENFORCED,
                "reason_code": reason,
                "rule_id": rule,
                "rule_version": rule_version,
                "contract": None if contract is None else Contract(contract),
                "pointers": tuple(pointers),
                "keywords": tuple(keywords),
                "approver": approver,
            }
            self.recorder.note(_NO_SIZE, Assembler.gated, self, self.recorder.ids.span_id(), self.recorder.clock(), facts)

    def attempt(
        self, *, retry_reason: str | None = None, backoff_ms: float | None = None, transport: str | None = None
    ) -> AttemptScope:
        """Begin a physical try of this call; to be used as `with call.attempt() as attempt:`."""
        with guard:
            return AttemptScope(self, next(self._attempts), retry_reason, backoff_ms, transport)
        return cast("AttemptScope", NO_SCOPE)

    def result(
        self,
        value: Any,
        *,
        status: ObservationStatus | str = ObservationStatus.OK,
        transport_status: ObservationStatus | str | None = None,
        error_class: ErrorClass | str | None = None,
        error_type: str | None = None,
        vendor_code: str | None = None,
    ) -> None:
        """Tell what came back to the agent; the last time before the end counts."""
        with guard:
            copy = value if type(value) is Projection else project(value, limits=RESULT_LIMITS)
            facts = {
                "observation": ObservationStatus(status),
                "transport_status": ObservationStatus(transport_status or status),
                "error_class": None if error_class is None else ErrorClass(error_class),
                "error_type": error_type,
                "vendor_code": vendor_code,
            }
            self._observed = (copy, facts)

    def discovered(
        self, hits: Sequence[tuple[str, str]], *, query: str | None = None, catalog: Sequence[Any] | None = None
    ) -> None:
        """Tell which (server, tool) pairs this call found, in order, where it was a search for tools."""
        with guard:
            self.facts["discovery"] = (tuple(hits), query, None if catalog is None else list(catalog))

    def fail(self, error: BaseException) -> None:
        """Tell that the tool raised instead of answering; the exception itself is not kept, only its type's name."""
        with guard:
            if self._observed is None and not isinstance(error, asyncio.CancelledError | GeneratorExit):
                timed_out = isinstance(error, TimeoutError)
                self.result(
                    None,
                    status=ObservationStatus.TIMEOUT if timed_out else ObservationStatus.RAISED,
                    error_class=ErrorClass.UNCLASSIFIED,
                    error_type=type(error).__name__,
                )

    def _conclude(self, error: BaseException | None) -> None:
        if error is not None:
            self.fail(error)
        self.close()

    def close(self) -> None:
        """End the call; only the first time counts."""
        with guard:
            if not self.closed:
                self.closed = True
                copy, facts = self._observed or (None, {})
                size = copy.size if copy is not None else _NO_SIZE
                self.recorder.note(size, Assembler.call_ended, self, self.recorder.clock(), copy, facts)


class AttemptScope(Scope):
    """One physical try. Inside `with`, it is also OpenTelemetry's current span where the application has no provider."""

    __slots__ = ("_facts", "_otel", "_status", "call", "ended", "ordinal")

    def __init__(
        self, call: CallScope, ordinal: int, retry_reason: str | None, backoff_ms: float | None, transport: str | None
    ) -> None:
        super().__init__(call.recorder, call.trace_id, call.span_id)
        self.call, self.ordinal = call, ordinal
        self._facts: dict[str, Any] = {"retry_reason": retry_reason, "backoff_ms": backoff_ms, "transport": transport}
        self._status: AttemptStatus | None = None
        self._otel: Token[Context] | None = None
        self.ended = False
        call.open_attempts += 1
        if call.side_effect is not SideEffect.READ:
            self.recorder.announce(self)

    def sent(self, sent: Known | str) -> None:
        """Say whether the request left the process."""
        with guard:
            self._facts["sent"] = Known(sent)

    def end(self, status: AttemptStatus | str, **facts: Any) -> None:
        """Say how it ended, with any of the fields of `model.records.Attempt` that tell more."""
        with guard:
            self._status = AttemptStatus(status)
            self._facts.update(facts)

    def _enter(self) -> None:
        super()._enter()
        self._otel = context.enter_otel(self.trace_id, self.span_id)

    def _leave(self) -> None:
        context.leave_otel(self._otel)
        self._otel = None
        super()._leave()

    def enter(self) -> None:
        """Make this the current scope for one step of a generator, without beginning or ending it."""
        with guard:
            self._enter()

    def leave(self) -> None:
        """Undo `enter`."""
        with guard:
            self._leave()

    def _conclude(self, error: BaseException | None) -> None:
        if error is not None and self._status is None:
            self.fail(error)
        self.close()

    def fail(self, error: BaseException) -> None:
        """End by an exception, of which only the type's name is kept."""
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | GeneratorExit):
            self.end(AttemptStatus.CANCELLED)
        else:
            timed_out = isinstance(error, TimeoutError)
            self.end(
                AttemptStatus.TIMEOUT if timed_out else AttemptStatus.ERROR,
                error_class=ErrorClass.UNCLASSIFIED,
                error_type=type(error).__name__,
            )

    def close(self) -> None:
        """End the attempt, as ok where nothing else was said; only the first time counts."""
        with guard:
            if not self.ended:
                self.ended = True
                self.call.open_attempts -= 1
                status = self._status or AttemptStatus.OK
                self.recorder.note(
                    _NO_SIZE, Assembler.attempted, self, self.recorder.clock(), {**self._facts, "attempt_status": status}
                )
                self.recorder.concluded(self)


class NoScope:
    """Stands in for every scope where nothing is recorded: it takes what they take and does nothing."""

    id = ""

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing; the exception goes on as it is."""

    async def __aenter__(self) -> Self:
        """Do nothing."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Do nothing; the exception goes on as it is."""

    def _again(self, *_given: Any, **_facts: Any) -> Self:
        return self

    def _ignore(self, *_given: Any, **_facts: Any) -> None:
        """Do nothing."""

    decision = call = attempt = _again
    message = messages = finish = answer = gate = result = discovered = fail = sent = end = close = enter = leave = _ignore


NO_SCOPE = NoScope()
