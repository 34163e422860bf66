"""`toolwitness triage`: did it commit, may it be retried, who must act; `toolwitness handover`: what a run leaves."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from toolwitness.commands.common import AsJson, Db, on_terminal, part, print_json, say, show
from toolwitness.commands.moments import Since, Until, moment_ns
from toolwitness.model.enums import Finding

_SHOWN = 50


def triage(
    *,
    call: Annotated[str | None, typer.Argument(help="A call's id or the beginning of it: tell all of this one.")] = None,
    run: Annotated[str | None, typer.Option(help="A run's id or the beginning of it.")] = None,
    task: Annotated[str | None, typer.Option(help="The task that the run was given.")] = None,
    session: Annotated[str | None, typer.Option(help="The session that the run belongs to.")] = None,
    action: Annotated[str | None, typer.Option(help="The business action's id.")] = None,
    tool: Annotated[str | None, typer.Option(help="A tool's name, or server/name.")] = None,
    since: Since = None,
    until: Until = None,
    every: Annotated[bool, typer.Option("--all", help="Also those that were simply done.")] = False,
    limit: Annotated[int | None, typer.Option(help=f"How many to list; {_SHOWN} on a terminal if not given.", min=1)] = None,
    db: Db = Path("toolwitness.duckdb"),
    as_json: AsJson = False,
) -> None:
    """Show calls that may have changed something and are unsettled, perhaps done twice, failed or stopped; or all of one."""
    if call is not None:
        _tell_one(db, call, as_json=as_json)
        return
    now_ns = time.time_ns()
    times = {
        "since_ns": moment_ns(since, "--since", now_ns=now_ns),
        "until_ns": moment_ns(until, "--until", now_ns=now_ns),
    }
    filters = {"run": run, "task": task, "session": session, "action": action, "tool": tool, **times}
    if limit is None and on_terminal() and not as_json:
        limit = _SHOWN
    _list(db, filters, every=every, limit=limit, now_ns=now_ns, as_json=as_json)


def _list(db: Path, filters: dict[str, Any], *, every: bool, limit: int | None, now_ns: int, as_json: bool) -> None:
    made = part("replay.submissions")
    states = made.STATES if every else made.OPEN_STATES
    with part("replay.load").open_source(db) as source:
        found = made.submissions(source, **filters, states=states, limit=limit, now_ns=now_ns)
        counts = made.state_counts(source, **filters)
    if as_json:
        print_json({"states": counts, "calls": [_plain(one) for one in found]})
        return
    if filters["since_ns"] is not None or filters["until_ns"] is not None:
        say("calls whose time is not known are left out by --since and --until")
    show(part("replay.triage_view").triage_table(found, counts))


def _tell_one(db: Path, call: str, *, as_json: bool) -> None:
    with part("replay.load").open_source(db) as source:
        found = part("replay.submissions").submission(source, call)
    if as_json:
        print_json(asdict(found))
        return
    view = part("replay.triage_view")
    show(view.triage_account(found))
    _echo(view.commands(found, str(db)))


def _echo(commands: list[str]) -> None:
    """Print what to type; never folded, so that it can be copied."""
    for command in commands:
        typer.echo(f"  {command}")
    if any(" MODULE " in command for command in commands):
        typer.echo("  MODULE is where the status queries of your tools stand")
    if any(" FINDING " in command for command in commands):
        typer.echo(f"  FINDING is {', '.join(Finding)}")


def _plain(one: Any) -> dict[str, Any]:
    """A listed call for programs; its replay is told where one call is asked for."""
    told = asdict(one)
    del told["replay"], told["total"]
    return told


def handover(
    run: Annotated[str, typer.Argument(help="A run's id, or as much of its beginning as only it has.")],
    db: Db = Path("toolwitness.duckdb"),
    as_json: AsJson = False,
) -> None:
    """Show what a run leaves: confirmed, not executed, to be reconciled, and what is needed to go on."""
    with part("replay.load").open_source(db) as source:
        found = part("replay.handover").handover(source, run)
    if as_json:
        print_json(_handed_over(found))
        return
    view = part("replay.handover_view")
    show(view.handover_view(found))
    _echo(view.commands(found, str(db)))


def _handed_over(found: Any) -> dict[str, Any]:
    """A handover for programs, with what is left of each limit."""
    calls = {name: [_plain(one) for one in getattr(found, name)] for name in ("confirmed", "not_executed", "to_reconcile")}
    left_of = part("replay.handover").left_of
    return asdict(found) | calls | {"budget": [asdict(each) | {"left": left_of(each)} for each in found.budget]}
