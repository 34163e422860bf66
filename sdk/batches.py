"""What the application tells of the items of a batch, as counts and words (A15); runs on the agent's thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from toolwitness.model.enums import ItemStatus, ObservationStatus
from toolwitness.sdk.guard import UnknownWordError, guard, word

_MOST_ITEMS = 100_000
_STATUSES_KEPT = 1000
_WORDS = {status.value: status for status in ItemStatus}


def batch_facts(items: Any, total: int | None, failed: int | None, unknown: int | None) -> dict[str, Any]:
    """The facts of a call's result that its items tell; none where nothing was told.

    `items` are their statuses in order, pairs of an id and a status, or a mapping of ids to statuses; no id is kept. Raises
    UnknownWordError for counts that contradict the items or each other: nothing of them is believed then.
    """
    if items is None and total is None and failed is None and unknown is None:
        return {}
    told = {"items_total": _number(total), "items_failed": _number(failed), "items_unknown": _number(unknown)}
    statuses = () if items is None else tuple(_statuses(items))
    if items is not None:
        counted = _counted(statuses)
        if any(number is not None and number != counted[name] for name, number in told.items()):
            raise UnknownWordError("the counts of a batch are not those of its items; leave them out where the items are told")
        told = counted
    elif total is not None and failed is not None and unknown is None:
        told["items_unknown"] = 0
    whole = told["items_total"]
    if whole is not None and (told["items_failed"] or 0) + (told["items_unknown"] or 0) > whole:
        raise UnknownWordError("more items of a batch failed or are unknown than it has")
    return {**told, "item_statuses": statuses[:_STATUSES_KEPT]}


def status_of(batch: Mapping[str, Any]) -> ObservationStatus | None:
    """What the items say of the whole; None where they leave it open.

    Where some failed and of the others nothing is told, nobody can tell what became of those.
    """
    total, failed, unknown = (batch.get(name) for name in ("items_total", "items_failed", "items_unknown"))
    if unknown or (failed and total is None):
        return ObservationStatus.PARTLY_UNKNOWN
    skipped = batch.get("item_statuses", ()).count(ItemStatus.SKIPPED)
    if not total or failed is None:
        return None
    if failed + skipped < total:
        return ObservationStatus.PARTIAL if failed else ObservationStatus.OK
    return ObservationStatus.ERROR if failed else ObservationStatus.EMPTY


def _number(given: Any) -> int | None:
    if given is None or (type(given) is int and given >= 0):
        return given
    seen = given if type(given) is int else f"a {type(given).__name__}"
    raise UnknownWordError(f"a count of items is a whole number from 0 on, not {seen}")


def _statuses(items: Any) -> Iterable[ItemStatus]:
    if type(items) not in {list, tuple, dict}:
        raise UnknownWordError(f"the items of a batch are a list or a dict, not a {type(items).__name__}")
    told = items.values() if type(items) is dict else items
    if len(told) > _MOST_ITEMS:
        raise UnknownWordError(f"a batch of {len(told)} items; tell the counts of those with more than {_MOST_ITEMS}")
    return map(_status, islice(told, _MOST_ITEMS))


def _status(item: Any) -> ItemStatus:
    """An item's own word; one that there is not is told about, and the item is one that nobody can tell about."""
    told = item[1] if type(item) in {tuple, list} and len(item) == len(("id", "status")) else item
    found = _WORDS.get(told) if type(told) in {str, ItemStatus} else None
    if found is not None:
        return found
    with guard:
        return word(ItemStatus, told if type(told) is str else f"a {type(told).__name__}")  # no code of the item's own runs
    return ItemStatus.UNKNOWN


def _counted(statuses: tuple[ItemStatus, ...]) -> dict[str, int | None]:
    found = Counter(statuses)
    return {
        "items_total": len(statuses),
        "items_failed": found[ItemStatus.FAILED],
        "items_unknown": found[ItemStatus.UNKNOWN],
    }
