"""The committed list of fields and classes that `toolwitness check` compares with: made to be reviewed as a diff."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolwitness.model.catalog_file import identity
from toolwitness.model.enums import PrivacyClass
from toolwitness.model.exceptions import BrokenFileError
from toolwitness.redaction.describe import describe

if TYPE_CHECKING:
    from toolwitness.model.catalog import ToolDefinition
    from toolwitness.redaction.policy import RedactionPolicy

__all__ = ["Baseline", "baseline_of", "names_in", "read_baseline", "write_baseline"]

Baseline = Mapping[str, Mapping[str, PrivacyClass]]
"""The class of each field, by tool and path."""

_FORM: Final = 1


def names_in(definitions: Iterable[ToolDefinition]) -> list[tuple[str, ToolDefinition]]:
    """Each tool with its name in a baseline: with the version only where a catalog has the tool in several."""
    listed = list(definitions)
    several = Counter(_unversioned(definition) for definition in listed)
    return [(identity(one) if several[_unversioned(one)] > 1 else _unversioned(one), one) for one in listed]


def baseline_of(definitions: Iterable[ToolDefinition], policy: RedactionPolicy) -> Baseline:
    """The classes as they are now; nothing of a tool but its name and the paths of its fields."""
    return {name: {field.path: field.cls for field in describe(one, policy)} for name, one in names_in(definitions)}


def read_baseline(path: Path) -> Baseline:
    """The baseline of a file. Raises OSError where it cannot be opened, BrokenFileError where it is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {str(tool): {str(at): PrivacyClass(cls) for at, cls in fields.items()} for tool, fields in _tools(data).items()}
    except (ValueError, AttributeError) as error:
        raise BrokenFileError(
            f"{path} is no baseline ({error}); write a new one with --update-baseline and review it"
        ) from error


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline: sorted, one line a field, the same bytes for the same fields."""
    tools = {tool: {at: cls.value for at, cls in fields.items()} for tool, fields in baseline.items()}
    text = json.dumps({"baseline": _FORM, "tools": tools}, indent=2, sort_keys=True, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def _tools(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, dict) or data.get("baseline") != _FORM or not isinstance(data.get("tools"), dict):
        raise ValueError(f'it does not begin with "baseline": {_FORM} and tools')
    tools: Mapping[str, Any] = data["tools"]
    return tools


def _unversioned(definition: ToolDefinition) -> str:
    return f"{definition.server}/{definition.name}" if definition.server else definition.name
