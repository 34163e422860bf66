"""Writing calls in doubt for a terminal: did it commit, may it be retried, who must act."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolwitness.replay.accounts import reconcile_command, settle_command
from toolwitness.replay.submissions import OPEN_STATES, Submission
from toolwitness.replay.tables import on_file, printable, shell_word, tool_name
from toolwitness.replay.transcript import value_text

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
_COLUMNS = {"call": 16, "tool": 31, "committed": 11, "retry": 10, "age": 7, "who must act": 18}
"""Headings and their widths, 100 columns in all."""
_HEADINGS = {
    "unsettled": "UNSETTLED: nobody knows yet what became of them; oldest first",
    "twice": "MAY BE DONE TWICE: took effect, perhaps more than once; oldest first",
    "failed": "FAILED: did not take effect, or only in part; newest first",
    "stopped": "STOPPED: nothing ran; newest first",
    "done": "DONE; newest first",
}
_COUNTED = {
    "unsettled": "unsettled",
    "twice": "may be done twice",
    "failed": "failed",
    "stopped": "stopped",
    "done": "done",
}
_COMMITTED = {
    "yes": "yes",
    "no": "no",
    "says_no": "no, it says",
    "partly": "in part",
    "twice": "twice?",
    "not_yet": "not yet",
    "accepted": "accepted",
    "unknown": "unknown",
}
_RETRY = {"safe": "safe", "unsafe": "no", "unknown": "unknown", "not_needed": "not needed"}
_STYLE_OF = {"unknown": "yellow", "twice?": "bold red", "no": "", "safe": "green"}
_TO_SETTLE = frozenset({"unknown_commit", "indeterminate"})
_LEGEND = (
    "committed: whether it took effect (`no, it says`: by the tool's own word, without further proof; `accepted`: the service "
    "took it in, and no more is known). retry: whether trying the same again could change the world a second time."
)


def age_text(seconds: float | None) -> str:
    """How long ago, in the largest unit that fits; not known stays unknown."""
    if seconds is None:
        return "unknown"
    for unit, length in (("d", _DAY_S), ("h", _HOUR_S), ("min", _MINUTE_S)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def _answer(words: Mapping[str, str], given: str) -> Text:
    shown = words.get(given, given)
    return Text(shown, style=_STYLE_OF.get(shown, ""))


def _notes(one: Submission) -> Iterator[str]:
    """What of a row must not be missed."""
    if one.duplicate_risk or one.duplicate:
        yield f"the same was asked for again: call {one.repeated_by}"
    if one.retried_in_doubt:
        yield "it was tried again after an attempt that may have taken effect"


def _table(*, headed: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", show_header=headed)
    for heading, width in _COLUMNS.items():
        table.add_column(heading, width=width, overflow="fold")
    return table


def _cells(one: Submission) -> list[str | Text]:
    name = tool_name(one.server, one.tool)
    fits = len(name) <= _COLUMNS["tool"] or not one.server
    return [
        one.call,
        name if fits else f"{printable(one.server)}/\n  {printable(one.tool)}",
        _answer(_COMMITTED, one.committed),
        _answer(_RETRY, one.retry),
        age_text(one.age_s),
        printable(one.owner),
    ]


def triage_table(found: Sequence[Submission], counts: Mapping[str, int]) -> RenderableType:
    """The calls, a part for each state, and how many of how many there are."""
    parts: list[RenderableType] = []
    for state, group in groupby(found, key=lambda one: one.state):
        parts += [Text(_HEADINGS[state], style="bold"), *_part(list(group)), ""]
    parts.append(Text(_counted(counts), style="bold"))
    if found and len(found) < found[0].total:
        parts.append(Text(f"{len(found)} of {found[0].total} shown; --limit {found[0].total} shows all"))
    if found:
        parts += [Text("toolwitness triage CALL tells all of one."), Text(_LEGEND, style="dim")]
    return Group(*parts)


def _part(group: Sequence[Submission]) -> Iterator[RenderableType]:
    """Rows, and below a row in its full width what of it must not be missed."""
    table = _table(headed=True)
    for one in group:
        table.add_row(*_cells(one))
        notes = list(_notes(one))
        if notes:
            yield table
            yield from (Padding(Text(note, style="bold red"), (0, 0, 0, _COLUMNS["call"] + 1)) for note in notes)
            table = _table(headed=False)
    if table.row_count:
        yield table


def _counted(counts: Mapping[str, int]) -> str:
    whole = sum(counts.values())
    told = ", ".join(f"{counts[state]} {_COUNTED[state]}" for state in OPEN_STATES if counts[state])
    calls = f"{whole} call{'' if whole == 1 else 's'} that may change something"
    return f"{told or 'nothing in doubt, failed or stopped'}, of {calls}"


def _lines(one: Submission) -> Iterator[tuple[str, str | Iterable[str]]]:
    """What an account says, by heading."""
    yield "did it commit", _COMMITTED[one.committed]
    yield "retry", f"{_RETRY[one.retry]}. {one.why}"
    yield "next step", one.next_step
    yield "who must act", "unknown, the tool declares no owner" if one.owner == "unknown" else printable(one.owner)
    yield "", ""
    yield "asked", "unknown, its arguments are not recorded" if one.arguments is None else value_text(one.arguments)
    yield "by run", _run_words(one)
    yield "begun", "unknown" if one.started is None else f"{one.started}, {age_text(one.age_s)} ago"
    if one.action_id is not None:
        yield "action", printable(one.action_id)
    yield "gates", one.gates or ("none recorded",)
    yield "attempts", one.attempts or ("none recorded",)
    yield "known", one.known
    yield "not known", one.unknown or ("nothing that is asked for here",)
    yield "duplicate", _duplicate_words(one)
    if one.not_found is not None:
        yield '"not found"', one.not_found


def _run_words(one: Submission) -> str:
    facts = {"task": one.task, "session": one.session, "agent": one.agent}
    return ", ".join([printable(one.run), *(f"{name} {printable(value)}" for name, value in facts.items())])


def _duplicate_words(one: Submission) -> str:
    if one.duplicate_risk is None:
        return "unknown: the arguments of a later call of the tool, or its own, are not recorded"
    if one.duplicate:
        return f"yes: call {one.repeated_by} ran after this one was found to be committed"
    if one.duplicate_risk:
        return f"at risk: call {one.repeated_by} asked for the same before this one was settled"
    if one.retried_in_doubt:
        return "at risk: one of its own attempts before the last may have taken effect too"
    return f"none known{'; other calls of the tool followed in the run' if one.followed_by_same_tool else ''}"


def triage_account(one: Submission) -> RenderableType:
    """All that is known of one call."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for heading, told in _lines(one):
        lines = [told] if isinstance(told, str) else list(told)
        for place, line in enumerate(lines):
            table.add_row(heading if place == 0 else "", Text(printable(line)))
    heading = f"call {one.call}: {tool_name(one.server, one.tool)} -> {one.outcome}"
    return Group(Text(heading, style="bold"), "", table, "")


def commands(one: Submission, db: str) -> list[str]:
    """What to type about a call, whole, with the database file."""
    told = [] if one.run is None else [f"toolwitness replay {shell_word(one.run)}"]
    if one.outcome in _TO_SETTLE:
        told += [reconcile_command(one.call), settle_command(one.call)]
    return [on_file(command, db) for command in told]
