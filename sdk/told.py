"""What the application tells of a call beside its arguments, read on the worker's thread (A16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolwitness.sdk.labels import label

if TYPE_CHECKING:
    from toolwitness.sdk.calls import CallScope

_MOST_NAMES = 1000


def told_facts(call: CallScope) -> dict[str, Any]:
    """How a call stands to others and to resources, and whether it was called off or not needed."""
    given = call.facts
    return {
        "depends_on": names(given.get("depends_on")),
        "parallel_group": label(given.get("parallel_group")),
        "read_set": names(given.get("reads")),
        "write_set": names(given.get("writes")),
        "speculative": given.get("speculative") is True,
        "discarded": call.discarded,
        "cancellation": call.cancellation,
    }


def names(given: Any) -> tuple[str, ...]:
    """The texts of a list, each as a label, without repetition and at most 1000; one text alone is a list of one."""
    listed = [given] if type(given) is str else given if type(given) in {list, tuple} else []
    return tuple(dict.fromkeys(filter(None, map(label, listed[:_MOST_NAMES]))))
