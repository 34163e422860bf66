"""The logical call and its physical attempts, as the agent loop holds them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import (
    AttemptStatus,
    CommitLevel,
    Contract,
    ErrorClass,
    GateKind,
    GateMode,
    Known,
    ObservationStatus,
    SideEffect,
    Verdict,
)
from toolwitness.redaction import Projection, project
from toolwitness.redaction.projection import Limits
from toolwitness.sdk.batches import batch_facts, status_of
from toolwitness.sdk.called_off import kept
from toolwitness.sdk.guard import UnknownWordError, guard, word
from toolwitness.sdk.keyed import KeyedCall
from toolwitness.sdk.raised import raised
from toolwitness.sdk.scope import NO_SCOPE, NO_SIZE, Scope
from toolwitness.sdk.terms import GRANTS, PROPOSED, named, read_terms

if TYPE_CHECKING:
    from toolwitness.sdk.failures import Witness
    from toolwitness.sdk.scopes import DecisionScope, RunScope

_ATTEMPT_FACTS = frozenset(
    {
        "effect_ruled_out",
        "error_class",
        "error_type",
        "remote_reference",
        "remote_status",
        "sent",
        "transport",
        "vendor_code",
    }
)
TIMEOUTS: list[type[BaseException]] = [TimeoutError]
"""What says that time ran out; instrumentations add what their libraries raise in its place."""


CALLED_OFF = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)
"""What says that somebody called the work off."""


def timed_out(error: BaseException | None) -> bool:
    """Whether an exception says that time ran out."""
    return isinstance(error, tuple(TIMEOUTS))


REDACTED_ARGUMENT = "redacted_argument"
"""The reason code of the gate that keeps a tool from running on a redacted copy."""
RESULT_LIMITS = Limits(string=256 * 1024, event=256 * 1024)
"""Results are looked through for values that are used again, so more of them is kept in memory than will ever leave."""


class CallScope(KeyedCall):
    """One logical call, from its proposal to the observation. `id` is its key everywhere."""

    __slots__ = (
        "_attempts",
        "_last_ns",
        "approved",
        "arguments",
        "asked",
        "attempts_made",
        "began_ns",
        "begun",
        "closed",
        "decision",
        "definition",
        "facts",
        "held",
        "id",
        "noted",
        "open_attempts",
        "ordinal",
        "refused",
        "resumes",
        "run",
        "server",
        "tool",
    )

    def __init__(
        self,
        run: RunScope,
        tool: str,
        arguments: Any = None,
        *,
        server: str = "",
        decision: DecisionScope | None = None,
        definition: ToolDefinition | None = None,
        parent_span_id: str | None = None,
        awaited: bool = False,
        continues: CallScope | None = None,
        idempotency_key: str | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(run.recorder, run.trace_id, parent_span_id or run.span_id)
        self.run, self.decision, self.id = run, decision, self.span_id
        self.tool, self.server = tool, server
        self.definition = definition or run.recorder.definition(server, tool)
        self.facts = kept(facts) if facts else facts
        self.closed = self.begun = self.refused = self.held = self.asked = self.approved = False
        self.began_ns: int | None = None  # the start of the latest attempt
        self._begin(idempotency_key, continues)
        self._attempts = count(1)
        self.attempts_made = 0
        self.resumes = continues  # until the worker has taken over what it knew
        if continues is None:
            self.ordinal = next(run.call_ordinals)
        else:
            # Another span of the same call: it was held back, its run ended, and now it goes on.
            self.id, self.decision, self.ordinal = continues.id, continues.decision, continues.ordinal
            self.server, self.definition = continues.server, continues.definition
            self._attempts = continues._attempts  # noqa: SLF001 -- of the same class
            self.attempts_made = continues.attempts_made
            self.held, self.asked, self.approved = True, continues.asked, continues.approved
        self.open_attempts = 0
        self._last_ns = self.start_ns
        self.noted: Any = None  # the worker's own notes on this call
        if decision is not None:
            decision.chosen.append(self.id)
        run.open_calls[self.id] = self
        self.arguments = copy = arguments if type(arguments) is Projection else project(arguments)
        self.recorder.note(copy.size, "call_proposed", self, copy)
        if awaited:  # by code that will find it by the provider's id, or by tool and arguments
            self.recorder.proposals.add(self, copy.value)

    @property
    def waits(self) -> bool:
        """Whether nothing runs in this call yet, so that a tool that runs now may be its."""
        return not self.open_attempts and not self.closed

    @property
    def over(self) -> bool:
        """Whether the call ended."""
        return self.closed

    @property
    def answered(self) -> bool:
        """Whether what came back has been told."""
        return self._observed is not None

    def takes(self, definition: ToolDefinition) -> bool:
        """Whether a decorated tool that runs now is this call's: the same tool, the call open, nothing running in it."""
        same = self.tool == definition.name and self.server in {"", definition.server}
        return same and self.waits

    @property
    def side_effect(self) -> SideEffect:
        """What the tool may do, as far as settings and definition tell."""
        declared = self.declared
        return SideEffect.UNKNOWN if declared is None else declared.side_effect

    @property
    def declared(self) -> ToolDefinition | None:
        """The tool's definition with what the settings say of the tool."""
        return self.recorder.tools.over(self.server, self.tool, self.definition)

    def gate(
        self,
        kind: GateKind | str,
        verdict: Verdict | str,
        *,
        reason: str | None = None,
        rule: str | None = None,
        rule_version: str | None = None,
        contract: Contract | str | None = None,
        observed: bool = False,
        pointers: Sequence[str] = (),
        keywords: Sequence[str] = (),
        approver: str | None = None,
        arguments: Any = PROPOSED,
        approval_id: str | int | None = None,
        expires_at: datetime | float | None = None,
        resource_version: str | None = None,
        items: Sequence[str] | None = None,
    ) -> None:
        """Record a check's answer. `observed` marks one that could not have stopped the call.

        A confirmation binds to the `arguments` that were approved (without them, those proposed) and to what else it names
        (`docs/facts.md`).
        """
        with guard:
            facts: dict[str, Any] = {
                "gate_kind": word(GateKind, kind),
                "verdict": word(Verdict, verdict),
                "gate_mode": GateMode.OBSERVED if observed else GateMode.ENFORCED,
                "reason_code": reason,
                "rule_id": rule,
                "rule_version": rule_version,
                "contract": None if contract is None else word(Contract, contract),
                "pointers": tuple(pointers),
                "keywords": tuple(keywords),
                "approver": approver,
            }
            if facts["gate_kind"] is GateKind.CONFIRMATION:
                self.held = self.asked = facts["verdict"] is Verdict.NEEDS_APPROVAL
                self.approved = facts["verdict"] in GRANTS
                terms = (arguments, approval_id, expires_at, resource_version, items)
                facts["terms"] = read_terms(facts["verdict"], terms, begun=self.begun)
            if not observed:
                self._stop(facts["gate_kind"], facts["verdict"])
            # A later word on the same gate must be later on the clock too, however coarse the clock is or set back.
            self._last_ns = max(self.recorder.clock(), self._last_ns + 1)
            self.recorder.note(NO_SIZE, "gated", self, self.recorder.ids.span_id(), self._last_ns, facts)

    def hold(self) -> None:
        """Say that this call waits for somebody, who may answer in a run to come."""
        self.held = True

    def refuse(self, argument: str | None) -> None:
        """Record that the tool does not run, since an argument of it holds a redaction placeholder.

        Nothing is observed then: what the tool's caller gets is our refusal, no answer of the tool.
        """
        with guard:
            self.refused = True
            self._check_placeholders(Verdict.DENY, argument)
            self.tell({})

    def pass_placeholders(self) -> None:
        """Record that after a refusal the same call came with arguments that hold no placeholder."""
        with guard:
            if self.refused:
                self._check_placeholders(Verdict.ALLOW, None)

    def _check_placeholders(self, verdict: Verdict, argument: str | None) -> None:
        at = () if argument is None else (f"/{argument}",)
        self.gate(GateKind.INPUT_VALIDATION, verdict, reason=REDACTED_ARGUMENT, contract=Contract.STRUCTURE, pointers=at)

    def attempt(
        self,
        *,
        retry_reason: str | None = None,
        backoff_ms: float | None = None,
        transport: str | None = None,
        unclaimed: bool = False,
    ) -> AttemptScope:
        """Begin a physical try of this call; to be used as `with call.attempt() as attempt:`.

        `unclaimed`: a framework runs its tool in it, and a decorated function of that tool is this attempt and no call more.
        """
        self.begun, self.held = True, False
        if self.comparable:
            with guard:
                self.watch_conflict()
        with guard:
            self.attempts_made = next(self._attempts)
            return AttemptScope(self, self.attempts_made, retry_reason, backoff_ms, transport, unclaimed=unclaimed)
        return cast("AttemptScope", NO_SCOPE)

    def result(
        self,
        value: Any,
        *,
        status: ObservationStatus | str | None = None,
        transport_status: ObservationStatus | str | None = None,
        error_class: ErrorClass | str | None = None,
        error_type: str | None = None,
        vendor_code: str | None = None,
        commit_level: CommitLevel | str | None = None,
        items: Any = None,
        items_total: int | None = None,
        items_failed: int | None = None,
        items_unknown: int | None = None,
    ) -> None:
        """Tell what came back to the agent; the last time before the end counts.

        Without a `status` the answer is ok, but for one that says itself that it failed (`docs/errors.md`), and for a batch
        of which the items or their counts tell (`docs/facts.md`). `commit_level` is how far a success was verified.
        """
        with guard:
            copy = value if type(value) is Projection else project(value, limits=RESULT_LIMITS)
            # Until the words are read, this result is one of which the recording lost the status.
            lost = ObservationStatus.CUT_BY_RECORDING
            self._observed = (copy, {"observation": lost, "transport_status": lost})
            told = ObservationStatus.OK if status is None else word(ObservationStatus, status)
            batch = batch_facts(items, items_total, items_failed, items_unknown)
            of_items = status_of(batch) if batch and told is ObservationStatus.OK else None
            facts: dict[str, Any] = {
                "observation": of_items if status is None else of_items or told,
                "transport_status": told if transport_status is None else word(ObservationStatus, transport_status),
                "error_class": None if error_class is None else word(ErrorClass, error_class),
                "error_type": error_type,
                "vendor_code": vendor_code,
                **batch,
            }
            if commit_level is not None:
                facts["commit_level"] = word(CommitLevel, commit_level)
            self._observed = (copy, facts)

    def executed(self, arguments: Any, *, resource_version: str | None = None) -> None:
        """Tell the arguments that the tool really ran with; they are kept where they differ from those proposed.

        `resource_version` is the version of what it works on, to be held against the one that was approved.
        """
        with guard:
            copy = arguments if type(arguments) is Projection else project(arguments)
            self.recorder.note(copy.size, "executed", self, copy, named(resource_version))

    def discovered(
        self, hits: Sequence[tuple[str, str]], *, query: str | None = None, catalog: Sequence[Any] | None = None
    ) -> None:
        """Tell which (server, tool) pairs this call found, in order, where it was a search for tools."""
        with guard:
            self.facts["discovery"] = (tuple(hits), query, None if catalog is None else list(catalog))

    def fail(self, error: BaseException, *, final: bool = False) -> None:
        """Tell that the tool raised instead of answering; the exception itself is not kept, only its type's name.

        What was told before stands, unless this is the `final` word of a later attempt.
        """
        with guard:
            told = self._observed is not None and not final
            if not told and not isinstance(error, asyncio.CancelledError | GeneratorExit):
                status = ObservationStatus.TIMEOUT if timed_out(error) else ObservationStatus.RAISED
                facts = {
                    "observation": status,
                    "transport_status": status,
                    "error_class": ErrorClass.UNCLASSIFIED,
                    "error_type": type(error).__name__,
                }
                self._observed = (None, facts)

    def _conclude(self, error: BaseException | None) -> None:
        if error is not None:
            self.fail(error)
            # A tool that may write may have run out of sight, unless the call was still waiting for somebody.
            if isinstance(error, CALLED_OFF) and (self.begun or self.held or self.side_effect is SideEffect.READ):
                self.cancel()
        self.close()

    def close(self) -> None:
        """End the call; only the first time counts."""
        with guard:
            if not self.closed and not self.inherited:
                if self.last_status is AttemptStatus.CANCELLED and self._observed is None and not self.held:
                    self.cancel()
                self.closed = True
                self.run.open_calls.pop(self.id, None)
                self.recorder.proposals.forget(self)
                copy, facts = self._observed or (None, {})
                facts = {**facts, "attempts_made": self.attempts_made}
                size = copy.size if copy is not None else NO_SIZE
                self.recorder.note(size, "call_ended", self, self.recorder.clock(), copy, facts)
                if self.keyed is not None:
                    self.keyed.look(self)


def _check_names(facts: dict[str, Any]) -> None:
    unknown = facts.keys() - _ATTEMPT_FACTS
    if unknown:
        raise UnknownWordError(f"{', '.join(sorted(unknown))}: no fact of an attempt; use {', '.join(sorted(_ATTEMPT_FACTS))}")


class AttemptScope(Scope):
    """One physical try."""

    __slots__ = (
        "_facts",
        "_learned",
        "_status",
        "call",
        "ended",
        "handed_over",
        "ordinal",
        "unclaimed",
        "witness",
    )

    def __init__(
        self,
        call: CallScope,
        ordinal: int,
        retry_reason: str | None,
        backoff_ms: float | None,
        transport: str | None,
        *,
        unclaimed: bool,
    ) -> None:
        super().__init__(call.recorder, call.trace_id, call.span_id)
        self.call, self.ordinal = call, ordinal
        self._facts: dict[str, Any] = {"retry_reason": retry_reason, "backoff_ms": backoff_ms, "transport": transport}
        self._learned: dict[str, Any] = {}
        self.witness: Witness | None = None
        self._status: AttemptStatus | None = None
        self.ended = self.handed_over = False
        self.unclaimed = unclaimed
        call.open_attempts += 1
        call.began_ns = self.start_ns
        if call.side_effect is not SideEffect.READ:
            self.recorder.announce(self)

    @property
    def over(self) -> bool:
        """Whether the attempt ended."""
        return self.ended

    def claim(self, definition: ToolDefinition, arguments: Any) -> bool:
        """Whether a decorated tool that runs now is what a framework opened this attempt for; yes only once.

        A framework may know it by another name; then it is the one that runs with the call's arguments, a bounded copy.
        """
        if not self.unclaimed or self.ended:
            return False
        claimed = self.call.tool == definition.name or self.recorder.proposals.given(self.call, arguments)
        self.unclaimed = self.unclaimed and not claimed
        return claimed

    def sent(self, sent: Known | str) -> None:
        """Say whether the request left the process."""
        with guard:
            self._facts["sent"] = word(Known, sent)

    def learn(self, **facts: Any) -> None:
        """Tell what was seen of it while it runs, the latest word last; what the application says itself stands."""
        with guard:
            _check_names(facts)
            self._learned.update(facts)

    def end(self, status: AttemptStatus | str, **facts: Any) -> None:
        """Say how it ended, with any of the fields of `model.records.Attempt` that tell more."""
        with guard:
            # Until the words are read, this attempt is one that ended nobody knows how, never one that went well.
            self._status = AttemptStatus.ERROR
            self._facts["error_type"] = "UnreadableStatus"
            read = word(AttemptStatus, status)
            _check_names(facts)
            self._status = read
            self._facts.update({"error_type": None, **facts})

    def _conclude(self, error: BaseException | None) -> None:
        if error is not None and self._status is None:
            self.fail(error)
        self.close()

    def fail(self, error: BaseException) -> None:
        """End by an exception, of which the names of types and the places in the code are kept."""
        if isinstance(error, CALLED_OFF):
            self.end(AttemptStatus.CANCELLED)
        else:
            self.end(
                AttemptStatus.TIMEOUT if timed_out(error) else AttemptStatus.ERROR,
                error_class=ErrorClass.UNCLASSIFIED,
                error_type=type(error).__name__,
            )
            with guard:
                self._facts["raised"] = raised(error)
                if self.witness is not None:
                    learned = self.witness(error)
                    if self.handed_over and learned.get("sent") is Known.NO:
                        learned = {**learned, "sent": Known.UNKNOWN}
                    self._learned.update(learned)

    def close(self) -> None:
        """End the attempt, as ok where nothing else was said; only the first time counts."""
        with guard:
            if not self.ended and not self.inherited:
                self.ended = True
                self.call.open_attempts -= 1
                seen = (
                    {} if self._status or not self.witness or self.call.side_effect is SideEffect.READ else self.witness(None)
                )
                self.call.last_status = self._status or seen.get("attempt_status") or AttemptStatus.OK
                said = {name: fact for name, fact in self._facts.items() if fact is not None}
                facts = {**self._learned, **seen, **said, "attempt_status": self.call.last_status}
                digest = self.call.key_digest
                if digest is not None:
                    facts["key_digest"] = digest
                self.recorder.note(NO_SIZE, "attempted", self, self.recorder.clock(), facts)
                # A key must not hang on what only a recorded process saw.
                self.call.attempted(self.ordinal, {**said, "attempt_status": self._status or AttemptStatus.OK})
