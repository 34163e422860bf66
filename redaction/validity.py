"""Whether the original of a redacted copy fits a JSON Schema (B4), as far as the copy can tell.

Each keyword is answered by yes, no or open, and the answers are put together so that a copy never contradicts its original:
what is called valid or invalid here would be so with the original in hand. Parts that redaction left alone are checked by the
same validator as originals are.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from toolwitness.model.enums import Validity
from toolwitness.model.records import Failure
from toolwitness.model.validity import MAX_FAILURES, Check, Checker
from toolwitness.redaction.keywords import ABOUT, RULES, RULES_OF_TYPES, SINCE, YES, Answer, Spot, Touched, all_of
from toolwitness.redaction.sketch import Known, Sketch, read

__all__ = ["check_copy"]

_MOST_STEPS: Final = 20_000
"""Schemas that are held against the parts of one copy."""

_VERDICTS: Final = {True: Validity.VALID, False: Validity.INVALID, None: Validity.INDETERMINATE}
_FITS: Final = {verdict: fits for fits, verdict in _VERDICTS.items()}
_DRAFT_OF_LONE_REFERENCES: Final = 7
"""Up to this draft what stands beside a `$ref` means nothing."""
_MOVING: Final = frozenset({"$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"})
"""Keywords by which the meaning of a part depends on where it stands."""
_DOCUMENTS: Final = ("$id", "$schema")
"""Keywords that begin a document inside another; a property of such a name has a schema for its value, no text."""
_DRAFT_OF_IDS: Final = 4
"""The draft in which `id` does so too."""


class _TooMuchError(Exception):
    """The check takes more steps than one may."""


def check_copy(schema: Any, copy: Any, *, truncated: bool = False) -> Check:
    """Check the original of a redacted copy. Never raises and never contradicts `model.validity.check` of the original.

    Args:
        schema: A JSON Schema, or a `Checker` of it that is kept for many copies.
        copy: What `clean` made of the original, parsed.
        truncated: Something was left out of the copy or changed in type (`Clean.truncated`).

    Returns:
        Indeterminate, with the places that are open, wherever what was redacted could decide.
    """
    checker = schema if isinstance(schema, Checker) else Checker(schema)
    if not checker.usable:
        return Check(Validity.INDETERMINATE)
    try:
        answer = _Judge(checker).whole(read(copy, truncated=truncated))
    except (_TooMuchError, RecursionError):
        return Check(Validity.INDETERMINATE)
    return Check(_VERDICTS[answer.fits], tuple(islice(dict.fromkeys(answer.places), MAX_FAILURES)))


class _Judge:
    """One check of one copy."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self._steps = 0

    def whole(self, sketch: Sketch) -> Answer:
        """Hold the whole schema against the whole copy."""
        if isinstance(sketch, Known):
            return _of(self.checker.check(sketch.value), "")
        if type(self.checker.schema) is dict and _moves(self.checker.schema, self.checker.draft):
            return Answer(None, (Failure("", "$ref"),))
        return self.held(Spot(self.checker.schema, "", ()), sketch)

    def held(self, spot: Spot, sketch: Sketch) -> Answer:
        """Hold one schema against one part."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _TooMuchError
        schema = spot.schema
        if type(schema) is bool:
            return self.told(spot, "falseSchema", schema)
        if isinstance(sketch, Known):
            return _of(self.checker.check_part(spot.at, sketch.value), self.checker.pointer(spot.path))
        alone = "$ref" in schema and self.checker.draft <= _DRAFT_OF_LONE_REFERENCES
        words = ["$ref"] if alone else schema
        return all_of(self._keyword(word, spot, sketch) for word in words)

    def _keyword(self, word: str, spot: Spot, part: Touched) -> Answer:
        """What one keyword says of a part that redaction touched."""
        if word not in ABOUT:
            rule = RULES.get(word)
            return YES if rule is None or self.checker.draft < SINCE.get(word, 0) else rule(self, spot, part)
        concerned = part.types & ABOUT[word]
        if not concerned:
            return YES
        rule = RULES_OF_TYPES.get((word, type(part)))
        if rule is None or concerned != part.types:
            return self.told(spot, word, None)
        return rule(self, spot, part)

    def told(self, spot: Spot, keyword: str, fits: bool | None) -> Answer:
        """An answer with its place."""
        return YES if fits else Answer(fits, (Failure(self.checker.pointer(spot.path), keyword),))


def _of(check: Check, pointer: str) -> Answer:
    """The answer of the validator about a part at this pointer."""
    return Answer(_FITS[check.verdict], tuple(Failure(pointer + found.pointer, found.keyword) for found in check.failures))


def _moves(schema: dict[str, Any], draft: int) -> bool:
    """Whether the same words may mean something else in another place of the schema."""
    words = (*_DOCUMENTS, "id") if draft == _DRAFT_OF_IDS else _DOCUMENTS
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            starts = node is not schema and any(isinstance(node.get(word), str) for word in words)
            if starts or not _MOVING.isdisjoint(node):
                return True
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return False
