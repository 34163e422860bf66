"""What the application declared about its tools' fields, and what happens to a value of each class."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal

from toolwitness.model.declared import Declared
from toolwitness.model.enums import PrivacyClass
from toolwitness.model.exceptions import SettingsError

__all__ = ["ANY", "Action", "Declared", "Handling", "RedactionPolicy", "Table"]

ANY = "*"
"""As a tool: every tool. As a path: the whole of the part, for what no longer path says more about."""

Table = dict[str, Declared]
"""What was declared, by path, such as `args.items[].sku`."""


class Action(StrEnum):
    """What the copy shows of a value that is no container."""

    KEEP = "keep"
    """The value; spans that a value detector objects to are masked."""
    TRUNCATE = "truncate"
    """As `keep`, then cut to 64 characters at the end of a word; what was cut cannot be checked against a schema."""
    SHAPE = "shape"
    """A placeholder with type, size class and format."""
    FINGERPRINT = "fingerprint"
    """As `shape`, with a keyed fingerprint where a key is at hand, so that equal values can be seen to be equal."""
    HASH = "hash"
    """A placeholder with the fingerprint and without size class and format."""
    DROP = "drop"
    """A placeholder with class and rule alone."""


_VERSIONED: Final = re.compile(r"(?P<tool>.+)@(?P<version>[\w.+-]+)")
_SHOWS: Final = frozenset({Action.KEEP, Action.TRUNCATE})


@dataclass(frozen=True, slots=True)
class Handling:
    """How values of one class are treated.

    `retention_days` is how long records with a value of this class may be kept, `access` who may read them; both are
    stated beside each field by `toolwitness check`, which is where they are reviewed.
    """

    action: Action | None = None
    """None leaves the class its usual action."""
    retention_days: int | None = None
    access: tuple[str, ...] = ()


_USUAL: Final = {
    PrivacyClass.PUBLIC: Action.KEEP,
    PrivacyClass.INTERNAL: Action.KEEP,
    PrivacyClass.UNKNOWN: Action.SHAPE,
    PrivacyClass.PERSONAL: Action.FINGERPRINT,
    PrivacyClass.SENSITIVE: Action.SHAPE,
    PrivacyClass.SECRET: Action.SHAPE,
}


@dataclass(frozen=True, slots=True)
class RedactionPolicy:
    """The application's own word on privacy; the first voice in the order of precedence.

    Raises:
        SettingsError: a selector is not of the form `tool:path`, a class or action does not exist, or secrets would be shown.
    """

    unknown: Literal["shape", "scan"] = "shape"
    """Values that nothing classified: only their shape leaves, or they are kept after the value detectors."""

    classes: Mapping[str, PrivacyClass | Declared | str] = field(default_factory=dict)
    """Classes by selector: `tool:args.payment.amount`, `server/tool@2.1:result.items[].sku`, `*:args.note`, `tool:*`.

    A key that itself contains a dot or bracket is written `args["a.b"]`. A class below what schema, name or parent say
    takes effect only with a reason: `Declared("public", reason="a ticker symbol")`.
    """

    handling: Mapping[PrivacyClass, Handling] = field(default_factory=dict)
    """What differs from the usual treatment of a class."""

    _tables: dict[str, Table] = field(init=False, repr=False, compare=False, default_factory=dict)
    _actions: dict[PrivacyClass, Action] = field(init=False, repr=False, compare=False, default_factory=dict)
    _roots: dict[Any, Any] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Read the declarations."""
        if self.unknown not in {"shape", "scan"}:
            raise SettingsError(f"unknown must be 'shape' or 'scan', not {self.unknown!r}")
        for selector, given in self.classes.items():
            tool, path = _split(selector)
            if not (tool and path):
                raise SettingsError(f"selector {selector!r} is not of the form 'tool:path'")
            try:
                self._tables.setdefault(tool, {})[path] = Declared.of(given)
            except (ValueError, TypeError) as error:
                raise SettingsError(f"selector {selector!r} names no privacy class: {given!r}") from error
        self._actions.update(_USUAL)
        if self.unknown == "scan":
            self._actions[PrivacyClass.UNKNOWN] = Action.KEEP
        for cls, handling in self.handling.items():
            if handling.action is not None:
                self._actions[PrivacyClass(cls)] = Action(handling.action)
        if self._actions[PrivacyClass.SECRET] in _SHOWS:
            raise SettingsError("secrets are never shown; declare the field itself, with a reason, where it holds none")

    def tables(self, tool: str | None) -> tuple[Table, ...]:
        """Return what was declared for a tool, the most particular first.

        That is `server/tool@version`, `tool@version`, `server/tool`, `tool`, every tool.
        """
        names = [ANY]
        if tool is not None:
            found = _VERSIONED.fullmatch(tool)
            whole = found["tool"] if found else tool
            bare = whole.rpartition("/")[2]
            names = [*([tool, f"{bare}@{found['version']}"] if found else []), whole, bare, ANY]
        return tuple(self._tables[name] for name in dict.fromkeys(names) if name in self._tables)

    def with_tool(self, tool: str, classes: Mapping[str, PrivacyClass | Declared | str]) -> RedactionPolicy:
        """Return the policy with what a tool's own definition declares, by path; this policy's word on that tool goes first."""
        own = {f"{tool}:{path}": said for path, said in classes.items()}
        return replace(self, classes={**own, **self.classes}) if own else self

    def action(self, cls: PrivacyClass) -> Action:
        """Return what the copy shows of a value of a class."""
        return self._actions[cls]

    def shows(self, cls: PrivacyClass) -> bool:
        """Tell whether values of a class are in the copy, masked where a detector objects."""
        return self._actions[cls] in _SHOWS

    def selectors(self) -> tuple[tuple[str, str, Declared], ...]:
        """Return every declaration as tool, path and what was declared."""
        return tuple((tool, path, said) for tool, table in self._tables.items() for path, said in table.items())

    def remembered(self, key: Any) -> Any:
        """Return what `remember` was given under this key, or None."""
        return self._roots.get(key)

    def remember(self, key: Any, value: Any) -> None:
        """Keep something that was worked out from this policy, within limits."""
        if len(self._roots) >= _MAX_REMEMBERED:
            self._roots.clear()
        self._roots[key] = value


_MAX_REMEMBERED: Final = 1024


def _split(selector: object) -> tuple[str, str]:
    """Return tool and path of a selector; a quoted key of the path may hold any sign."""
    if not isinstance(selector, str):
        return "", ""
    plain, quote, quoted = selector.partition('["')
    tool, _, path = plain.rpartition(":")
    return tool, f"{path}{quote}{quoted}" if path else ""
