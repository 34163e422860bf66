"""What a replay consists of: a run, its steps, their calls, and what stopped or ran each call (D1).

None means *not known*, never *no*. `unknown` lists in words what the evidence does not tell, so that a page or a program
need not guess it from nulls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleTool:
    """One tool that the model could see, and under which definition; digests are None where not known."""

    server: str
    tool: str
    definition_digest: str | None
    schema_digest: str | None
    tool_version: str | None
    side_effect: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReplay:
    """One gate's answer; a gate with `mode` observed never stopped anything.

    The fields from `approved_arguments_digest` on are what an approval binds to; `approval_expires` is a time in UTC.
    """

    kind: str
    mode: str
    verdict: str
    reason_code: str | None
    rule_id: str | None
    rule_version: str | None
    contract: str | None
    pointers: tuple[str, ...]
    keywords: tuple[str, ...]
    approver: str | None
    approved_arguments_digest: str | None
    approved_schema_digest: str | None
    approved_resource_version: str | None
    approved_items: tuple[str, ...]
    approval_id: str | None
    approval_expires: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptReplay:
    """One physical attempt; `status` open where only its announcement arrived.

    `error_causes` are the types that its exception came from, the nearest first, and `error_frames` where it was raised,
    `module:function:line`, the innermost last.
    """

    ordinal: int
    status: str
    sent: str
    effect_ruled_out: bool
    retry_reason: str | None
    backoff_ms: float | None
    transport: str | None
    error_class: str | None
    error_type: str | None
    vendor_code: str | None
    remote_status: int | None
    remote_reference: str | None
    error_causes: tuple[str, ...]
    error_frames: tuple[str, ...]
    duration_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciliationReplay:
    """What was found out later about an unknown commit; `reason` is a redacted copy of what was said, parsed."""

    finding: str
    method: str
    found_by: str | None
    reason_code: str | None
    reason: Any
    remote_reference: str | None
    found: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolName:
    """A tool by its identity."""

    server: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """One place where arguments do not fit a schema, or which leaves that open: a JSON pointer and the schema's keyword."""

    pointer: str
    keyword: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionCheck:
    """What one version of the tool's input schema says of the arguments as proposed: valid, invalid or indeterminate."""

    schema_digest: str
    verdict: str
    failures: tuple[Misfit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A call that ran at the same time and touched the same resource, of which one at least writes it.

    `kind` is write_write or read_write.
    """

    call: str
    resource: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse:
    """One limit of a run, and what was used; None where there is no limit, or where nobody knows what was used.

    `counted` says that it was counted from the records, and not told by the application.
    """

    name: str
    limit: float | None
    used: float | None
    counted: bool

    @property
    def exceeded(self) -> bool | None:
        """Whether more was used than the limit; None where that is not known."""
        return None if self.limit is None or self.used is None else self.used > self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReplay:
    """One logical call, from its proposal to what became of its result.

    `arguments`, `executed_arguments`, `result` and `discovery_query` are redacted copies, parsed. `used_in_arguments` are
    the later calls and `used_in_answers` the decisions in which values that were new in this result reappear (evidence of
    re-appearance, not of cause). `provenance` maps JSON pointers of arguments to their origin. `repeat_of` is the latest
    earlier call with the same tool and arguments. `executed_arguments` are there only where they differ from those proposed.
    `arguments_valid` is the verdict of the version that the call was proposed under, `argument_checks` those of all versions
    that were known then; both were taken from the raw arguments. `ran_although_denied_by` is the enforced gate whose denial
    did not keep the call from being attempted. `flags` are words of `model.enums.Flag`. `read_set` and `write_set` are empty
    where it is not told what the call reads and writes.
    """

    call: str
    ordinal: int | None
    decision: str | None
    server: str
    tool: str
    via: str | None
    registered: str
    visible: str
    side_effect: str
    idempotent: str
    tool_version: str | None
    schema_digest: str | None
    validated_schema_digest: str | None
    definition_digest: str | None
    arguments: Any
    arguments_digest: str | None
    executed_arguments: Any
    arguments_valid: str | None
    argument_checks: tuple[VersionCheck, ...]
    key_digest: str | None
    action_id: str | None
    repeat_of: str | None
    provenance: dict[str, str]
    argument_sources: tuple[str, ...]
    gates: tuple[GateReplay, ...]
    rejected_by: str | None
    ran_although_denied_by: str | None
    attempts: tuple[AttemptReplay, ...]
    observation: str
    transport_status: str
    result: Any
    result_size: int | None
    error_class: str | None
    error_type: str | None
    vendor_code: str | None
    items_total: int | None
    items_failed: int | None
    items_unknown: int | None
    item_statuses: tuple[str, ...]
    commit_level: str | None
    cancellation: str | None
    depends_on: tuple[str, ...]
    parallel_group: str | None
    read_set: tuple[str, ...]
    write_set: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    speculative: bool
    discarded: bool
    discovery_query: Any
    discovery_hits: tuple[ToolName, ...]
    outcome: str
    reconciliations: tuple[ReconciliationReplay, ...]
    novel_values: int | None
    used_in_arguments: tuple[str, ...]
    used_in_answers: tuple[str, ...]
    started: str | None
    duration_ms: float | None
    flags: tuple[str, ...]
    unknown: tuple[str, ...]


def _place(call: CallReplay) -> tuple[bool, int]:
    """Where a call stands in its run; one whose own span is missing comes last."""
    return call.ordinal is None, call.ordinal or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedTool:
    """A candidate that was kept from the model, and why."""

    server: str
    tool: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReplay:
    """One decision of the model with the calls that it proposed.

    `visible` is None where nothing is known of what the model saw; `visibility` says whether it is all that it saw.
    `decision` is None for the one step that gathers calls whose decision is not known.
    """

    decision: str | None
    ordinal: int | None
    provider: str | None
    model: str | None
    finish: str
    visibility: str
    toolset_digest: str | None
    candidate_digest: str | None
    visible: tuple[VisibleTool, ...] | None
    removals: tuple[RemovedTool, ...]
    exposure: str
    exposure_members: tuple[str, ...]
    fallback_reason: str | None
    fallback_added_writer: str
    skill: str | None
    skill_reason: str | None
    chosen: tuple[str, ...]
    answer_sources: tuple[str, ...]
    calls: tuple[CallReplay, ...]
    started: str | None
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReplay:
    """One run, step by step; `trial`, `task` and times are None where not known."""

    run: str
    source: str
    agent: str | None
    task: str | None
    task_category: str | None
    trial: int | None
    session: str | None
    outcome: str
    outcome_source: str
    reward: float | None
    stopped_by: str
    budget: tuple[BudgetUse, ...]
    labels: Any
    week: str
    started: str | None
    ended: str | None
    steps: tuple[StepReplay, ...]
    unknown: tuple[str, ...]

    @property
    def calls(self) -> tuple[CallReplay, ...]:
        """Every call in the order of its proposal."""
        return tuple(sorted((call for step in self.steps for call in step.calls), key=_place))


def call_is_lost(step: StepReplay) -> bool:
    """Whether the model is known to have called a tool in this step, yet no call of it was recorded."""
    return not step.calls and (step.finish == "called" or bool(step.chosen))


def answer_is_unknown(call: CallReplay) -> bool:
    """Whether it is not known what came back: the call never ended as far as was recorded, such as where the process died."""
    unended = call.outcome == "indeterminate" or call.ordinal is None or any(one.status == "open" for one in call.attempts)
    return call.observation == "none" and unended
