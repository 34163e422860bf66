"""`toolwitness reconcile` and `settle`: finding out about calls of which nobody knows whether they took effect."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from toolwitness.commands.common import AsJson, Db, age_ns, digest_key, on_terminal, part, print_json, say, show
from toolwitness.model.enums import Finding

_SHOWN = 50


def reconcile(
    *,
    modules: Annotated[
        list[str] | None,
        typer.Argument(help="Modules or files of the application that register reconcilers.", metavar="[MODULE]..."),
    ] = None,
    db: Db = Path("toolwitness.duckdb"),
    run: Annotated[bool, typer.Option("--run", help="Ask; without it nothing is asked and nothing stored.")] = False,
    tool: Annotated[str | None, typer.Option(help="Only calls of this tool, by its name or as server/tool.")] = None,
    call: Annotated[str, typer.Option(help="Only calls whose id begins so.")] = "",
    origin: Annotated[str | None, typer.Option("--source", help="Only calls that came from there: live, demo, ...")] = None,
    again_after: Annotated[
        str, typer.Option(help="Leave out what was asked about within this time: 30s, 5m, 2h, 1d.", metavar="AGE")
    ] = "5m",
    limit: Annotated[
        int | None, typer.Option(help=f"How many calls at most, oldest first; {_SHOWN} on a terminal, else all.", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the calls in doubt and, with --run, ask the services that they went to what became of them."""
    now_ns = time.time_ns()
    before_ns = now_ns - age_ns(again_after, "--again-after", "smhd")
    for name in modules or ():
        part("sdk.catalog_module").load_module(name)
    asking = part("replay.asking")
    # Opened for writing in either case, since that is when open attempts age, and one that was given up is in doubt.
    with part("replay.load").open_ledger(db) as source:
        found = asking.due_calls(source, before_ns=before_ns, call=call, tool=tool, origin=origin)
        for sentence in asking.misnamed(found):
            say(sentence)
        if call and not found:
            say(asking.why_not_due(source, call, before_ns=before_ns))
        due = found[: limit or (_SHOWN if on_terminal() and not (as_json or run) else None)]
        asked = list(_ask(source, due, as_json=as_json)) if run else []
    _tell(due, asked, now_ns=now_ns, db=db, total=len(found), ran=run, as_json=as_json)
    failed = sum(one.failure is not None for one in asked)
    if failed:
        say(f"toolwitness: of {len(asked)} calls that were asked about, {failed} got no finding; they stay in doubt")
        raise typer.Exit(1)


def _ask(source: Any, due: list[Any], *, as_json: bool) -> Any:
    """Ask about each, telling a person at once what came of it."""
    making = part("replay.reconcile").Making()
    for asked in part("replay.asking").ask(source, due, making, secret=digest_key()):
        if not as_json:
            show(part("replay.ledger_view").asked_line(asked))
        yield asked


def _tell(due: list[Any], asked: list[Any], *, now_ns: int, db: Path, total: int, ran: bool, as_json: bool) -> None:
    view = part("replay.ledger_view")
    if as_json:
        listed = [view.due_row(one, now_ns=now_ns, db=str(db)) for one in due]
        print_json({"dry_run": not ran, "total": total, "due": listed, "asked": [view.asked_row(one) for one in asked]})
    elif not ran:
        show(view.due_view(due, now_ns=now_ns, db=str(db), total=total))
    else:
        for_person = [one for one in due if one.query is None]
        typer.echo(f"asked about {len(asked)} of {total} calls in doubt")
        for one in for_person:
            typer.echo(f"{one.call} {one.tool} needs a person: {view.settle_line(one.call, str(db))}")


def settle(
    *,
    call: Annotated[str, typer.Argument(help="A call's id, or as much of its beginning as only it has.")],
    finding: Annotated[Finding, typer.Argument(help="What is known now.")],
    by: Annotated[str, typer.Option(help="Who says so.", metavar="NAME")],
    reason: Annotated[str, typer.Option(help="How it is known; values that look personal are masked.", metavar="TEXT")],
    db: Db = Path("toolwitness.duckdb"),
    as_json: AsJson = False,
) -> None:
    """Record a person's word about a call in doubt; it is added and never changed, and a later word may follow it."""
    with part("replay.load").open_ledger(db) as source:
        settled = part("replay.reconcile").settle(source, call, finding, by=by, reason=reason)
    if as_json:
        print_json({**asdict(settled), "heard": settled.is_heard})
        return
    typer.echo(f"call {settled.call}: {settled.finding}, says {settled.found_by}: {settled.reason}")
    typer.echo(f"outcome {settled.before} -> {settled.outcome}")
    if settled.is_open and settled.finding is Finding.NOT_COMMITTED:
        say("an attempt is not known to have ended: if its process still runs it may yet take effect, and a later word is due")
    if not settled.is_heard:
        say(
            f"the call stays settled as {settled.settled}: something was attempted after the time that this word covers "
            "(do the clocks of the agent and of this machine differ?), or a commit was found before"
        )
