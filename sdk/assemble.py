"""The worker's half of recording: notes in, spans out. Provenance is matched on raw values first, redaction comes second.

Every method named in a note runs on the worker thread (or at once, in an inline recorder); none is ever called by the agent.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.catalog_file import versioned
from toolwitness.model.digest import digest, keyed_digest
from toolwitness.model.enums import (
    DecisionFinish,
    Exposure,
    Flag,
    GateKind,
    Known,
    ObservationStatus,
    PrivacyClass,
    Validity,
)
from toolwitness.model.errors import Errors, OwnRule
from toolwitness.model.json_text import parsed
from toolwitness.model.records import (
    ArgumentCheck,
    Call,
    Decision,
    Hit,
    Json,
    Removal,
    Run,
)
from toolwitness.redaction import FingerprintKey, Minimal, Projection, RedactionPolicy, clean
from toolwitness.redaction.flowback import holds_placeholder
from toolwitness.redaction.projection import DEFAULT_LIMITS
from toolwitness.sdk.announce import Announcements
from toolwitness.sdk.approvals import Approvals
from toolwitness.sdk.budgets import as_json
from toolwitness.sdk.failures import ErrorReader, side_effect
from toolwitness.sdk.labels import label, listed_name, tool_name, type_name
from toolwitness.sdk.provenance import ArgumentEdges, RunIndex
from toolwitness.sdk.shown import Definitions, ToolView
from toolwitness.sdk.spans import Place
from toolwitness.sdk.told import told_facts
from toolwitness.sdk.tool_facts import ToolFacts, first_told
from toolwitness.sdk.versions import ArgumentChecks

if TYPE_CHECKING:
    from toolwitness.sdk.calls import CallScope
    from toolwitness.sdk.clock import Clock
    from toolwitness.sdk.scopes import DecisionScope, RunScope

_RUNS_KEPT = 256
_POLICIES_KEPT = 1024
_SETTINGS = (
    *(
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "n",
        "seed",
        "stream",
        "max_tokens",
        "max_output_tokens",
        "max_completion_tokens",
    ),
    *("frequency_penalty", "presence_penalty", "repetition_penalty", "logprobs", "top_logprobs", "tool_choice", "truncation"),
    *("parallel_tool_calls", "reasoning_effort", "service_tier", "verbosity", "thinking", "reasoning", "timeout"),
)
_SETTINGS_POLICY = RedactionPolicy(classes={f"*:args.{name}": PrivacyClass.INTERNAL for name in _SETTINGS})
"""How a model samples is shown; `user`, `metadata` and the like, which the same argument lists hold, are not."""
_WATCHED = {"live", "demo"}
"""Sources whose arguments we looked at ourselves; an import tells the gates that its file holds."""
_CREDITED = {
    ObservationStatus.OK,
    ObservationStatus.PARTIAL,
    ObservationStatus.PARTLY_UNKNOWN,
    ObservationStatus.ACCEPTED,
    ObservationStatus.EMPTY,
}
_CUT = {ObservationStatus.CUT_BY_RECORDING, ObservationStatus.CUT_ON_WIRE}


@dataclass(slots=True)
class _DecisionNotes:
    """What is known of a decision while it lasts."""

    visible: ToolView | None
    candidates: ToolView | None
    removals: tuple[tuple[str, str, str], ...]
    exposure: Exposure
    answer_sources: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _CallNotes:
    """What the proposal told about a call."""

    definition: ToolDefinition | None
    registered: Known
    visible: Known
    edges: ArgumentEdges
    arguments: Json | None
    arguments_digest: str | None
    minimal: str | None
    proposed: Any
    checks: tuple[ArgumentCheck, ...]
    flagged: bool
    """A redacted copy stood among the arguments."""
    executed: Json | None = None
    ran: tuple[Projection, str | None] | None = None
    """The arguments told last to be executed, and the version of the resource."""
    failed: dict[str, Any] | None = None
    """What the latest failed attempt came to."""
    only_accepted: bool = False
    """The latest attempt was answered as one that is taken in and not done yet."""
    broke_off: bool = False
    """A request of some attempt got no answer that can be trusted, and the attempt did not end by that."""
    emitted: tuple[Call, Place] | None = None
    """The call's own span, once it ended."""


class Assembler(Approvals):
    """Turns notes into spans, which collect in `out`; holds the raw values of recent runs in memory and nowhere else."""

    def __init__(
        self,
        *,
        key: bytes,
        policy: RedactionPolicy,
        fingerprints: FingerprintKey | None,
        source: str,
        time_known: bool,
        service: str,
        clock: Clock,
        registry: dict[tuple[str, str], ToolDefinition],
        error_rules: Sequence[OwnRule],
        tools: ToolFacts,
    ) -> None:
        common = {"source": source, "time_known": time_known}
        super().__init__(key=key, service=service, common=common, errors=ErrorReader(Errors(error_rules)))
        self._policy, self._registry, self._tools = policy, registry, tools
        self._fingerprints = fingerprints
        self._runs: OrderedDict[str, RunIndex] = OrderedDict()
        self._definitions = Definitions()
        self._checks = ArgumentChecks(self._definitions.versions)
        self._announcements = Announcements(clock)
        self._policies: dict[int, tuple[ToolDefinition, RedactionPolicy]] = {}

    # -- runs ------------------------------------------------------------------------------------------------------

    def run_started(self, run_id: str) -> None:
        """Begin to hold a run's texts and values."""
        self._runs[run_id] = RunIndex()
        if len(self._runs) > _RUNS_KEPT:
            self._runs.popitem(last=False)

    def _index(self, run_id: str) -> RunIndex:
        """The run's index; a run whose beginning is gone answers *unknown* from then on."""
        index = self._runs.get(run_id)
        if index is None:
            self.run_started(run_id)
            index = self._runs[run_id]
            index.overflowed = True
        return index

    def message(self, run_id: str, role: str, text: str) -> None:
        """Take in a text that the model reads."""
        self._index(run_id).message(role, text)

    def run_ended(self, run: RunScope, end_ns: int) -> None:
        """Emit the run."""
        record = Run(
            run_outcome=run.outcome,
            outcome_source=run.source,
            reward=run.reward,
            agent=label(run.agent),
            task=label(run.task),
            task_category=label(run.category),
            trial=run.trial,
            session=label(run.session),
            labels=self._labels(run.labels),
            stopped_by=run.stopped_by,
            budget=as_json(run.budget),
            spent=as_json(run.spending.amounts()),
            **self._of(run.id, run.subject),
        )
        self._emit(record, Place(run.trace_id, run.span_id, run.parent_span_id, run.start_ns, end_ns))

    def _labels(self, given: Any) -> Json | None:
        if type(given) is not dict or not given:
            return None
        return Json(json.dumps({label(key): label(value) for key, value in given.items()}, ensure_ascii=False))

    # -- decisions -------------------------------------------------------------------------------------------------

    def decision_started(
        self,
        decision: DecisionScope,
        tools: list[Any] | None,
        candidates: list[Any] | None,
        removals: tuple[tuple[str, str, str], ...],
        exposure: Exposure,
    ) -> None:
        """Read what the model was shown, and send definitions with their first use."""
        notes = _DecisionNotes(
            visible=None if tools is None else self._definitions.view(tools),
            candidates=None if candidates is None else self._definitions.view(candidates),
            removals=removals,
            exposure=exposure,
        )
        decision.noted = notes
        for view in (notes.visible, notes.candidates):
            if view is not None:
                self._announce(view, decision)
        if notes.visible is not None:
            # What MCP says of a tool (that it only reads) then spares its attempts the journal. A decorator's word stands.
            for identity, definition in notes.visible.by_identity.items():
                self._registry.setdefault(identity, definition)

    def answered(self, decision: DecisionScope, text: str) -> None:
        """Look for result values in what the model said."""
        sources = self._index(decision.run.id).answer(text)
        if decision.noted is not None:
            decision.noted.answer_sources.update(sources)

    def decision_ended(self, decision: DecisionScope, end_ns: int, chosen: tuple[str, ...]) -> None:
        """Emit the decision; `chosen` are the calls that were proposed while it lasted."""
        notes: _DecisionNotes = decision.noted or _DecisionNotes(None, None, (), Exposure.UNKNOWN)
        visible, facts = notes.visible, decision.facts
        said = DecisionFinish.ANSWERED if decision.said else DecisionFinish.UNKNOWN
        record = Decision(
            decision_id=decision.id,
            decision_ordinal=decision.ordinal,
            finish=decision.end or (DecisionFinish.CALLED if chosen else said),
            visibility=Known.YES if visible is not None and visible.complete else Known.UNKNOWN,
            toolset_digest=None if visible is None else visible.digest,
            candidate_digest=None if notes.candidates is None else notes.candidates.digest,
            removals=tuple(Removal(*(label(text) or "" for text in removal)) for removal in notes.removals),
            exposure=notes.exposure,
            exposure_members=tuple(filter(None, map(label, facts.get("exposure_members", ())))),
            fallback_reason=label(facts.get("fallback_reason")),
            fallback_added_writer=Known(facts.get("fallback_added_writer", Known.UNKNOWN)),
            skill=label(facts.get("skill")),
            skill_reason=label(facts.get("skill_reason")),
            provider=label(facts.get("provider")),
            model=label(decision.model),
            response_model=label(facts.get("response_model")),
            response_id=label(facts.get("response_id")),
            settings=self._settings(facts.get("settings")),
            chosen=chosen,
            answer_sources=tuple(sorted(notes.answer_sources)),
            answer_measured=not self._index(decision.run.id).overflowed,
            **self._of(decision.run.id, decision.run.subject),
        )
        self._emit(record, Place(decision.trace_id, decision.span_id, decision.parent_span_id, decision.start_ns, end_ns))

    def _settings(self, given: Any) -> Json | None:
        if given is None:
            return None
        copy = clean(given, policy=_SETTINGS_POLICY)
        return None if isinstance(copy, Minimal) else Json(copy.json())

    def _announce(self, view: ToolView, decision: DecisionScope) -> None:
        """Send what is due of a toolset and its definitions; their digests are their ids."""
        for record, known_by in self._announcements.of(view, self._of(decision.run.id, decision.run.subject)):
            self._emit(record, Place(known_by[:32], known_by[32:48], None, decision.start_ns, decision.start_ns))

    def forget_announcements(self) -> None:
        """Send every definition again with its next use, since spans were dropped."""
        self._announcements.forget()

    # -- calls -----------------------------------------------------------------------------------------------------

    def call_proposed(self, call: CallScope, copy: Projection) -> None:
        """Trace the arguments to their origins and check them, then redact them."""
        if self._resumed(call, copy):
            return
        notes: _DecisionNotes | None = call.decision.noted if call.decision is not None else None
        definition, registered, visible = self._resolve(call, notes)
        value = parsed(copy.value)
        arguments, minimal = self._redacted(_copied(value, copy), definition, call, "args")
        call.noted = _CallNotes(
            definition=definition,
            registered=registered,
            visible=visible,
            edges=self._index(call.run.id).arguments(value),
            arguments=arguments,
            arguments_digest=None if copy.truncated else keyed_digest(self._key, [call.server, call.tool, value]),
            minimal=minimal,
            proposed=value,
            checks=self._checks.of(
                parsed(value.lstrip()) if type(value) is str else value,
                (call.server, call.tool),
                (definition, call.definition),
                whole=not copy.truncated,
            ),
            flagged=holds_placeholder(value),
        )
        if definition is not None and visible is Known.YES and self._common["source"] in _WATCHED:
            self._observe_arguments(call, value, whole=not copy.truncated)

    def _observe_arguments(self, call: CallScope, value: Any, *, whole: bool) -> None:
        """Emit what a look at the proposed arguments found wrong; it stops nothing. What fits stands on the call itself."""
        if whole and type(value) is str and type(parsed(value.lstrip())) is str:
            self.observed(call, GateKind.PARSE, "invalid_json")
            return
        shown = self._definitions.versions.digest(call.noted.definition)
        for check in call.noted.checks:
            if check.schema_digest == shown and check.verdict is Validity.INVALID:
                self.observed(call, GateKind.INPUT_VALIDATION, "invalid_arguments", check)

    def _resolve(self, call: CallScope, notes: _DecisionNotes | None) -> tuple[ToolDefinition | None, Known, Known]:
        """The call's definition, whether it stands in a catalog, and whether the model saw it."""
        shown = None if notes is None else notes.visible
        catalog = shown if notes is None or notes.candidates is None else notes.candidates
        seen = None if shown is None else shown.find(call.server, call.tool)
        listed = seen or (None if catalog is None else catalog.find(call.server, call.tool)) or call.definition
        if listed is not None and call.definition is not None and call.definition is not listed:
            listed = self._definitions.declared(listed, call.definition)
        if listed is not None:
            listed = self._tools.over(call.server, call.tool, listed)
        visible = Known.UNKNOWN
        if shown is not None and (seen is not None or shown.complete):
            visible = Known.YES if seen is not None else Known.NO
        registered = Known.UNKNOWN
        if listed is not None or (catalog is not None and catalog.complete):
            registered = Known.YES if listed is not None else Known.NO
        facts = call.facts
        return listed, Known(facts.get("registered") or registered), Known(facts.get("visible") or visible)

    def _redacted(
        self, value: Any, definition: ToolDefinition | None, call: CallScope, part: str
    ) -> tuple[Json | None, str | None]:
        """JSON text of the redacted copy, or the reason why nothing of it may leave."""
        schema = _declared_schema(call.definition, part) or _declared_schema(definition, part)
        tool = f"{call.server}/{call.tool}" if call.server else call.tool
        tool = versioned(tool, None if definition is None else definition.version)
        policy = self._policy_of(definition)
        copy = clean(value, tool=tool, schema=schema, policy=policy, part=part, fingerprints=self._fingerprints)
        return (None, copy.reason) if isinstance(copy, Minimal) else (Json(copy.json()), None)

    def _policy_of(self, definition: ToolDefinition | None) -> RedactionPolicy:
        """The policy with the tool's own classes under it."""
        if definition is None or not definition.classes:
            return self._policy
        kept = self._policies.get(id(definition))
        if kept is None or kept[0] is not definition:
            kept = (definition, self._policy.with_tool(definition.name, definition.classes))
            if len(self._policies) >= _POLICIES_KEPT:
                self._policies.clear()
            self._policies[id(definition)] = kept
        return kept[1]

    def executed(self, call: CallScope, copy: Projection, resource_version: str | None = None) -> None:
        """Keep the arguments as executed where they are not those proposed (A18)."""
        super().executed(call, copy, resource_version)
        notes: _CallNotes | None = call.noted
        if notes is not None and copy.value != notes.proposed:
            notes.executed, minimal = self._redacted(copy.value, notes.definition, call, "args")
            notes.minimal = notes.minimal or minimal
            notes.flagged = notes.flagged or holds_placeholder(copy.value)

    def call_ended(self, call: CallScope, end_ns: int, copy: Projection | None, facts: dict[str, Any]) -> None:
        """Look for new values in the result, then redact it and emit the call."""
        if call.noted is None:  # the note of the proposal was dropped by a full queue
            self.call_proposed(call, Projection(None, 1, truncated=True))
        notes: _CallNotes = call.noted
        value = None if copy is None else copy.value
        facts = self._errors.of_answer(call, value, facts)
        result, minimal = None, None
        if copy is not None:
            result, minimal = self._redacted(_copied(parsed(value), copy), notes.definition, call, "result")
        record = Call(
            **self._identity(call, notes),
            arguments=notes.arguments,
            executed_arguments=notes.executed,
            arguments_digest=notes.arguments_digest,
            argument_checks=notes.checks,
            result=result,
            result_size=None if copy is None else copy.size,
            result_digest=None if copy is None or copy.truncated else keyed_digest(self._key, value),
            provenance=notes.edges.origins,
            argument_sources=notes.edges.sources,
            novel_values=self._novel(call, copy, facts.get("observation", ObservationStatus.NONE)),
            minimal=notes.minimal or minimal,
            flags=(*_flags(call, notes), *self._breaches(call)),
            **self._discovery(call),
            **told_facts(call),
            **{**facts, "error_type": type_name(facts.get("error_type")), "vendor_code": label(facts.get("vendor_code"))},
            **self._of(call.run.id, call.run.subject),
        )
        links = () if call.decision is None else ((call.decision.trace_id, call.decision.span_id),)
        notes.emitted = record, Place(call.trace_id, call.span_id, call.parent_span_id, call.start_ns, end_ns, links)
        self._emit(*notes.emitted)

    def amended(self, call: CallScope, facts: dict[str, Any]) -> None:
        """Emit a call that ended once more, with what was learnt of it since."""
        if call.noted is None or call.noted.emitted is None:
            return
        record, place = call.noted.emitted
        if facts.get("discarded"):
            self._index(call.run.id).discredit(call.id)
        # Of two spans of a call the later counts, and where both begin at the same time the one that ends later.
        span_id = digest([call.id, "amended", place.end_ns])[:16]
        call.noted.emitted = replace(record, **facts), replace(place, span_id=span_id, end_ns=place.end_ns + 1)
        self._emit(*call.noted.emitted)

    def _schema_digest(self, definition: ToolDefinition | None) -> str | None:
        """The digest of a tool's input schema; None where it is not known."""
        return None if definition is None else self._definitions.versions.digest(definition)

    def _identity(self, call: CallScope, notes: _CallNotes) -> dict[str, Any]:
        """The fields that say which call of which tool this is."""
        definition = notes.definition
        schema_digest = self._schema_digest(definition)
        known = notes.registered is Known.YES or self._index(call.run.id).was_listed(call.server, call.tool)
        given = call.facts
        return {
            "call_id": call.id,
            "call_ordinal": call.ordinal,
            "decision_id": None if call.decision is None else call.decision.id,
            "provider_call_id": label(given.get("id")),
            "tool": tool_name(call.tool, registered=known),
            "server": _server(call, definition, known=known),
            "via": label(given.get("via")),
            "registered": notes.registered,
            "visible": notes.visible,
            "tool_version": None if definition is None else label(definition.version),
            "schema_digest": schema_digest,
            "arguments_valid": next((one.verdict for one in notes.checks if one.schema_digest == schema_digest), None),
            "definition_digest": None if definition is None else definition.definition_digest,
            "side_effect": side_effect(call),
            "idempotent": first_told((definition, call.declared), "idempotent") or Known.UNKNOWN,
            "owner": label(first_told((definition, call.declared), "owner")),
            "settle_after_s": first_told((definition, call.declared), "settle_after_s"),
            "action_id": label(given.get("action_id")),
            "node": label(str(call.node) if type(call.node) is int else call.node),
            "key_digest": call.key_digest,
        }

    def _novel(self, call: CallScope, copy: Projection | None, status: ObservationStatus) -> int | None:
        """How many new values the result holds; None where it cannot be measured because text is missing."""
        if copy is None:
            return 0
        credit = status in _CREDITED and not copy.truncated and not call.discarded
        novel = self._index(call.run.id).result(call.id, copy.value, credit=credit)
        return None if copy.truncated or status in _CUT else novel

    def _discovery(self, call: CallScope) -> dict[str, Any]:
        found = call.facts.get("discovery")
        if found is None:
            return {}
        hits, query, catalog = found
        text = None if query is None else clean(query, part="query")
        listed = tuple(Hit(listed_name(server), listed_name(tool)) for server, tool in hits)
        self._index(call.run.id).listed.update((hit.server, hit.tool) for hit in listed)
        return {
            "discovery_hits": listed,
            "discovery_query": None if text is None or isinstance(text, Minimal) else Json(text.json()),
            "catalog_digest": None if catalog is None else self._definitions.view(catalog).digest,
        }


def _declared_schema(definition: ToolDefinition | None, part: str) -> Any:
    """The schema of a part of a tool.

    The application's own is asked before the one that the model was shown: that may come from a tool server, and must not lower
    what the application declared.
    """
    if definition is None:
        return None
    return definition.input_schema if part == "args" else definition.output_schema


def _server(call: CallScope, definition: ToolDefinition | None, *, known: bool) -> str:
    if definition is not None:
        return definition.server
    return tool_name(call.server, registered=known) if call.server else ""


def _flags(call: CallScope, notes: _CallNotes) -> tuple[Flag, ...]:
    found = {
        Flag.REDACTED_COPY_IN_ARGUMENTS: notes.flagged or call.refused,
        Flag.IDEMPOTENCY_CONFLICT: call.conflicting,
    }
    return tuple(flag for flag, holds in found.items() if holds)


def _copied(value: Any, copy: Projection) -> Any:
    """The copy itself where its value is meant and surely within the limits of what may leave, so that none is made twice."""
    return copy if value is copy.value and copy.size <= DEFAULT_LIMITS.string else value
