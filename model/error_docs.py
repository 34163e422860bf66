"""The tables of docs/errors.md, generated from `error_table`, so that they stand in one place."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping

from toolwitness.model import error_table
from toolwitness.model.enums import ErrorClass, Known
from toolwitness.model.error_table import Rule
from toolwitness.model.errors import RECOVERY, RETRY_ALLOWED, Code

MARK = "<!-- generated: python -m toolwitness.model.error_docs -->"
"""Stands before the tables in the page."""
_LEFT = {Known.NO: "no", Known.UNKNOWN: "it may have", Known.YES: "yes"}


def error_tables() -> str:
    """The text that follows the mark."""
    return "\n".join((MARK, *_classes(), *_codes(), *_without_effect(), *_exceptions(), ""))


def _table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield from ("", f"### {title}", "")
    yield from (f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def _classes() -> Iterator[str]:
    rows = ((f"`{each}`", RETRY_ALLOWED[each].value, RECOVERY[each].value) for each in ErrorClass)
    return _table("Classes", ("class", "may the same be sent again", "recovery"), rows)


_CODES: tuple[tuple[str, Mapping[int, Rule] | Mapping[str, Rule]], ...] = (
    ("HTTP", error_table.HTTP),
    ("gRPC", error_table.GRPC),
    ("JSON-RPC", error_table.JSONRPC),
    ("vendors", error_table.VENDOR),
)


def _codes() -> Iterator[str]:
    return _table("Codes", ("of", "class", "codes"), (row for name, table in _CODES for row in _by_class(name, table)))


def _by_class(name: str, table: Mapping[int, Rule] | Mapping[str, Rule]) -> Iterator[tuple[str, str, str]]:
    for each in ErrorClass:
        codes: list[Code] = [code for code, rule in table.items() if rule.error_class is each]
        if codes:
            yield name, f"`{each}`", ", ".join(f"`{code}`" for code in codes)


def _without_effect() -> Iterator[str]:
    rows = ((f"`{status}`", source) for status, source in error_table.HTTP_WITHOUT_EFFECT.items())
    return _table("Statuses that rule an effect out", ("status", "what the standard says"), rows)


def _exceptions() -> Iterator[str]:
    rows = (
        (f"`{module}`", f"`{error_class}`", _LEFT[left], ", ".join(f"`{name}`" for name in names.split()))
        for module, rules in error_table.BY_MODULE
        for error_class, left, names in rules
    )
    return _table("Exceptions", ("module", "class", "has it left the process", "types"), rows)


if __name__ == "__main__":
    sys.stdout.write(error_tables())
