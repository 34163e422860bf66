"""Tells, place by place, what redaction made of a payload and why; never with the values themselves."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolwitness.model.enums import PrivacyClass
from toolwitness.redaction.cleaning import Minimal, clean
from toolwitness.redaction.fields import root
from toolwitness.redaction.placeholder import TAG, is_well_formed
from toolwitness.redaction.policy import Action, RedactionPolicy
from toolwitness.redaction.projection import project

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolwitness.redaction.fields import Field

__all__ = ["Explained", "explain"]

_MASK: Final = re.compile(r"\[([a-z][a-z0-9-]{1,30})\]")


class Explained(NamedTuple):
    """One place of a payload; `why` names the rule that decided, `source` whose word it is."""

    path: str
    cls: PrivacyClass
    why: str
    source: str
    action: str


def explain(
    value: Any,
    *,
    tool: str | None = None,
    schema: Mapping[str, Any] | None = None,
    policy: RedactionPolicy | None = None,
    part: str = "args",
) -> tuple[Explained, ...]:
    """Return what `clean` does at each place that is no container, in order; empty where it makes no copy at all.

    `action` is `keep`, `mask` (spans of a kept text were masked) or what the policy says for the class.
    """
    used = policy or RedactionPolicy()
    copy = clean(value, tool=tool, schema=schema, policy=used, part=part)
    if isinstance(copy, Minimal):
        return ()
    return tuple(_places(part, project(value).value, copy.value, root(used, tool, part, schema), used))


def _places(path: str, value: Any, copy: Any, field: Field, policy: RedactionPolicy) -> Iterator[Explained]:
    if type(value) is dict:
        for (key, item), (name, cleaned) in zip(value.items(), copy.items(), strict=True):
            yield from _places(f"{path}.{name}", item, cleaned, field.member(key), policy)
    elif type(value) is list:
        for item, cleaned in zip(value, copy, strict=True):
            yield from _places(f"{path}[]", item, cleaned, field.item(container=type(item) in {dict, list}), policy)
    elif type(value) is str and value != copy and type(copy) is str and value.lstrip()[:1] in {"{", "["} and copy[:1] in "{[":
        yield from _places(path, project(json.loads(value)).value, json.loads(copy), field, policy)
    else:
        yield _place(path, value, copy, field, policy)


def _place(path: str, value: Any, copy: Any, field: Field, policy: RedactionPolicy) -> Explained:
    judgement = field.if_listed if any(entry == value for entry in field.listed) else field.judgement
    if value is None or value == "" or type(value) is bool:
        # They always stay, so that "was missing" is visible; there is nothing in them that a class could protect.
        return Explained(path, PrivacyClass.PUBLIC, "no-content", "default", Action.KEEP.value)
    if is_well_formed(copy):
        body = copy[TAG]
        cls = PrivacyClass(body["c"])
        return Explained(path, cls, body["why"], _source(body["why"]), policy.action(cls).value)
    if copy == value:
        return Explained(path, judgement.cls, judgement.why, judgement.source.name.lower(), Action.KEEP.value)
    rules = dict.fromkeys(_MASK.findall(copy)) if type(copy) is str else {}
    if not rules:
        return Explained(path, judgement.cls, judgement.why, judgement.source.name.lower(), Action.TRUNCATE.value)
    return Explained(path, judgement.cls, f"value:{','.join(rules)}", "value", "mask")


def _source(why: str) -> str:
    first = why.removeprefix("no-reason:").partition(":")[0]
    return first if first in {"policy", "schema", "name", "value", "default"} else "default"
