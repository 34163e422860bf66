"""Gates and attempts as spans: the part of the worker's work that needs no look at arguments or results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan

from toolwitness.model.digest import KeyedDigest, digest, keyed_digest
from toolwitness.model.enums import AttemptStatus, Contract, ErrorClass, GateKind, GateMode, SideEffect, Verdict
from toolwitness.model.names import PROCESS_DIED
from toolwitness.model.records import ArgumentCheck, Attempt, AttemptStart, Gate, Record
from toolwitness.sdk.failures import ErrorReader
from toolwitness.sdk.labels import label, type_name
from toolwitness.sdk.provenance import pointer
from toolwitness.sdk.raised import Raised, cause_names, frame_texts
from toolwitness.sdk.spans import Place, build_span

if TYPE_CHECKING:
    from toolwitness.sdk.calls import AttemptScope, CallScope
    from toolwitness.sdk.state import OpenAttempt


class Executions:
    """Emits what stopped or ran a call; spans collect in `out`. `common` are the fields that every record carries."""

    def __init__(self, *, key: bytes, service: str, common: dict[str, Any], errors: ErrorReader) -> None:
        self.out: list[ReadableSpan] = []
        self._errors = errors
        self._key, self._common = key, common
        self._resource = Resource({"service.name": service})

    def gated(self, call: CallScope, span_id: str, at_ns: int, facts: dict[str, Any]) -> None:
        """Emit a gate."""
        texts: dict[str, Any] = {name: label(facts[name]) for name in ("reason_code", "rule_id", "rule_version")}
        approver = facts["approver"]
        pseudonym = None if approver is None else "person-" + keyed_digest(self._key, ["approver", approver])[:12]
        lists: dict[str, Any] = {
            "pointers": tuple(pointer(each) for each in facts["pointers"] if type(each) is str),
            "keywords": tuple(filter(None, map(label, facts["keywords"]))),
        }
        told = {**facts, **texts, **lists, "approver": pseudonym}
        record = Gate(call_id=call.id, **told, **self._of(call.run.id, call.run.subject))
        self._emit(record, Place(call.trace_id, span_id, call.span_id, at_ns, at_ns))

    def observed(self, call: CallScope, kind: GateKind, reason: str, check: ArgumentCheck | None = None) -> None:
        """Emit a denial that only looked: it stopped nothing and counts in no figure of rejections."""
        record = Gate(
            call_id=call.id,
            gate_kind=kind,
            verdict=Verdict.DENY,
            gate_mode=GateMode.OBSERVED,
            reason_code=reason,
            contract=Contract.STRUCTURE,
            pointers=() if check is None else tuple(failure.pointer for failure in check.failures),
            keywords=() if check is None else tuple(failure.keyword for failure in check.failures),
            validated_schema_digest=None if check is None else check.schema_digest,
            **self._of(call.run.id, call.run.subject),
        )
        # On the worker's thread, so the id is not drawn from the source that the agent's thread uses.
        span_id = digest([call.id, kind])[:16]
        self._emit(record, Place(call.trace_id, span_id, call.span_id, call.start_ns, call.start_ns))

    def attempt_started(self, opened: OpenAttempt, call: CallScope | None = None) -> None:
        """Emit the announcement of an attempt that may write; `call` is None where a process that is gone left it open."""
        definition = None if call is None or call.noted is None else call.noted.definition
        if definition is not None:
            known = definition.side_effect.value
            opened = opened._replace(server=definition.server, tool=definition.name, side_effect=known)
            opened = opened._replace(
                owner=opened.owner or definition.owner, settle_after_s=opened.settle_after_s or definition.settle_after_s
            )
        record = AttemptStart(
            call_id=opened.call_id,
            attempt_ordinal=opened.attempt_ordinal,
            tool=opened.tool,
            server=opened.server,
            decision_id=opened.decision_id,
            call_ordinal=opened.call_ordinal,
            side_effect=SideEffect(opened.side_effect),
            arguments_digest=None if call is None or call.noted is None else call.noted.arguments_digest,
            key_digest=opened.key_digest or (None if call is None else call.key_digest),
            action_id=label(opened.action_id),
            node=label(opened.node),
            owner=label(opened.owner),
            settle_after_s=opened.settle_after_s,
            **self._of(opened.run_id, opened.subject),
        )
        at = opened.started_ns
        self._emit(record, Place(opened.trace_id, opened.start_span_id, opened.attempt_span_id, at, at))

    def adopted(self, opened: OpenAttempt, by_ns: int) -> None:
        """Emit an attempt whose process is gone: it began, and by `by_ns` it had ended without an answer."""
        self.attempt_started(opened)
        record = Attempt(
            call_id=opened.call_id,
            attempt_ordinal=opened.attempt_ordinal,
            attempt_status=AttemptStatus.ERROR,
            error_class=ErrorClass.UNKNOWN_COMMIT,  # only attempts that may write are in the journal
            error_type=PROCESS_DIED,
            key_digest=opened.key_digest,
            **self._of(opened.run_id, opened.subject),
        )
        place = Place(opened.trace_id, opened.attempt_span_id, opened.call_id, opened.started_ns, by_ns)
        self._emit(record, place)

    def attempted(self, attempt: AttemptScope, end_ns: int, facts: dict[str, Any]) -> None:
        """Emit an attempt."""
        call = attempt.call
        facts = self._errors.of_attempt(call, facts)
        names = ("retry_reason", "transport", "vendor_code", "remote_reference")
        texts: dict[str, Any] = {name: label(facts.get(name)) for name in names}
        texts["error_type"] = type_name(facts.get("error_type"))
        found: Raised = facts.pop("raised", Raised((), ()))
        texts |= {"error_causes": cause_names(found.causes), "error_frames": frame_texts(found.frames)}
        told = {**facts, **texts, **self._of(call.run.id, call.run.subject)}
        record = Attempt(call_id=call.id, attempt_ordinal=attempt.ordinal, **told)
        self._emit(record, Place(attempt.trace_id, attempt.span_id, call.span_id, attempt.start_ns, end_ns))

    def _of(self, run_id: str, subject: KeyedDigest | None) -> dict[str, Any]:
        """The fields that every record of a run carries."""
        return {"run_id": run_id, "subject": subject, **self._common}

    def _emit(self, record: Record, place: Place) -> None:
        self.out.append(build_span(record, place, self._resource))
