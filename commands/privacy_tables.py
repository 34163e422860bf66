"""What `toolwitness check` and `toolwitness explain-redaction` show on a terminal: no meaning in colour alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolwitness.redaction.lint import Code
from toolwitness.redaction.placeholder import is_placeholder

if TYPE_CHECKING:
    from toolwitness.commands.privacy import CheckReport, Explanation
    from toolwitness.redaction.describe import FieldReport
    from toolwitness.redaction.lint import Finding

_MARK = "!"
_WARNINGS_SHOWN = 5
_STYLES = {"unknown": "yellow", "personal": "magenta", "sensitive": "magenta", "secret": "red"}
_NO_REASON = "no-reason:"
_ORDER = list(Code)


def check_view(report: CheckReport) -> RenderableType:
    """Every tool with its fields, then what was found, then the sum of it."""
    wrong = {(finding.tool, finding.path) for finding in report.findings if not finding.warning}
    parts: list[RenderableType] = []
    for tool, fields in report.tools:
        parts += [Text(_safe(tool), style="bold"), Padding(_fields_table(tool, fields, wrong), (0, 0, 1, 2))]
    parts += _findings(report.findings)
    parts += [Text(f"note: {_safe(note)}", style="dim") for note in report.notes]
    if report.written is not None:
        parts.append(Text(f"wrote {report.written}"))
    return Group(*parts, _sum(report))


def _fields_table(tool: str, fields: Iterable[FieldReport], wrong: set[tuple[str, str]]) -> RenderableType:
    rows = [
        (
            Text(_MARK if (tool, field.path) in wrong else " ", style="bold red"),
            Text(_safe(field.path), overflow="fold"),
            _class(field.cls.value),
            Text(_why(field.why, field.reason), overflow="fold"),
            Text(_action(field), overflow="fold"),
        )
        for field in fields
    ]
    if not rows:
        return Text("no fields", style="dim")
    table = _table("", "field", "class", "decided by", "action")
    for row in rows:
        table.add_row(*row)
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading, no_wrap=heading in {"", "class"}, vertical="top", overflow="fold")
    return table


def _class(cls: str) -> Text:
    return Text(cls, style=_STYLES.get(cls, ""))


def _why(why: str, reason: str | None = None) -> str:
    if why.startswith(_NO_REASON):
        return f"{why.removeprefix(_NO_REASON)} (policy gives no reason)"
    return f"{why} ({_safe(reason)})" if reason else why


def _action(field: FieldReport) -> str:
    days = None if field.retention_days is None else f"{field.retention_days} d"
    access = f"for {', '.join(field.access)}" if field.access else None
    return ", ".join(filter(None, (field.action.value, days, _safe(access) if access else None)))


def _findings(findings: Sequence[Finding]) -> Iterator[RenderableType]:
    """Errors in full; of each kind of warning the first, since they may be many and none of them fails the check."""
    order = sorted(findings, key=lambda finding: (finding.warning, _ORDER.index(finding.code)))
    for (warning, code), group in groupby(order, key=lambda finding: (finding.warning, finding.code)):
        found = list(group)
        shown = found[:_WARNINGS_SHOWN] if warning else found
        style = "yellow" if warning else "bold red"
        yield Text.assemble((f"{'warning' if warning else 'error'}: {code.value}", style), f"  {len(found)}")
        yield Padding(Group(*(_finding(finding) for finding in shown)), (0, 0, 0, 2))
        if len(found) > len(shown):
            yield Text(f"  and {len(found) - len(shown)} more; --json lists all", style="dim")
        yield Text("")


def _finding(finding: Finding) -> RenderableType:
    place = f"{finding.tool}:{finding.path}"
    fix = Padding(Text(f"fix: {_safe(finding.fix)}", style="dim", overflow="fold"), (0, 0, 0, 2))
    return Group(Text.assemble((_safe(place), "bold"), f"  {_safe(finding.message)}", overflow="fold"), fix)


def _sum(report: CheckReport) -> Text:
    fields = sum(len(fields) for _, fields in report.tools)
    errors = sum(not finding.warning for finding in report.findings)
    counted = f"{_count(len(report.tools), 'tool')}, {_count(fields, 'field')}"
    warned = _count(len(report.findings) - errors, "warning")
    if errors:
        return Text(f"{counted}: {_count(errors, 'error')}, {warned}", style="bold red")
    return Text(f"{counted}: every declared field has a class; {warned}", style="bold green")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def explain_view(report: Explanation) -> RenderableType:
    """The places of a payload."""
    if report.minimal is not None:
        return Text(f"no copy leaves at all, only that there was a payload: {report.minimal}", style="bold yellow")
    table = _table("place", "class", "decided by", "action")
    for place in report.places:
        table.add_row(Text(_safe(place.path)), _class(place.cls.value), Text(_why(place.why)), Text(place.action))
    places: RenderableType = table if report.places else Text("no values in it", style="dim")
    cut = [Text("something of the payload was beyond the limits and is left out", style="yellow")] if report.truncated else []
    return Group(places, *cut)


def copy_text(copy: Any) -> str:
    """The copy that would leave as JSON for reading; its lines are never folded, so that it stays JSON."""
    return "\n".join(map(_safe, _json_lines(copy)))


def _json_lines(value: Any, indent: str = "", before: str = "", after: str = "") -> Iterator[str]:
    """JSON for reading: a place a line, so that what stands for a value takes no more room than the value would."""
    opening = "{" if type(value) is dict else "[" if type(value) is list else None
    if opening is None or not value or is_placeholder(value):
        yield f"{indent}{before}{json.dumps(value, ensure_ascii=False)}{after}"
        return
    pairs = [(f"{json.dumps(key, ensure_ascii=False)}: ", item) for key, item in value.items()] if opening == "{" else []
    listed = pairs or [("", item) for item in value]
    yield f"{indent}{before}{opening}"
    for number, (name, item) in enumerate(listed, start=1):
        yield from _json_lines(item, f"{indent}  ", name, "," if number < len(listed) else "")
    yield f"{indent}{'}' if opening == '{' else ']'}{after}"


def _safe(text: str) -> str:
    """A text of a catalog's or payload's without what could steer a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
