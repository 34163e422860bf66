"""The words in which the demo's scripted model speaks: a task is a generator that yields turns and is sent results."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from payments import Fault


@dataclass(frozen=True, slots=True)
class Use:
    """One proposed call, with what the world does to it.

    `faults` are planned in the payment service. `approval` is what the person answers: `granted`, `refused`, or None for not
    yet. With `keep_trying` the agent retries once. `crashes` ends the agent's process after the request was sent.
    """

    tool: str
    arguments: dict[str, Any]
    faults: tuple[Fault, ...] = ()
    approval: str | None = None
    keep_trying: bool = True
    crashes: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of the model: what it saw by `server/tool`, what it proposes, and what it says."""

    tools: tuple[str, ...]
    uses: tuple[Use, ...] = ()
    say: str = ""
    finish: str | None = None
    exposure: str = "explicit"
    removed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What the model reads after a call."""

    status: str
    value: Any = None
    failed: bool = False


Script = Generator[Turn, list[Result], str | None]
"""Returns the run's outcome; None for a run that nobody ended."""


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of task: `message` is what the user writes about the number of the occurrence, `times` how often in a week."""

    name: str
    category: str
    message: Callable[[int], str] = field(repr=False)
    times: int
    play: Callable[[int], Script] = field(repr=False)
