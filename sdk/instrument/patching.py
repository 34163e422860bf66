"""Wrapping methods of other people's classes so that they can be unwrapped, pickled and inspected as before.

Only methods are wrapped, no module functions: references that somebody took earlier would not be wrapped and would not
pickle any more. The exceptions stand in ADR 0017 and 0018.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, SupportsIndex

import wrapt

from toolwitness.sdk import setup
from toolwitness.sdk.guard import reading_guard
from toolwitness.sdk.wrapped import WrappedFunction, found_by_name

Wrapper = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
"""`wrapper(wrapped, instance, args, kwargs)`: calls `wrapped(*args, **kwargs)` exactly once and returns what it returned."""

_MISSING = object()


class Switch:
    """Whether the wrappers of one instrumentation do anything; they stay in place where somebody wrapped them again."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = True


class Patched(WrappedFunction):
    """A wrapped method of somebody else's class."""

    def __init__(self, wrapped: Any, wrapper: Wrapper, switch: Switch) -> None:
        super().__init__(wrapped, _switched(wrapper, switch))
        self._self_switch = switch

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Pickle by name, as the function itself would."""
        return found_by_name, (self.__wrapped__.__module__, self.__wrapped__.__qualname__)


def _switched(wrapper: Wrapper, switch: Switch) -> Wrapper:
    def run(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not switch.on or setup.active() is None:
            return wrapped(*args, **kwargs)
        return wrapper(wrapped, instance, args, kwargs)

    return run


def argument(args: tuple[Any, ...], kwargs: dict[str, Any], position: int, name: str) -> Any:
    """An argument of a wrapped method, by name or position; raises IndexError where it was not given."""
    return kwargs[name] if name in kwargs else args[position]


def wait_for(module: ModuleType) -> None:
    """Wait until a module that another thread, perhaps of ours, is in the middle of importing is whole."""
    if getattr(module.__spec__, "_initializing", False):
        importlib.import_module(module.__name__)


class Patches:
    """What one instrumentation has wrapped."""

    def __init__(self) -> None:
        self.switch = Switch()
        self._undo: list[tuple[Any, str, Patched, Any]] = []
        self._callbacks: list[Callable[[], None]] = []

    def method(self, owner: Any, name: str, wrapper: Wrapper) -> None:
        """Wrap a method of a class, also a static or class method.

        Does nothing where it is wrapped by this instrumentation already. Raises AttributeError where there is no such method.
        """
        inherited = inspect.getattr_static(owner, name)
        if self._is_ours(inherited):
            return
        own = vars(owner).get(name, _MISSING)
        patched = Patched(inherited, wrapper, self.switch)
        setattr(owner, name, patched)
        self._undo.append((owner, name, patched, own))

    def methods(self, owner: Any, wrappers: dict[str, Wrapper]) -> None:
        """Wrap several methods of a class."""
        for name, wrapper in wrappers.items():
            self.method(owner, name, wrapper)

    def when_imported(self, module: str, patch: Callable[[ModuleType], None]) -> None:
        """Call `patch` with a module when it is imported, at once where it is; what it raises costs this patch alone."""

        def guarded(found: ModuleType) -> None:
            with reading_guard:
                if self.switch.on:
                    wait_for(found)
                    patch(found)

        wrapt.register_post_import_hook(guarded, module)

    def when_undone(self, callback: Callable[[], None]) -> None:
        """Call this when the instrumentation is taken back: it undoes what is no wrapped method."""
        self._callbacks.append(callback)

    def _is_ours(self, function: Any) -> bool:
        """Whether a chain of wrappers holds one of this instrumentation's."""
        for _ in range(100):
            if isinstance(function, Patched) and function._self_switch is self.switch:  # noqa: SLF001 -- wrapt keeps `_self_` on the wrapper
                return True
            function = getattr(function, "__wrapped__", None)
            if function is None:
                return False
        return True

    def undo(self) -> None:
        """Take every wrapper away that is still the outermost one; the others do nothing from now on."""
        self.switch.on = False
        for owner, name, patched, own in reversed(self._undo):
            if vars(owner).get(name) is not patched:
                continue
            if own is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
        self._undo.clear()
        for callback in self._callbacks:
            with reading_guard:
                callback()
        self._callbacks.clear()
