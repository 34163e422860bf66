"""Walks a projection and builds its clean copy.

The first pass gives every place its class and writes down what the copy shows of it if no detector objects; texts are put
aside. Then all texts are scanned at once, and the places where something was found are written again.
"""

from __future__ import annotations

import json
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.compact import compact_json
from toolwitness.redaction.detect import prefilter, scan_texts
from toolwitness.redaction.fields import PLAIN_KEY, Judgement, Mode, Source
from toolwitness.redaction.mask import free_name, is_label, key_mask, masked, torn, truncated
from toolwitness.redaction.names import MAX_NAME, name_class
from toolwitness.redaction.placeholder import ESCAPED, SIZE_CLASSES, TAG, formats, is_well_formed, placeholder, size_class
from toolwitness.redaction.policy import Action
from toolwitness.redaction.projection import CUT, project
from toolwitness.redaction.schema import PROPERTY_MAPS, SHOWN_BY_SCHEMAS, Schema, is_property_map, spoken
from toolwitness.redaction.words import words_of

if TYPE_CHECKING:
    from toolwitness.redaction.detect import Finding
    from toolwitness.redaction.fields import Field
    from toolwitness.redaction.fingerprint import FingerprintKey
    from toolwitness.redaction.policy import RedactionPolicy

__all__ = ["OverLimitError", "Walk"]

_MAX_NODES: Final = 10_000
"""Places of one copy, those inside JSON texts included; each may become a placeholder of some 75 bytes."""

_MAX_SECONDS: Final = 0.5
"""Processor time of the calling thread for one copy; many times what the largest usual payload needs."""

_CHECK_EVERY: Final = 64
"""Places between two looks at the clock."""

_MAX_JSON_LEVELS: Final = 3
"""JSON texts inside JSON texts."""

_SHORTEST_NUMBER: Final = 1_000_000_000
"""Integers below this are neither card nor phone numbers."""

_PAIR: Final = 2

_NAMELESS: Final = "_"

_FINDABLE: Final = 20
"""Letters; no detector knows anything that is shorter and has letters only."""

_OWN_KEY: Final = re.compile(r"(?:\[[a-z0-9-]{1,24}\]|\$tw:escaped)(?:#[0-9]{1,5})?")
"""What a first cleaning left in the place of a key."""

_LABELS: Final = ("name", "key", "header", "field", "param")
_LABEL_TEXT: Final = re.compile(r"-{0,2}\w[\w .:/-]*")
_VALUES: Final = frozenset({"value", "val", "content"})

_TABLED: Final = len(SIZE_CLASSES)

_SECRET: Final = PrivacyClass.SECRET
# An attribute of a module is found twice as fast as one of an enum, and there are several a text.
_BARE, _LABEL, _SHOW, _CUT = Mode.BARE, Mode.LABEL, Mode.SHOW, Mode.CUT


class OverLimitError(Exception):
    """A value is larger, or takes longer, than a clean copy may."""

    def __init__(self, limit: Literal["size", "time"]) -> None:
        super().__init__(limit)
        self.limit: Literal["size", "time"] = limit


class Walk:
    """The making of one clean copy."""

    def __init__(self, policy: RedactionPolicy, *, again: bool, fingerprints: FingerprintKey | None) -> None:
        self.redacted = 0
        self.truncated = False
        self._policy = policy
        self._again = again
        self._fingerprints = fingerprints
        self._nodes, self._look_again = 0, _CHECK_EVERY
        self._json_levels = 0
        prefilter.ready()
        self._deadline = time.thread_time() + _MAX_SECONDS
        self._slots: list[tuple[Any, Any, Judgement, str, bool]] = []
        """Of each text: container and key of its place in the copy, what is known of the place, text, whether shown."""
        self._json: list[tuple[Any, Any, list[Any]]] = []
        """Places of JSON texts, with what is to be written there."""

    def top(self, value: Any, field: Field) -> Any:
        """Return the clean copy of a whole projected value.

        Raises:
            OverLimitError: the copy would exceed its size or time.
            TypeError: the value is not what a projection holds.
        """
        out: list[Any] = [None]
        self._put(out, 0, value, field)
        self._check_time()
        for at, found in scan_texts([slot[3] for slot in self._slots]).items():
            self._object_to(self._slots[at], found)
        for holder, key, inner in self._json:
            holder[key] = compact_json(inner[0])
        self._check_time()
        return out[0]

    def _check_time(self) -> None:
        if time.thread_time() > self._deadline:
            raise OverLimitError("time")

    def _count(self, places: int) -> None:
        self._nodes += places
        if self._nodes >= self._look_again:
            self._look_again = self._nodes + _CHECK_EVERY
            if self._nodes > _MAX_NODES:
                raise OverLimitError("size")
            self._check_time()

    def _put(self, out: Any, key: Any, value: Any, field: Field) -> None:
        """Write what the copy shows of a value to `out[key]`."""
        kind = type(value)
        if kind is str:
            self._text(out, key, value, field)
        elif value is None or kind is bool:
            out[key] = value  # nothing in them to hide, and "was missing" must stay visible
        elif kind is int or kind is float:
            self._number(out, key, value, field)
        elif kind is dict:
            out[key] = value if self._again and is_well_formed(value) else self._object(value, field)
        elif kind is list:
            out[key] = self._array(value, field)
        else:
            raise TypeError("not a projected value")

    def _object(self, value: dict[str, Any], field: Field) -> dict[str, Any]:
        self._count(len(value))
        label = None if _VALUES.isdisjoint(value) else _labelled(value)
        members, texts = field.members, self._text
        special = label is not None or field.protects
        out: dict[str, Any] = {}
        hidden = 0
        for key, item in value.items():
            name, child = key, members.get(key)
            if child is None or special:
                name, child = self._member(key, field, label, out)
            kind = type(item)
            if kind is str:
                texts(out, name, item, child)
            elif item is None or kind is bool:
                out[name] = item
            elif kind is int and child.plain:
                hidden += 1
                out[name] = child.whole
            elif kind is dict and key in PROPERTY_MAPS and is_property_map(item):
                out[name] = self._described(item, child)
            else:
                self._put(out, name, item, child)
        self.redacted += hidden
        return out

    def _member(self, key: str, field: Field, label: Judgement | None, out: dict[str, Any]) -> tuple[str, Field]:
        """Return what stands for a key that is new or in special company, and its place."""
        own = self._again and _OWN_KEY.fullmatch(key) is not None
        child = field.member(_NAMELESS if own else key)  # the rule that masked a key names no field
        # Under a name that protects, a key may be what is protected: `{"patients": {"Jane": ...}}`.
        hide = field.protects and not (child.declared or _is_field_name(key, secret=field.judgement.cls is _SECRET))
        name = key
        if hide or not PLAIN_KEY.fullmatch(key):
            name = self._key(key, declared=child.declared, hide=hide)
        if label is not None and key in _VALUES:
            child = child.raised(label)
        return free_name(name, out), child

    def _described(self, properties: dict[str, Any], field: Field) -> dict[str, Any]:
        """Return the copy of a schema's `properties`: their names are structure, the values they show are not."""
        self._count(len(properties))
        out: dict[str, Any] = {}
        for key, node in properties.items():
            name = (
                key if PLAIN_KEY.fullmatch(key) and not field.protects else self._key(key, declared=False, hide=field.protects)
            )
            described = field.member(key)
            if (voice := spoken(Schema(node, (node,)))) is not None:
                described = described.raised(Judgement(voice.cls, voice.why, Source.VALUE))
            copy: dict[str, Any] = {}
            for word, item in node.items():
                child = field.member(word)
                self._put(copy, word, item, child.raised(described.judgement) if word in SHOWN_BY_SCHEMAS else child)
            out[free_name(name, out)] = copy
        return out

    def _array(self, value: list[Any], field: Field) -> list[Any]:
        count = len(value)
        self._count(count)
        out: list[Any] = [None] * count
        atom, pair = field.item(container=False), count == _PAIR
        announced: Judgement | None = None
        for at, item in enumerate(value):
            kind = type(item)
            child = field.item(container=True) if kind is dict or kind is list else atom
            if announced is not None:
                child, announced = child.raised(announced), None
            if kind is str:
                self._text(out, at, item, child)
                if pair or item[:1] == "-":
                    announced = _flag(item, value)
            elif (kind is int or kind is float) and child.plain:
                self.redacted += 1
                out[at] = child.whole if kind is int else child.real
            else:
                self._put(out, at, item, child)
        return out

    def _number(self, out: Any, key: Any, value: float, field: Field) -> None:
        judgement, shown = field.judgement, field.shown
        if field.listed and any(type(entry) is type(value) and entry == value for entry in field.listed):
            judgement, shown = field.if_listed, True
        if not shown:
            out[key] = self._hidden(value, judgement)
            return
        out[key] = value
        if value - value != 0.0:  # a JSON text may hold a number that is too large for a float
            self.truncated = True
            out[key] = "<Infinity>"
        elif type(value) is int and not -_SHORTEST_NUMBER < value < _SHORTEST_NUMBER:
            self._slots.append((out, key, judgement, str(abs(value)), True))

    def _text(self, out: Any, key: Any, text: str, field: Field) -> None:
        """Write what the copy shows of a text, and put it aside for the detectors."""
        if not text:
            out[key] = text
            return
        if text[0] in "{[ \n\t\r" and not field.protects and self._inner(out, key, text, field):
            return
        if field.quick:
            # Most texts end here: written out in full, since a call each would double the cost of a payload.
            length = len(text)
            size = SIZE_CLASSES[length] if length < _TABLED and text[-1] != ">" else size_class(text)
            fmt = formats(text) if "-" in text else ()
            self.redacted += 1
            out[key] = field.sized.get(size) or field.hidden(size) if not fmt else field.hidden(size, fmt)
            if not (fmt or (length < _FINDABLE and text.isalpha())):
                self._slots.append((out, key, field.judgement, text, False))
        elif field.open and text[-1] != ">":
            out[key] = text
            if len(text) >= _FINDABLE or not text.isalpha():
                self._slots.append((out, key, field.judgement, text, True))
        else:
            self._special_text(out, key, text, field)

    def _special_text(self, out: Any, key: Any, text: str, field: Field) -> None:
        """Write what the copy shows of a text at a place where that hangs on the text itself, or where it is shown."""
        judgement, mode = field.judgement, field.mode
        if field.listed and any(type(entry) is str and entry == text for entry in field.listed):
            judgement, mode = field.if_listed, _SHOW
        elif mode is _LABEL and (field.counts or not is_label(text)):
            field = field.unlabelled()
            judgement, mode = field.judgement, field.mode
        shown = mode is _SHOW or mode is _LABEL or mode is _CUT
        if not shown:
            out[key] = self._hidden(text, judgement)
        else:
            out[key] = self._kept(text, Action.TRUNCATE if mode is _CUT else Action.KEEP)
        if mode is not _BARE:
            self._slots.append((out, key, judgement, text, shown))

    def _kept(self, text: str, action: Action) -> str:
        if text.endswith(CUT):
            text = torn(text)
        if action is Action.TRUNCATE and (short := truncated(text)) != text:
            self.truncated = True
            return short
        return text

    def _hidden(self, value: str | float, judgement: Judgement, rules: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the placeholder of a value that is not shown."""
        self.redacted += 1
        cls = judgement.cls
        action = self._policy.action(cls)
        mark = None
        if self._fingerprints is not None and (action is Action.FINGERPRINT or action is Action.HASH):
            mark = self._fingerprints.of(value, cls)
        bare = cls is _SECRET or action is Action.DROP or action is Action.HASH
        fmt = () if bare or type(value) is not str else (*rules, *formats(value))
        return placeholder(value, cls, judgement.why, fmt, fingerprint=mark, bare=bare, typed=action is not Action.DROP)

    def _object_to(self, slot: tuple[Any, Any, Judgement, str, bool], found: list[Finding]) -> None:
        """Write a place again in which the detectors found something."""
        out, key, judgement, text, shown = slot
        # A number is still in its place, while a text may be hidden there already.
        value = out[key] if type(out[key]) is int else text
        if shown and judgement.source is Source.POLICY and judgement.cls is PrivacyClass.PUBLIC:
            found = [hit for hit in found if hit.cls is _SECRET]
            if not found:
                return
        if shown and type(value) is str and not _covers(found, text):
            self.redacted += 1
            out[key] = self._kept(masked(text, found), self._policy.action(judgement.cls))
            return
        worst = max(found, key=_rank)
        if worst.cls.rank > judgement.cls.rank:
            judgement = Judgement(worst.cls, f"value:{worst.rule}", Source.VALUE)
        if not shown:
            self.redacted -= 1  # it was counted when the place was first written
        out[key] = self._hidden(value, judgement, tuple({hit.rule: None for hit in found}))

    def _inner(self, out: Any, key: Any, text: str, field: Field) -> bool:
        """Clean a JSON text by its structure, to be written again later; False for any other text.

        Rewriting matters even where nothing is redacted: doubled keys and escapes could hide something in the original.
        """
        if self._json_levels >= _MAX_JSON_LEVELS or text.lstrip()[:1] not in {"{", "["}:
            return False
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            return False
        if "\\u" in text or "NaN" in text or "Infinity" in text:
            projection = project(parsed)
            self.truncated |= projection.truncated
            parsed = projection.value
        self._json_levels += 1
        inner: list[Any] = [None]
        self._put(inner, 0, parsed, field)
        self._json_levels -= 1
        self._json.append((out, key, inner))
        out[key] = None
        return True

    def _key(self, key: str, *, declared: bool, hide: bool) -> str:
        """Return what may stand as a key: a schema's own names as they are, others only where they look like names."""
        if key == TAG:
            return ESCAPED
        if declared or (self._again and _OWN_KEY.fullmatch(key)):
            return key
        mask = key_mask(key)
        if mask is None and not hide:
            return key
        self.redacted += 1
        return mask or "[key]"


def _rank(hit: Finding) -> int:
    return hit.cls.rank


def _is_field_name(key: str, *, secret: bool) -> bool:
    """Tell the usual name of a part from what may be somebody's name; under a secret no key is sure."""
    return not secret and (key.lower() in _PARTS or name_class(key) is not None)


_PARTS: Final = words_of(
    """
    id type name value values key label kind status state country city town region province county district line line1 line2
    line3 house unit floor number first last middle given family full title prefix suffix primary secondary home work office
    mobile personal business billing shipping date year month day code format note notes text items data list total amount
    currency unit units verified valid active lat lon x y min max from to start end created updated address1 address2 zip4
    content message body subject default example
    """
)


def _covers(found: list[Finding], text: str) -> bool:
    """Tell whether one hit is the whole text, so that masking it would leave nothing worth keeping."""
    bare = len(text.strip())
    return any(hit.end - hit.start >= bare for hit in found)


@lru_cache(maxsize=4096)
def _announces(text: str) -> Judgement | None:
    """Return the class that a text gives to the value beside it, if it is the name of such a thing."""
    named = name_class(text) if _LABEL_TEXT.fullmatch(text) else None
    if named is None:
        return None
    judgement = Judgement(named[0], f"name:{named[1]}", Source.NAME)
    return judgement if judgement.protects else None


def _named(item: Any) -> Judgement | None:
    return _announces(item) if type(item) is str and len(item) <= MAX_NAME else None


def _flag(item: str, items: list[Any]) -> Judgement | None:
    """Return the class of what follows an item: `["--password", "..."]`, `["authorization", "..."]`.

    A list of names alone, such as a schema's `required`, announces nothing.
    """
    return None if len(items) == _PAIR and _named(items[1]) else _named(item)


def _labelled(value: dict[str, Any]) -> Judgement | None:
    """Return the class that a pair's own label gives its value: `{"name": "X-Api-Key", "value": "..."}`."""
    return next((found for label in _LABELS if (found := _named(value.get(label))) is not None), None)
