"""Which frameworks can be instrumented, in which versions, and switching that on and off.

Nothing is imported before the application imports it: an instrumentation waits for its framework's top module and is looked at
then. One that does not fit the framework's version, or that breaks while it is put in place, is left out with one warning.
"""

from __future__ import annotations

import importlib
import logging
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version
from types import ModuleType

import wrapt

from toolwitness.model.exceptions import SettingsError
from toolwitness.sdk.guard import worker_guard
from toolwitness.sdk.instrument.patching import Patches, wait_for

logger = logging.getLogger("toolwitness")

ENTRY_POINTS = "toolwitness.instrumentations"
"""The group of entry points by which other distributions add an `Instrumentation`."""

PYTHON = "python"
"""The "distribution" of what comes with Python itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrumentation:
    """What instruments one framework.

    `module` is the one whose import starts it, `distribution` the one that has a version; `oldest` is supported, `below` is
    not. `code` names the module with a function `instrument(patches: Patches, module: ModuleType)`.
    """

    name: str
    module: str
    distribution: str
    oldest: str
    below: str
    code: str

    @property
    def supported(self) -> str:
        """The range of versions as pip writes it."""
        return f">={self.oldest},<{self.below}"

    def fits(self, found: str) -> bool:
        """Whether a version is in the range; a pre-release counts as its release."""
        return _release(self.oldest) <= _release(found) < _release(self.below)


def _release(text: str) -> tuple[int, ...]:
    """The numbers of a version's release, without trailing zeros."""
    matched = re.match(r"(?:\d+!)?(\d+(?:\.\d+)*)", text)
    numbers = [int(part) for part in matched.group(1).split(".")] if matched else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _own(name: str, module: str, distribution: str, oldest: str, below: str) -> Instrumentation:
    code = f"toolwitness.sdk.instrument.{name}"
    return Instrumentation(name=name, module=module, distribution=distribution, oldest=oldest, below=below, code=code)


OWN = {
    each.name: each
    for each in (
        _own("anthropic", "anthropic", "anthropic", "2.0", "3"),
        _own("crewai", "crewai", "crewai", "1.15.21", "2"),
        _own("fastmcp", "fastmcp", "fastmcp", "4.2.3", "5"),
        _own("google_genai", "google.genai", "google-genai", "2.20", "4"),
        _own("httpx", "httpx", "httpx", "0.26", "1"),
        _own("httpx2", "httpx2", "httpx2", "2.0", "3"),
        _own("langchain", "langchain_core", "langchain-core", "1.1", "2"),
        _own("litellm", "litellm", "litellm", "1.84", "2"),
        _own("mcp", "mcp", "mcp", "1.22", "3"),
        _own("openai", "openai", "openai", "2.0", "4"),
        _own("openai_agents", "agents", "openai-agents", "0.20", "1"),
        _own("pydantic_ai", "pydantic_ai", "pydantic-ai-slim", "2.0", "3"),
        _own("requests", "requests", "requests", "2.31", "3"),
        _own("threads", "threading", PYTHON, "3.11", "3.14"),
    )
}
"""Those that come with toolwitness, by name."""


class _State:
    """What is switched on in this process."""

    waiting: dict[str, Instrumentation] = {}  # noqa: RUF012 -- one object a process
    patches: dict[str, Patches] = {}  # noqa: RUF012 -- as above
    told: set[str] = set()  # noqa: RUF012 -- as above


def known() -> dict[str, Instrumentation]:
    """Every instrumentation by its name: ours, and those of entry points."""
    found = dict(OWN)
    for point in entry_points(group=ENTRY_POINTS):
        with worker_guard:
            instrumentation = point.load()
            if isinstance(instrumentation, Instrumentation):
                found[instrumentation.name] = instrumentation
    return found


def in_place() -> frozenset[str]:
    """The names of those whose framework is imported and wrapped."""
    return frozenset(_State.patches)


def choose(only: Iterable[str] | None = None, skip: Iterable[str] = ()) -> dict[str, Instrumentation]:
    """Those of these names, or all but some.

    Raises SettingsError for a name that no instrumentation has.
    """
    found = known()
    wanted, unwanted = _names(found if only is None else only, "only"), _names(skip, "skip")
    strange = sorted((wanted | unwanted) - found.keys())
    if strange:
        raise SettingsError(f"no instrumentation is called {', '.join(strange)}; there are {', '.join(sorted(found))}")
    return {name: found[name] for name in sorted(wanted - unwanted)}


def switch_on(wanted: Mapping[str, Instrumentation]) -> None:
    """Instrument these frameworks, whether they are imported already or will be; what else was switched on is taken back."""
    for name in [*_State.waiting, *_State.patches]:
        if name not in wanted:
            _switch_off(name)
    for name in wanted.keys() - _State.waiting.keys() - _State.patches.keys():
        _State.waiting[name] = wanted[name]
        wrapt.register_post_import_hook(_Arrival(wanted[name]), wanted[name].module)


def _names(given: Iterable[str], setting: str) -> set[str]:
    if isinstance(given, str):
        raise SettingsError(f"{setting}= takes a list of names, not the text {given!r}: {setting}=[{given!r}]")
    return set(given)


def switch_off() -> None:
    """Take every instrumentation back."""
    for name in [*_State.waiting, *_State.patches]:
        _switch_off(name)


def _switch_off(name: str) -> None:
    _State.waiting.pop(name, None)
    patches = _State.patches.pop(name, None)
    if patches is not None:
        patches.undo()


class _Arrival:
    """Called when the framework has been imported."""

    def __init__(self, instrumentation: Instrumentation) -> None:
        self._instrumentation = instrumentation

    def __call__(self, module: ModuleType) -> None:
        """Put the instrumentation in place, if it is still wanted and nobody else did."""
        one = self._instrumentation
        if _State.waiting.pop(one.name, None) is None:
            return
        with worker_guard:
            wait_for(module)
            _put_in_place(one, module)


def _put_in_place(one: Instrumentation, module: ModuleType) -> None:
    try:
        found = installed(one)
    except PackageNotFoundError:
        return  # a module of the application that is called as the framework's
    if not one.fits(found):
        _leave_out(one, found, "this version is not supported")
        return
    patches = Patches()
    try:
        importlib.import_module(one.code).instrument(patches, module)
    except Exception as error:  # noqa: BLE001 -- a framework that changed may break it in any way, and that must not reach its import
        patches.undo()
        _leave_out(one, found, f"{type(error).__name__} while it was put in place")
        return
    _State.patches[one.name] = patches


def installed(one: Instrumentation) -> str:
    """The installed version of a framework; raises PackageNotFoundError where it is not installed."""
    return ".".join(map(str, sys.version_info[:3])) if one.distribution == PYTHON else version(one.distribution)


def _leave_out(one: Instrumentation, found: str, why: str) -> None:
    if one.name not in _State.told:
        _State.told.add(one.name)
        logger.warning(
            "toolwitness does not record %s: %s (%s %s is installed, supported is %s); the agent is not affected",
            *(one.name, why, one.distribution, found, one.supported),
        )
