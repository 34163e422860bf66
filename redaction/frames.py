"""A Python stack trace as text, brought down to where it was: file, line and function of its frames."""

from __future__ import annotations

import re
from typing import Final

from toolwitness.redaction.detect import scan_text

__all__ = ["MOST_FRAMES", "frames_of"]

MOST_FRAMES: Final = 32
"""The innermost frames that are kept of a trace."""

_MAX_READ: Final = 64 * 1024
_FRAME: Final = re.compile(
    r"""^[ ]{2}File\ "(?P<path>[^"\n]{1,1024})",\ line\ (?P<line>[0-9]{1,7}),\ in\ (?P<function>[^\n]{1,256})$""",
    re.MULTILINE | re.VERBOSE,
)
_FILE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\.pyx?|<string>|<stdin>")
_FUNCTION: Final = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]{0,63}(?:\.(?:<locals>|[A-Za-z_][A-Za-z0-9_]{0,63})){0,8}|<(?:module|lambda|listcomp|genexpr|dictcomp|setcomp)>"
)


def frames_of(trace: str) -> str:
    """Return one line a frame, `file.py:12 in function`, the innermost last; empty where there is no frame to be read.

    Source lines, local values, paths and the message are left out; a file or function whose name is no plain identifier is
    `{}`. A message that itself imitates a frame's line passes as far as identifiers go.
    """
    found = [_shown(match) for match in _FRAME.finditer(trace[-_MAX_READ:])]
    return "\n".join(found[-MOST_FRAMES:])


def _shown(match: re.Match[str]) -> str:
    file = _known(re.split(r"[/\\]", match["path"])[-1], _FILE)
    return f"{file}:{match['line']} in {_known(match['function'], _FUNCTION)}"


def _known(name: str, pattern: re.Pattern[str]) -> str:
    return name if pattern.fullmatch(name) and not scan_text(name) else "{}"
