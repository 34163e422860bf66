"""What a run leaves to whoever goes on with it: confirmed, not executed, to be reconciled, needed to go on (A20)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from toolwitness.replay.accounts import settle_command
from toolwitness.replay.advice import Step
from toolwitness.replay.budgets import run_budgets
from toolwitness.replay.doubts import Row
from toolwitness.replay.load import Source
from toolwitness.replay.metrics import iso_time
from toolwitness.replay.runs import find_run
from toolwitness.replay.steps import BudgetUse
from toolwitness.replay.submissions import STATES, Submission, submissions

_TOOK_EFFECT = frozenset({"succeeded", "empty", "partial"})
_NEEDS_NOBODY = frozenset({Step.NOTHING, Step.SEE_REPEAT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What has to happen before somebody goes on: a step of `replay.advice`, or `limit`; `call` is None for the run's own.

    `command` settles a call by hand, once it is known what became of it; None where there is nothing to settle.
    """

    step: str
    call: str | None
    tool: str | None
    who: str
    what: str
    command: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """What a run leaves. None means *not known*; `unknown` says in sentences what is not.

    The lists hold calls of tools that are not known to be reading, in their order. `confirmed` took effect by a trustworthy
    answer or a finding, `not_executed` did not; what may have is `to_reconcile`. `reading` counts calls that can simply be
    made again, `read_well` those of them that had an answer. `budget` are limits, and what was used of them or without one.
    """

    run: str
    source: str | None
    task: str | None
    session: str | None
    agent: str | None
    outcome: str
    outcome_source: str
    stopped_by: str
    started: str | None
    calls: int
    attempts: int
    reading: int
    read_well: int
    budget: tuple[BudgetUse, ...]
    confirmed: tuple[Submission, ...]
    not_executed: tuple[Submission, ...]
    to_reconcile: tuple[Submission, ...]
    needed: tuple[Need, ...]
    unknown: tuple[str, ...]


def handover(source: Source, prefix: str, *, now_ns: int | None = None) -> Handover:
    """What the run leaves that is called `prefix`, or whose id alone starts with it.

    Raises RunNotFoundError where there is none or more than one.
    """
    run = find_run(source, prefix)
    (row,) = source.query("handover_run", run=run).to_dicts()
    found = submissions(source, run=run, states=STATES, now_ns=now_ns)
    told = sorted((one for one in found if one.run == run), key=lambda one: one.started or "")
    (budget,) = run_budgets(source, run=run)
    return Handover(
        run=run,
        outcome=row["run_outcome"],
        started=iso_time(row["started_ns"]) if row["time_known"] else None,
        budget=budget.uses,
        confirmed=_which(told, is_confirmed),
        not_executed=_which(told, is_not_executed),
        to_reconcile=_which(told, is_to_reconcile),
        needed=(*_needed(told), *_raised(budget.uses)),
        unknown=tuple(_unknown(row, budget.uses)),
        **{name: row[name] for name in _AS_STORED},
    )


_AS_STORED = (
    "source",
    "task",
    "session",
    "agent",
    "outcome_source",
    "stopped_by",
    "calls",
    "attempts",
    "reading",
    "read_well",
)


def _which(told: list[Submission], holds: Callable[[Submission], bool]) -> tuple[Submission, ...]:
    return tuple(filter(holds, told))


def is_confirmed(one: Submission) -> bool:
    """Whether it took effect, in part at least, by a trustworthy answer or a finding."""
    return one.outcome in _TOOK_EFFECT and one.committed != "accepted"


def is_to_reconcile(one: Submission) -> bool:
    """Whether it may have taken effect, or still may: its commit is unknown, an attempt is open, or it was only accepted."""
    return one.committed in {"unknown", "accepted"}


def is_not_executed(one: Submission) -> bool:
    """Whether it took no effect: stopped, called off or failed, or it waits for an approval and nothing has run."""
    return not is_confirmed(one) and not is_to_reconcile(one)


def left_of(use: BudgetUse) -> float | None:
    """How much of a limit may still be used; None where that is not known or there is no limit."""
    return None if use.limit is None or use.used is None else max(0, use.limit - use.used)


def _needed(told: list[Submission]) -> Iterator[Need]:
    """What each call needs; one that was done or made good needs nothing."""
    for one in told:
        if one.step not in _NEEDS_NOBODY:
            # Whose answer counts is settled already, however little it says.
            settles = is_to_reconcile(one) and one.outcome not in _TOOK_EFFECT
            command = settle_command(one.call) if settles else None
            yield Need(step=one.step, call=one.call, tool=one.tool, who=one.owner, what=one.next_step, command=command)


def _raised(budget: tuple[BudgetUse, ...]) -> Iterator[Need]:
    """The limits that leave nothing to go on with."""
    for each in budget:
        if left_of(each) == 0:
            what = f"Raise the limit of {each.limit:g} {each.name}, all of which is used, or go on in another run."
            yield Need(step="limit", call=None, tool=None, who="unknown", what=what, command=None)


def _unknown(row: Row, budget: tuple[BudgetUse, ...]) -> Iterator[str]:
    if not row["has_run_span"]:
        yield "Whether the run has ended: its own record never came."
    elif row["stopped_by"] == "unknown":
        yield "What ended the run."
    if row["run_outcome"] == "unknown":
        yield "Whether the run reached its goal."
    if all(each.limit is None for each in budget):
        yield "Which limits it had, if any."
    yield from (f"How much of {each.name} was used." for each in budget if each.used is None)
    if row["stopped_by"] != "finished":
        yield "What the model would have asked for next: only what it had proposed is recorded."
