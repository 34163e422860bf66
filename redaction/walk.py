"""Walks a projection and builds its clean copy, place by place."""

from __future__ import annotations

import json
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.classify import Judgement, Place, Schema, Source, classify, inheritable, step_into
from toolwitness.redaction.detect import Finding, scan_text
from toolwitness.redaction.names import MAX_NAME, name_class
from toolwitness.redaction.placeholder import ESCAPED, TAG, formats, is_well_formed, placeholder
from toolwitness.redaction.policy import Action
from toolwitness.redaction.projection import CUT, project

if TYPE_CHECKING:
    from toolwitness.redaction.policy import RedactionPolicy

__all__ = ["OverLimitError", "Walk"]

_MAX_NODES: Final = 20_000
"""Places of one copy, those inside JSON texts included."""

_MAX_SECONDS: Final = 0.25
"""Processor time of the calling thread for one copy; many times what the largest usual payload needs."""

_CHECK_EVERY: Final = 64
"""Places between two looks at the clock."""

_MAX_JSON_LEVELS: Final = 3
"""JSON texts inside JSON texts."""

_LABEL_LENGTH: Final = 64
_LABEL_WORDS: Final = 4

_TORN: Final = 256
"""Characters before a cut in which half a secret may stand that no detector knows any more."""

_SHORTEST_NUMBER: Final = 1_000_000_000
"""Integers below this are neither card nor phone numbers."""

_PAIR: Final = 2

_OWN_KEY: Final = re.compile(r"(?:\[[a-z-]{1,16}\]|\$tw:escaped)(?:#[0-9]{1,5})?")
"""What a first cleaning left in the place of a key."""

_FIELD_NAME: Final = re.compile(r"[\w.:/@$#*+\-\[\]]{1,64}")
"""A key that names a field: one word of any script, with the signs that paths and headers use."""

_LABELS: Final = ("name", "key", "header", "field", "param")
_VALUES: Final = ("value", "val", "content")


class OverLimitError(Exception):
    """A value is larger, or takes longer, than a clean copy may."""

    def __init__(self, limit: Literal["size", "time"]) -> None:
        super().__init__(limit)
        self.limit: Literal["size", "time"] = limit


class Walk:
    """The making of one clean copy."""

    def __init__(self, policy: RedactionPolicy, tool: str | None, *, again: bool) -> None:
        self.redacted = 0
        self.truncated = False
        self._policy = policy
        self._tables = policy.tables(tool)
        self._again = again
        self._nodes = 0
        self._json_levels = 0
        self._deadline = time.thread_time() + _MAX_SECONDS

    def top(self, value: Any, part: str, schema: Schema | None) -> Any:
        """Return the clean copy of a whole projected value.

        Raises:
            OverLimitError: the copy would exceed its size or time.
            TypeError: the value is not what a projection holds.
        """
        return self._value(Place(part, None, schema, value), None)

    def _value(self, place: Place, inherited: Judgement | None) -> Any:
        self._count()
        value = place.value
        kind = type(value)
        if value is None or value == "" or kind is bool:
            return value  # nothing in them to hide, and "was missing" must stay visible
        if kind is dict and self._again and is_well_formed(value):
            return value
        judgement = classify(place, self._tables, inherited)
        if kind is dict:
            return self._object(place, judgement)
        if kind is list:
            return self._array(place, judgement)
        if kind is str:
            return self._text(place, judgement)
        if kind is int or kind is float:
            return self._number(value, judgement)
        raise TypeError("not a projected value")

    def _count(self) -> None:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise OverLimitError("size")
        if self._nodes % _CHECK_EVERY == 0 and time.thread_time() > self._deadline:
            raise OverLimitError("time")

    def _object(self, place: Place, judgement: Judgement) -> dict[str, Any]:
        handed = inheritable(judgement)
        labelled = _labelled(place.value)
        out: dict[str, Any] = {}
        for key, item in place.value.items():
            schema, named = step_into(place.schema, key)
            path = f"{place.path}{_step(key)}"
            child = self._value(Place(path, key, schema, item), _higher(handed, labelled if key in _VALUES else None))
            name = self._key(key, named=named, secret=judgement.cls is PrivacyClass.SECRET)
            out[name if name not in out else _free(name, out)] = child
        return out

    def _array(self, place: Place, judgement: Judgement) -> list[Any]:
        schema, _ = step_into(place.schema, None)
        path = f"{place.path}[]"
        handed = inheritable(judgement)
        out: list[Any] = []
        before: Judgement | None = None
        for item in place.value:
            container = type(item) is dict or type(item) is list
            # Atoms in a list are the values of the list's own name; objects in it have names of their own.
            passed = _higher(handed if container else judgement, before)
            out.append(self._value(Place(path, None, schema, item), passed))
            before = _flag(item, place.value)
        return out

    def _number(self, value: float, judgement: Judgement) -> Any:
        if self._policy.action(judgement.cls) is Action.KEEP:
            found = scan_text(str(abs(value))) if type(value) is int and abs(value) >= _SHORTEST_NUMBER else ()
            if not found:
                return value
            judgement = _raised(judgement, found)
        self.redacted += 1
        return placeholder(value, judgement.cls, judgement.why)

    def _text(self, place: Place, judgement: Judgement) -> Any:
        text: str = place.value
        if not judgement.protects and (inner := self._json(place, judgement)) is not None:
            return inner
        found = () if judgement.cls is PrivacyClass.SECRET else scan_text(text)
        if judgement.source is Source.NAME and judgement.cls is PrivacyClass.INTERNAL and not _is_label(text):
            judgement = Judgement(PrivacyClass.UNKNOWN, "value:no-label", Source.VALUE)
        if self._policy.action(judgement.cls) is Action.KEEP:
            if judgement.source is Source.POLICY and judgement.cls is PrivacyClass.PUBLIC:
                found = tuple(hit for hit in found if hit.cls is PrivacyClass.SECRET)
            if all(hit.cls is not PrivacyClass.SECRET for hit in found):
                return self._masked(text, found)
        judgement = _raised(judgement, found)
        self.redacted += 1
        rules = dict.fromkeys(hit.rule for hit in found)
        secret = judgement.cls is PrivacyClass.SECRET
        return placeholder(text, judgement.cls, judgement.why, () if secret else (*rules, *formats(text)))

    def _json(self, place: Place, judgement: Judgement) -> str | None:
        """Clean a JSON text by its structure and write it again, or return None for any other text.

        Rewriting matters even where nothing is redacted: doubled keys and escapes could hide something in the original.
        """
        if self._json_levels >= _MAX_JSON_LEVELS or place.value.lstrip()[:1] not in {"{", "["}:
            return None
        try:
            parsed = json.loads(place.value)
        except (ValueError, RecursionError):
            return None
        projection = project(parsed)
        self.truncated |= projection.truncated
        self._json_levels += 1
        inner = self._value(place._replace(key=None, value=projection.value), inheritable(judgement))
        self._json_levels -= 1
        return json.dumps(inner, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def _masked(self, text: str, found: tuple[Finding, ...]) -> str:
        """Return a kept text with each objectionable span replaced by its rule's name."""
        pieces: list[str] = []
        at = 0
        for hit in found:
            if hit.start >= at:
                pieces += [text[at : hit.start], f"[{hit.rule}]"]
            at = max(at, hit.end)
        rest = text[at:]
        if text.endswith(CUT):
            head, gap, _ = rest[: -_TORN - len(CUT)].rpartition(" ")
            rest = f"{head}{gap}{CUT}"
        self.redacted += bool(found)
        return "".join((*pieces, rest))

    def _key(self, key: str, *, named: bool, secret: bool) -> str:
        """Return what may stand as a key: a schema's own names as they are, others only where they look like names."""
        if key == TAG:
            return ESCAPED
        if named or (self._again and _OWN_KEY.fullmatch(key)):
            return key
        mask = _key_mask(key) if len(key) <= MAX_NAME else "[key]"
        if mask is None and not secret:
            return key
        self.redacted += 1
        return mask or "[key]"


@lru_cache(maxsize=4096)
def _key_mask(key: str) -> str | None:
    """Return what must stand in the place of a key, or None for one that may stay; keys recur, so the answer is kept."""
    found = scan_text(key)
    if found:
        return f"[{found[0].rule}]"
    # A key of several words is somebody's text; what names a field is one.
    return None if _FIELD_NAME.fullmatch(key) else "[key]"


def _step(key: str) -> str:
    """Return a key's step in a path; one that contains path signs is quoted, so that it cannot pose as a longer path."""
    return f"[{json.dumps(key)}]" if "." in key or "[" in key else f".{key}"


def _free(name: str, taken: dict[str, Any]) -> str:
    number = len(taken)
    while f"{name}#{number}" in taken:
        number += 1
    return f"{name}#{number}"


def _raised(judgement: Judgement, found: tuple[Finding, ...]) -> Judgement:
    """Return the judgement, raised to the highest class that a detector found."""
    worst = max(found, key=lambda hit: hit.cls.rank, default=None)
    if worst is None or worst.cls.rank <= judgement.cls.rank:
        return judgement
    return Judgement(worst.cls, f"value:{worst.rule}", Source.VALUE)


def _higher(one: Judgement | None, other: Judgement | None) -> Judgement | None:
    if one is None or other is None:
        return one or other
    return other if other.cls.rank > one.cls.rank else one


def _is_label(text: str) -> bool:
    """Tell a status word or code from free text that merely stands under an operational name."""
    return len(text) <= _LABEL_LENGTH and len(text.split()) <= _LABEL_WORDS and text.isprintable()


def _announces(item: Any) -> Judgement | None:
    """Return the class that a text gives to the value beside it, if it is the name of such a thing."""
    named = name_class(item) if type(item) is str and len(item) <= MAX_NAME else None
    if named is None:
        return None
    judgement = Judgement(named[0], f"name:{named[1]}", Source.NAME)
    return judgement if judgement.protects else None


def _flag(item: Any, items: list[Any]) -> Judgement | None:
    """Return the class of what follows an item: `["--password", "..."]`, `["authorization", "..."]`.

    A list of names alone, such as a schema's `required`, announces nothing.
    """
    if type(item) is not str or not (item.startswith("-") or len(items) == _PAIR):
        return None
    return None if len(items) == _PAIR and _announces(items[1]) else _announces(item)


def _labelled(value: dict[str, Any]) -> Judgement | None:
    """Return the class that a pair's own label gives its value: `{"name": "X-Api-Key", "value": "..."}`."""
    if not any(key in value for key in _VALUES):
        return None
    return next((found for label in _LABELS if (found := _announces(value.get(label))) is not None), None)
