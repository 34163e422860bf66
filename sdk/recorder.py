"""The recorder: what scopes ask for ids, times and definitions, and where they put their notes."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.digest import KeyedDigest, subject_digest
from toolwitness.model.names import UNREGISTERED
from toolwitness.redaction import FingerprintKey, RedactionPolicy
from toolwitness.sdk import context
from toolwitness.sdk.calls import AttemptScope, CallScope
from toolwitness.sdk.clock import Clock, Ids, RandomIds
from toolwitness.sdk.guard import UnknownWordError, guard
from toolwitness.sdk.idempotency import Keys, Secret
from toolwitness.sdk.late import late_imports
from toolwitness.sdk.proposals import Proposals
from toolwitness.sdk.scope import NO_SIZE, Scope
from toolwitness.sdk.scopes import DecisionScope, RunScope
from toolwitness.sdk.state import Journal, OpenAttempt
from toolwitness.sdk.tool_facts import ToolFacts
from toolwitness.sdk.worker import InlineSink, SilentSink, Sink, Worker

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

    from toolwitness.model.errors import OwnRule
    from toolwitness.sdk.assemble import Assembler


class Recorder:
    """Records one agent.

    `exporter` is a standard span exporter, or a function that makes one (called again after a fork). An `inline` recorder
    has no thread: notes are worked off at once, as importers and tests want it. `source` and `time_known` go on every span.
    Without `fingerprints` redacted values have none. Without an `exporter` nothing is recorded: scopes have ids and idempotency
    keys as always, and go on with runs that another recorder began.
    """

    def __init__(
        self,
        *,
        exporter: SpanExporter | Callable[[], SpanExporter] | None,
        clock: Clock,
        key: bytes,
        ids: Ids | None = None,
        policy: RedactionPolicy | None = None,
        fingerprints: FingerprintKey | None = None,
        source: str = "live",
        time_known: bool = True,
        inline: bool = False,
        service: str = "agent",
        queue_bytes: int = 32 * 1024 * 1024,
        export_interval_s: float = 0.2,
        journal: Journal | None = None,
        error_rules: Sequence[OwnRule] = (),
        tools: Mapping[str, ToolDefinition] | None = None,
        keys: Keys | None = None,
    ) -> None:
        self.clock, self.ids = clock, ids or RandomIds()
        self._new_process()
        renew = weakref.WeakMethod(self._new_process)  # the registration lasts as long as the process, the recorder may not
        os.register_at_fork(after_in_child=lambda: (again := renew()) and again())
        self._registered: dict[tuple[str, str], ToolDefinition] = {}
        self._named: dict[str, ToolDefinition | None] = {}
        """By name alone; None where more than one server has such a tool."""
        self.tools = ToolFacts(tools or {})
        self.proposals = Proposals()
        self._journal = journal
        self._key = key
        self.keys = keys or Keys(lambda: Secret(key, lasts=True), None, error_rules)
        self._silent = exporter is None
        make_assembler = partial(
            _assembler,
            key=key,
            policy=policy or RedactionPolicy(),
            fingerprints=fingerprints,
            source=source,
            time_known=time_known,
            service=service,
            clock=clock,
            registry=self._registered,
            error_rules=error_rules,
            tools=self.tools,
        )
        self._sink: Sink
        delivered = None if journal is None else partial(_note_delivery, journal)
        if exporter is None:
            self._sink = SilentSink()
        elif inline:
            ready = exporter() if callable(exporter) else exporter
            self._sink = InlineSink(ready, make_assembler(), delivered)
        else:
            make = exporter if callable(exporter) else lambda: exporter
            self._sink = Worker(make, make_assembler, delivered, queue_bytes=queue_bytes, interval_s=export_interval_s)
            if hasattr(sys.modules["__main__"], "__file__"):
                # Before the program itself begins, under `toolwitness run`, it may still exchange what threads are made of, as
                # gevent does; there the thread waits for the first note.
                self._sink.start()
        self.note = self._sink.put

    def _new_process(self) -> None:
        """A mark that scopes carry, so that a forked child does not end those of its parent."""
        self.process = object()

    def register(self, definition: ToolDefinition) -> None:
        """Make a tool's definition known to calls that do not bring it along."""
        self._registered[definition.server, definition.name] = definition
        other = self._named.get(definition.name, definition)
        self._named[definition.name] = definition if other is not None and other.server == definition.server else None

    def definition(self, server: str, tool: str) -> ToolDefinition | None:
        """The registered definition of a tool; without a server that of the only tool of this name."""
        found = self._registered.get((server, tool))
        return found if found is not None or server else self._named.get(tool)

    def run(self, task: str | None = None, **facts: Any) -> RunScope:
        """Begin a run; inside another run, a part of it unless it has an id of its own."""
        outer = context.current.get()
        if isinstance(outer, Scope) and self._goes_on_in(outer):
            return RunScope(
                self, trace_id=outer.trace_id, outer=run_of(outer), parent_span_id=outer.span_id, task=task, **facts
            )
        return RunScope(self, trace_id=context.application_trace_id() or self.ids.trace_id(), task=task, **facts)

    def run_here(self) -> RunScope | None:
        """The run that we are in; None outside of any."""
        scope = context.current.get()
        return run_of(scope) if isinstance(scope, Scope) and self._goes_on_in(scope) else None

    def current_run(self) -> RunScope:
        """The run that we are in; outside of any, one that is inferred from the application's trace."""
        return self.run_here() or RunScope(self, trace_id=context.application_trace_id() or self.ids.trace_id(), inferred=True)

    def _goes_on_in(self, scope: Scope) -> bool:
        return self._silent or scope.recorder is self

    def decision(self, model: str | None = None, **facts: Any) -> DecisionScope:
        """Begin a model step in the current run."""
        return DecisionScope(self.current_run(), model, **facts)

    def call(self, tool: str, arguments: Any = None, **facts: Any) -> CallScope:
        """Propose a call in the current decision, else in the run's latest; inside a tool, a call of its own."""
        scope = context.current.get()
        if isinstance(scope, CallScope | AttemptScope) and self._goes_on_in(scope):
            return CallScope(run_of(scope), tool, arguments, parent_span_id=scope.span_id, **facts)
        run = self.current_run()
        latest = run.last_decision
        if latest is not None and latest.answered_only:  # the model said something instead: nobody chose this tool
            latest = None
        return CallScope(run, tool, arguments, decision=scope if isinstance(scope, DecisionScope) else latest, **facts)

    def subject_digest(self, given: object) -> KeyedDigest:
        """What may leave of the one that a run is about: a digest under this recorder's key.

        Raises UnknownWordError for what could not be asked for again by its text, which the guard reports.
        """
        text = str(given) if type(given) in {int, UUID} else given
        if type(text) is not str or not text:
            seen = "an empty text" if type(text) is str else f"a {type(given).__name__}"
            raise UnknownWordError(f"a run's subject is a text, an integer or a UUID, not {seen}")
        return subject_digest(self._key, text)

    def announce(self, attempt: AttemptScope) -> None:
        """Before an attempt that may write runs: one line in the journal, and a span of its own."""
        if self._silent:
            return
        with guard:
            call = attempt.call
            declared, told = call.declared, call.facts
            known = declared is not None
            opened = OpenAttempt(  # by position, which takes half the time
                call.id,
                call.run.id,
                attempt.trace_id,
                attempt.span_id,
                self.ids.span_id(),
                attempt.ordinal,
                call.server if known else "",
                call.tool if known else UNREGISTERED,
                attempt.start_ns,
                None if call.decision is None else call.decision.id,
                call.ordinal,
                call.side_effect.value,
                call.run.subject,
                call.key_digest,
                _text(told.get("action_id")),
                _text(told.get("node")),
                None if declared is None else declared.owner,
                None if declared is None else declared.settle_after_s,
            )
            if self._journal is not None:
                self._journal.started(opened)
            self.note(NO_SIZE, "attempt_started", opened, call)

    def adopt(self, orphan: OpenAttempt) -> None:
        """Ship an attempt that a process which is gone left open; that it had ended by now is all that is known of its end."""
        self.note(NO_SIZE, "adopted", orphan, self.clock())

    @property
    def dropped(self) -> int:
        """How many notes and spans were dropped because too many waited."""
        return self._sink.dropped

    def flush(self, timeout_s: float = 2.0) -> bool:
        """Wait until everything so far is delivered; False where it was not."""
        return self._sink.flush(timeout_s)

    def close(self, timeout_s: float = 2.0) -> bool:
        """End what is open, deliver what there is and stop; False where something was left undelivered."""
        self.proposals.close()
        return self._sink.close(timeout_s)


def _assembler(**how: Any) -> Assembler:
    """The other half of recording, which an agent's start does not wait for: it is imported on the thread that it runs on."""
    with late_imports:
        from toolwitness.sdk.assemble import Assembler  # noqa: PLC0415 -- as said above
    return Assembler(**how)


def _note_delivery(journal: Journal, spans: Sequence[ReadableSpan]) -> None:
    """Tell the journal what the exporter took."""
    journal.delivered(f"{span.context.span_id:016x}" for span in spans if span.context is not None)


def _text(given: Any) -> str | None:
    return given if type(given) is str else None


def run_of(scope: Scope) -> RunScope:
    """The run that a scope belongs to."""
    if isinstance(scope, RunScope):
        return scope
    if isinstance(scope, AttemptScope):
        return scope.call.run
    if isinstance(scope, DecisionScope | CallScope):
        return scope.run
    raise TypeError(f"{type(scope).__name__} is no scope of a run")
