"""Recorded runs as typed events in the order of their file: what an importer reads out before anything is emitted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.digest import digest
from toolwitness.model.enums import (
    AttemptStatus,
    ErrorClass,
    Exposure,
    Known,
    ObservationStatus,
    OutcomeSource,
    RunOutcome,
)

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._-]+")
_TASK_IN_ID = 64


class RecordError(ValueError):
    """One record of a file cannot be read; its argument is the reason under which it is counted."""

    @property
    def reason(self) -> str:
        """The stable word under which the record is counted."""
        return str(self.args[0])


_DIGITS_TO_LETTERS = str.maketrans("0123456789", "ghijklmnop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A system or user message."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedCall:
    """One tool call as the model proposed it.

    `parsed` is False where the arguments were no JSON; `arguments` is then the raw string.
    """

    tool: str
    arguments: Any
    server: str = ""
    via: str | None = None
    provider_call_id: str | None = None
    parsed: bool = True
    visible: Known = Known.UNKNOWN
    registered: Known = Known.UNKNOWN
    definition: ToolDefinition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One assistant message: a decision.

    `tools` is all that the model could see, None where that is not known; `candidates` what it was chosen from.
    """

    text: str
    calls: tuple[ProposedCall, ...] = ()
    tools: tuple[ToolDefinition, ...] | None = None
    candidates: tuple[ToolDefinition, ...] | None = None
    exposure: Exposure = Exposure.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a tool search returned: (server, tool) pairs in the order of the hits.

    `complete` is False where the listing was cut so that there may have been more hits.
    """

    hits: tuple[tuple[str, str], ...]
    query: str | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What came back to the agent for the call at position `call` of the trajectory's calls.

    `transport_status` is the outer status where the format has two layers, `attempt` how the one physical try ended.
    """

    call: int
    value: Any
    status: ObservationStatus
    attempt: AttemptStatus
    transport_status: ObservationStatus | None = None
    sent: Known = Known.YES
    error_class: ErrorClass | None = None
    search: Search | None = None


Event = Message | Step | Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One recorded run; `content_digest` is the SHA-256 of the whole record it was read from."""

    format: str
    task: str
    trial: int
    content_digest: str
    events: tuple[Event, ...]
    category: str | None = None
    outcome: RunOutcome = RunOutcome.UNKNOWN
    outcome_source: OutcomeSource = OutcomeSource.UNKNOWN
    reward: float | None = None
    orphan_results: int = 0

    @property
    def seed(self) -> str:
        """What all ids of the run derive from: equal for equal records, whatever file they stand in."""
        return digest([self.format, self.task, self.trial, self.content_digest])

    @property
    def run_id(self) -> str:
        """A readable run id that is unique to format, task, trial and content."""
        task = _NOT_IN_IDS.sub("_", self.task)[:_TASK_IN_ID]
        # Letters alone: a run of digits could look like a card or a phone number to the collector's detectors.
        return f"{self.format}-{task}-{self.trial}-{self.content_digest[:12].translate(_DIGITS_TO_LETTERS)}"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The decisions in order."""
        return tuple(event for event in self.events if isinstance(event, Step))

    @property
    def calls(self) -> tuple[ProposedCall, ...]:
        """The calls of all decisions in order; observations name them by position here."""
        return tuple(call for step in self.steps for call in step.calls)

    @property
    def observations(self) -> dict[int, Observation]:
        """The observation of each call that has one, by the call's position."""
        return {event.call: event for event in self.events if isinstance(event, Observation)}
