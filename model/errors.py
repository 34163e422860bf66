"""What an error means: its class, whether it may have left the process, whether a retry is allowed, and the one recovery (A10).

Own rules come first, then what `error_table` knows; what neither knows is `unclassified`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from toolwitness.model import error_table
from toolwitness.model.enums import ErrorClass, Known, Outcome
from toolwitness.model.error_table import ALONE, CODE_SOURCES, EXCEPTIONS, Rule
from toolwitness.model.outcome import Access

Code = int | str
DOMAINS: Mapping[str, Mapping[int, Rule] | Mapping[str, Rule]] = {
    "http": error_table.HTTP,
    "grpc": error_table.GRPC,
    "jsonrpc": error_table.JSONRPC,
    "code": error_table.VENDOR,
}
"""The tables of codes; `code` holds the vendors' own words."""
UNSURE = Rule(ErrorClass.UNCLASSIFIED, Known.UNKNOWN)
TIMED_OUT = Rule(ErrorClass.TEMPORARY, Known.UNKNOWN)
"""Where nothing more is known than that time ran out."""


class Recovery(StrEnum):
    """The one next step that a class permits."""

    CORRECT = "correct the arguments"
    READ_AGAIN = "read the current state again"
    GET_PERMISSION = "get permission"
    WAIT_FOR_APPROVAL = "wait for approval"
    RESOLVE = "resolve the conflict"
    WAIT_AND_RETRY = "wait, then retry"
    RETRY = "retry"
    DO_WITHOUT = "do without it"
    FIND_OUT = "find out whether it happened"
    REPORT = "report the defect"
    LOOK = "look at the error"


RECOVERY: dict[ErrorClass, Recovery] = {
    ErrorClass.VALIDATION: Recovery.CORRECT,
    ErrorClass.STALE_REFERENCE: Recovery.READ_AGAIN,
    ErrorClass.PERMISSION: Recovery.GET_PERMISSION,
    ErrorClass.NEEDS_APPROVAL: Recovery.WAIT_FOR_APPROVAL,
    ErrorClass.CONFLICT: Recovery.RESOLVE,
    ErrorClass.RATE_LIMIT: Recovery.WAIT_AND_RETRY,
    ErrorClass.TEMPORARY: Recovery.RETRY,
    ErrorClass.PERMANENT: Recovery.DO_WITHOUT,
    ErrorClass.UNKNOWN_COMMIT: Recovery.FIND_OUT,
    ErrorClass.INTERNAL: Recovery.REPORT,
    ErrorClass.UNCLASSIFIED: Recovery.LOOK,
}
RETRY_ALLOWED: dict[ErrorClass, Known] = {
    **dict.fromkeys(ErrorClass, Known.NO),
    ErrorClass.RATE_LIMIT: Known.YES,
    ErrorClass.TEMPORARY: Known.YES,
    ErrorClass.UNCLASSIFIED: Known.UNKNOWN,
}
"""Whether the same arguments may be sent again; of a call that may have taken effect only once that is settled."""


class NextStep(NamedTuple):
    """What to do about a failed call, and whether the same arguments may be sent again."""

    recovery: Recovery
    retry: Known


def next_step(error_class: ErrorClass, outcome: Outcome) -> NextStep:
    """The step that a class permits; a call that may have taken effect has to be settled first, whatever its class."""
    if outcome is Outcome.UNKNOWN_COMMIT:
        error_class = ErrorClass.UNKNOWN_COMMIT
    return NextStep(RECOVERY[error_class], RETRY_ALLOWED[error_class])


@dataclass(frozen=True, slots=True)
class OwnRule:
    """A rule of the application: `key` is the value of `selector` (`exception` or a table of codes) that it is about.

    `no_effect`: it declares that this comes before any commit. `business`: an answer with it is a no on business grounds.
    """

    selector: str
    key: Code
    error_class: ErrorClass
    tool: str | None = None
    no_effect: bool = False
    business: bool = False


class Thrown(NamedTuple):
    """An exception as types by module and qualified name, the nearest first, and values by path of attributes and keys."""

    types: tuple[str, ...]
    values: Mapping[str, Code] = {}

    def codes(self) -> tuple[tuple[str, Code], ...]:
        """The codes that exceptions of its type keep, with their tables."""
        sources = next((CODE_SOURCES[name] for name in self.types if name in CODE_SOURCES), ())
        return tuple((source.domain, self.values[source.path]) for source in sources if source.path in self.values)

    def rule(self) -> Rule:
        """What the nearest type that is known tells."""
        for place, name in enumerate(self.types):
            if name in EXCEPTIONS:
                return UNSURE if place and name in ALONE else EXCEPTIONS[name]
        return UNSURE


class Reading(NamedTuple):
    """What an error came to. `vendor_code` and `status` are the codes as they were found, kept whatever the class."""

    rule: Rule
    vendor_code: str | None = None
    status: int | None = None
    own: OwnRule | None = None

    def error_class(self, access: Access, *, proven: bool) -> ErrorClass:
        """The class, given whether the tool only reads and whether it is proven that nothing happened.

        What may be tried again is an unknown commit where it may have taken effect (A13).
        """
        found, left = self.rule
        lost = found is ErrorClass.TEMPORARY or (found is ErrorClass.INTERNAL and left is Known.YES)
        return ErrorClass.UNKNOWN_COMMIT if lost and access is Access.MAY_WRITE and not proven else found


class Errors:
    """Reads errors by the application's own rules, then by the table."""

    def __init__(self, own: Sequence[OwnRule] = ()) -> None:
        self._own = tuple(own)

    def read(
        self, tool: str, thrown: Sequence[Thrown] = (), *, vendor_code: str | None = None, status: int | None = None
    ) -> Reading:
        """What an error of this tool came to.

        `thrown` are the exception that it ended by and those that it was said to come from. `vendor_code` and `status` are what
        the application or the tool's answer tells.
        """
        told = (("code", vendor_code), ("http", status))
        said: list[tuple[str, Code]] = [(domain, code) for domain, code in told if code is not None]
        found = [*said, *(code for each in thrown for code in each.codes())]
        texts = (str(code) for domain, code in found if domain != "http")
        statuses = (code for domain, code in found if domain == "http" and type(code) is int)
        own = self._own_rule(tool, thrown, found)
        rule = _known(thrown, said) if own is None else Rule(own.error_class, Known.UNKNOWN)
        return Reading(rule, next(texts, None), next(statuses, None), own)

    def _own_rule(self, tool: str, thrown: Sequence[Thrown], codes: Sequence[tuple[str, Code]]) -> OwnRule | None:
        """The first rule of the application that fits, in the order of its file."""
        types = {("exception", name) for each in thrown for name in each.types}
        keys = {*types, *codes}
        return next((own for own in self._own if own.tool in {None, tool} and (own.selector, own.key) in keys), None)


def _known(thrown: Sequence[Thrown], said: Sequence[tuple[str, Code]]) -> Rule:
    """The first certain word of the table: of each exception its codes, its type, its HTTP status; then what was said."""
    for each in thrown:
        codes = each.codes()
        own = (code for code in codes if code[0] != "http")
        http = (code for code in codes if code[0] == "http")
        for rule in (*map(_of_code, own), each.rule(), *map(_of_code, http)):
            if rule.error_class is not ErrorClass.UNCLASSIFIED:
                return rule
    rules = (*map(_of_code, said), *(each.rule() for each in thrown))
    return next((rule for rule in rules if rule.error_class is not ErrorClass.UNCLASSIFIED), UNSURE)


def _of_code(found: tuple[str, Code]) -> Rule:
    domain, code = found
    table: Mapping[Code, Rule] = DOMAINS[domain]  # type: ignore[assignment]  # each table has keys of one type
    return table.get(code, UNSURE)
