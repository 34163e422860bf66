"""A run and its model steps, as the agent loop holds them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from toolwitness.model.digest import KeyedDigest
from toolwitness.model.enums import DecisionFinish, Exposure, OutcomeSource, RunOutcome, StopReason
from toolwitness.sdk.budgets import Spending, limits, stopped_by
from toolwitness.sdk.calls import CallScope
from toolwitness.sdk.guard import guard, word
from toolwitness.sdk.labels import identifier
from toolwitness.sdk.scope import NO_SCOPE, NO_SIZE, Scope

if TYPE_CHECKING:
    from toolwitness.sdk.keybook import Book
    from toolwitness.sdk.recorder import Recorder


class RunScope(Scope):
    """One task given to the agent. `id` is the application's id, else the trace id."""

    __slots__ = (
        "_ended",
        "_heard",
        "_root",
        "agent",
        "book",
        "budget",
        "call_ordinals",
        "category",
        "decision_ordinals",
        "id",
        "inferred",
        "labels",
        "last_decision",
        "named",
        "nested",
        "open_calls",
        "outcome",
        "reward",
        "session",
        "source",
        "spending",
        "stopped_by",
        "subject",
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
        id: str | int | None = None,  # noqa: A002 -- the word that users know
        task: str | None = None,
        agent: str | None = None,
        category: str | None = None,
        trial: int | None = None,
        session: str | None = None,
        labels: Mapping[str, str] | None = None,
        subject: str | int | UUID | None = None,
        budget: Mapping[str, float] | None = None,
        inferred: bool = False,
    ) -> None:
        super().__init__(recorder, trace_id, parent_span_id)
        shared = outer if id is None else None
        self.nested = shared is not None
        self._root = None if shared is None else shared.root
        given = identifier(id)
        self.named = given is not None
        """Whether the application gave it an id, by which a later process may go on with it."""
        self.id: str = given or (shared.id if shared is not None else trace_id)
        self.book: Book | None = None
        self.task, self.agent, self.category, self.trial, self.session = task, agent, category, trial, session
        self.labels = labels
        # A run inside a run is about the same one, unless it says otherwise.
        self.subject: KeyedDigest | None = None if outer is None else outer.subject
        if subject is not None:
            with guard:
                self.subject = recorder.subject_digest(subject)
        # What a part of a run spends, the run spends; what a part of it may use is not what the run may.
        self.spending: Spending = Spending() if shared is None else shared.spending
        self.budget: dict[str, int | float] | None = None
        if budget is not None:
            with guard:
                self.budget = limits(budget)
        self.stopped_by = StopReason.UNKNOWN
        self.inferred = inferred
        self.outcome, self.source = RunOutcome.UNKNOWN, OutcomeSource.UNKNOWN
        self.reward: float | None = None
        self.last_decision: DecisionScope | None = None
        self.open_calls: dict[str, CallScope] = {} if shared is None else shared.open_calls
        self.decision_ordinals: count[int] = count(1) if shared is None else shared.decision_ordinals
        self.call_ordinals: count[int] = count(1) if shared is None else shared.call_ordinals
        self._heard: dict[Hashable, int] = {} if shared is None else shared._heard  # noqa: SLF001 -- of the same class
        self._ended = False
        if not self.nested:
            recorder.note(NO_SIZE, "run_started", self.id)

    @property
    def over(self) -> bool:
        """Whether the run ended."""
        return self._ended

    def _enter(self) -> None:
        super()._enter()
        if self.named:
            self.recorder.keys.entered.add(self)

    def _leave(self) -> None:
        super()._leave()
        self.recorder.keys.entered.discard(self)

    @property
    def root(self) -> RunScope:
        """The run that this one is a part of, else itself."""
        return self if self._root is None else self._root

    def message(self, role: str, text: str) -> None:
        """Tell a system or user text that the model reads, so that argument values can be traced to it."""
        with guard:
            if type(text) is str and role in {"system", "user", "developer"}:
                self.recorder.note(len(text), "message", self.id, "user" if role == "user" else "system", text)

    def messages(self, history: Sequence[Any]) -> None:
        """Tell the chat history as it is sent to the model; only messages that came since the last time are looked at."""
        with guard:
            said = [
                (str(message.get("role")), text)
                for message in history
                if type(message) is dict
                for text in _texts(message.get("content"))
            ]
            for at in self.fresh([(role, hash(text)) for role, text in said]):
                self.message(*said[at])

    def fresh(self, marks: Sequence[Hashable]) -> list[int]:
        """Which parts of a history came since this was last asked: those that stand there more often than ever before.

        A mark tells what a part says. So it does not matter whether a history grows, slides, or is one of several.
        """
        now: Counter[Hashable] = Counter()
        new = []
        for at, mark in enumerate(marks):
            now[mark] += 1
            if now[mark] > self._heard.get(mark, 0):
                self._heard[mark] = now[mark]
                new.append(at)
        return new

    def finish(
        self,
        outcome: RunOutcome | str,
        *,
        source: OutcomeSource | str = OutcomeSource.APPLICATION,
        reward: float | None = None,
        stopped_by: StopReason | str = StopReason.UNKNOWN,
    ) -> None:
        """Say how the task ended, who says so, and what ended the run; a run that is not told stays `unknown`."""
        with guard:
            self.outcome, self.source, self.reward = word(RunOutcome, outcome), word(OutcomeSource, source), reward
            self.stopped_by = word(StopReason, stopped_by)

    def spend(self, **amounts: float) -> None:
        """Add to what this run used, such as `run.spend(cost=0.2, objects=3)`; from any thread."""
        with guard:
            self.spending.add(amounts)

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
        if error is not None and self.stopped_by is StopReason.UNKNOWN:
            self.stopped_by = stopped_by(error)
        if error is not None and self.outcome is RunOutcome.UNKNOWN:
            stopped = isinstance(error, KeyboardInterrupt | asyncio.CancelledError)
            self.finish(RunOutcome.ABANDONED if stopped else RunOutcome.FAILURE, stopped_by=self.stopped_by)
        self.close()

    def close(self) -> None:
        """End the run; only the first time counts. A call that was proposed and never ended is recorded as just that."""
        with guard:
            if self.inherited:
                return
            if not self._ended and not self.nested:
                for call in list(self.open_calls.values()):
                    call.close()
            if not self._ended and not self.nested and not self.inferred:
                self.recorder.note(NO_SIZE, "run_ended", self, self.recorder.clock())
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

    __slots__ = ("_ended", "begun_by", "chosen", "end", "facts", "id", "model", "noted", "ordinal", "run", "said")

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
        self.begun_by: int | None = None
        """Hash of the first thing that the user said in this conversation, where it is known."""
        self.noted: Any = None  # the worker's own notes on this step
        self.end: DecisionFinish | None = None
        self._ended = False
        run.last_decision = self
        if messages is not None:
            run.messages(messages)
        if exposure is None:
            exposure = Exposure.UNKNOWN if tools is None else Exposure.EXPLICIT
        visible, all_tools = None if tools is None else list(tools), None if candidates is None else list(candidates)
        how = word(Exposure, exposure)
        self.recorder.note(NO_SIZE, "decision_started", self, visible, all_tools, tuple(removals), how)

    @property
    def over(self) -> bool:
        """Whether the step ended."""
        return self._ended

    @property
    def answered_only(self) -> bool:
        """Whether the step is over, in which the model answered and chose no tool."""
        return self._ended and self.said and not self.chosen

    def answer(self, text: str) -> None:
        """Tell what the model said in this step, beside calls or instead of them."""
        with guard:
            if type(text) is str and text:
                self.said = True
                self.recorder.note(len(text), "answered", self, text)

    def finish(self, finish: DecisionFinish | str) -> None:
        """Say what the step came to where calls and answer do not tell."""
        with guard:
            self.end = word(DecisionFinish, finish)

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
            if not self._ended and not self.inherited:
                self._ended = True
                self.recorder.note(NO_SIZE, "decision_ended", self, self.recorder.clock(), tuple(self.chosen))
