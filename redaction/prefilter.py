"""Says, in one pass over a text, which rules can find something in it."""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolwitness.redaction.rule import Rule

__all__ = ["Prefilter"]

_DIGITS: Final = re.compile(r"[0-9](?:[ ().-]{0,2}[0-9]){5}")
_MEMORY: Final = 64 << 20
"""Bytes that RE2 may use for its automaton; that of our rules is far smaller."""


class _Loaded(NamedTuple):
    """All rules, those with a gate and those without, and RE2's automaton of the gates where it is installed."""

    rules: tuple[Rule, ...]
    gated: tuple[Rule, ...]
    plain: tuple[Rule, ...]
    automaton: Any


class Prefilter:
    """Picks, of a fixed set of rules, those that may match a text; never leaves out one that does.

    The rules are loaded with the first text, since their patterns take longer to compile than an agent should wait for an
    import. `use_re2` says whether google-re2 is used, which the extra `[redaction]` brings; what is found is the same
    either way.
    """

    def __init__(self, load: Callable[[], Sequence[Rule]]) -> None:
        self._load = load
        self._loaded: _Loaded | None = None
        self.use_re2 = importlib.util.find_spec("re2") is not None

    def ready(self) -> None:
        """Load the rules now, so that no text's time is spent on that."""
        self._rules()

    def _rules(self) -> _Loaded:
        if self._loaded is None:
            rules = tuple(self._load())
            gated = tuple(rule for rule in rules if rule.gate)
            plain = tuple(rule for rule in rules if not rule.gate)
            self._loaded = _Loaded(rules, gated, plain, _compiled(gated) if self.use_re2 else None)
        return self._loaded

    def __call__(self, text: str) -> Sequence[Rule]:
        """Return the rules that may find something in the (folded) text."""
        rules, gated, plain, automaton = self._rules()
        if automaton is None or not self.use_re2:
            found = _hinted(gated, text)
        else:
            hits = automaton.Match(text.encode("utf-8", "replace"))
            # Where RE2 runs out of its memory it answers less than there is; the last pattern matches everything.
            if len(gated) not in hits:
                return rules
            found = [gated[at] for at in hits if at < len(gated)]
        found += [rule for rule in plain if _any_in(rule.hints, text)]
        return found


def _hinted(rules: tuple[Rule, ...], text: str) -> list[Rule]:
    lowered = text.lower()
    digits = _DIGITS.search(text) is not None
    return [rule for rule in rules if (_any_in(rule.hints, lowered) if rule.hints else digits)]


def _any_in(hints: tuple[str, ...], text: str) -> bool:
    for hint in hints:  # noqa: SIM110 - a loop costs half of what `any` does, and this runs for every rule
        if hint in text:
            return True
    return False


def _compiled(rules: tuple[Rule, ...]) -> Any:
    re2: Any = importlib.import_module("re2")
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    made = re2.Set.SearchSet(options)
    for rule in rules:
        made.Add(rule.gate)
    made.Add("")
    made.Compile()
    return made
