"""Finds a run by a part of its id and gathers what its replay needs."""

from __future__ import annotations

from toolwitness.model.exceptions import RunNotFoundError
from toolwitness.replay.load import Source
from toolwitness.replay.reconstruct import RunRows, reconstruct
from toolwitness.replay.steps import RunReplay

_SHOWN_MATCHES = 5


def run_ids(source: Source, prefix: str = "", *, limit: int | None = None) -> list[str]:
    """The ids of the runs whose id starts with `prefix`, sorted; at most `limit` of them."""
    ids: list[str] = source.query("run_ids", prefix=prefix, limit=limit)["run"].to_list()
    return ids


def find_run(source: Source, prefix: str) -> str:
    """The id of the run that is called `prefix` or, where none is, the only one whose id starts with it.

    Raises RunNotFoundError where there is none or more than one.
    """
    found = run_ids(source, prefix, limit=_SHOWN_MATCHES + 1)
    if prefix in found:
        return prefix
    if len(found) == 1:
        return found[0]
    if not found:
        raise RunNotFoundError(f"no run whose id starts with {prefix!r} in {source.where}; `toolwitness runs` lists them")
    some = ", ".join(found[:_SHOWN_MATCHES])
    raise RunNotFoundError(
        f"several runs start with {prefix!r}: {some}{', ...' if len(found) > _SHOWN_MATCHES else ''}; give more of the id"
    )


def replay_run(source: Source, prefix: str) -> RunReplay:
    """The run that is called `prefix`, or whose id alone starts with it, rebuilt step by step.

    Raises RunNotFoundError where there is none or more than one.
    """
    run = find_run(source, prefix)

    def rows(name: str) -> list[dict[str, object]]:
        return source.query(name, run=run).to_dicts()

    (head,) = rows("replay_run")
    (budget,) = rows("run_budgets")
    return reconstruct(
        RunRows(
            run=head,
            decisions=rows("replay_decisions"),
            calls=rows("replay_calls"),
            gates=rows("replay_gates"),
            attempts=rows("replay_attempts"),
            reconciliations=rows("replay_reconciliations"),
            toolsets=rows("replay_toolsets"),
            conflicts=rows("conflicting_writes"),
            budget=budget,
        )
    )
