"""The object that a decorated tool is: the function itself to everybody, and its definition to us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

from toolwitness.model.catalog import ToolDefinition
from toolwitness.sdk.wrapped import BoundFunction, WrappedFunction


class ToolFunction(WrappedFunction):
    """A decorated tool; pickles and copies as the function it wraps.

    It has no annotations of its own, since those would hide the function's.
    """

    def __init__(self, wrapped: Any, wrapper: Callable[..., Any], definition: ToolDefinition) -> None:
        super().__init__(wrapped, wrapper)
        self._self_definition = definition

    def __reduce_ex__(self, protocol: SupportsIndex) -> str:
        """Pickle by name, as the function itself would."""
        return self.__wrapped__.__qualname__


def definition_of(item: Any) -> ToolDefinition | None:
    """The definition of a decorated tool, bound or not; None for anything else."""
    if type(item) is BoundFunction:
        item = item._self_parent  # noqa: SLF001 -- wrapt's name for the wrapper that a method was bound from
    return item._self_definition if type(item) is ToolFunction else None  # noqa: SLF001 -- wrapt keeps `_self_` on the wrapper
