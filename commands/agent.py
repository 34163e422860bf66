"""`toolwitness run` starts a program with its agents recorded; `toolwitness frameworks` says which of them can be."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from toolwitness.commands.common import AsJson, part, print_json, say, show

RUN_CONTEXT = {"allow_interspersed_args": False, "ignore_unknown_options": True}
"""Everything after the program's name belongs to the program."""
_NOT_FOUND = 127


def run(
    command: Annotated[list[str], typer.Argument(help="The program and its arguments: python agent.py ...")],
    endpoint: Annotated[str | None, typer.Option(help="Where the collector listens.")] = None,
    db: Annotated[Path | None, typer.Option(help="Write this file instead; needs no collector.", dir_okay=False)] = None,
    only: Annotated[str | None, typer.Option(help="Only these frameworks, with commas between them.")] = None,
    skip: Annotated[str | None, typer.Option(help="All frameworks but these.")] = None,
) -> None:
    """Run a program with its agents recorded, without a line of code.

    The program takes this process over, so that signals and its exit code are its own. Python programs that it starts are
    recorded too.
    """
    registry = part("sdk.instrument.registry")
    registry.choose(_names(only), _names(skip) or ())
    program = shutil.which(command[0])
    if program is None:
        say(f"toolwitness: there is no program {command[0]}; a script is started by its interpreter: python {command[0]}")
        raise typer.Exit(_NOT_FOUND)
    folder = str(Path(registry.__file__).parents[1] / "autostart")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")])),
        **_given(TOOLWITNESS_ENDPOINT=endpoint, TOOLWITNESS_RUN_ONLY=only, TOOLWITNESS_RUN_SKIP=skip),
        **_given(TOOLWITNESS_RUN_DB=None if db is None else str(db.resolve())),
    }
    os.execve(program, command, environment)  # noqa: S606 -- the program is the caller's own


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _given(**variables: str | None) -> dict[str, str]:
    return {name: value for name, value in variables.items() if value is not None}


def frameworks(as_json: AsJson = False) -> None:
    """Show which frameworks are recorded by `toolwitness.instrument()` in this Python, and in which versions."""
    registry = part("sdk.instrument.registry")
    rows = []
    for one in registry.known().values():
        try:
            found = registry.installed(one)
        except PackageNotFoundError:
            found = None
        state = "not installed" if found is None else "recorded" if one.fits(found) else "not supported"
        rows.append(
            {"name": one.name, "package": one.distribution, "supported": one.supported, "installed": found, "state": state}
        )
    rows.sort(key=lambda row: row["name"])
    if as_json:
        print_json(rows)
        return
    table = Table("name", "package", "supported", "installed", "state", box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(row["name"], row["package"], row["supported"], row["installed"] or "·", row["state"])
    show(table)
