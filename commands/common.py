"""What every command shares: parts imported on demand, and the two ways of telling something."""

from __future__ import annotations

import functools
import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from toolwitness.model.exceptions import MissingExtraError
from toolwitness.model.harmless import harmless

Db = Annotated[Path, typer.Option(help="The database file.", dir_okay=False)]
_AGE = re.compile(r"([0-9]{1,6})([smhdw])")
_NS_OF = {"s": 10**9, "m": 60 * 10**9, "h": 3_600 * 10**9, "d": 86_400 * 10**9, "w": 7 * 86_400 * 10**9}

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def part(name: str) -> Any:
    """A module of the product, imported when a command needs it.

    Raises MissingExtraError where the extra that it needs is not installed.
    """
    try:
        return importlib.import_module(f"toolwitness.{name}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("toolwitness"):
            raise
        raise MissingExtraError(
            f"this command needs {missing.name}, which is not installed: pip install 'toolwitness[collector]'"
        ) from missing


def length_ns(text: str, units: str = "smhdw") -> int | None:
    """A length of time such as 15m or 90d in nanoseconds; None where the text is none in these units."""
    found = _AGE.fullmatch(text)
    return None if found is None or found[2] not in units else int(found[1]) * _NS_OF[found[2]]


def age_ns(text: str, option: str, units: str = "smhdw") -> int:
    """An age such as 15m or 90d in nanoseconds; `units` are the letters that make sense for the option.

    Raises BadParameter that names the option and how one is written.
    """
    found = length_ns(text, units)
    if found is None:
        letters = f"{', '.join(units[:-1])} or {units[-1]}"
        raise typer.BadParameter(f"{text!r} is no age; it is a number with {letters}", param_hint=option)
    return found


def digest_key() -> bytes | None:
    """The key of keyed digests that an agent here would use; None where there is none: one made now would match nothing."""
    settings = part("sdk.settings").Settings.load({})
    if settings.digest_key:
        return bytes(settings.digest_key.encode())
    found: bytes | None = part("sdk.state").existing_digest_key(settings.state_dir)
    return found


def say(text: str) -> None:
    """Tell a person something, on standard error, which leaves standard output to the answer."""
    typer.echo(harmless(text), err=True)


def on_terminal() -> bool:
    """Whether a person reads the answer as it is printed."""
    return sys.stdout.isatty()


def print_json(value: object) -> None:
    """Print a value for programs, on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def show(view: object) -> None:
    """Print a table or text for a person."""
    part("replay.tables").console().print(view)


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[..., None] | None]:
    """What draws how far a work is, by the keywords of rich's `Progress.update`; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    rich_progress = importlib.import_module("rich.progress")
    console = importlib.import_module("rich.console").Console(stderr=True)
    with rich_progress.Progress(console=console, transient=True) as bar:
        yield functools.partial(bar.update, bar.add_task(description, total=None))
