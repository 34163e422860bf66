"""What pages and terminal say of approvals, batches, cancellations, calls beside each other, and budgets, in few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from toolwitness.replay.steps import BudgetUse, CallReplay, GateReplay

CALLED_OFF = {
    "before_dispatch": "called off before it was dispatched",
    "while_running": "called off while it ran",
    "after_commit": "called off after it had gone well",
}
"""When a call was called off."""
_CONFLICTS = {
    "write_write": "writes {} at the same time as {}",
    "read_write": "shares {} with {}, of which one writes, at the same time",
}
_GRANTS = frozenset({"allow", "modify"})


def approval_words(gate: GateReplay, proposed: str | None) -> list[str]:
    """What a confirmation binds to; `proposed` is the digest of the arguments of its call."""
    return list(_approval(gate, proposed))


def _approval(gate: GateReplay, proposed: str | None) -> Iterator[str]:
    if gate.approval_id:
        yield f"approval {gate.approval_id}"
    if gate.approved_arguments_digest is not None and proposed is not None:
        yield "of the arguments proposed" if gate.approved_arguments_digest == proposed else "of other arguments than proposed"
    elif gate.kind == "confirmation" and gate.mode == "enforced" and gate.verdict in _GRANTS:
        yield "of arguments that are not known"
    if gate.approved_resource_version:
        yield f"of version {gate.approved_resource_version}"
    if gate.approved_items:
        yield f"of items {', '.join(gate.approved_items)}"
    if gate.approval_expires:
        yield f"until {gate.approval_expires}"


def batch_words(call: CallReplay) -> str | None:
    """What became of the items of a batch; None where it is none, as far as is known."""
    if call.items_total is None and call.items_failed is None and call.items_unknown is None:
        return None
    of = "items" if call.items_total is None else f"of {call.items_total} items"
    skipped = Counter(call.item_statuses)["skipped"]
    counts = ((call.items_failed, "failed"), (call.items_unknown, "unknown"))
    told = ", ".join(f"{'not known how many' if count is None else count} {word}" for count, word in counts)
    return f"{of}: {told}" + (f", {skipped} skipped" if skipped else "")


def called_off_words(call: CallReplay) -> str | None:
    """When a call was called off, and whether it ran all the same; None where it was not."""
    if call.cancellation is None:
        return None
    said = CALLED_OFF.get(call.cancellation, call.cancellation)
    return f"{said}, and ran all the same" if call.cancellation == "before_dispatch" and call.attempts else said


def beside_words(call: CallReplay, names: Mapping[str, str]) -> list[str]:
    """How a call stands to others and to resources; `names` says how calls are called. Conflicts are told apart."""
    return list(_beside(call, names))


def _beside(call: CallReplay, names: Mapping[str, str]) -> Iterator[str]:
    if call.depends_on:
        yield f"depends on {', '.join(names.get(other, other) for other in call.depends_on)}"
    if call.parallel_group:
        yield f"in the parallel group {call.parallel_group}"
    if call.read_set:
        yield f"reads {', '.join(call.read_set)}"
    if call.write_set:
        yield f"writes {', '.join(call.write_set)}"
    if call.speculative:
        yield "speculative"
    if call.discarded:
        yield "its result was discarded"


def conflict_words(call: CallReplay, names: Mapping[str, str]) -> list[str]:
    """The calls that ran at the same time on the same resource, of which one at least wrote."""
    return [_CONFLICTS[one.kind].format(one.resource, names.get(one.call, one.call)) for one in call.conflicts]


def _amount(number: float) -> str:
    return f"{number:.6g}" if isinstance(number, float) and not number.is_integer() else f"{int(number)}"


def budget_words(use: BudgetUse) -> str:
    """What was used of a limit: `calls 12 of 10 (exceeded)`, `cost not known of 1.5`."""
    used = "not known" if use.used is None else _amount(use.used)
    limit = "" if use.limit is None else f" of {_amount(use.limit)}"
    return f"{use.name} {used}{limit}{' (exceeded)' if use.exceeded else ''}"
