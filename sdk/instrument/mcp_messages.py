"""What MCP's messages say, in the words of both major versions of its package: tools and results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolwitness.model.catalog import ToolDefinition, read_definition
from toolwitness.model.enums import ErrorClass, ObservationStatus
from toolwitness.sdk.calls import CallScope, timed_out
from toolwitness.sdk.instrument.observed import said

_RESULTS = frozenset({"CallToolResult", "ToolResult", "RawStructuredToolResult"})
"""The package's own, and those of fastmcp."""


def field(message: Any, wire: str, python: str) -> Any:
    """A field of a message, which the first major version names as the wire does and the second as Python does."""
    return getattr(message, wire if wire in type(message).model_fields else python)


def arguments_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The tool's arguments where a method takes a name and them, which may be left out."""
    given = kwargs.get("arguments", args[1] if len(args) > 1 else None)
    return {} if given is None else given


def definition(tool: Any, server: str) -> ToolDefinition:
    """The definition that a tool of a listing is."""
    return read_definition(tool.model_dump(by_alias=True, exclude_none=True), server=server)


def answers(result: Any) -> bool:
    """Whether this is a tool's result; a server may ask for input instead."""
    return type(result).__name__ in _RESULTS


def value(content: Iterable[Any], structured: Any) -> Any:
    """What a result says: its structured content, else its texts; of other blocks only their type."""
    if structured is not None:
        return structured
    texts = [block.text if block.type == "text" else {"type": block.type} for block in content]
    return texts[0] if len(texts) == 1 else texts


def take_result(call: CallScope, result: Any, error: BaseException | None = None) -> None:
    """Take a tool's result as what came back.

    `isError` is the tool's own answer, but for what begins as words that a server makes of what its tool raised: those prove
    nothing (ADR 0013). `error` is what it raised, where that was seen.
    """
    answer = value(result.content, field(result, "structuredContent", "structured_content"))
    if not field(result, "isError", "is_error"):
        call.result(answer)
        return
    read = said(answer)
    if error is not None:
        status = ObservationStatus.TIMEOUT if timed_out(error) else ObservationStatus.RAISED
    else:
        status = ObservationStatus.ERROR if read.status is ObservationStatus.OK else read.status
    call.result(
        answer,
        status=status,
        transport_status=ObservationStatus.OK,
        error_class=ErrorClass.UNCLASSIFIED,
        error_type=None if error is None else type(error).__name__,
        vendor_code=read.vendor_code,
    )
