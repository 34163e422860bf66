"""What a run leaves, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolwitness.replay.facts import budget_words
from toolwitness.replay.handover import Handover, Need
from toolwitness.replay.submissions import Submission
from toolwitness.replay.tables import on_file, printable, tool_name

_STOPPED_BY = {
    "finished": "it finished",
    "budget": "stopped by its budget",
    "deadline": "stopped by its deadline",
    "error": "stopped by an error",
    "cancelled": "called off",
    "unknown": "what ended it is not known",
}
_TOOL_WIDTH = 40


def handover_view(told: Handover) -> RenderableType:
    """The four parts, each also where it is empty, then what is not known."""
    return Group(
        Text(f"run {printable(told.run)}: {_STOPPED_BY.get(told.stopped_by, told.stopped_by)}", style="bold"),
        *map(Text, _about(told)),
        "",
        *_part("CONFIRMED: took effect", told.confirmed),
        *_part("NOT EXECUTED: took no effect", told.not_executed),
        *_part("TO BE RECONCILED: may have taken effect, or still may", told.to_reconcile),
        Text(f"NEEDED TO GO ON ({len(told.needed)})", style="bold"),
        *(_indented(Text(printable(_need_text(need)), overflow="fold")) for need in told.needed),
        *([] if told.needed else [_indented(Text("nothing"))]),
        "",
        *(Text(f"not known: {sentence}", style="yellow") for sentence in told.unknown),
        "",
    )


def _indented(line: RenderableType) -> Padding:
    return Padding(line, (0, 0, 0, 2), expand=False)


def _about(told: Handover) -> Iterator[str]:
    facts = {"task": told.task, "session": told.session, "agent": told.agent}
    yield ", ".join(f"{name} {printable(value)}" for name, value in facts.items())
    began = "begun at a time that is not known" if told.started is None else f"begun {told.started}"
    yield f"outcome {told.outcome} (by {told.outcome_source}); {began}"
    reads = f"{told.reading} only read, of which {told.read_well} had an answer" if told.reading else "none only read"
    yield f"{told.calls} calls ({reads}), {told.attempts} attempts"
    if told.budget:
        yield f"used: {', '.join(printable(budget_words(each)) for each in told.budget)}"


def _part(heading: str, calls: Sequence[Submission]) -> Iterator[RenderableType]:
    yield Text(f"{heading} ({len(calls)})", style="bold")
    if not calls:
        yield _indented(Text("none"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(max_width=_TOOL_WIDTH, overflow="fold")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in calls:
        table.add_row(one.call, tool_name(one.server, one.tool), one.outcome, Text(printable(" ".join(_basis(one)))))
    yield _indented(table)
    yield ""


def _basis(one: Submission) -> Iterator[str]:
    """What a call's place in its part rests on."""
    if one.state == "twice":
        yield "Perhaps more than once."
    if one.settled == "no_finding":
        yield {"says_no": "By the tool's own word.", "yes": "By its answer.", "twice": "By its answer."}.get(
            one.committed, one.known[0]
        )
    else:
        yield f"Found {one.settled} by {one.found_by or 'somebody whose name is not recorded'}."


def _need_text(need: Need) -> str:
    about = "" if need.call is None else f"call {need.call}, {need.tool}: "
    return f"- {about}{need.what}"


def commands(told: Handover, db: str) -> list[str]:
    """What to type about the calls that are to be reconciled, whole, with the database file."""
    return [on_file(need.command, db) for need in told.needed if need.command is not None]
