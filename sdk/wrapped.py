"""Functions in the place of others that pickle and copy as those they wrap."""

from __future__ import annotations

import copy
import importlib
import operator
from typing import Any, Self, SupportsIndex

import wrapt


def found_by_name(module: str, qualname: str) -> Any:
    """What stands under a qualified name of a module; by it a pickle finds the function again."""
    return operator.attrgetter(qualname)(importlib.import_module(module))


class BoundFunction(wrapt.BoundFunctionWrapper[..., Any]):
    """A wrapped method as reached through an object or class; pickles as that method."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Pickle as the method itself would, by its object or class, or by name for a static one."""
        holder = getattr(self.__wrapped__, "__self__", None)
        if holder is not None:
            return getattr, (holder, self.__name__)
        return found_by_name, (self.__module__, self.__qualname__)

    def __copy__(self) -> Self:
        """A method is its own copy."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """The method of its object's copy; one of a class, or a static one, is its own."""
        holder = getattr(self.__wrapped__, "__self__", None)
        if holder is None or isinstance(holder, type):
            return self
        return getattr(copy.deepcopy(holder, memo), self.__name__)


class WrappedFunction(wrapt.FunctionWrapper[..., Any]):
    """A wrapped function; how it pickles is its own."""

    __bound_function_wrapper__ = BoundFunction

    def __copy__(self) -> Self:
        """A function is its own copy."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A function is its own copy."""
        return self
