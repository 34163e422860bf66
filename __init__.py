"""toolwitness: knows what AI agents' tool calls really did.

`toolwitness.instrument()` before the agent starts, `@toolwitness.tool` on its tools, and where the loop is hand-written
`toolwitness.run`, `toolwitness.decision` and `toolwitness.call`. Nothing here changes what the agent does: without
`instrument()`, or with a collector that is dead, everything runs as it would, and idempotency keys are the same.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from toolwitness.model.catalog import ToolDefinition
    from toolwitness.sdk.calls import CallScope
    from toolwitness.sdk.decorator import tool
    from toolwitness.sdk.reconcilers import reconciler
    from toolwitness.sdk.redacting import RedactingSpanExporter
    from toolwitness.sdk.scopes import DecisionScope, RunScope
    from toolwitness.sdk.settings import Settings
    from toolwitness.sdk.setup import flush

__all__ = [
    "RedactingSpanExporter",
    "Settings",
    "ToolDefinition",
    "call",
    "current_call",
    "decision",
    "flush",
    "instrument",
    "reconciler",
    "run",
    "tool",
    "uninstrument",
]

_LAZY = {
    "RedactingSpanExporter": "toolwitness.sdk.redacting",
    "Settings": "toolwitness.sdk.settings",
    "ToolDefinition": "toolwitness.model.catalog",
    "flush": "toolwitness.sdk.setup",
    "reconciler": "toolwitness.sdk.reconcilers",
    "tool": "toolwitness.sdk.decorator",
}


def __getattr__(name: str) -> Any:
    """Import a name of the front door when it is first used."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'toolwitness' has no attribute {name!r}; it has {', '.join(__all__)}")


def instrument(
    *,
    db: str | Path | None = None,
    only: Collection[str] | None = None,
    skip: Collection[str] = (),
    **settings: Any,
) -> None:
    """Record this process's agent from now on.

    Agents of the frameworks in `toolwitness frameworks` are recorded without anything more, whether they are imported already
    or later; `only` and `skip` name those that are meant.

    Sends to the collector that `endpoint=` or TOOLWITNESS_ENDPOINT names (default `http://127.0.0.1:4318`, where
    `toolwitness up` listens); `settings` are the fields of `toolwitness.Settings`. With `db="file.duckdb"` this process
    writes the file itself and needs no collector, but the extra `toolwitness[collector]`.

    What makes recording impossible (a bad setting, a file that another process holds) is logged as an error, once; the agent
    goes on without being recorded.
    """
    from toolwitness.model.exceptions import ToolwitnessError
    from toolwitness.sdk import setup
    from toolwitness.sdk.guard import guard
    from toolwitness.sdk.instrument import registry
    from toolwitness.sdk.settings import Settings

    with guard:
        try:
            loaded, frameworks = Settings.load(settings), registry.choose(only, skip)
            make_exporter = None if db is None else _file_exporter(Path(db))
            registry.switch_on(frameworks)  # first, since our own thread imports some of what is wrapped
            destination = loaded.endpoint.rstrip("/") if db is None else str(Path(db).resolve())
            setup.start(loaded, make_exporter, destination=destination)
        except ToolwitnessError as error:
            logging.getLogger("toolwitness").error("toolwitness records nothing: %s", error)  # noqa: TRY400 -- the stack tells a user nothing
        if setup.active() is None:
            registry.switch_off()


def _file_exporter(db: Path) -> Callable[[], SpanExporter]:
    from toolwitness.model.exceptions import MissingExtraError

    try:
        from toolwitness.collector.embedded import open_sink
    except ImportError as error:
        raise MissingExtraError(
            f"instrument(db=...) needs the extra: pip install 'toolwitness[collector]' ({error.name} is missing)"
        ) from error
    sink = open_sink(db)
    return lambda: sink


def uninstrument() -> None:
    """Deliver what is recorded, record no more, and leave every framework as it was."""
    from toolwitness.sdk import setup
    from toolwitness.sdk.instrument import registry

    registry.switch_off()
    setup.stop()


def run(task: str | None = None, **facts: Any) -> RunScope:
    """Begin a run: one task given to the agent. To be used as `with toolwitness.run(task="refund-4711") as run:`.

    `facts`: `id` (default: the trace id), `agent`, `category`, `trial`, `session`, `labels` (cohort labels), `budget`
    (limits by name; `run.spend(cost=0.2)` tells what is used),
    `subject` (the one that the run is about; only a keyed digest of it is kept, by which `toolwitness purge` and `export`
    find the run again). Tell its outcome by `run.finish("success", source="verifier")`; a run that is not told stays unknown.
    """
    return cast("RunScope", _scope("run", task, facts))


def decision(model: str | None = None, **facts: Any) -> DecisionScope:
    """Begin a model step. To be used as `with toolwitness.decision("gpt-5", tools=TOOLS, messages=messages) as step:`.

    `tools` is what the model is shown (OpenAI, Anthropic or MCP tool objects, `ToolDefinition`s or decorated tools); None
    means that it is not known. `messages` is the chat history as sent, so that argument values can be traced to it. Further:
    `candidates`, `removals` [(server, tool, reason)], `exposure`, `provider`, `response_model`, `response_id`, `settings`,
    `skill`, `skill_reason`, `fallback_reason`. In it, `step.answer(text)` and `step.call(tool, arguments, id=...)`.
    """
    return cast("DecisionScope", _scope("decision", model, facts))


def call(tool: str, arguments: Any = None, **facts: Any) -> CallScope:
    """Open the logical call that the model proposed. To be used as `with toolwitness.call("refund", args, id=...) as call:`.

    It belongs to the current decision, else to the run's latest. `facts`: `server`, `id` (the provider's call id),
    `definition`, `via`, `action_id`, `node`, `idempotency_key`, `depends_on` [calls or their ids], `parallel_group`, `reads`,
    `writes`, `speculative`. In it, `call.gate(kind, verdict, ...)`, `with call.attempt():`,
    `call.result(value)`; a tool decorated with `@toolwitness.tool` makes the attempt and tells the result by itself.
    """
    return cast("CallScope", _scope("call", tool, {"arguments": arguments, **facts}))


def current_call() -> CallScope | None:
    """The logical call that this code runs for; None outside of any. Its `idempotency_key` is what to send along."""
    from toolwitness.sdk import context
    from toolwitness.sdk.calls import AttemptScope, CallScope

    scope = context.current.get()
    if isinstance(scope, AttemptScope):
        return scope.call
    return scope if isinstance(scope, CallScope) else None


def _scope(kind: str, subject: str | None, facts: dict[str, Any]) -> object:
    """A scope of the active recorder, or of one that records nothing; one that takes all and does nothing where we failed."""
    from toolwitness.sdk import setup
    from toolwitness.sdk.guard import guard
    from toolwitness.sdk.scope import NO_SCOPE

    with guard:
        return getattr(setup.recorder(), kind)(subject, **facts)
    return NO_SCOPE
