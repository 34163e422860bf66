"""What the application declared about its tools' fields, and what happens to a value of each class."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from toolwitness.model.enums import PrivacyClass
from toolwitness.model.exceptions import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ANY", "Action", "RedactionPolicy", "Table"]

ANY = "*"
"""As a tool: every tool. As a path: the whole of the part, for what no longer path says more about."""

Table = dict[str, PrivacyClass]
"""Classes by path, such as `args.items[].sku`."""


class Action(StrEnum):
    """What becomes of a value that is no container."""

    KEEP = "keep"
    """Left as it is, unless a value detector objects."""
    SHAPE = "shape"
    """Replaced by a placeholder that tells its type and size class."""


@dataclass(frozen=True, slots=True)
class RedactionPolicy:
    """The application's own word on privacy; the first voice in the order of precedence.

    Raises:
        SettingsError: a selector is not of the form `tool:path`, or a class is none of `PrivacyClass`.
    """

    unknown: Literal["shape", "scan"] = "shape"
    """Values that nothing classified: only their shape leaves, or they are kept after the value detectors."""

    classes: Mapping[str, PrivacyClass] = field(default_factory=dict)
    """Classes by selector: `tool:args.payment.amount`, `server/tool:result.items[].sku`, `*:args.note`, `tool:*`.

    A key that itself contains a dot or bracket is written `args["a.b"]`.
    """

    _tables: dict[str, Table] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.unknown not in {"shape", "scan"}:
            raise SettingsError(f"unknown must be 'shape' or 'scan', not {self.unknown!r}")
        for selector, name in self.classes.items():
            tool, colon, path = selector.rpartition(":")
            if not (tool and colon and path):
                raise SettingsError(f"selector {selector!r} is not of the form 'tool:path'")
            try:
                self._tables.setdefault(tool, {})[path] = PrivacyClass(name)
            except ValueError as error:
                raise SettingsError(f"selector {selector!r} names no privacy class: {name!r}") from error

    def tables(self, tool: str | None) -> tuple[Table, ...]:
        """Return what was declared for a tool, the most particular first: server/tool, tool, every tool."""
        names = [ANY] if tool is None else [tool, tool.rpartition("/")[2], ANY]
        return tuple(self._tables[name] for name in dict.fromkeys(names) if name in self._tables)

    def action(self, cls: PrivacyClass) -> Action:
        """Return what happens to a value of a class: public and internal are kept, unknown by setting, others not."""
        if cls is PrivacyClass.UNKNOWN:
            return Action.SHAPE if self.unknown == "shape" else Action.KEEP
        return Action.KEEP if cls is PrivacyClass.PUBLIC or cls is PrivacyClass.INTERNAL else Action.SHAPE
