"""HTML that escapes by default: whatever was recorded is text, never markup."""

from __future__ import annotations

import html
from collections.abc import Iterable

_VOID = frozenset({"br", "col", "hr"})


class Markup(str):
    """Text that is HTML already; only this module and literals in the pages make it."""

    __slots__ = ()


Child = object
"""What an element may hold: `Markup` goes in as it is, None not at all, anything else as escaped text."""


def text(value: Child) -> Markup:
    """`value` as HTML text: `Markup` unchanged, None as nothing, the rest escaped."""
    if isinstance(value, Markup):
        return value
    return Markup("" if value is None else html.escape(str(value)))


def join(children: Iterable[Child], between: str = "") -> Markup:
    """The children one after another; `between` is put in as it is."""
    return Markup(between.join(text(child) for child in children if child is not None))


def tag(name: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """One element.

    A trailing underscore in an attribute's name is dropped (`class_`), others become hyphens (`aria_label`). None and False
    leave the attribute out, True writes its name alone.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None and value is not False)
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def _attribute(key: str, value: str | float | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
