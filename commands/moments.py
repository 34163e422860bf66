"""Points in time as options: an ISO date or time, or how long ago."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from toolwitness.commands.common import length_ns

_NS_PER_S = 10**9

Since = Annotated[
    str | None, typer.Option(help="Only what began then or later: 2h, 3d, 2026-11-30, 2026-11-30T03:00.", metavar="TIME")
]
Until = Annotated[str | None, typer.Option(help="Only what began before: as --since.", metavar="TIME")]


def moment_ns(text: str | None, option: str, *, now_ns: int) -> int | None:
    """The point in time that a person means, in nanoseconds since 1970; None stays None.

    `2h` is two hours ago; a time without a zone is UTC. Raises BadParameter, naming the option, for anything else.
    """
    if text is None:
        return None
    ago = length_ns(text)
    if ago is not None:
        return max(0, now_ns - ago)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no time; it is how long ago (30m, 2h, 3d, 1w) or a date or time such as 2026-11-30T03:00",
            param_hint=option,
        ) from None
    zoned = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return max(0, int(zoned.timestamp()) * _NS_PER_S)
