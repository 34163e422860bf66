"""`toolwitness check` and `toolwitness explain-redaction`: what class each field has, and who decided so."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from toolwitness.commands.common import AsJson, part, print_json, say, show
from toolwitness.model.exceptions import BrokenFileError, SettingsError, ToolwitnessError

if TYPE_CHECKING:
    from toolwitness.model.catalog import ToolDefinition
    from toolwitness.model.catalog_file import Catalog
    from toolwitness.redaction import Clean, Explained, Minimal, RedactionPolicy
    from toolwitness.redaction.describe import FieldReport
    from toolwitness.redaction.lint import Finding

_FOUND, _UNUSABLE = 1, 2
_NAMES_SHOWN = 12
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")

PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", envvar="TOOLWITNESS_POLICY", help="The policy file: .toml, .yaml or .yml.", dir_okay=False),
]


class CheckReport(NamedTuple):
    """What `check` tells."""

    tools: tuple[tuple[str, tuple[FieldReport, ...]], ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    written: Path | None
    """The baseline, where it was written anew."""

    @property
    def passed(self) -> bool:
        """Whether there is nothing but warnings."""
        return all(finding.warning for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "passed": self.passed,
            "tools": [{"tool": tool, "fields": [_field(field) for field in fields]} for tool, fields in self.tools],
            "findings": [
                {
                    "code": finding.code.value,
                    "level": "warning" if finding.warning else "error",
                    "tool": finding.tool,
                    "path": finding.path,
                    "message": finding.message,
                    "fix": finding.fix,
                }
                for finding in self.findings
            ],
            "notes": list(self.notes),
            "baseline_written": None if self.written is None else str(self.written),
        }


def _field(field: FieldReport) -> dict[str, Any]:
    return {
        "path": field.path,
        "class": field.cls.value,
        "why": field.why,
        "source": field.source.name.lower(),
        "action": field.action.value,
        "retention_days": field.retention_days,
        "access": list(field.access),
        "reason": field.reason,
    }


class Explanation(NamedTuple):
    """What `explain-redaction` tells."""

    places: tuple[Explained, ...]
    copy: Clean | Minimal

    @property
    def minimal(self) -> str | None:
        """Why there is no clean copy; None where there is one."""
        return getattr(self.copy, "reason", None)

    @property
    def truncated(self) -> bool:
        """Whether the copy lacks something that was beyond the limits."""
        return getattr(self.copy, "truncated", False)

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        places = [{("class" if name == "cls" else name): value for name, value in one._asdict().items()} for one in self.places]
        return {
            "places": places,
            "copy": getattr(self.copy, "value", None),
            "truncated": self.truncated,
            "minimal": self.minimal,
        }


@contextmanager
def _usable() -> Iterator[None]:
    """What is given must be readable: where it is not, say why, and end with another code than for what was found in it."""
    try:
        yield
    except (ToolwitnessError, OSError) as error:
        say(f"toolwitness: {error}")
        raise typer.Exit(_UNUSABLE) from error
    except RecursionError as error:
        say("toolwitness: a schema or value is nested too deep to be read")
        raise typer.Exit(_UNUSABLE) from error


def check(
    catalogs: Annotated[
        list[str],
        typer.Argument(
            metavar="CATALOG",
            help="A JSON file (MCP's answer to tools/list, OpenAI's or Anthropic's tools, an object of servers with their "
            "tools), or Python with @toolwitness.tool: package.module or path/to/file.py, which is imported.",
        ),
    ],
    policy: PolicyFile = None,
    baseline: Annotated[
        Path | None, typer.Option(help="The committed list of fields and classes to compare with.", dir_okay=False)
    ] = None,
    update_baseline: Annotated[bool, typer.Option("--update-baseline", help="Write that list anew.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the privacy class of every field of a tool catalog, and fail where one has none.

    Also fails where an annotation or a selector is heard by nobody, a class was lowered without a reason, or a field is not as
    in the baseline. Exit code 0: nothing of the kind; 1: findings; 2: wrong usage, or something that cannot be read.
    """
    if update_baseline and baseline is None:
        raise typer.BadParameter("say which file: --baseline privacy-baseline.json", param_hint="--update-baseline")
    with _usable():
        report = _report(catalogs, _policy(policy), baseline, update=update_baseline)
    if as_json:
        print_json(report.to_json())
    else:
        show(part("commands.privacy_tables").check_view(report))
    if not report.passed:
        raise typer.Exit(_FOUND)


def _report(catalogs: list[str], policy: RedactionPolicy, baseline: Path | None, *, update: bool) -> CheckReport:
    """Everything that the command tells."""
    baselines = part("redaction.baseline")
    catalog = _catalog(catalogs)
    definitions = [tool.definition for tool in catalog.tools]
    if baseline is not None and update:
        baselines.write_baseline(baseline, baselines.baseline_of(definitions, policy))
    if baseline is not None and not baseline.exists():
        raise SettingsError(f"there is no baseline at {baseline}; write it with --update-baseline and commit it")
    identity = part("model.catalog_file").identity
    findings = part("redaction.lint").lint(
        definitions,
        policy,
        None if baseline is None else baselines.read_baseline(baseline),
        unread={identity(tool.definition): tool.unread for tool in catalog.tools},
    )
    describe = part("redaction.describe").describe
    tools = tuple((identity(definition), describe(definition, policy)) for definition in definitions)
    return CheckReport(tools, findings, catalog.notes, baseline if update else None)


def explain_redaction(
    payload: Annotated[str, typer.Argument(help="A JSON file, or - for standard input.", metavar="PAYLOAD")],
    *,
    tool: Annotated[str | None, typer.Option(help="The tool that the payload belongs to.")] = None,
    catalog: Annotated[str | None, typer.Option(help="Where its schema is: a catalog as `toolwitness check` takes it.")] = None,
    policy: PolicyFile = None,
    of: Annotated[str, typer.Option("--part", help="What it is of the tool: args, result or error.")] = "args",
    as_json: AsJson = False,
) -> None:
    """Show what redaction makes of one payload: the class of each place, who decided it, and the copy that would leave.

    Nothing of the payload is printed that is not in that copy.
    """
    if of not in {"args", "result", "error"}:
        raise typer.BadParameter(f"{of!r} is none of args, result, error", param_hint="--part")
    with _usable():
        tool = tool or _only_tool(catalog)
        value, used, definition = _payload(payload), _policy(policy), _find(catalog, tool)
        describe, name, schema = part("redaction.describe"), tool, None
        if definition is not None:
            used, schema = describe.policy_for(definition, used), describe.schema_of(definition, of)
            name = part("model.catalog_file").identity(definition)
    redaction = part("redaction")
    given = {"tool": name, "schema": schema, "policy": used, "part": of}
    places, copy = redaction.explain(value, **given), redaction.clean(value, **given)
    report = Explanation(places, copy)
    if as_json:
        print_json(report.to_json())
        return
    tables = part("commands.privacy_tables")
    show(tables.explain_view(report))
    if report.minimal is None:
        typer.echo(f"\nwhat leaves:\n{tables.copy_text(report.to_json()['copy'])}")
        if any(place.action in {"fingerprint", "hash"} for place in places):
            say("(the agent adds a fingerprint, fp, under its own key)")


def _only_tool(catalog: str | None) -> str | None:
    """The tool that a catalog of one tool means. Raises BadParameter where there are several."""
    if catalog is None:
        return None
    tools = [part("model.catalog_file").identity(tool.definition) for tool in _read(catalog).tools]
    if len(tools) != 1:
        raise typer.BadParameter(
            f"say which tool of the catalog ({', '.join(tools[:5])}, ...): --tool NAME", param_hint="--catalog"
        )
    return str(tools[0])


def _policy(path: Path | None) -> RedactionPolicy:
    policy: RedactionPolicy = part("redaction").RedactionPolicy()
    if path is not None:
        policy = part("redaction.policy_file").load_policy(path)
    return policy


def _catalog(names: list[str]) -> Catalog:
    """The tools of all catalogs together."""
    files = part("model.catalog_file")
    tools: dict[str, Any] = {}
    notes: list[str] = []
    for name in names:
        catalog = _read(name)
        notes += (f"{name}: {note}" for note in catalog.notes)
        for tool in catalog.tools:
            identity = files.identity(tool.definition)
            if identity in tools:
                raise BrokenFileError(
                    f"{name}: tool {identity!r} stands in an earlier catalog too; "
                    "tell tools of several servers apart by one file: an object of servers with their tools"
                )
            tools[identity] = tool
    together: Catalog = files.Catalog(tuple(tools.values()), tuple(notes))
    return together


def _read(name: str) -> Catalog:
    path = Path(name)
    if path.suffix == ".py" or (not path.exists() and path.suffix != ".json" and _MODULE.fullmatch(name)):
        return _imported(name)
    if not path.exists():
        raise BrokenFileError(f"there is no file {name}")
    read: Catalog = part("model.catalog_file").read_catalog(path)
    return read


def _imported(name: str) -> Catalog:
    try:
        imported: Catalog = part("sdk.catalog_module").read_module(name)
    except BrokenFileError as error:
        raise error if name.endswith(".py") else BrokenFileError(f"there is no file {name}, and as a module {error}") from error
    return imported


def _find(catalog: str | None, tool: str | None) -> ToolDefinition | None:
    """The tool of that name in the catalog, if one is given."""
    if catalog is None:
        return None
    definitions = [found.definition for found in _read(catalog).tools]
    names_of = part("redaction.lint").names_of
    matched = [definition for definition in definitions if tool in names_of(definition) - {"*"}]
    if len(matched) == 1:
        return matched[0]
    identity = part("model.catalog_file").identity
    if matched:
        raise SettingsError(f"{tool} is several tools in {catalog}: {', '.join(map(identity, matched))}; name one of them")
    shown = sorted(map(identity, definitions))
    more = f" and {len(shown) - _NAMES_SHOWN} more" if len(shown) > _NAMES_SHOWN else ""
    raise SettingsError(f"there is no tool {tool} in {catalog}; there is {', '.join(shown[:_NAMES_SHOWN])}{more}")


def _payload(name: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig"))
    except ValueError as error:
        # The error tells the place and quotes nothing of the payload.
        raise BrokenFileError(f"{'standard input' if name == '-' else name} is no JSON: {error}") from error
