"""`toolwitness settle`: a person's word about a call of which nobody knows whether it took effect."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from toolwitness.commands.common import AsJson, Db, part, print_json, say
from toolwitness.model.enums import Finding


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
    _tell_unheard(settled)


def _tell_unheard(settled: Any) -> None:
    """Say where a finding was recorded and something else still stands."""
    if not settled.is_heard:
        say(
            f"the call stays settled as {settled.settled}: something was attempted after the time that this finding covers "
            "(do the clocks of the agent and of this machine differ?), or a commit was found before"
        )
