"""Calls in doubt for a terminal and for programs: what is due to be asked about, and what came of asking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from toolwitness.model.enums import Finding, Outcome
from toolwitness.model.outcome import LastAttempt
from toolwitness.model.reconciling import NotYet
from toolwitness.replay.accounts import settle_command
from toolwitness.replay.asking import Asked, Due
from toolwitness.replay.metrics import iso_time
from toolwitness.replay.tables import on_file, word

_NS = 1_000_000_000
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))
_NEVER = {
    NotYet.NO_SETTLE_AFTER: "never: no settle_after",
    NotYet.TIME_UNKNOWN: "never: times unknown",
    NotYet.ATTEMPT_STILL_OPEN: "never: attempt open",
}


def _age(seconds: float) -> str:
    """A length of time in its largest whole unit."""
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f}{unit}"
    return f"{max(0, seconds):.0f}s"


def settle_line(call: str, db: str) -> str:
    """The command by which a person settles a call of this file."""
    return on_file(settle_command(call), db)


def _age_s(due: Due, now_ns: int) -> float | None:
    return (now_ns - due.row["started_ns"]) / _NS if due.row["time_known"] else None


def _known(due: Due, now_ns: int) -> str:
    """The tool, and what is known of the call beside that it is in doubt."""
    row = due.row
    last = "not known to have ended" if row["last_attempt"] == LastAttempt.OPEN else row["last_attempt"]
    attempts = f"{row['attempts']} attempt{'' if row['attempts'] == 1 else 's'}, the last {last}"
    facts = [attempts if row["attempts"] else "no attempt seen"]
    if row["outcome"] != Outcome.UNKNOWN_COMMIT:
        facts.insert(0, row["outcome"])
    if row["remote_references"]:
        facts.append(f"reference {', '.join(sorted(row['remote_references']))}")
    if row["key_digest"]:
        facts.append("key recorded")
    if row["finding"]:
        facts.append(f"{row['finding']} {_age((now_ns - row['found_ns']) / _NS)} ago, says {row['found_by'] or 'unknown'}")
    return f"{due.tool}\n{_printable('; '.join(facts))}"


def _printable(text: str) -> str:
    """What a service or an application said, without what could steer a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _absence(due: Due, now_ns: int) -> str:
    """When "not found" settles the call."""
    why_not = due.not_yet(now_ns)
    from_ns = due.attempted.absence_counts_from_ns
    if why_not is None:
        return "now"
    return _NEVER[why_not] if from_ns is None else f"in {_age((from_ns - now_ns) / _NS)}"


def due_view(due: Sequence[Due], *, now_ns: int, db: str, total: int) -> RenderableType:
    """Calls that are due, those for a person marked so, with the command that settles them."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("call", "age", "tool, and what is known", '"not found"\nsettles', "asks"):
        table.add_column(heading, no_wrap=heading in {"call", "age", "asks"}, overflow="fold", vertical="top")
    for one in due:
        age = _age_s(one, now_ns)
        asks = "reconciler" if one.query is not None else Text("a person", style="yellow")
        table.add_row(one.call, "unknown" if age is None else _age(age), _known(one, now_ns), _absence(one, now_ns), asks)
    return Group(table, "", *_notes(due, db, total))


def _notes(due: Sequence[Due], db: str, total: int) -> Iterator[Text]:
    for_person = sum(one.query is None for one in due)
    calls = f"{total} call{'' if total == 1 else 's'} in doubt"
    if len(due) < total:
        calls = f"{len(due)} of {calls}, oldest first (--limit {total} shows all)"
    yield Text(f"{calls}: {len(due) - for_person} to ask about, {for_person} for a person")
    if len(due) > for_person:
        yield Text("nothing was asked; --run asks", style="dim")
    if for_person:
        yield Text(f"a person settles by: {settle_line('CALL', db)}", style="dim")
        yield Text(f"FINDING is {', '.join(Finding)}", style="dim")


def due_row(one: Due, *, now_ns: int, db: str) -> dict[str, Any]:
    """The same for programs; times are ISO 8601 in UTC, null where they are not known."""
    names = (
        "outcome",
        "owner",
        "attempts",
        "last_attempt",
        "key_digest",
        "action_id",
        "node",
        "task",
        "session",
        "finding",
        "found_by",
    )
    return {
        "call": one.call,
        "run": one.row["run_id"],
        "tool": one.tool,
        **{name: one.row[name] for name in names},
        "started": iso_time(one.row["started_ns"]) if one.row["time_known"] else None,
        "age_s": _age_s(one, now_ns),
        "asked": iso_time(one.row["asked_ns"]),
        "remote_references": sorted(one.row["remote_references"] or ()),
        "not_found_settles_from": iso_time(one.attempted.absence_counts_from_ns),
        "not_found_settles_not": one.not_yet(now_ns),
        "reconciler": one.query is not None,
        "settle": settle_line(one.call, db),
    }


def asked_line(asked: Asked) -> Text:
    """What came of asking about a call, in a line."""
    head = f"{asked.due.call} {asked.due.tool}: "
    if asked.settlement is None or asked.told is None:
        return Text.assemble(head, ("nothing recorded", "red"), f": {_printable(asked.failure or '')}")
    found = asked.settlement
    why = f" ({found.reason_code})" if found.reason_code else ""
    return Text.assemble(head, f"{asked.told.answer} -> {found.finding}{why}; {found.before} -> ", word(found.outcome))


def asked_row(asked: Asked) -> dict[str, Any]:
    """The same for programs."""
    found = asked.settlement
    return {
        "call": asked.due.call,
        "tool": asked.due.tool,
        "answer": None if asked.told is None else asked.told.answer,
        "finding": None if found is None else found.finding,
        "reason_code": None if found is None else found.reason_code,
        "reason": None if found is None else found.reason,
        "before": asked.due.row["outcome"],
        "outcome": asked.due.row["outcome"] if found is None else found.outcome,
        "failure": asked.failure,
    }
