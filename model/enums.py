"""The closed sets of values that records use, one enum a question; `unknown` is an answer wherever it can be one."""

from __future__ import annotations

from enum import StrEnum


class RecordKind(StrEnum):
    """What a span of ours is."""

    RUN = "run"
    DECISION = "decision"
    CALL = "call"
    GATE = "gate"
    ATTEMPT = "attempt"
    ATTEMPT_START = "attempt_start"
    RECONCILIATION = "reconciliation"
    SCHEMA = "schema"
    TOOLSET = "toolset"


class Known(StrEnum):
    """A yes-or-no fact that may not be known."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class SideEffect(StrEnum):
    """What a tool may do to the world; `unknown` counts as not known to be reading."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"
    UNKNOWN = "unknown"


class RunOutcome(StrEnum):
    """How the whole task ended, by the source that the run names."""

    SUCCESS = "success"
    FAILURE = "failure"
    HANDED_OFF = "handed_off"
    ABANDONED = "abandoned"
    UNKNOWN = "unknown"


class OutcomeSource(StrEnum):
    """Who says how a run ended."""

    VERIFIER = "verifier"
    REWARD = "reward"
    PERSON = "person"
    JUDGE = "judge"
    APPLICATION = "application"
    UNKNOWN = "unknown"


class StopReason(StrEnum):
    """What ended a run: its own work, or a limit, an error or somebody before that (A20)."""

    FINISHED = "finished"
    BUDGET = "budget"
    DEADLINE = "deadline"
    ERROR = "error"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class DecisionFinish(StrEnum):
    """What a model step came to: it called tools, or why it did not."""

    CALLED = "called"
    ANSWERED = "answered"
    ASKED_USER = "asked_user"
    REFUSED = "refused"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Exposure(StrEnum):
    """How the visible tools came to be visible."""

    EXPLICIT = "explicit"
    SKILL_ALLOW_LIST = "skill_allow_list"
    WILDCARD = "wildcard"
    TOOL_SEARCH = "tool_search"
    FALLBACK = "fallback"
    UNKNOWN = "unknown"


class GateKind(StrEnum):
    """What a gate checks between the proposal and the execution, or after it."""

    PARSE = "parse"
    CATALOG = "catalog"
    AUTHORIZATION = "authorization"
    POLICY = "policy"
    CONFIRMATION = "confirmation"
    INPUT_VALIDATION = "input_validation"
    BUDGET = "budget"
    DEPENDENCY = "dependency"
    IDEMPOTENCY = "idempotency"
    OUTPUT_VALIDATION = "output_validation"
    RECOVERY = "recovery"


class GateMode(StrEnum):
    """Whether a gate could stop the call; an observed gate never stops or rejects one."""

    ENFORCED = "enforced"
    OBSERVED = "observed"


class Verdict(StrEnum):
    """A gate's answer; `needs_approval` is pending until a later gate record of the call answers it."""

    ALLOW = "allow"
    DENY = "deny"
    NEEDS_APPROVAL = "needs_approval"
    MODIFY = "modify"
    SKIP = "skip"


class Contract(StrEnum):
    """Which promise a gate's verdict rests on."""

    STRUCTURE = "structure"
    POLICY = "policy"
    ENVIRONMENT = "environment"


class AttemptStatus(StrEnum):
    """How one physical attempt stands."""

    OPEN = "open"
    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


class ObservationStatus(StrEnum):
    """What came back to the agent, as far as the evidence reaches.

    `error` is a complete answer in which the tool itself reports an error; `business_error` one in which it said no on
    business grounds (only where a rule says so); `raised` is an exception in place of an answer; `cut_by_recording`
    lost its end after the agent saw it, `cut_on_wire` before. `accepted` says that the request was taken in and nobody has
    said yet that it was carried out (HTTP 202). Of a batch, `partial` says that some items failed and the
    others did not, `partly_unknown` that for some nobody can tell.
    """

    NONE = "none"
    OK = "ok"
    EMPTY = "empty"
    PARTIAL = "partial"
    PARTLY_UNKNOWN = "partly_unknown"
    ACCEPTED = "accepted"
    ERROR = "error"
    BUSINESS_ERROR = "business_error"
    RAISED = "raised"
    TIMEOUT = "timeout"
    CUT_BY_RECORDING = "cut_by_recording"
    CUT_ON_WIRE = "cut_on_wire"
    INVALID = "invalid"


class ErrorClass(StrEnum):
    """Stable classes of failure (A10); a mapping that is unsure says `unclassified`."""

    VALIDATION = "validation"
    STALE_REFERENCE = "stale_reference"
    PERMISSION = "permission"
    NEEDS_APPROVAL = "needs_approval"
    CONFLICT = "conflict"
    RATE_LIMIT = "rate_limit"
    TEMPORARY = "temporary"
    PERMANENT = "permanent"
    UNKNOWN_COMMIT = "unknown_commit"
    INTERNAL = "internal"
    UNCLASSIFIED = "unclassified"


class CommitLevel(StrEnum):
    """How far a success was verified."""

    ACCEPTED = "accepted"
    PERSISTED = "persisted"
    DELIVERED = "delivered"
    READ_BACK = "read_back"
    UNKNOWN = "unknown"


class ItemStatus(StrEnum):
    """What became of one item of a batch (A15)."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


class Cancellation(StrEnum):
    """When a call was called off: three different facts (A17)."""

    BEFORE_DISPATCH = "before_dispatch"
    WHILE_RUNNING = "while_running"
    AFTER_COMMIT = "after_commit"


class Flag(StrEnum):
    """What about a call deserves a look, whatever became of it (A23)."""

    REDACTED_COPY_IN_ARGUMENTS = "redacted_copy_in_arguments"
    """A copy that was made for telemetry has flowed back: a redaction placeholder stood among the arguments."""
    APPROVAL_VOID = "approval_void"
    """It ran although what was approved were other arguments, another schema or another version of the resource (A8)."""
    APPROVAL_EXPIRED = "approval_expired"
    """It ran after its approval had expired (A8)."""
    APPROVAL_USED_AGAIN = "approval_used_again"
    """It ran on an approval that another call of the process had used already (A8)."""
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    """Its node or its own idempotency key had been used with other arguments (A12)."""


class Finding(StrEnum):
    """What a reconciliation found out about an unknown commit."""

    COMMITTED = "committed"
    NOT_COMMITTED = "not_committed"
    STILL_UNKNOWN = "still_unknown"


class Method(StrEnum):
    """How a reconciliation found it out."""

    STATUS_QUERY = "status_query"
    PERSON = "person"


class Basis(StrEnum):
    """What a finding rests on: the service's or a person's own word, or that the service knows nothing of the call."""

    ANSWER = "answer"
    ABSENCE = "absence"


class Origin(StrEnum):
    """Where the value of one argument leaf came from (A18)."""

    USER = "user"
    TOOL = "tool"
    USER_AND_TOOL = "user+tool"
    SYSTEM = "system"
    DEFAULT = "default"
    MODEL = "model"
    TRIVIAL = "trivial"
    UNKNOWN = "unknown"


class Outcome(StrEnum):
    """What became of a logical call (A11), derived by `outcome()` alone."""

    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    EMPTY = "empty"
    BUSINESS_REJECTED = "business_rejected"
    REJECTED = "rejected"
    PENDING = "pending"
    FAILED = "failed"
    UNKNOWN_COMMIT = "unknown_commit"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    INDETERMINATE = "indeterminate"


class Validity(StrEnum):
    """Whether a value fits a schema; indeterminate where nobody can tell, which is neither of the other two."""

    VALID = "valid"
    INVALID = "invalid"
    INDETERMINATE = "indeterminate"


class PrivacyClass(StrEnum):
    """How much a value may be shown (B2), in rising order."""

    PUBLIC = "public"
    INTERNAL = "internal"
    UNKNOWN = "unknown"
    PERSONAL = "personal"
    SENSITIVE = "sensitive"
    SECRET = "secret"  # noqa: S105 -- the name of a class, not a password

    @property
    def rank(self) -> int:
        """Position in the rising order, 0 for public."""
        return _PRIVACY_ORDER.index(self)


_PRIVACY_ORDER = tuple(PrivacyClass)
