"""Reads a file of error rules, TOML. Whatever it does not understand it refuses.

A rule that is passed over in silence may have been meant to keep a payment from being sent twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from toolwitness.model.enums import ErrorClass
from toolwitness.model.error_table import GRPC
from toolwitness.model.errors import Code, OwnRule
from toolwitness.sdk.toml_file import read_toml

__all__ = ["load_error_rules"]

_CLASSES: Final = tuple(each.value for each in ErrorClass)
_TYPE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_STATUS: Final = range(100, 600)
_LONGEST_SEEN: Final = 60


class _WrongError(ValueError):
    """Something in a rule is not as it should be."""


def load_error_rules(path: str | os.PathLike[str]) -> tuple[OwnRule, ...]:
    """The rules of a file, in its order.

    Raises SettingsError, which names file, rule, what was seen and what would be right.
    """
    return read_toml(path, "file of error rules", _rules)


def _rules(data: Mapping[str, Any]) -> tuple[OwnRule, ...]:
    _check_keys(data, "the file", ("rule",))
    given = data.get("rule")
    if not isinstance(given, list):
        raise _WrongError(f"'rule' is {_seen(given)}; the file must hold tables [[rule]]")
    rules: dict[tuple[Any, ...], OwnRule] = {}
    for number, each in enumerate(given, start=1):
        rule = _rule(each, f"rule {number}")
        if rules.setdefault((rule.selector, rule.key, rule.tool), rule) is not rule:
            raise _WrongError(f"rule {number} is about {rule.selector} = {rule.key!r} again; the first one would always win")
    return tuple(rules.values())


def _rule(given: Any, place: str) -> OwnRule:
    if not isinstance(given, Mapping):
        raise _WrongError(f"{place} is {_seen(given)}; it must be a table [[rule]]")
    _check_keys(given, place, (*_SELECTORS, "class", "tool", "no_effect", "business"))
    selectors = [name for name in _SELECTORS if name in given]
    if len(selectors) != 1:
        named = " and ".join(selectors) or "none of them"
        raise _WrongError(f"{place} has {named}; it must have exactly one of {_listed(_SELECTORS)}")
    read, right = _SELECTORS[selectors[0]]
    if not read(given[selectors[0]]):
        raise _WrongError(f"{place}.{selectors[0]} is {_seen(given[selectors[0]])}; it must be {right}")
    key: Code = given[selectors[0]]
    if given.get("class") not in _CLASSES:
        raise _WrongError(f"{place}.class is {_seen(given.get('class'))}; it must be one of {_listed(_CLASSES)}")
    tool = given.get("tool")
    if not _is_text(tool) and tool is not None:
        raise _WrongError(f"{place}.tool is {_seen(tool)}; it must be the name of a tool")
    flags = {name: _flag(given.get(name, False), f"{place}.{name}") for name in ("no_effect", "business")}
    return OwnRule(selectors[0], key, ErrorClass(given["class"]), tool, **flags)


def _check_keys(given: Mapping[str, Any], place: str, allowed: Iterable[str]) -> None:
    for key in given:
        if key not in allowed:
            raise _WrongError(f"{place} has the key {key!r}; allowed are {_listed(allowed)}")


def _flag(given: Any, place: str) -> bool:
    if not isinstance(given, bool):
        raise _WrongError(f"{place} is {_seen(given)}; it must be true or false")
    return given


def _is_text(given: Any) -> bool:
    return isinstance(given, str) and bool(given.strip())


def _is_type(given: Any) -> bool:
    return isinstance(given, str) and _TYPE.fullmatch(given) is not None


def _is_status(given: Any) -> bool:
    return type(given) is int and given in _STATUS


_SELECTORS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "exception": (_is_type, "the module and name of a type, such as 'shop.errors.OutOfStock' or 'builtins.ValueError'"),
    "http": (_is_status, "a status such as 409"),
    "grpc": (lambda given: isinstance(given, str) and given in GRPC, f"one of {', '.join(GRPC)}"),
    "jsonrpc": (lambda given: type(given) is int, "a number such as -32602"),
    "code": (_is_text, "the code as text, such as 'card_declined'"),
}


def _seen(given: Any) -> str:
    text = "missing" if given is None else repr(given)
    return text if len(text) <= _LONGEST_SEEN else f"{text[:_LONGEST_SEEN]}..."


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
