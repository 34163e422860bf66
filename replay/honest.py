"""The words for a figure or a use that is not there: why there is none, in place of a zero or a blank."""

from __future__ import annotations

NO_CALLS = "no calls"
NO_NEW_VALUES = "no new values"
NO_RESULT = "no result"
NOT_FINISHED = "not finished"
NOT_MEASURABLE = "not measurable"
UNKNOWN = "unknown"
VISIBILITY_UNKNOWN = "visibility unknown"

_NOTHING_CAME = frozenset({"none", "timeout", "raised"})
_ERRORS = frozenset({"error", "business_error", "invalid"})
_CUT = frozenset({"cut_by_recording", "cut_on_wire"})


def no_utilisation(*, calls: int, not_measurable: int) -> str:
    """Why utilisation has a denominator of 0; `not_measurable` counts results whose use could not be measured."""
    if calls == 0:
        return NO_CALLS
    return NOT_MEASURABLE if not_measurable else NO_NEW_VALUES


def no_use(observation: str, outcome: str, *, measurable: bool, novel_values: int | None) -> str:
    """Why no later use of a call's result is known, in the model's words for observation and outcome."""
    if outcome == "pending":
        return NOT_FINISHED
    if observation == "none" and outcome == "indeterminate":
        return UNKNOWN
    if observation in _NOTHING_CAME:
        return NO_RESULT
    if observation in _ERRORS:
        return "the result is an error"
    if observation in _CUT or not measurable or novel_values is None:
        return NOT_MEASURABLE
    return "not seen again" if novel_values else NO_NEW_VALUES
