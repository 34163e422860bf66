"""The object that a decorated tool is: the function itself to everybody, and its definition to us."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import Any, SupportsIndex

import wrapt

from toolwitness.model.catalog import ToolDefinition


def _found_by_name(module: str, qualname: str) -> Any:
    return operator.attrgetter(qualname)(importlib.import_module(module))


class BoundTool(wrapt.BoundFunctionWrapper[..., Any]):
    """A decorated method as reached through an object or class; pickles as that method."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Pickle as the method itself would, by its object or class, or by name for a static one."""
        holder = getattr(self.__wrapped__, "__self__", None)
        if holder is not None:
            return getattr, (holder, self.__name__)
        return _found_by_name, (self.__module__, self.__qualname__)


class ToolFunction(wrapt.FunctionWrapper[..., Any]):
    """A decorated tool; pickles and copies as the function it wraps.

    It has no annotations of its own, since those would hide the function's.
    """

    __bound_function_wrapper__ = BoundTool

    def __init__(self, wrapped: Any, wrapper: Callable[..., Any], definition: ToolDefinition) -> None:
        super().__init__(wrapped, wrapper)
        self._self_definition = definition

    def __reduce_ex__(self, protocol: SupportsIndex) -> str:
        """Pickle by name, as the function itself would."""
        return self.__wrapped__.__qualname__

    def __copy__(self) -> ToolFunction:
        """A function is its own copy."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ToolFunction:
        """A function is its own copy."""
        return self


def definition_of(item: Any) -> ToolDefinition | None:
    """The definition of a decorated tool, bound or not; None for anything else."""
    if type(item) is BoundTool:
        item = item._self_parent  # noqa: SLF001 -- wrapt's name for the wrapper that a method was bound from
    return item._self_definition if type(item) is ToolFunction else None  # noqa: SLF001 -- wrapt keeps `_self_` on the wrapper
