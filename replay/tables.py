"""Tables for a terminal: readable at 100 columns, plain when piped, no meaning in colour alone."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from toolwitness.model.harmless import harmless
from toolwitness.replay import honest

_WIDTH = 100
_TOOL_WIDTH = 24
_SHORTEST_ID = 8
_NOTHING = "·"
_STYLE_OF = {
    "success": "green",
    "succeeded": "green",
    "failure": "red",
    "failed": "red",
    "abandoned": "red",
    "rejected": "red",
    "unknown_commit": "bold red",
    "unknown": "yellow",
    "indeterminate": "yellow",
    "pending": "yellow",
}


class _Console(Console):
    """A console that nothing recorded can steer: names and ids are texts of an application's, or of a model's."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The segments of what is printed, with a question mark for what is no sign."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(harmless(segment.text), segment.style)


def console() -> Console:
    """Standard output as a console: as wide as the terminal, and 100 columns where there is none."""
    found = _Console(highlight=False, emoji=False, markup=False)
    return found if found.is_terminal else _Console(highlight=False, emoji=False, markup=False, width=_WIDTH)


def shell_word(text: str) -> str:
    """A text as one word of a command; what a terminal would obey is written out, as bash and zsh read it."""
    if text.isprintable():
        return shlex.quote(text)
    written = (sign if sign.isprintable() and sign not in "'\\" else f"\\U{ord(sign):08x}" for sign in text)
    return f"$'{''.join(written)}'"


def on_file(command: str, db: str) -> str:
    """A command whole, with the database file that it is about."""
    return f"{command} --db {shell_word(db)}"


def word(given: str | None) -> Text:
    """A word of the records in its colour; None is unknown."""
    shown = given or "unknown"
    return Text(shown, style=_STYLE_OF.get(shown, ""))


def tool_name(server: str | None, tool: str | None) -> str:
    """A tool as people write it: `server/tool`, or the bare name where no server is known.

    A name may be text of a model's: what could steer a terminal is shown as a question mark.
    """
    return printable(f"{server}/{tool}" if server else str(tool))


def printable(text: str | None) -> str:
    """A text that somebody chose without what could steer a terminal; None is unknown."""
    return "unknown" if text is None else "".join(sign if sign.isprintable() else "?" for sign in text)


def _count(number: int) -> str:
    """A count; nothing happened is a dot, so that figures stand out."""
    return str(number) if number else _NOTHING


def _share(part: int, whole: int, none: str = "-") -> str:
    return f"{part}/{whole}" if whole else none


def _table(*headings: str, right: Iterable[str] = (), gives_way: int = 0) -> Table:
    """An empty table whose column `gives_way` is folded where the width is short; headings in `right` stand over figures."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    figures = set(right)
    for place, heading in enumerate(headings):
        side: Literal["left", "right"] = "right" if heading in figures else "left"
        table.add_column(heading, justify=side, no_wrap=place != gives_way, overflow="fold", vertical="top")
    return table


_TOOL_FIGURES = (
    "vis-\nible",
    "selec-\nted",
    "rate",
    "calls",
    "rejec-\nted",
    "err-\nors",
    "time-\nouts",
    "cut\noff",
    "unk.\ncomm.",
    "re-\npeats",
    "bad\nargs",
    "used",
    "runs\nok",
)
_TOOL_LEGEND = (
    "visible, selected: decisions. rate: selected while visible / visible. rejected: stopped by an enforced gate. cut off: the "
    "result's end is not known. unk. comm.: unknown commits, not known whether they took effect. repeats: same arguments again "
    "in the run. bad args: arguments that do not fit the schema of the call (2/5: of only 5 it is known; 1?: of one more it "
    "is open). used: results of which a new value reappears later / measured results. runs ok: succeeded / judged that called "
    "it. ?: visibility or schema unknown. -: no calls. n/n: no new values. n/m: not measurable. n/r: no result. err: error."
)


_MARK_OF = {
    honest.NO_CALLS: "-",
    honest.NO_NEW_VALUES: "n/n",
    honest.NOT_MEASURABLE: "n/m",
    honest.NO_RESULT: "n/r",
    honest.ERROR: "err",
}


def _used(row: Mapping[str, Any]) -> str:
    """How many results were used of how many, or the mark of why there is no such figure."""
    used = row["utilisation"]
    facts = {name: row[name] for name in ("calls", "errors", "measured", "not_measurable")}
    return _share(used["either"], used["denominator"], _MARK_OF[honest.no_utilisation(**facts)])


def _misfits(row: Mapping[str, Any]) -> str:
    """How many arguments did not fit their schema, and of how many it is open; of how many, where not all were checked."""
    told = row["arguments"]
    if not told["checked"]:
        return "?" if row["calls"] else "-"
    part = "" if told["checked"] == row["calls"] else f"/{told['checked']}"
    unsure = f" {told['indeterminate']}?" if told["indeterminate"] else ""
    return f"{_count(told['invalid'])}{part}{unsure}"


def _tool_cells(row: Mapping[str, Any]) -> list[str]:
    rate = row["selection_rate"]
    name = tool_name(row["server"], row["tool"])
    counts = ("calls", "rejected", "errors", "timeouts", "indeterminate", "unknown_commits", "identical_repeats")
    return [
        name if len(name) <= _TOOL_WIDTH or not row["server"] else f"{row['server']}/\n  {row['tool']}",
        _count(row["visible"]),
        _count(row["selected"]),
        "?" if rate is None else f"{rate:.1%}",
        *(_count(row[name]) for name in counts),
        _misfits(row),
        _used(row),
        _share(row["runs_succeeded"], row["runs_judged"]),
    ]


def tools_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Tool health, from the rows of `metrics.tool_rows`, a part for each week where they are by week."""
    table = _table("tool", *_TOOL_FIGURES, right=_TOOL_FIGURES)
    by_week = sorted(rows, key=lambda row: str(row.get("week", "")))
    for week, part in groupby(by_week, key=lambda row: row.get("week")):
        if week is not None:
            table.add_row(Text(f"week {week}", style="bold"))
        for row in part:
            table.add_row(*_tool_cells(row))
    return Group(table, "", Text(_TOOL_LEGEND, style="dim"))


def _shared_length(one: str, other: str) -> int:
    """How many characters two ids have in common at their beginning."""
    return next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Each id -> as much of its beginning as no other of them has, at least 8 characters."""
    ordered = sorted(set(ids))
    needed = dict.fromkeys(ordered, _SHORTEST_ID - 1)
    for one, other in pairwise(ordered):
        shared = _shared_length(one, other)
        needed[one], needed[other] = max(needed[one], shared), max(needed[other], shared)
    return {full: full[: needed[full] + 1] for full in ordered}


def runs_table(rows: Sequence[Mapping[str, Any]], ids: Iterable[str]) -> RenderableType:
    """Runs, from the rows of `metrics.runs`, and how many there are in all.

    Their ids are as short as `toolwitness replay` understands them, among all `ids` of the database.
    """
    figures = ("decisions", "calls", "problems")
    table = _table("run", "task, trial", "started", "source", "outcome", *figures, right=figures, gives_way=1)
    shown = short_ids(ids)
    for row in rows:
        table.add_row(
            shown[row["run"]],
            _task(row),
            (row["started"] or "unknown")[:10],
            row["source"],
            word(row["outcome"]),
            _count(row["decisions"]),
            _count(row["calls"]),
            f"{row['problems']}; {row['unclear']} not known" if row["unclear"] else _count(row["problems"]),
        )
    return Group(table, "", Text(_how_many(rows), style="dim"))


def _task(row: Mapping[str, Any]) -> str:
    """The task with its trial, as far as they are known."""
    task = row["task"] or "unknown"
    return task if row["trial"] is None else f"{task}, {row['trial']}"


def _how_many(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many runs are shown, and of how many."""
    total = rows[0]["total"] if rows else 0
    if len(rows) < total:
        return f"{len(rows)} of {total} runs, newest first; --limit {total} shows all"
    return f"{total} run{'' if total == 1 else 's'}"
