"""Emitting a recorded run through the same recorder as a live agent: same redaction, same provenance, same spans.

Ids are restarted with each event of a run, so that they follow from the record and the position in it alone: a catalogue
that is given once and not the next time changes what is known about a call, never the ids of the calls after it.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolwitness.collector.importers.catalogue import Catalogue
from toolwitness.collector.importers.trajectory import Event, Message, Observation, ProposedCall, Step, Trajectory
from toolwitness.model.enums import Contract, GateKind, ObservationStatus, Verdict
from toolwitness.sdk.calls import CallScope
from toolwitness.sdk.clock import ManualClock, SeededIds
from toolwitness.sdk.recorder import Recorder
from toolwitness.sdk.scopes import DecisionScope, RunScope

EPOCH_NS = 946_684_800_000_000_000
"""2000-01-01T00:00:00Z: where runs without times of their own start."""
MESSAGE_NS = 1_000_000_000
"""How far apart their messages stand: one second."""


class RecordIds:
    """Ids for the recorder of an import, restarted from a seed wherever the order of asking may differ."""

    def __init__(self) -> None:
        self._seeded = SeededIds("")

    def restart(self, seed: str) -> None:
        """Go on with the ids of this seed."""
        self._seeded = SeededIds(seed)

    def trace_id(self) -> str:
        """32 hex digits."""
        return self._seeded.trace_id()

    def span_id(self) -> str:
        """16 hex digits."""
        return self._seeded.span_id()


@dataclass(frozen=True, slots=True)
class Stage:
    """A recorder, and the ids and the clock that it was made with."""

    recorder: Recorder
    ids: RecordIds
    clock: ManualClock


class _Emitter:
    """One run on its way into one recorder; calls stay open until their result or the run's end."""

    def __init__(self, trajectory: Trajectory, run: RunScope, stage: Stage, catalogue: Catalogue | None) -> None:
        self._seed = trajectory.seed
        self._observations = trajectory.observations
        self._run = run
        self._stage = stage
        self._catalogue = catalogue
        self._events = 0
        self._calls: list[tuple[ProposedCall, CallScope]] = []

    def event(self, event: Event) -> None:
        self._events += 1
        self._stage.ids.restart(f"{self._seed}\nevent {self._events}")
        if isinstance(event, Message):
            self._run.message(event.role, event.text)
        elif isinstance(event, Step):
            self._step(event)
        else:
            self._observe(event)
        self._stage.clock.tick(MESSAGE_NS)

    def close(self) -> None:
        """End the calls that never got a result: they stay without observation."""
        for position, (_, scope) in enumerate(self._calls):
            if position not in self._observations:
                scope.close()

    def _step(self, step: Step) -> None:
        decision = self._run.decision(tools=step.tools, candidates=step.candidates, exposure=step.exposure)
        with decision:
            decision.answer(step.text)
            for call in step.calls:
                self._propose(decision, call)

    def _propose(self, decision: DecisionScope, call: ProposedCall) -> None:
        self._stage.ids.restart(f"{self._seed}\ncall {len(self._calls)}")
        observation = self._observations.get(len(self._calls))
        scope = decision.call(
            call.tool,
            call.arguments,
            server=call.server,
            id=call.provider_call_id,
            via=call.via,
            visible=call.visible,
            registered=call.registered,
            definition=call.definition,
        )
        if not call.parsed:
            executed = observation is not None and not _is_stopped(call, observation)
            scope.gate(GateKind.PARSE, Verdict.DENY, reason="not_json", contract=Contract.STRUCTURE, observed=executed)
        self._calls.append((call, scope))

    def _observe(self, observation: Observation) -> None:
        call, scope = self._calls[observation.call]
        if not _is_stopped(call, observation):
            with scope.attempt() as attempt:
                attempt.sent(observation.sent)
                attempt.end(observation.attempt, error_class=observation.error_class)
        scope.result(
            observation.value,
            status=observation.status,
            transport_status=observation.transport_status,
            error_class=observation.error_class,
        )
        if observation.search is not None:
            known = None if self._catalogue is None else self._catalogue.definitions
            scope.discovered(observation.search.hits, query=observation.search.query, catalog=known)
        scope.close()


def _is_stopped(call: ProposedCall, observation: Observation) -> bool:
    """Whether an error result is the refusal of arguments that could not be read, so that nothing was executed."""
    return not call.parsed and observation.status is ObservationStatus.ERROR


def emit(trajectory: Trajectory, stage: Stage, catalogue: Catalogue | None = None) -> None:
    """Record one run, from the fixed epoch on, its messages one second apart.

    A result that the file lacks stays lacking: such a call ends without an attempt and without an observation.
    """
    stage.clock.tick(EPOCH_NS - stage.clock())
    stage.ids.restart(trajectory.seed)
    facts = {"id": trajectory.run_id, "category": trajectory.category, "trial": trajectory.trial}
    with stage.recorder.run(trajectory.task, **facts) as run:
        emitter = _Emitter(trajectory, run, stage, catalogue)
        for event in trajectory.events:
            emitter.event(event)
        emitter.close()
        run.finish(trajectory.outcome, source=trajectory.outcome_source, reward=trajectory.reward)
