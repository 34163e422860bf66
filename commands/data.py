"""`toolwitness purge` and `toolwitness export`: taking runs out of a file for good, and handing out what is stored of them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from toolwitness.commands.common import AsJson, Db, age_ns, digest_key, part, print_json, progress_bar, say
from toolwitness.model.digest import subject_digest
from toolwitness.model.exceptions import ExportError, PurgeError, RunNotFoundError, SettingsError

_DAY_NS = 86_400 * 10**9
_OLD = "hdw"
"""No minutes: somebody may mean months by them."""
_MIB = 1024 * 1024
_STDOUT = "-"

Subject = Annotated[str | None, typer.Option(help="The id that the application gave as `subject=`.")]


def _one_of(**given: object) -> None:
    """Refuse none and more than one of the options."""
    if sum(bool(value) for value in given.values()) != 1:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise typer.BadParameter(f"give just one of {names}")


def _digest_of(subject: str) -> str:
    """The digest under which a subject is stored, by the key that an agent here would use.

    Raises SettingsError where there is no key: one made now would find nothing.
    """
    key = digest_key()
    if key is None:
        state_dir = part("sdk.settings").Settings.load({}).state_dir
        raise SettingsError(
            f"a subject is found by the key that its agent recorded under, and there is none in {state_dir}; "
            "set TOOLWITNESS_DIGEST_KEY to the key, or TOOLWITNESS_STATE_DIR to the agent's state folder"
        )
    return subject_digest(key, subject)


def _no_such_subject(db: Path) -> str:
    return (
        f"nothing in {db} is of this subject under the key that is set here; what was recorded under another key is found with "
        "that one: set TOOLWITNESS_DIGEST_KEY, or TOOLWITNESS_STATE_DIR to the folder that has it as digest.key"
    )


# -- purge -----------------------------------------------------------------------------------------------------------


def purge(
    *,
    db: Db = Path("toolwitness.duckdb"),
    older_than: Annotated[
        str | None, typer.Option(help="Runs that are over for longer than this: 90d, 12w, 48h.", metavar="AGE")
    ] = None,
    run: Annotated[list[str] | None, typer.Option(help="A run's id, or as much of its beginning as only it has.")] = None,
    subject: Subject = None,
    retention: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A policy file: runs that its retention lets nobody keep any longer."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take runs out of a file for good, by age, id or subject; the file is rewritten, so that their bytes are gone."""
    _one_of(older_than=older_than, run=run, subject=subject, retention=retention)
    if not (dry_run or yes or sys.stdin.isatty()):
        raise PurgeError("nobody can be asked here, so nothing was removed; see what would go with --dry-run, then add --yes")
    purging = part("collector.store.purge")
    runs = _run_ids(db, run or []) if retention is None else _past_retention(db, retention)
    if retention is not None and not runs:
        _tell_nothing_due(db, retention, as_json=as_json)
        return
    selection = purging.Selection(
        before_ns=None if older_than is None else time.time_ns() - age_ns(older_than, "--older-than", _OLD),
        runs=runs,
        subject=None if subject is None else _digest_of(subject),
    )
    unreachable = [asdict(copy) for copy in part("collector.store.copies").copies_of(db)] + _journals() if db.exists() else []
    if dry_run or not yes or subject is not None:
        losses = purging.plan(db, selection)
        if subject is not None and not losses.spans:
            # Nothing found is not nothing there: under another key there may be all of it.
            raise PurgeError(_no_such_subject(db))
        if dry_run or not losses.spans:
            _tell(db, losses, None, unreachable, as_json=as_json)
            return
        if not yes:
            _confirm(f"Remove {_amount(losses)} from {db} for good?")
    with _progress() as progress:
        purged = purging.purge(db, selection, progress=progress)
    part("collector.store.copies").forget_gone_exports(db)
    _tell(db, purged.losses, purged, unreachable, as_json=as_json)


def _confirm(question: str) -> None:
    """Go on only where a person says yes; asked on standard error, since standard output is for the answer."""
    say(f"{question} [y/N]")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise PurgeError("nothing was removed")


def _run_ids(db: Path, prefixes: list[str]) -> tuple[str, ...]:
    """The ids of the runs that are called so, or whose id alone begins so."""
    if not prefixes:
        return ()
    if not all(prefixes):
        raise typer.BadParameter("an empty id would mean any run; was a variable empty?", param_hint="--run")
    with part("replay.load").open_source(db) as source:
        return tuple(part("replay.runs").find_run(source, prefix) for prefix in prefixes)


def _past_retention(db: Path, file: Path) -> tuple[str, ...]:
    """The runs that hold a value of a class for longer than the policy lets it be kept.

    A class that is shown may stand in every run, so its retention holds for all. Raises SettingsError where the policy sets
    no retention, which would otherwise look like nothing to do.
    """
    policy = part("redaction.policy_file").load_policy(file)
    limits = {cls: handling.retention_days for cls, handling in policy.handling.items() if handling.retention_days is not None}
    if not limits:
        raise SettingsError(f"{file} sets no retention; say for example handling: {{personal: {{retention: 30d}}}}")
    found: set[str] = set()
    with part("replay.load").open_source(db) as source:
        for cls, days in limits.items():
            holding = {} if policy.shows(cls) else {"privacy_class": cls.value}
            past = source.query("runs_past_retention", before_ns=time.time_ns() - days * _DAY_NS, **holding)
            found.update(past["run"].to_list())
    return tuple(sorted(found))


def _tell_nothing_due(db: Path, retention: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(_report(part("collector.store.purge").Losses(0, 0, 0, None, None, 0), None, []))
    else:
        typer.echo(f"no run in {db} is past the retention of {retention}")


def _journals() -> list[dict[str, Any]]:
    """Journals of attempts that never ended, which a later process of the agent ships."""
    folder = part("sdk.settings").Settings.load({}).state_dir / "journal"
    found = [path for path in sorted(folder.glob("*/*.jsonl")) if _holds_anything(path)]
    why = "names runs with attempts that an agent has begun and may still send"
    return [{"path": str(path), "why": why, "exported_ns": None} for path in found]


def _holds_anything(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:  # its process has just ended well
        return False


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """What tells a person how far a purge is; nothing where nobody watches."""
    with progress_bar("purging") as update:
        if update is None:
            yield lambda *_: None
        else:
            yield lambda step, done, total: update(description=str(step), completed=done, total=total)


def _amount(losses: Any) -> str:
    return f"{losses.runs} runs with {losses.calls} calls, {losses.spans} spans"


def _utc(ns: int | None) -> str | None:
    """A time as people and programs read it."""
    return None if ns is None else datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _tell(db: Path, losses: Any, purged: Any, unreachable: list[dict[str, Any]], *, as_json: bool) -> None:
    """Tell what would go (`purged` is None) or went, and which copies are out of reach."""
    if as_json:
        print_json(_report(losses, purged, unreachable))
        return
    when = f", begun from {_utc(losses.oldest_ns)} to {_utc(losses.newest_ns)}" if losses.oldest_ns is not None else ""
    typer.echo(f"{'would remove' if purged is None else 'removed'} {_amount(losses)}{when}")
    if losses.foreign_left:
        typer.echo(
            f"{losses.foreign_left} spans of other instrumentations stay: they name no run, and share a trace with a run that "
            "stays or are newer"
        )
    if purged is not None and purged.witnessed is not None:
        _tell_file(db, purged)
    for copy in unreachable:
        exported = f" at {_utc(copy['exported_ns'])}" if copy["exported_ns"] is not None else ""
        say(f"out of reach: {copy['path']} ({copy['why']}{exported})")
    say("copies and backups elsewhere cannot be seen from here; they keep what went")


def _tell_file(db: Path, purged: Any) -> None:
    """Tell how the file was before and is now."""
    before, after, seen = purged.bytes_before / _MIB, purged.bytes_after / _MIB, purged.witnessed
    typer.echo(
        f"{db} was rewritten: {purged.spans_left} spans stay, none of a run that went; "
        f"{before:.1f} MiB before, {after:.1f} MiB now"
    )
    hidden = " (where they are compressed they cannot be seen)" if seen.found_before < seen.sought else ""
    typer.echo(
        f"of {seen.sought} ids that went, the bytes of the old file showed {seen.found_before}{hidden}, "
        f"those of the new one show {seen.found_after}"
    )


def _report(losses: Any, purged: Any, unreachable: list[dict[str, Any]]) -> dict[str, Any]:
    """The same for programs; times are UTC."""
    counts = {name: getattr(losses, name) for name in ("runs", "calls", "spans", "foreign_left")}
    times = {"oldest": _utc(losses.oldest_ns), "newest": _utc(losses.newest_ns)}
    seen = None if purged is None or purged.witnessed is None else purged.witnessed._asdict()
    file = ("spans_left", "bytes_before", "bytes_after")
    sizes = {name: None if purged is None else getattr(purged, name) for name in file}
    copies = [{"path": c["path"], "why": c["why"], "exported": _utc(c["exported_ns"])} for c in unreachable]
    return {"dry_run": purged is None, **counts, **times, **sizes, "searched": seen, "out_of_reach": copies}


# -- export ----------------------------------------------------------------------------------------------------------


def export(
    *,
    to: Annotated[str, typer.Option(help="The file to write, one JSON object a line; - is standard output.", metavar="FILE")],
    db: Db = Path("toolwitness.duckdb"),
    subject: Subject = None,
    run: Annotated[str | None, typer.Option(help="A run's id, or as much of its beginning as only it has.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file where there is one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write every stored span of one subject or one run, as it is stored, to a file that its owner alone can read."""
    _one_of(subject=subject, run=run)
    if to == _STDOUT and as_json:
        raise typer.BadParameter("--json tells about the file that was written, so it needs one: --to FILE")
    digest = None if subject is None else _digest_of(subject)
    with part("replay.load").open_source(db) as source:
        if digest is not None:
            spans = source.query("subject_spans", subject=digest)
        else:
            spans = source.query("run_spans", run=part("replay.runs").find_run(source, run))
    if not spans.height:
        raise RunNotFoundError(_no_such_subject(db))
    lines = map(_line, spans.iter_rows(named=True))
    if to == _STDOUT:
        sys.stdout.writelines(lines)
        return
    _write(Path(to), lines, db, force=force)
    _note(db, Path(to), spans.height)
    runs = spans["run_id"].drop_nulls().n_unique()
    if as_json:
        print_json({"file": str(Path(to).absolute()), "spans": spans.height, "runs": runs})
        return
    typer.echo(f"wrote {spans.height} spans of {runs} runs to {to}")


def _line(row: Mapping[str, Any]) -> str:
    """A span as one line: its columns that are not null."""
    return json.dumps({name: value for name, value in row.items() if value is not None}, ensure_ascii=False) + "\n"


def _write(path: Path, lines: Iterable[str], db: Path, *, force: bool) -> None:
    """Write a new file with mode 0600. Raises ExportError where there is one already, or it cannot be written."""
    if path.resolve() == db.resolve():
        raise ExportError(f"{path} is the database itself; name another file")
    try:
        if force:
            path.unlink(missing_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise ExportError(f"{path} is there already; name another file, or replace it with --force") from error
    except OSError as error:
        raise ExportError(f"{path} cannot be written ({error.strerror}); name another file") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines(lines)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _note(db: Path, path: Path, spans: int) -> None:
    """Note the export, so that a later purge can name it."""
    copies = part("collector.store.copies")
    try:
        copies.note_export(db, copies.Export(str(path.absolute()), time.time_ns(), spans))
    except OSError as error:
        say(f"the export could not be noted beside {db} ({error.strerror}), so a later purge will not name it")
