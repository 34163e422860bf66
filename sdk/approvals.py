"""Holds what runs against what somebody approved, on the worker's thread (A8).

An approval binds to arguments, schema, version of a resource and time, and is good for one call. Nothing is stopped here: the
permission is the application's. What ran although it was not what was approved carries a flag, and a gate that only observed.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.digest import digest, keyed_digest
from toolwitness.model.enums import Contract, Flag, GateKind, GateMode, Known, Verdict
from toolwitness.model.json_text import parsed
from toolwitness.model.names import APPROVAL_UNCLEAR
from toolwitness.model.records import Gate
from toolwitness.redaction import Projection
from toolwitness.sdk.executions import Executions
from toolwitness.sdk.labels import label
from toolwitness.sdk.sameness import same_arguments
from toolwitness.sdk.spans import Place
from toolwitness.sdk.terms import Terms
from toolwitness.sdk.told import names

if TYPE_CHECKING:
    from toolwitness.sdk.calls import AttemptScope, CallScope

_CALLS_KEPT = 1024
_USES_KEPT = 16 * 1024


@dataclass(slots=True)
class _Granted:
    """The approval of a call that is in force."""

    value: Any
    known: bool
    whole: bool
    schema_digest: str | None
    terms: Terms
    at_ns: int


@dataclass(slots=True)
class _Bound:
    """A call that somebody was asked about, and what is known of how it ran."""

    granted: _Granted | None = None
    same: Known | None = None
    """Whether it ran with what was approved, by the arguments told last."""
    told: set[str] = field(default_factory=set)
    flags: tuple[Flag, ...] = ()


class Approvals(Executions):
    """Adds to gates what they approved, and to calls what they broke of it."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self._bound: OrderedDict[str, _Bound] = OrderedDict()
        self._used: OrderedDict[str, str] = OrderedDict()

    def _schema_digest(self, definition: ToolDefinition | None) -> str | None:
        """The digest of a tool's input schema."""
        raise NotImplementedError

    def gated(self, call: CallScope, span_id: str, at_ns: int, facts: dict[str, Any]) -> None:
        """Emit a gate; a confirmation with what it binds to."""
        facts = dict(facts)
        terms: Terms | None = facts.pop("terms", None)
        super().gated(call, span_id, at_ns, facts if terms is None else facts | self._confirmed(call, terms, at_ns))

    def _confirmed(self, call: CallScope, terms: Terms, at_ns: int) -> dict[str, Any]:
        bound = self._of_call(call)
        bound.granted = self._grant(call, terms, at_ns) if terms.granted else None
        bound.same = None
        if terms.begun and call.noted is not None:
            call.noted.ran = None  # they are of an earlier try
        self._compare(call)
        told = {"approval_id": label(terms.approval_id), "approval_expires_ns": terms.expires_ns}
        granted = bound.granted
        if granted is None:
            return told
        named = [call.server, call.tool, granted.value]
        return {
            **told,
            "approved_arguments_digest": keyed_digest(self._key, named) if granted.known and granted.whole else None,
            "approved_schema_digest": granted.schema_digest,
            "approved_resource_version": label(terms.resource_version),
            "approved_items": names(terms.items),
        }

    def _of_call(self, call: CallScope) -> _Bound:
        bound = self._bound.pop(call.id, None) or _Bound()
        self._bound[call.id] = bound
        if len(self._bound) > _CALLS_KEPT:
            self._bound.popitem(last=False)
        return bound

    def _grant(self, call: CallScope, terms: Terms, at_ns: int) -> _Granted:
        notes, copy = call.noted, terms.arguments
        value, known, whole = None, copy is not None, False
        if copy is not None:
            value, whole = parsed(copy.value), not copy.truncated
        elif notes is not None and not terms.edited:
            value, known, whole = notes.proposed, True, notes.arguments_digest is not None
        schema = None if notes is None else self._schema_digest(notes.definition)
        return _Granted(value, known=known, whole=whole, schema_digest=schema, terms=terms, at_ns=at_ns)

    def _resumed(self, call: CallScope, copy: Projection) -> bool:
        """Whether this goes on with a call that was held back: it was proposed then, and runs with what it is given now."""
        before, call.resumes = call.resumes, None
        if before is None or before.noted is None:
            return False
        call.noted = replace(before.noted, ran=None, failed=None, emitted=None)
        if copy.value is not None and parsed(copy.value) != call.noted.proposed:
            self.executed(call, copy)
        return True

    def executed(self, call: CallScope, copy: Projection, resource_version: str | None = None) -> None:
        """Hold the arguments that a tool ran with against those approved."""
        if call.noted is not None:
            call.noted.ran = copy, resource_version
            self._compare(call)

    def _compare(self, call: CallScope) -> None:
        bound = self._bound.get(call.id)
        if bound is None or bound.granted is None or call.noted is None or call.noted.ran is None:
            return
        copy, version = call.noted.ran
        granted, approved_version = bound.granted, bound.granted.terms.resource_version
        bound.same = _same(granted, parsed(copy.value), self._input_schema(call), whole=not copy.truncated)
        if None not in {version, approved_version} and version != approved_version:
            bound.same = Known.NO

    def _input_schema(self, call: CallScope) -> Any:
        declared = (None if one is None else one.input_schema for one in (call.noted.definition, call.definition))
        return next((schema for schema in declared if schema is not None), None)

    def attempted(self, attempt: AttemptScope, end_ns: int, facts: dict[str, Any]) -> None:
        """Emit an attempt, and what it broke of its call's approval."""
        super().attempted(attempt, end_ns, facts)
        self._judge(attempt.call, attempt.start_ns)

    def _breaches(self, call: CallScope) -> tuple[Flag, ...]:
        """What a call that ended broke of its approval, where it ran."""
        if call.began_ns is not None:
            self._judge(call, call.began_ns)
        elif call.noted.ran is not None:  # where nobody saw an attempt
            self._judge(call, call.start_ns, timed=False)
        bound = self._bound.get(call.id)
        return () if bound is None else bound.flags

    def _judge(self, call: CallScope, began_ns: int, *, timed: bool = True) -> None:
        """Emit what is found out about a try that began then, each thing once a call."""
        bound = self._bound.get(call.id)
        if bound is None or bound.granted is None:
            return
        terms, same = bound.granted.terms, self._sameness(call, bound)
        at_ns = max(began_ns, bound.granted.at_ns + 1)  # after the approval, however coarse the clock is
        if same is Known.NO:
            self._tell(call, bound, Flag.APPROVAL_VOID, at_ns)
        elif same is Known.UNKNOWN and APPROVAL_UNCLEAR not in bound.told:
            bound.told.add(APPROVAL_UNCLEAR)
            self._look(call, Verdict.SKIP, APPROVAL_UNCLEAR, at_ns)
        if timed and terms.expires_ns is not None and began_ns > terms.expires_ns:
            self._tell(call, bound, Flag.APPROVAL_EXPIRED, at_ns)
        if self._used_by(terms.approval_id, call) != call.id:
            self._tell(call, bound, Flag.APPROVAL_USED_AGAIN, at_ns)

    def _sameness(self, call: CallScope, bound: _Bound) -> Known:
        """Whether what ran is what was approved; where nothing else is told, what ran is what was proposed."""
        granted, schema = bound.granted, self._schema_digest(call.noted.definition) if call.noted is not None else None
        if granted is None or call.noted is None:
            return Known.UNKNOWN
        if None not in {schema, granted.schema_digest} and schema != granted.schema_digest:
            return Known.NO
        if bound.same is not None:
            return bound.same
        if granted.terms.arguments is None:
            return Known.UNKNOWN if granted.terms.edited else Known.YES
        as_proposed = _same(granted, call.noted.proposed, self._input_schema(call), whole=True)
        return Known.YES if as_proposed is Known.YES else Known.UNKNOWN

    def _used_by(self, approval_id: str | None, call: CallScope) -> str:
        """The call that used this approval first, which is this one where it is not known."""
        if approval_id is None:
            return call.id
        first = self._used.setdefault(approval_id, call.id)
        if len(self._used) > _USES_KEPT:
            self._used.popitem(last=False)
        return first

    def _tell(self, call: CallScope, bound: _Bound, flag: Flag, at_ns: int) -> None:
        if flag not in bound.flags:
            bound.flags += (flag,)
            self._look(call, Verdict.DENY, flag.value, at_ns)

    def _look(self, call: CallScope, verdict: Verdict, reason: str, at_ns: int) -> None:
        """Emit a confirmation that only looked."""
        record = Gate(
            call_id=call.id,
            gate_kind=GateKind.CONFIRMATION,
            verdict=verdict,
            gate_mode=GateMode.OBSERVED,
            reason_code=reason,
            contract=Contract.POLICY,
            **self._of(call.run.id, call.run.subject),
        )
        # On the worker's thread, so the id is not drawn from the source that the agent's thread uses.
        span_id = digest([call.id, call.span_id, reason])[:16]
        self._emit(record, Place(call.trace_id, span_id, call.span_id, at_ns, at_ns))


def _same(granted: _Granted, ran: Any, schema: Any, *, whole: bool) -> Known:
    return same_arguments(granted.value, ran, schema, whole=whole and granted.whole) if granted.known else Known.UNKNOWN
