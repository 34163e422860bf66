"""tau-bench's result files: one JSON array of `{task_id, trial, reward, info, traj}`.

One record is one run, one assistant message one decision. The catalogue is constant, so with it all its tools were visible
at every decision; without it visibility stays unknown. A result is an error where it starts with `Error` or
`Unknown action` (the environment's own way of saying so). A run without `reward_info` was never verified, whatever its
`reward` says: tau-bench writes 0 there, and it counts as abandoned, not as a failure.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from toolwitness.collector.importers.catalogue import Catalogue, find_in
from toolwitness.collector.importers.chat import ChatReader, RawCall
from toolwitness.collector.importers.trajectory import Observation, ProposedCall, RecordError, Step, Trajectory
from toolwitness.model.catalog import read_definition
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

NAME = "tau-bench"
_TRIALS = 2**31
_SUCCESS_FROM = 1 - 1e-6
_ERROR_STARTS = ("Error", "Unknown action")


def is_records(data: Any) -> bool:
    """Whether a file's JSON value is a result file of this format."""
    return isinstance(data, list) and any(isinstance(item, Mapping) and {"traj", "task_id"} <= item.keys() for item in data)


def is_catalogue(data: Any) -> bool:
    """Whether a file's JSON value is a list of tool objects as a model API takes them."""
    return isinstance(data, list) and bool(data) and all(_is_tool(item) for item in data)


def _is_tool(item: Any) -> bool:
    inner = item.get("function", item) if isinstance(item, Mapping) else None
    schemas = {"parameters", "input_schema", "inputSchema"}
    return isinstance(inner, Mapping) and isinstance(inner.get("name"), str) and not schemas.isdisjoint(inner)


def read_catalogue(data: Any) -> Catalogue:
    """The tools of a file for which `is_catalogue` holds."""
    definitions = tuple(read_definition(item) for item in data)
    return Catalogue(definitions, definitions)


def read_record(record: Any, catalogue: Catalogue | None = None) -> Trajectory:
    """One run; raises RecordError with the reason where the record has not the format's shape."""
    if not isinstance(record, Mapping):
        raise RecordError("record_is_no_object")
    reader = _TauReader(catalogue)
    events = reader.read(record.get("traj"))
    outcome, source, reward = _outcome(record)
    trial = record.get("trial")
    return Trajectory(
        format=NAME,
        task=str(record.get("task_id", "unknown")),
        trial=trial if type(trial) is int and 0 <= trial < _TRIALS else 0,
        content_digest=digest(record),
        events=events,
        outcome=outcome,
        outcome_source=source,
        reward=reward,
        orphan_results=reader.orphan_results,
    )


def _outcome(record: Mapping[str, Any]) -> tuple[RunOutcome, OutcomeSource, float | None]:
    info, reward = record.get("info"), record.get("reward")
    if not isinstance(reward, int | float) or isinstance(reward, bool) or not math.isfinite(reward):
        return RunOutcome.UNKNOWN, OutcomeSource.UNKNOWN, None
    if reward >= _SUCCESS_FROM:
        return RunOutcome.SUCCESS, OutcomeSource.REWARD, float(reward)
    if not isinstance(info, Mapping) or info.get("reward_info") is None:
        return RunOutcome.ABANDONED, OutcomeSource.UNKNOWN, None
    return RunOutcome.FAILURE, OutcomeSource.REWARD, float(reward)


def _is_empty(text: str) -> bool:
    """Whether a result holds nothing: no text, or JSON null, or an empty JSON array or object."""
    if len(text) > len("null") + 2:
        return not text.strip()
    try:
        return not text.strip() or json.loads(text) in (None, [], {})
    except ValueError:
        return False


def _status(text: str) -> ObservationStatus:
    if text.startswith(_ERROR_STARTS):
        return ObservationStatus.ERROR
    return ObservationStatus.EMPTY if _is_empty(text) else ObservationStatus.OK


class _TauReader(ChatReader):
    def __init__(self, catalogue: Catalogue | None) -> None:
        super().__init__()
        self._catalogue = catalogue

    def propose(self, raw: RawCall) -> ProposedCall:
        definition, registered = find_in(self._catalogue, "", raw.name)
        return ProposedCall(
            tool=raw.name,
            arguments=raw.arguments,
            parsed=raw.parsed,
            provider_call_id=raw.provider_call_id,
            visible=registered,
            registered=registered,
            definition=definition,
        )

    def step(self, text: str, calls: tuple[ProposedCall, ...]) -> Step:
        if self._catalogue is None:
            return Step(text=text, calls=calls)
        return Step(text=text, calls=calls, tools=self._catalogue.definitions, exposure=Exposure.EXPLICIT)

    def observe(self, position: int, call: ProposedCall, text: str) -> Observation:
        del call
        status = _status(text)
        failed = status is ObservationStatus.ERROR
        return Observation(
            call=position,
            value=text,
            status=status,
            attempt=AttemptStatus.ERROR if failed else AttemptStatus.OK,
            sent=Known.YES,
            error_class=ErrorClass.UNCLASSIFIED if failed else None,
        )
