"""What is known of a place in a payload before its value is seen: the privacy class, and who decided it.

The voices are asked in order of precedence: the application's policy, the tool's schema, the field's name. The first that
answers decides; a place for which none does is `unknown`. The value detectors come after this and may only raise the class.
Fields are worked out once and kept, since the same places come again with every call of a tool.
"""

from __future__ import annotations

import re
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.names import ABOUT, name_class
from toolwitness.redaction.path import step
from toolwitness.redaction.placeholder import TAG
from toolwitness.redaction.policy import ANY, Action
from toolwitness.redaction.schema import Schema, Voice, listed, spoken, step_into

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolwitness.redaction.policy import RedactionPolicy, Table

__all__ = ["PLAIN_KEY", "UNKNOWN", "Field", "Judgement", "Mode", "Source", "inheritable", "root"]

PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z_-]{0,18}[0-9]{0,3}")
"""A key in which no detector could find anything."""

_MAX_MEMBERS: Final = 512
"""Members that one field remembers; objects with ids for keys have any number of them."""


class Source(IntEnum):
    """Who decided, the stronger voice being the larger number."""

    DEFAULT = 0
    VALUE = 1
    NAME = 2
    SCHEMA = 3
    POLICY = 4


class Judgement(NamedTuple):
    """A class with its reason; `why` names a rule and never quotes the payload."""

    cls: PrivacyClass
    why: str
    source: Source

    @property
    def protects(self) -> bool:
        """Whether the class is above unknown: someone or something said that this must not be shown."""
        cls = self.cls
        return cls is PrivacyClass.PERSONAL or cls is PrivacyClass.SENSITIVE or cls is PrivacyClass.SECRET


UNKNOWN: Final = Judgement(PrivacyClass.UNKNOWN, "default", Source.DEFAULT)
_UNLABELLED: Final = Judgement(PrivacyClass.UNKNOWN, "value:no-label", Source.VALUE)


def inheritable(judgement: Judgement) -> Judgement | None:
    """Return what a container hands down to its members: what was declared, or is above unknown.

    An operational name clears a container of nothing: `status` may well hold a whole customer.
    """
    return judgement if judgement.protects or judgement.source >= Source.SCHEMA else None


class Mode(Enum):
    """What the copy does with a text at a place."""

    BARE = "bare"
    """A placeholder that tells nothing of the text, which is not even scanned."""
    HIDE = "hide"
    """A placeholder with the text's size class and formats."""
    MARK = "mark"
    """A placeholder as the policy's action for the class says: fingerprint, hash or drop."""
    LABEL = "label"
    """The text where it is a short label, since only an operational name speaks for it."""
    SHOW = "show"
    """The text, with what the detectors object to masked."""
    CUT = "cut"
    """As `SHOW`, then truncated."""


class Field:
    """One place: its judgement, what the copy does with it, and its members and items as places of their own."""

    __slots__ = (
        "_item",
        "_others",
        "_path",
        "_policy",
        "_said",
        "_schema",
        "_tables",
        "counts",
        "declared",
        "handed",
        "if_listed",
        "judgement",
        "listed",
        "lowered",
        "members",
        "mode",
        "open",
        "plain",
        "protects",
        "quick",
        "real",
        "reason",
        "shown",
        "sized",
        "whole",
    )

    def __init__(
        self,
        policy: RedactionPolicy,
        path: str = "",
        *,
        tables: tuple[Table, ...] = (),
        schema: Schema | None = None,
        key: str | None = None,
        inherited: Judgement | None = None,
        declared: bool = False,
    ) -> None:
        self._policy, self._path, self._tables, self._schema = policy, path, tables, schema
        self.declared = declared
        """The schema names this key."""
        said, voice = _policy_voice(path, tables), spoken(schema)
        self.judgement, self.lowered, self.reason = _decide(said, voice, _named(key), inherited)
        """The class; the higher one that a declaration overrules, if any; and the reason given for that."""
        self.listed = listed(schema) if said is None and voice is None else ()
        """Values that the schema lists; for one of them `if_listed` is the judgement."""
        self.if_listed = self.judgement
        if inherited is not None and (inherited.protects or inherited.source is Source.POLICY):
            self.listed = ()  # under a protected parent, which of the values it is, is what is protected
        elif self.listed:
            self.if_listed = Judgement(PrivacyClass.PUBLIC, "schema:enum", Source.SCHEMA)
        self.members: dict[str, Field] = {}
        """Places of members whose keys are plain words, which no detector needs to look at."""
        self._others: dict[str, Field] = {}
        self._item: tuple[Field, Field] | None = None
        self._settle()

    def _settle(self) -> None:
        """Work out what follows from the judgement."""
        judgement = self.judgement
        self.handed = inheritable(judgement)
        """What members inherit."""
        self.mode = _mode(judgement, self._policy)
        self.shown = self._policy.shows(judgement.cls)
        """Numbers are in the copy; texts by `mode`."""
        self.counts = judgement.why == f"name:{ABOUT}"
        """The name promises a number or truth value; a text under it is not what was promised."""
        self.protects = judgement.protects
        self.plain = self.mode in {Mode.HIDE, Mode.BARE} and not self.listed
        """A number here becomes what `whole` or `real` say, whatever it is."""
        self._said: dict[str, Any] = {"c": judgement.cls.value, "t": "string", "why": judgement.why}
        self.whole, self.real = {TAG: {**self._said, "t": "integer"}}, {TAG: {**self._said, "t": "number"}}
        """The placeholder of every whole number here, and of every other; one object for all of them."""
        self.sized: dict[str | tuple[str, tuple[str, ...]], dict[str, Any]] = {}
        """Placeholders of texts by their size class, as far as they were made."""
        self.quick = self.mode is Mode.HIDE and not self.listed
        """Every text here becomes what `hidden` says."""
        self.open = self.mode is Mode.SHOW
        """Every text here is shown."""

    def member(self, key: str) -> Field:
        """Return the place of an object's member."""
        kept = self.members if PLAIN_KEY.fullmatch(key) else self._others
        found = kept.get(key)
        if found is None:
            found = self._below(key, self.handed)
            if len(kept) >= _MAX_MEMBERS:
                kept.clear()
            kept[key] = found
        return found

    def item(self, *, container: bool) -> Field:
        """Return the place of an array's items.

        Atoms in a list are the values of the list's own name; objects and lists in it have names of their own.
        """
        if self._item is None:
            self._item = self._below(None, self.judgement), self._below(None, self.handed)
        return self._item[container]

    def raised(self, to: Judgement | None) -> Field:
        """Return the place with at least this class, unless schema or policy declared the place itself."""
        mine = self.judgement
        if to is None or to.cls.rank <= mine.cls.rank or mine.source >= Source.SCHEMA:
            return self
        return _free(self._policy, to)

    def hidden(self, size: str, formats: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the placeholder of every text here of a size class and formats; one object for all of them."""
        mark = (size, formats) if formats else size
        found = self.sized.get(mark)
        if found is None:
            said = {**self._said, "len": size, "fmt": list(formats)} if formats else {**self._said, "len": size}
            found = self.sized[mark] = {TAG: said}
        return found

    def unlabelled(self) -> Field:
        """Return the place as it is where the text is no label, so that its operational name says nothing."""
        return _free(self._policy, _UNLABELLED)

    def _below(self, key: str | None, handed: Judgement | None) -> Field:
        schema, declared = step_into(self._schema, key)
        path = f"{self._path}{step(key)}"
        tables = tuple(table for table in self._tables if any(said.startswith(path) for said in table))
        if schema is None and not tables:
            # Nothing but names speaks here, so that equal judgements have equal places beneath them.
            return _free(self._policy, _decide(None, None, _named(key), handed)[0])
        return Field(self._policy, path, tables=tables, schema=schema, key=key, inherited=handed, declared=declared)


def root(policy: RedactionPolicy, tool: str | None, part: str, schema: Mapping[str, Any] | None) -> Field:
    """Return the place of a whole part of a tool: `args`, `result` or `error`."""
    mark = (tool, part, id(schema))
    kept = policy.remembered(mark)
    if kept is not None and kept[0] is schema:
        found: Field = kept[1]
        return found
    tables = policy.tables(tool)
    found = _free(policy, UNKNOWN)
    if tables or schema is not None:
        found = Field(policy, part, tables=tables, schema=None if schema is None else Schema(schema, (schema,)))
    policy.remember(mark, (schema, found))
    return found


def _free(policy: RedactionPolicy, judgement: Judgement) -> Field:
    """Return the place beneath which nothing but names speaks; a policy has one for each judgement."""
    found: Field | None = policy.remembered(judgement)
    if found is None:
        found = Field(policy)
        found.judgement = found.if_listed = judgement
        found._settle()  # noqa: SLF001 - a place that was made with another judgement
        policy.remember(judgement, found)
    return found


def _mode(judgement: Judgement, policy: RedactionPolicy) -> Mode:
    cls = judgement.cls
    action = policy.action(cls)
    if action is Action.KEEP and cls is PrivacyClass.INTERNAL and judgement.source is Source.NAME:
        return Mode.LABEL
    if cls is PrivacyClass.SECRET and (action is Action.SHAPE or action is Action.FINGERPRINT):
        return Mode.BARE  # a secret has neither size class nor fingerprint
    return {Action.KEEP: Mode.SHOW, Action.TRUNCATE: Mode.CUT, Action.SHAPE: Mode.HIDE}.get(action, Mode.MARK)


def _named(key: str | None) -> Judgement | None:
    named = None if key is None else name_class(key)
    return None if named is None else Judgement(named[0], f"name:{named[1]}", Source.NAME)


def _policy_voice(path: str, tables: tuple[Table, ...]) -> Voice | None:
    """Return the application's own declaration, the most particular tool first."""
    for table in tables:
        if (said := table.get(path)) is not None:
            return Voice(said.cls, "policy", said.reason)
    if "." in path or "[" in path:
        return None
    return next((Voice(table[ANY].cls, "policy", table[ANY].reason) for table in tables if ANY in table), None)


def _decide(
    said: Voice | None, schema: Voice | None, name: Judgement | None, inherited: Judgement | None
) -> tuple[Judgement, Judgement | None, str | None]:
    """Return the judgement, the higher one that it overrules, and the reason given for that.

    A child may raise what it inherits; it may lower it only where a policy or schema declares the child itself, and not
    where a stronger voice declared the parent. A policy that lowers what others say without a reason is not followed.
    """
    spoke = None if schema is None else Judgement(schema.cls, schema.why, Source.SCHEMA)
    if said is not None:
        own, reason = Judgement(said.cls, said.why, Source.POLICY), said.reason
    elif schema is not None and spoke is not None:
        own, reason = spoke, schema.reason
    elif name is not None:
        own, reason = name, None
    else:
        return inherited or UNKNOWN, None, None
    over = _overruled(own, (spoke, name, inherited))
    if inherited is not None and own.cls.rank < inherited.cls.rank and not (own.source >= max(Source.SCHEMA, inherited.source)):
        return inherited, None, None
    if over is not None and own.source is Source.POLICY and not reason:
        return over._replace(why=f"no-reason:{over.why}"), over, None
    return own, over, reason if over is not None else None


def _overruled(own: Judgement, others: tuple[Judgement | None, ...]) -> Judgement | None:
    """Return the highest protecting judgement above one's own that is not the application's own word."""
    above = [
        other
        for other in others
        if other is not None and other.protects and other.cls.rank > own.cls.rank and other.source < Source.POLICY
    ]
    return max(above, key=lambda other: other.cls.rank, default=None)
