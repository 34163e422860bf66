"""Reads a policy file, TOML or YAML, into a `RedactionPolicy`. Whatever it does not understand it refuses.

A word that is passed over in silence may have been meant to protect something, so every unknown, doubled or misshapen entry
is an error that names the file and the place.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from toolwitness.model.enums import PrivacyClass
from toolwitness.model.exceptions import MissingExtraError, SettingsError
from toolwitness.redaction.policy import Action, Declared, Handling, RedactionPolicy

__all__ = ["load_policy"]

_UNKNOWN: Final = ("shape", "scan")
_CLASSES: Final = tuple(cls.value for cls in PrivacyClass)
_ACTIONS: Final = tuple(action.value for action in Action)
_LONGEST_SEEN: Final = 60
_DAYS: Final = re.compile(r"(?P<days>[1-9][0-9]{0,5})d")


class _WrongError(Exception):
    """Something at a place of the file is not as it should be."""


def load_policy(path: str | os.PathLike[str]) -> RedactionPolicy:
    """The policy that a `.toml`, `.yaml` or `.yml` file declares.

    Raises SettingsError, which names file, place, what was seen and what would be right; MissingExtraError where a YAML
    file is to be read and pyyaml is not installed.
    """
    path = Path(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise SettingsError(f"policy file {path}: its name ends in {path.suffix!r}; it must be a .toml, .yaml or .yml file")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"policy file {path} cannot be read: {error}") from error
    try:
        return _policy(reader(text))
    except (_WrongError, SettingsError) as error:
        raise SettingsError(f"policy file {path}: {error}") from error


def _policy(data: Any) -> RedactionPolicy:
    given = _table(data, "the file", ("unknown", "classes", "handling"))
    return RedactionPolicy(
        unknown=_one_of(given.get("unknown", "shape"), "unknown", _UNKNOWN),
        classes={
            selector: _declared(said, f"classes.{selector!r}")
            for selector, said in _table(given.get("classes"), "classes").items()
        },
        handling={
            PrivacyClass(cls): _handling(said, f"handling.{cls}")
            for cls, said in _table(given.get("handling"), "handling", _CLASSES).items()
        },
    )


def _declared(given: Any, place: str) -> Declared:
    if not isinstance(given, Mapping):
        return Declared(PrivacyClass(_one_of(given, place, _CLASSES)))
    said = _table(given, place, ("class", "reason"))
    if "class" not in said:
        raise _WrongError(f"{place} has no 'class'")
    reason = said.get("reason")
    if reason is not None and not (isinstance(reason, str) and reason.strip()):
        raise _WrongError(f"{place}.reason is {_seen(reason)}; it must be a sentence that says why the class may be lower")
    return Declared(PrivacyClass(_one_of(said["class"], f"{place}.class", _CLASSES)), reason=reason)


def _handling(given: Any, place: str) -> Handling:
    said = _table(given, place, ("action", "retention", "access"))
    action = said.get("action")
    return Handling(
        action=None if action is None else Action(_one_of(action, f"{place}.action", _ACTIONS)),
        retention_days=_days(said.get("retention"), f"{place}.retention"),
        access=_words(said.get("access", []), f"{place}.access"),
    )


def _days(given: Any, place: str) -> int | None:
    if given is None:
        return None
    found = _DAYS.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise _WrongError(f"{place} is {_seen(given)}; it must be a number of days such as '30d'")
    return int(found["days"])


def _words(given: Any, place: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(word, str) and word.strip() for word in given):
        raise _WrongError(f"{place} is {_seen(given)}; it must be a list of names such as ['support']")
    if len(set(given)) < len(given):
        raise _WrongError(f"{place} names {_doubled(given)!r} twice")
    return tuple(given)


def _table(given: Any, place: str, allowed: Iterable[str] | None = None) -> Mapping[str, Any]:
    """A mapping with text keys, all of them allowed; nothing at all is an empty one."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise _WrongError(f"{place} is {_seen(given)}; it must be a mapping")
    for key in given:
        if not isinstance(key, str):
            raise _WrongError(f"{place} has the key {key!r}, which is no text; put it in quotes")
        if allowed is not None and key not in allowed:
            raise _WrongError(f"{place} has the key {key!r}; allowed are {_listed(allowed)}")
    return given


def _one_of(given: Any, place: str, allowed: Iterable[str]) -> Any:
    if not isinstance(given, str) or given not in allowed:
        raise _WrongError(f"{place} is {_seen(given)}; it must be one of {_listed(allowed)}")
    return given


def _seen(given: Any) -> str:
    text = "empty" if given is None else repr(given)
    return text if len(text) <= _LONGEST_SEEN else f"{text[:_LONGEST_SEEN]}..."


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)


def _doubled(names: list[Any]) -> Any:
    return next(name for name in names if names.count(name) > 1)


def _from_toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _WrongError(f"it is no TOML: {error}") from error


def _from_yaml(text: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 -- a bare install has none, and needs none for TOML
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "a policy in YAML needs pyyaml, which is not installed: pip install pyyaml, or write the policy as .toml"
        ) from error

    class Strict(yaml.SafeLoader):  # type: ignore[misc]  # yaml ships no types
        """Refuses a key that stands twice: YAML itself lets the last one win."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [key.value for key, _ in node.value]
            line = node.start_mark.line + 1
            if not all(isinstance(key, str) for key in keys):
                raise _WrongError(f"the mapping at line {line} has a list or mapping as a key; put keys in quotes")
            if len(set(keys)) < len(keys):
                raise _WrongError(f"the key {_doubled(keys)!r} stands twice in the mapping at line {line}")
            return super().construct_mapping(node, deep=deep)

    try:
        return yaml.load(text, Loader=Strict)  # noqa: S506 -- a SafeLoader
    except (yaml.YAMLError, RecursionError) as error:
        raise _WrongError(f"it is no YAML: {error}") from error


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {".toml": _from_toml, ".yaml": _from_yaml, ".yml": _from_yaml}
