"""The words that pages and terminal share: for a figure that is not there, why there is none; for how tools were offered."""

from __future__ import annotations

from toolwitness.replay.steps import VersionCheck

ERROR = "error"
LOST_CALL = "called, but no call was recorded"
NO_CALLS = "no calls"
NO_NEW_VALUES = "no new values"
NO_RESULT = "no result"
NOT_MEASURABLE = "not measurable"
SCHEMA_UNKNOWN = "schema unknown"
UNKNOWN = "unknown"
VISIBILITY_UNKNOWN = "visibility unknown"

EXPOSURES = {
    "explicit": "listed explicitly",
    "skill_allow_list": "allowed by a skill",
    "wildcard": "by a wildcard",
    "tool_search": "found by a tool search",
    "fallback": "as a fallback",
}
"""How the visible tools came to be visible, in plain words."""

FLAGS = {
    "redacted_copy_in_arguments": "a redacted copy stood among the arguments: what was made for telemetry has flowed back",
    "approval_void": "it ran although something else had been approved: other arguments, schema or version of the resource",
    "approval_expired": "it ran after its approval had expired",
    "approval_used_again": "it ran on an approval that another call had used already",
    "idempotency_conflict": "its node or idempotency key had been used with other arguments",
}
"""What a call's flags mean, in plain words."""

_NOTHING_CAME = frozenset({"none", "timeout", "raised"})
_ERRORS = frozenset({"error", "business_error", "invalid"})
_CUT = frozenset({"cut_by_recording", "cut_on_wire"})


def misfits(check: VersionCheck) -> list[str]:
    """The places by which arguments do not fit a schema, or which leave that open, with their keyword, for a reader."""
    word = "open: " if check.verdict == "indeterminate" else ""
    return [f"{word}{place.keyword} at {place.pointer or 'the top'}" for place in check.failures]


def no_utilisation(*, calls: int, errors: int, measured: int, not_measurable: int) -> str:
    """Why utilisation has a denominator of 0.

    `measured` counts complete answers that were searched for, `not_measurable` results whose use could not be measured.
    """
    if calls == 0:
        return NO_CALLS
    if not_measurable:
        return NOT_MEASURABLE
    if measured:
        return NO_NEW_VALUES
    return ERROR if errors == calls else NO_RESULT


def no_use(observation: str, outcome: str, *, measurable: bool, novel_values: int | None) -> str:
    """Why no later use of a call's result is known, in the model's words for observation and outcome."""
    if observation == "none" and outcome == "indeterminate":
        return UNKNOWN
    if observation in _NOTHING_CAME or outcome in {"pending", "cancelled"}:
        return NO_RESULT
    if observation in _ERRORS:
        return ERROR
    if observation in _CUT or not measurable or novel_values is None:
        return NOT_MEASURABLE
    return "not seen again" if novel_values else NO_NEW_VALUES
