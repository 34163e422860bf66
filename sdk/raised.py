"""What is kept of an exception: the types it came from and where it was raised, never its text, source or values.

The agent's thread collects references to names that exist anyway; the worker checks and writes them. Nothing here runs code of
the exception's own class, and nothing keeps the exception or its traceback alive.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from types import GetSetDescriptorType
from typing import Any, NamedTuple

from toolwitness.sdk.labels import type_name

MOST_CAUSES = 5
"""Types of the chain of causes that are kept."""
MOST_FRAMES = 8
"""Innermost frames that are kept."""

_OURS = "toolwitness.sdk."
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,15}")
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}|<(?:module|lambda|listcomp|dictcomp|setcomp|genexpr)>")
_UNNAMED = "?"
"""Stands for a module or function whose name is no plain identifier; code made at run time may be called anything."""

# Attribute access on an exception may run its class; these read what the interpreter itself stored.
_traceback = BaseException.__dict__["__traceback__"].__get__
_cause = BaseException.__dict__["__cause__"].__get__
_context = BaseException.__dict__["__context__"].__get__
_suppressed = BaseException.__dict__["__suppress_context__"].__get__
_name = type.__dict__["__name__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_module_of = type.__dict__["__module__"].__get__
_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__

CODE_PATHS = tuple(
    tuple(path.split("."))
    for path in (
        *("code", "status", "status_code", "response.status_code", "error.code", "body.error.type"),
        *("response.Error.Code", "response.ResponseMetadata.HTTPStatusCode"),
        *("_code._name_", "_state.code._name_", "orig.sqlite_errorname"),
    )
)
"""Where exceptions keep codes. The worker knows which types keep one where, and looks at no other (`model.error_table`)."""
_MOST_TYPES = 32
_LONGEST_CODE = 64


class Frame(NamedTuple):
    """One frame as it was found: the names are not checked yet."""

    module: Any
    function: str
    line: int | None


class Seen(NamedTuple):
    """An exception's types as (module, qualified name), the nearest first, and what stands where codes are kept."""

    types: tuple[tuple[Any, Any], ...]
    values: tuple[tuple[str, int | str], ...]


class Raised(NamedTuple):
    """What is known of an exception; `causes` are names of types, the nearest first, `frames` the innermost last.

    `chain` is the exception itself and what it was explicitly said to come from.
    """

    causes: tuple[str, ...]
    frames: tuple[Frame, ...]
    chain: tuple[Seen, ...] = ()


def raised(error: BaseException) -> Raised:
    """Collect what is kept of an exception, in time that its own depth bounds."""
    causes = tuple(_name(type(cause)) for cause in _causes(error))
    return Raised(causes, _frames(error), tuple(map(_seen, (error, *explicit_causes(error)))))


def _seen(error: BaseException) -> Seen:
    types = tuple((_module_of(each), _qualname(each)) for each in _mro(type(error))[:_MOST_TYPES])
    found = ((".".join(path), _value(error, path)) for path in CODE_PATHS)
    return Seen(types, tuple((path, value) for path, value in found if value is not None))


def _value(holder: Any, path: Sequence[str]) -> int | str | None:
    """The number or short text at a path of attributes and keys, read from dictionaries alone."""
    for name in path:
        names = holder if type(holder) is dict else _attributes(holder)
        holder = None if names is None else names.get(name)
    if type(holder) is str:
        return holder if len(holder) <= _LONGEST_CODE else None
    return holder if type(holder) is int else None


def _attributes(holder: Any) -> dict[str, Any] | None:
    """The attributes that an object itself holds, in the interpreter's own way of storing them."""
    for each in _mro(type(holder)):
        found = _namespace(each).get("__dict__")
        if type(found) is GetSetDescriptorType:
            names = found.__get__(holder)
            return names if type(names) is dict else None
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exceptions that this one came from, as a traceback tells them."""
    seen = {id(error)}
    for _ in range(MOST_CAUSES):
        cause = _cause(error)
        if cause is None and not _suppressed(error):
            cause = _context(error)
        if cause is None or id(cause) in seen:
            return
        seen.add(id(cause))
        yield cause
        error = cause


def explicit_causes(error: BaseException) -> Iterator[BaseException]:
    """The exceptions that this one was said to come from, by `raise ... from`."""
    for _ in range(MOST_CAUSES):
        cause = _cause(error)
        if cause is None:
            return
        yield cause
        error = cause


def _frames(error: BaseException) -> tuple[Frame, ...]:
    innermost: deque[Any] = deque(maxlen=MOST_FRAMES)
    trace = _traceback(error)
    while trace is not None:
        innermost.append(trace)
        trace = trace.tb_next
    return tuple(Frame(_module(each), each.tb_frame.f_code.co_name, each.tb_lineno) for each in innermost)


def _module(trace: Any) -> Any:
    # The globals of code that was run by hand may be a dictionary of somebody's own class.
    return dict.get(trace.tb_frame.f_globals, "__name__")


def cause_names(causes: Sequence[Any]) -> tuple[str, ...]:
    """The names of types, each as far as it is one."""
    return tuple(filter(None, map(type_name, causes)))


def frame_texts(frames: Sequence[Frame]) -> tuple[str, ...]:
    """Each frame as `module:function:line`, without those of our own wrapper around a tool."""
    return tuple(_text(frame) for frame in frames if not (type(frame.module) is str and frame.module.startswith(_OURS)))


def _text(frame: Frame) -> str:
    return f"{_known(frame.module, _MODULE)}:{_known(frame.function, _FUNCTION)}:{frame.line or 0}"


def _known(name: Any, pattern: re.Pattern[str]) -> str:
    return name if type(name) is str and pattern.fullmatch(name) else _UNNAMED
