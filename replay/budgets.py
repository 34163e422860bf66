"""What runs used of what they may (A20): limits, what was counted, and what the application says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolwitness.replay.load import Source
from toolwitness.replay.steps import BudgetUse

_COUNTED = ("calls", "attempts", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBudget:
    """What one run used, and what ended it."""

    run: str
    source: str
    task: str | None
    outcome: str
    stopped_by: str
    uses: tuple[BudgetUse, ...]


def _amounts(text: str) -> dict[str, float]:
    """The numbers by name that a text tells; a sender may have put anything else there, which is none."""
    told = json.loads(text)
    return {name: told[name] for name in told if type(told[name]) in {int, float}} if type(told) is dict else {}


def _added(texts: Iterable[str]) -> dict[str, float]:
    total: dict[str, float] = {}
    for amounts in map(_amounts, texts):
        total |= {name: total.get(name, 0) + amount for name, amount in amounts.items()}
    return total


def budget_uses(row: Mapping[str, Any]) -> tuple[BudgetUse, ...]:
    """The limits of a row of `run_budgets` in their order, then what was used without one."""
    limits = _amounts(row["budget"] or "{}")
    known = _added(row["spent"] or ()) | {name: row[name] for name in _COUNTED}
    named = dict.fromkeys((*limits, *(name for name in known if limits and name in _COUNTED), *known))
    return tuple(BudgetUse(name=name, limit=limits.get(name), used=known.get(name), counted=name in _COUNTED) for name in named)


def run_budgets(
    source: Source, *, run: str | None = None, origin: str | None = None, limit: int | None = None
) -> list[RunBudget]:
    """The runs that had limits, spent something or say what stopped them, newest first; `run` names one, whatever it had."""
    rows = source.query("run_budgets", run=run, source=origin, limit=limit).to_dicts()
    picked = ("run", "source", "task", "outcome", "stopped_by")
    return [RunBudget(uses=budget_uses(row), **{name: row[name] for name in picked}) for row in rows]
