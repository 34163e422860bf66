"""The records: frozen facts about runs, decisions, calls and what stopped or ran them.

A record becomes one span. Its fields travel as attributes under the names that `model.names` gives them and are stored in
columns of the field's own name, so a field name means one thing in every record. None means *not known*, never *no*.
Fields of type `Json` hold JSON text of a redacted copy. Times are the span's own (nanoseconds since 1970, UTC).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NewType

from toolwitness.model.catalog import Member
from toolwitness.model.digest import KeyedDigest
from toolwitness.model.enums import (
    AttemptStatus,
    Basis,
    Cancellation,
    CommitLevel,
    Contract,
    DecisionFinish,
    ErrorClass,
    Exposure,
    Finding,
    Flag,
    GateKind,
    GateMode,
    ItemStatus,
    Known,
    Method,
    ObservationStatus,
    Origin,
    OutcomeSource,
    RecordKind,
    RunOutcome,
    SideEffect,
    StopReason,
    Validity,
    Verdict,
)

Json = NewType("Json", str)
"""JSON text of a redacted copy."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A candidate tool that was kept from the model, and why (A3)."""

    server: str
    tool: str
    reason: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One tool that a search returned, in the order of the hits (A4)."""

    server: str
    tool: str


@dataclass(frozen=True, slots=True)
class LeafOrigin:
    """Where one scalar argument came from (A18); `pointer` is a JSON pointer into the proposed arguments."""

    pointer: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Failure:
    """One place where a value does not fit a schema: its JSON pointer and the schema's keyword, never the value.

    A name that the schema does not declare is model text; `*` stands for it in the pointer.
    """

    pointer: str
    keyword: str


@dataclass(frozen=True, slots=True)
class ArgumentCheck:
    """What one version of a tool's input schema says of the raw arguments (A5); where indeterminate, what is left open."""

    schema_digest: str
    verdict: Validity
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What every record carries.

    `source` says what produced it (`live`, `demo`, or an import's format); `time_known` is False where the span's times are
    deterministic offsets that stand for an order only. `subject` is a keyed digest of the one that the run is about (B7); it
    stands on every record, since a process that dies never sends the run's own.
    """

    kind: ClassVar[RecordKind]

    run_id: str
    source: str = "live"
    time_known: bool = True
    subject: KeyedDigest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Record):
    """One task given to one agent, from its start to its outcome (A22).

    `budget` are the limits that the application set, by name, and `spent` what it says was used of them (A20); calls,
    attempts and wall time are counted from the records.
    """

    kind: ClassVar[RecordKind] = RecordKind.RUN

    run_outcome: RunOutcome = RunOutcome.UNKNOWN
    outcome_source: OutcomeSource = OutcomeSource.UNKNOWN
    reward: float | None = None
    agent: str | None = None
    task: str | None = None
    task_category: str | None = None
    trial: int | None = None
    session: str | None = None
    labels: Json | None = None
    run_inferred: bool = False
    stopped_by: StopReason = StopReason.UNKNOWN
    budget: Json | None = None
    spent: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Record):
    """One model step: what it could see and what it came to (A2-A4).

    `visibility` says whether `toolset_digest` is all that the model saw. `answer_sources` are the calls whose new values
    reappear in this step's text (A19); `answer_measured` is False where a limit kept that from being looked for.
    """

    kind: ClassVar[RecordKind] = RecordKind.DECISION

    decision_id: str
    decision_ordinal: int
    finish: DecisionFinish = DecisionFinish.UNKNOWN
    visibility: Known = Known.UNKNOWN
    toolset_digest: str | None = None
    candidate_digest: str | None = None
    removals: tuple[Removal, ...] = ()
    exposure: Exposure = Exposure.UNKNOWN
    exposure_members: tuple[str, ...] = ()
    fallback_reason: str | None = None
    fallback_added_writer: Known = Known.UNKNOWN
    skill: str | None = None
    skill_reason: str | None = None
    provider: str | None = None
    model: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    settings: Json | None = None
    chosen: tuple[str, ...] = ()
    answer_sources: tuple[str, ...] = ()
    answer_measured: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Record):
    """One logical tool call, from its proposal by the model to the observation (A1).

    `via` names the dispatcher tool that the model really called where the call resolves to an inner tool; `registered` is
    False where the tool stands in no catalog, so that its name is model text. `arguments_digest` is keyed and taken of the
    raw canonical arguments. `argument_checks` holds a verdict for each version of the tool's schema that was known when the
    call was proposed, `arguments_valid` the one of the version it was proposed under. `observation` is the effective
    status, `transport_status` the outer one. `novel_values` counts informative values that were new in the result; None
    means not measurable. `argument_sources` are earlier calls whose new values reappear in these arguments.
    `attempts_made` says how many attempts had begun when this span ended; None where nobody counted.

    `owner` is who must act on the tool, `settle_after_s` how many seconds after an attempt "not found" proves that it took no
    effect (A13). `depends_on` are ids of calls that this one waited for, `parallel_group` names calls meant to run side by
    side, `read_set` and `write_set` the resources that it touches (A16). A result that was `discarded` is no evidence.
    """

    kind: ClassVar[RecordKind] = RecordKind.CALL

    call_id: str
    call_ordinal: int
    tool: str
    server: str = ""
    decision_id: str | None = None
    provider_call_id: str | None = None
    via: str | None = None
    registered: Known = Known.UNKNOWN
    visible: Known = Known.UNKNOWN
    tool_version: str | None = None
    schema_digest: str | None = None
    validated_schema_digest: str | None = None
    definition_digest: str | None = None
    side_effect: SideEffect = SideEffect.UNKNOWN
    idempotent: Known = Known.UNKNOWN
    arguments: Json | None = None
    executed_arguments: Json | None = None
    arguments_digest: str | None = None
    arguments_valid: Validity | None = None
    argument_checks: tuple[ArgumentCheck, ...] = ()
    key_digest: str | None = None
    action_id: str | None = None
    node: str | None = None
    observation: ObservationStatus = ObservationStatus.NONE
    transport_status: ObservationStatus = ObservationStatus.NONE
    result: Json | None = None
    result_size: int | None = None
    result_digest: str | None = None
    commit_level: CommitLevel = CommitLevel.UNKNOWN
    error_class: ErrorClass | None = None
    error_type: str | None = None
    vendor_code: str | None = None
    items_total: int | None = None
    items_failed: int | None = None
    items_unknown: int | None = None
    item_statuses: tuple[ItemStatus, ...] = ()
    attempts_made: int | None = None
    cancellation: Cancellation | None = None
    owner: str | None = None
    settle_after_s: float | None = None
    depends_on: tuple[str, ...] = ()
    parallel_group: str | None = None
    read_set: tuple[str, ...] = ()
    write_set: tuple[str, ...] = ()
    speculative: bool = False
    discarded: bool = False
    discovery_hits: tuple[Hit, ...] = ()
    discovery_query: Json | None = None
    catalog_digest: str | None = None
    provenance: tuple[LeafOrigin, ...] = ()
    argument_sources: tuple[str, ...] = ()
    novel_values: int | None = None
    minimal: str | None = None
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(Record):
    """One check between proposal and execution, or after it, with its answer (A7, A8).

    An approval binds to what it names: `approved_arguments_digest` (keyed, as `Call.arguments_digest`), schema, version of the
    resource, items of a batch, and a time in nanoseconds since 1970 (UTC) until which it holds.
    """

    kind: ClassVar[RecordKind] = RecordKind.GATE

    call_id: str
    gate_kind: GateKind
    verdict: Verdict
    gate_mode: GateMode = GateMode.ENFORCED
    reason_code: str | None = None
    rule_id: str | None = None
    rule_version: str | None = None
    contract: Contract | None = None
    pointers: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    validated_schema_digest: str | None = None
    approver: str | None = None
    approved_arguments_digest: str | None = None
    approved_schema_digest: str | None = None
    approved_resource_version: str | None = None
    approved_items: tuple[str, ...] = ()
    approval_id: str | None = None
    approval_expires_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(Record):
    """One physical try to execute a call (A9).

    `sent` says whether the request left the process. `effect_ruled_out` is True only on positive proof that this attempt
    changed nothing although it was sent, such as a code declared to come before any commit (A13).

    Of an exception there are the names of the types that it came from (`error_causes`, the nearest first) and its innermost
    frames as `module:function:line` (`error_frames`, the innermost last), never its text.
    """

    kind: ClassVar[RecordKind] = RecordKind.ATTEMPT

    call_id: str
    attempt_ordinal: int
    attempt_status: AttemptStatus
    sent: Known = Known.UNKNOWN
    effect_ruled_out: bool = False
    retry_reason: str | None = None
    backoff_ms: float | None = None
    transport: str | None = None
    error_class: ErrorClass | None = None
    error_type: str | None = None
    vendor_code: str | None = None
    remote_status: int | None = None
    remote_reference: str | None = None
    error_causes: tuple[str, ...] = ()
    error_frames: tuple[str, ...] = ()
    key_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStart(Record):
    """The announcement of an attempt that may write, sent before it runs so that a crash leaves a trace (A13).

    It tells what it takes to find a repeat of the call, and who must act, since a call whose process dies has no span of its
    own.
    """

    kind: ClassVar[RecordKind] = RecordKind.ATTEMPT_START

    call_id: str
    attempt_ordinal: int
    tool: str
    server: str = ""
    decision_id: str | None = None
    call_ordinal: int | None = None
    side_effect: SideEffect = SideEffect.UNKNOWN
    arguments_digest: str | None = None
    key_digest: str | None = None
    action_id: str | None = None
    node: str | None = None
    owner: str | None = None
    settle_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation(Record):
    """What was found out later about a call whose commit was unknown (A13).

    `not_committed` is about attempts until `covers_until_ns` (nanoseconds since 1970, UTC): for an answer those that had begun
    when it was asked for, for an absence those that had ended `settle_after` before. A later attempt is unknown again.
    `commit_level` is how far a commit was verified.
    """

    kind: ClassVar[RecordKind] = RecordKind.RECONCILIATION

    call_id: str
    tool: str
    finding: Finding
    method: Method
    server: str = ""
    basis: Basis = Basis.ANSWER
    covers_until_ns: int | None = None
    found_by: str | None = None
    reason_code: str | None = None
    reason: Json | None = None
    remote_reference: str | None = None
    commit_level: CommitLevel = CommitLevel.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema(Record):
    """One tool definition as the model was shown it, content-addressed (A5)."""

    kind: ClassVar[RecordKind] = RecordKind.SCHEMA

    definition_digest: str
    tool: str
    schema_digest: str | None = None
    server: str = ""
    tool_version: str | None = None
    definition: Json | None = None
    side_effect: SideEffect = SideEffect.UNKNOWN
    idempotent: Known = Known.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset(Record):
    """One set of tools, content-addressed by its members (A2)."""

    kind: ClassVar[RecordKind] = RecordKind.TOOLSET

    toolset_digest: str
    members: tuple[Member, ...] = ()


RECORD_TYPES: dict[RecordKind, type[Record]] = {
    cls.kind: cls for cls in (Run, Decision, Call, Gate, Attempt, AttemptStart, Reconciliation, Schema, Toolset)
}
