"""The command line: `toolwitness up | down | run | import | runs | replay | triage | handover | reconcile | settle | ...`.

Parts are imported inside the commands, so that `--help` is quick and a bare install can say which extra is missing.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from toolwitness.commands import agent, data, ingest, privacy, reconcile, triage
from toolwitness.commands.common import AsJson, Db, age_ns, on_terminal, part, print_json, progress_bar, say, show
from toolwitness.model.exceptions import CollectorAnswerError, MissingExtraError, StoreHeldError, ToolwitnessError

app = typer.Typer(
    help="Knows what AI agents' tool calls really did.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 30.0
_POLL_S = 0.1
_LOG_LINES_SHOWN = 12
_RUNS_SHOWN = 50
_INTERRUPTED = 130

Origin = Annotated[str | None, typer.Option("--source", help="Only what came from there: live, demo, or an import's format.")]


class By(StrEnum):
    """What figures can be split by."""

    WEEK = "week"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"toolwitness {version('toolwitness')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Knows what AI agents' tool calls really did."""


@app.command()
def up(
    *,
    db: Db = Path("toolwitness.duckdb"),
    host: Annotated[str, typer.Option(help="Where to listen; the default is this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free port.", min=0, max=65535)] = 4318,
    detach: Annotated[bool, typer.Option("--detach", help="Go on in the background, with a log beside the file.")] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A further name for this machine that requests may come in under.")
    ] = None,
    open_timeout: Annotated[
        str | None,
        typer.Option(
            help="How long an attempt may be open before nobody waits for it any more; 15m if never given. The file keeps it.",
            metavar="AGE",
            envvar="TOOLWITNESS_OPEN_TIMEOUT",
        ),
    ] = None,
) -> None:
    """Receive from agents and show the pages, until Ctrl-C."""
    remote = part("collector.store.remote").running(db)
    if remote is not None:
        typer.echo(f"toolwitness already serves {db} at {remote.url}")
        if port not in {0, urlsplit(remote.url).port}:
            say(f"port {port} was not used; to move it there, stop it first: toolwitness down --db {db}")
        return
    hosts = [host, *(allow_host or ())]
    timeout_ns = None if open_timeout is None else age_ns(open_timeout, "--open-timeout")
    part("collector.store.store").check_file(db, read_only=False)
    if detach:
        more = [] if open_timeout is None else ["--open-timeout", open_timeout]
        typer.echo(f"toolwitness serves {db} at {_start_in_background(db, host, port, hosts, more)}")
        return
    _serve(db, host, port, hosts, timeout_ns)


def _serve(db: Path, host: str, port: int, hosts: list[str], timeout_ns: int | None) -> None:
    serving = part("collector.receive.serve")
    collector = serving.Collector(db, hosts=hosts, open_timeout_s=None if timeout_ns is None else timeout_ns / 1e9)
    build_app = _app_builder()
    serving.serve(
        build_app(collector),
        collector,
        host=host,
        port=port,
        ready=lambda url: typer.echo(f"toolwitness serves {db} at {url}"),
    )


def _app_builder() -> Callable[[Any], Any]:
    """What makes the application: with pages where they are installed, else the receiver alone."""
    build: Callable[[Any], Any]
    try:
        build = part("dashboard.server").build_app
    except MissingExtraError as missing:
        say(f"without pages: {missing.__cause__}; they come with pip install 'toolwitness[dashboard]'")
        build = part("collector.receive.server").build_app
    return build


def _log_path(db: Path) -> Path:
    return db.with_name(f"{db.name}.log")


def _start_in_background(db: Path, host: str, port: int, hosts: list[str], more: list[str]) -> str:
    """Start a process of its own session, wait until it answers, and give its URL."""
    command = [sys.executable, "-m", "toolwitness", "up", "--db", str(db), "--host", host, "--port", str(port), *more]
    for name in hosts:
        command += ["--allow-host", name]
    with _log_path(db).open("ab") as log:
        begin = log.seek(0, os.SEEK_END)
        process = subprocess.Popen(  # noqa: S603 -- this very program
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    running = part("collector.store.remote").running
    end = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < end and process.poll() is None:
        remote = running(db)
        if remote is not None:
            return str(remote.url)
        time.sleep(_POLL_S)
    process.terminate()
    process.wait(_STOP_TIMEOUT_S)
    raise CollectorAnswerError("\n".join(["could not start in the background; what it said:", *_log_since(db, begin)]))


def _log_since(db: Path, begin: int) -> list[str]:
    """The last lines of the log, of those after so many bytes: what came before was said by earlier starts."""
    with _log_path(db).open("rb") as log:
        log.seek(begin)
        said = log.read().decode("utf-8", "replace").splitlines()
    return [line.removeprefix("toolwitness: ") for line in said[-_LOG_LINES_SHOWN:]] or [f"nothing (see {_log_path(db)})"]


@app.command()
def down(db: Db = Path("toolwitness.duckdb")) -> None:
    """Stop the toolwitness that serves a file; all that it accepted is stored."""
    owner = part("collector.store.owner").read_owner(db)
    if owner is None:
        typer.echo(f"no toolwitness serves {db}")
        return
    if part("collector.store.remote").running(db) is None:
        raise StoreHeldError(
            f"process {owner.pid} says that it holds {db}, but does not answer at {owner.url}; see what it is, and stop it"
        )
    os.kill(owner.pid, signal.SIGTERM)
    end = time.monotonic() + _STOP_TIMEOUT_S
    while part("collector.store.owner").read_owner(db) is not None:
        if time.monotonic() > end:
            raise StoreHeldError(f"process {owner.pid} has not stopped within {_STOP_TIMEOUT_S:.0f} s; see {_log_path(db)}")
        time.sleep(_POLL_S)
    typer.echo(f"stopped the toolwitness that served {db}")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """What tells a person how far an import is; None where nobody watches."""
    with progress_bar("importing runs") as update:
        yield None if update is None else lambda done, total: update(completed=done, total=total)


@app.command("import")
def import_(
    paths: Annotated[
        list[Path], typer.Argument(exists=True, dir_okay=False, help="Files of recorded runs.", metavar="PATH...")
    ],
    db: Db = Path("toolwitness.duckdb"),
    format: Annotated[str | None, typer.Option(help="tau-bench or livemcpbench; recognised if not given.")] = None,  # noqa: A002 -- the option's name
    tools: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="The file with the tools that the model was shown.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import recorded runs; importing the same file again changes nothing."""
    try:
        importing = part("collector.importing")
        with _progress() as progress:
            result = importing.import_into(db, paths, format=format, tools=tools, progress=progress)
    except KeyboardInterrupt as interrupted:
        say("toolwitness: interrupted; import the same files again for the rest, nothing is stored twice")
        raise typer.Exit(_INTERRUPTED) from interrupted
    if as_json:
        print_json(result)
        return
    counts = ", ".join(f"{result[name]} {name}" for name in ("runs", "decisions", "calls"))
    typer.echo(f"{counts}; of {result['received']} spans {result['stored']} stored, {result['duplicate']} known already")
    for reason, count in result["rejected"].items():
        say(f"{count} rejected: {reason}")
    typer.echo(f"See them with: toolwitness tools --db {db}")


def _tell_sources(source: Any, origin: str | None) -> None:
    """Where nothing comes from the source that was asked for, say which sources there are."""
    there = part("replay.metrics").sources(source)["source"].to_list()
    if origin is not None and origin not in there:
        say(f"nothing here has the source {origin!r}; there is: {', '.join(there) or 'no source at all'}")


@app.command()
def runs(
    db: Db = Path("toolwitness.duckdb"),
    origin: Origin = None,
    limit: Annotated[
        int | None, typer.Option(help=f"How many to list; {_RUNS_SHOWN} on a terminal if not given, else all.", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the runs, newest first."""
    if limit is None and on_terminal() and not as_json:
        limit = _RUNS_SHOWN
    with part("replay.load").open_source(db) as source:
        found = part("replay.metrics").runs(source, origin=origin, limit=limit)
        ids = [] if as_json else part("replay.runs").run_ids(source)
        _tell_sources(source, origin)
    if as_json:
        print_json(found.drop("total").to_dicts())
        return
    show(part("replay.tables").runs_table(found.to_dicts(), ids))


@app.command()
def replay(
    run: Annotated[str, typer.Argument(help="A run's id, or as much of its beginning as only it has.")],
    db: Db = Path("toolwitness.duckdb"),
    as_json: AsJson = False,
) -> None:
    """Show one run step by step: what was visible, chosen, checked, attempted, observed and used later."""
    with part("replay.load").open_source(db) as source:
        found = part("replay.runs").replay_run(source, run)
    if as_json:
        about = {"run": found.run, "task": found.task, "trial": found.trial, "run_outcome": found.outcome}
        print_json([about | asdict(step) for step in found.steps])
        return
    show(part("replay.transcript").replay_view(found))


@app.command()
def tools(
    db: Db = Path("toolwitness.duckdb"),
    by: Annotated[By | None, typer.Option(help="Split the figures by week.")] = None,
    origin: Origin = None,
    as_json: AsJson = False,
) -> None:
    """Show how each tool is doing."""
    with part("replay.load").open_source(db) as source:
        rows = part("replay.metrics").tool_rows(source, by_week=by is By.WEEK, origin=origin)
        _tell_sources(source, origin)
    if as_json:
        print_json(rows)
        return
    show(part("replay.tables").tools_table(rows))


app.command("triage")(triage.triage)
app.command("handover")(triage.handover)
app.command("check")(privacy.check)
app.command("explain-redaction")(privacy.explain_redaction)
app.command("purge")(data.purge)
app.command("export")(data.export)
app.command("reconcile")(reconcile.reconcile)
app.command("settle")(reconcile.settle)
app.command("ingest")(ingest.ingest)
app.command("run", context_settings=agent.RUN_CONTEXT)(agent.run)
app.command("frameworks")(agent.frameworks)


def main() -> None:
    """Run the command line; what went wrong is told in a sentence and the exit code is 1, for wrong usage 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a character gets a question mark instead of a traceback.
        sys.stdout.reconfigure(errors="replace")
    try:
        app()
    except (ToolwitnessError, OSError) as error:
        say(f"toolwitness: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
