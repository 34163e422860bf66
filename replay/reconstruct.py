"""Rebuilds a run from the rows of the replay queries; pure, so that it can be tested without a database.

What the rows do not tell is named in `unknown`, never shown as no, zero or success.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolwitness.model.names import PROCESS_DIED
from toolwitness.replay import doubts
from toolwitness.replay.budgets import budget_uses
from toolwitness.replay.metrics import iso_time
from toolwitness.replay.steps import (
    AttemptReplay,
    CallReplay,
    Conflict,
    GateReplay,
    Misfit,
    ReconciliationReplay,
    RemovedTool,
    RunReplay,
    StepReplay,
    ToolName,
    VersionCheck,
    VisibleTool,
)

Row = doubts.Row

_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRows:
    """The rows of the replay queries of one run, each list in its query's order."""

    run: Row
    decisions: Sequence[Row]
    calls: Sequence[Row]
    gates: Sequence[Row]
    attempts: Sequence[Row]
    reconciliations: Sequence[Row]
    toolsets: Sequence[Row]
    conflicts: Sequence[Row]
    budget: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What a call's replay takes from the rest of the run, each by call id."""

    gates: Mapping[str, list[GateReplay]]
    attempts: Mapping[str, list[AttemptReplay]]
    reconciliations: Mapping[str, list[ReconciliationReplay]]
    used_in_arguments: Mapping[str, list[str]]
    used_in_answers: Mapping[str, list[str]]
    repeat_of: Mapping[str, str]
    conflicts: Mapping[str, list[Conflict]]
    unsearched: frozenset[str]


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _pick(row: Row, *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _duration_ms(row: Row, start: str, end: str) -> float | None:
    return (row[end] - row[start]) / _NS_PER_MS if row["time_known"] else None


_GATE_FIELDS = (
    "verdict",
    "reason_code",
    "rule_id",
    "rule_version",
    "contract",
    "approver",
    "approved_arguments_digest",
    "approved_schema_digest",
    "approved_resource_version",
    "approval_id",
)


def _gate(row: Row) -> GateReplay:
    return GateReplay(
        kind=row["gate_kind"],
        mode=row["gate_mode"],
        pointers=tuple(row["pointers"] or ()),
        keywords=tuple(row["keywords"] or ()),
        approved_items=tuple(row["approved_items"] or ()),
        approval_expires=iso_time(row["approval_expires_ns"]),
        **_pick(row, *_GATE_FIELDS),
    )


def _attempt(row: Row) -> AttemptReplay:
    """An attempt from its own row, or an open one from its announcement; of both how long it took may be unknown."""
    announced = row["record"] == "attempt_start"
    endless = announced or row["error_type"] == PROCESS_DIED
    return AttemptReplay(
        ordinal=row["attempt_ordinal"],
        status="open" if announced else row["attempt_status"],
        sent=row["sent"] or "unknown",
        effect_ruled_out=bool(row["effect_ruled_out"]),
        duration_ms=None if endless else _duration_ms(row, "start_ns", "end_ns"),
        error_causes=tuple(row["error_causes"] or ()),
        error_frames=tuple(row["error_frames"] or ()),
        **_pick(
            row,
            "retry_reason",
            "backoff_ms",
            "transport",
            "error_class",
            "error_type",
            "vendor_code",
            "remote_status",
            "remote_reference",
        ),
    )


def _attempt_rows(rows: Sequence[Row]) -> Iterable[Row]:
    """Every attempt once: announcements count only where their attempt never arrived."""
    arrived = {row["span_id"] for row in rows if row["record"] == "attempt"}
    return (row for row in rows if row["record"] == "attempt" or row["parent_span_id"] not in arrived)


def _by_call(rows: Iterable[Row], build: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        found[row["call_id"]].append(build(row))
    return found


def gates_by_call(rows: Sequence[Row]) -> dict[str, list[GateReplay]]:
    """The gates of each call, in the order of the rows."""
    return _by_call(rows, _gate)


def attempts_by_call(rows: Sequence[Row]) -> dict[str, list[AttemptReplay]]:
    """The attempts of each call, in the order of the rows; one of which only the announcement arrived is open."""
    return _by_call(_attempt_rows(rows), _attempt)


def _users(rows: Sequence[Row], *, source: str, user: str) -> dict[str, list[str]]:
    """Call id -> ids of the rows that name it among their sources."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for used in row[source] or ():
            found[used].append(row[user])
    return found


def _twins(calls: Sequence[Row]) -> dict[str, str]:
    """Call id -> the latest earlier call with the same tool and arguments."""
    latest: dict[tuple[str, str, str], str] = {}
    found = {}
    for row in calls:
        if row["arguments_digest"] is None:
            continue
        key = (row["server"], row["tool"], row["arguments_digest"])
        if key in latest:
            found[row["call_id"]] = latest[key]
        latest[key] = row["call_id"]
    return found


_CALL_FIELDS = (
    "server",
    "tool",
    "via",
    "registered",
    "visible",
    "side_effect",
    "idempotent",
    "tool_version",
    "schema_digest",
    "validated_schema_digest",
    "definition_digest",
    "arguments_digest",
    "arguments_valid",
    "key_digest",
    "action_id",
    "rejected_by",
    "observation",
    "transport_status",
    "result_size",
    "error_class",
    "error_type",
    "vendor_code",
    "items_total",
    "items_failed",
    "items_unknown",
    "commit_level",
    "cancellation",
    "parallel_group",
    "speculative",
    "discarded",
    "outcome",
    "novel_values",
)


# Gates that check what came out do not stop a call.
_STOPS_NOTHING = frozenset({"output_validation", "recovery"})


def _ran_although_denied_by(row: Row, gates: Sequence[GateReplay]) -> str | None:
    """The first enforced gate whose last word was to deny a call that was attempted all the same; None where there is none."""
    if row["gate_state"] != "rejected" or not row["attempts"]:
        return None
    last = {gate.kind: gate.verdict for gate in gates if gate.mode == "enforced" and gate.kind not in _STOPS_NOTHING}
    return next((kind for kind, verdict in last.items() if verdict == "deny"), None)


def _version_check(told: Row) -> VersionCheck:
    failures = tuple(Misfit(**_pick(one, "pointer", "keyword")) for one in told["failures"])
    return VersionCheck(failures=failures, **_pick(told, "schema_digest", "verdict"))


def _conflicts(rows: Iterable[Row]) -> dict[str, list[Conflict]]:
    """Each call's conflicts: a pair is one of both."""
    found: dict[str, list[Conflict]] = defaultdict(list)
    for row in rows:
        for call, other in (("call", "other_call"), ("other_call", "call")):
            found[row[call]].append(Conflict(call=row[other], **_pick(row, "resource", "kind")))
    return found


def _call(row: Row, around: _Around) -> CallReplay:
    call = row["call_id"]
    gates = around.gates.get(call, [])
    used = (tuple(around.used_in_arguments.get(call, ())), tuple(around.used_in_answers.get(call, ())))
    return CallReplay(
        call=call,
        ordinal=row["call_ordinal"],
        decision=row["decision_id"],
        arguments=_parsed(row["arguments"]),
        executed_arguments=_parsed(row["executed_arguments"]),
        result=_parsed(row["result"]),
        repeat_of=around.repeat_of.get(call),
        ran_although_denied_by=_ran_although_denied_by(row, gates),
        argument_checks=tuple(_version_check(one) for one in _parsed(row["argument_checks"]) or ()),
        provenance={leaf["pointer"]: leaf["origin"] for leaf in _parsed(row["provenance"]) or ()},
        argument_sources=tuple(row["argument_sources"] or ()),
        gates=tuple(gates),
        attempts=tuple(around.attempts.get(call, ())),
        reconciliations=tuple(around.reconciliations.get(call, ())),
        discovery_query=_parsed(row["discovery_query"]),
        discovery_hits=tuple(ToolName(**hit) for hit in _parsed(row["discovery_hits"]) or ()),
        used_in_arguments=used[0],
        used_in_answers=used[1],
        started=iso_time(row["started_ns"]) if row["time_known"] else None,
        duration_ms=_duration_ms(row, "started_ns", "ended_ns") if row["has_call_span"] else None,
        flags=tuple(row["flags"] or ()),
        conflicts=tuple(around.conflicts.get(call, ())),
        item_statuses=tuple(row["item_statuses"] or ()),
        depends_on=tuple(row["depends_on"] or ()),
        read_set=tuple(row["read_set"] or ()),
        write_set=tuple(row["write_set"] or ()),
        unknown=doubts.of_call(row, gates, searched=any(used) or call not in around.unsearched),
        **_pick(row, *_CALL_FIELDS),
    )


def _around(rows: RunRows) -> _Around:
    def finding(row: Row) -> ReconciliationReplay:
        return ReconciliationReplay(
            reason=_parsed(row["reason"]),
            found=iso_time(row["start_ns"]) if row["time_known"] else None,
            **_pick(row, "finding", "method", "found_by", "reason_code", "remote_reference"),
        )

    return _Around(
        gates=gates_by_call(rows.gates),
        attempts=attempts_by_call(rows.attempts),
        reconciliations=_by_call(rows.reconciliations, finding),
        used_in_arguments=_users(rows.calls, source="argument_sources", user="call_id"),
        used_in_answers=_users(rows.decisions, source="answer_sources", user="decision_id"),
        repeat_of=_twins(rows.calls),
        conflicts=_conflicts(rows.conflicts),
        unsearched=doubts.unsearched_calls(rows.decisions, rows.calls),
    )


def _visible_tool(row: Row) -> VisibleTool:
    fields = _pick(row, "server", "tool", "schema_digest", "tool_version", "side_effect")
    return VisibleTool(definition_digest=row["definition_digest"] or None, **fields)


def _toolsets(rows: Sequence[Row]) -> dict[str, tuple[VisibleTool, ...]]:
    found: dict[str, list[VisibleTool]] = defaultdict(list)
    for row in rows:
        found[row["toolset_digest"]].append(_visible_tool(row))
    return {digest: tuple(members) for digest, members in found.items()}


_STEP_FIELDS = (
    "provider",
    "model",
    "finish",
    "visibility",
    "toolset_digest",
    "candidate_digest",
    "exposure",
    "fallback_reason",
    "fallback_added_writer",
    "skill",
    "skill_reason",
)


def _step(row: Row, calls: Sequence[CallReplay], toolsets: Mapping[str, tuple[VisibleTool, ...]], *, timed: bool) -> StepReplay:
    visible = toolsets.get(row["toolset_digest"])
    return StepReplay(
        decision=row["decision_id"],
        ordinal=row["decision_ordinal"],
        visible=visible,
        removals=tuple(RemovedTool(**removal) for removal in _parsed(row["removals"]) or ()),
        exposure_members=tuple(row["exposure_members"] or ()),
        chosen=tuple(row["chosen"] or ()),
        answer_sources=tuple(row["answer_sources"] or ()),
        calls=tuple(calls),
        started=iso_time(row["start_ns"]) if timed else None,
        unknown=doubts.of_step(row, visible),
        **_pick(row, *_STEP_FIELDS),
    )


def _loose_step(calls: Sequence[CallReplay]) -> StepReplay:
    """The step that gathers calls whose decision did not arrive or was never known."""
    return StepReplay(
        decision=None,
        ordinal=None,
        provider=None,
        model=None,
        finish="unknown",
        visibility="unknown",
        toolset_digest=None,
        candidate_digest=None,
        visible=None,
        removals=(),
        exposure="unknown",
        exposure_members=(),
        fallback_reason=None,
        fallback_added_writer="unknown",
        skill=None,
        skill_reason=None,
        chosen=(),
        answer_sources=(),
        calls=tuple(calls),
        started=None,
        unknown=("decision", "visible tools"),
    )


def _steps(rows: RunRows, *, timed: bool) -> tuple[StepReplay, ...]:
    around, toolsets = _around(rows), _toolsets(rows.toolsets)
    known = {row["decision_id"] for row in rows.decisions}
    calls_of: dict[str | None, list[CallReplay]] = defaultdict(list)
    for row in rows.calls:
        calls_of[row["decision_id"] if row["decision_id"] in known else None].append(_call(row, around))
    steps = [_step(row, calls_of[row["decision_id"]], toolsets, timed=timed) for row in rows.decisions]
    return (*steps, _loose_step(calls_of[None])) if calls_of[None] else tuple(steps)


def reconstruct(rows: RunRows) -> RunReplay:
    """The run that these rows tell of, its steps in the order of the decisions and their calls in the order of proposal."""
    run = rows.run
    timed: bool = run["time_known"]
    return RunReplay(
        run=run["run_id"],
        outcome=run["run_outcome"],
        labels=_parsed(run["labels"]),
        stopped_by=rows.budget["stopped_by"],
        budget=budget_uses(rows.budget) if rows.budget["budget"] or rows.budget["spent"] else (),
        started=iso_time(run["started_ns"]) if timed else None,
        ended=iso_time(run["ended_ns"]) if timed else None,
        steps=_steps(rows, timed=timed),
        unknown=doubts.of_run(run),
        **_pick(run, "source", "agent", "task", "task_category", "trial", "session", "outcome_source", "reward", "week"),
    )
