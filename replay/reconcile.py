"""The unknown-commit ledger: what is known of a call whose commit is in doubt, and how a finding about it is stored (A13).

A finding is a record that is only ever added: it stands in a trace of its own, is linked to the call's span, and goes the one
way into the tables that every span goes. What it changes is derived there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from opentelemetry.sdk.resources import Resource

from toolwitness.collector.embedded import sink_of
from toolwitness.collector.store.remote import RemoteStore
from toolwitness.collector.store.store import Store
from toolwitness.model.enums import CommitLevel, Finding, Known, Method, ObservationStatus, Outcome, SideEffect
from toolwitness.model.exceptions import CallNotFoundError, SettlementError
from toolwitness.model.names import UNREGISTERED
from toolwitness.model.outcome import Age, Effect, Evidence, GateState, LastAttempt, Settled, access_of
from toolwitness.model.reconciling import Attempted, Judged, Objection, objection
from toolwitness.model.records import Json, Reconciliation
from toolwitness.redaction import Minimal, RedactionPolicy, clean
from toolwitness.replay.load import Source
from toolwitness.sdk.clock import Clock, Ids, RandomIds
from toolwitness.sdk.labels import label
from toolwitness.sdk.spans import Place, build_span

Row = Mapping[str, Any]

_SHOWN_MATCHES = 5
_RESOURCE = Resource({"service.name": "toolwitness"})
_FREE_TEXT = RedactionPolicy(unknown="scan")
_OBJECTIONS = {
    Objection.READS: "its tool is known to be reading, so there is no commit to settle",
    Objection.TRUSTWORTHY: "it is {outcome} by a trustworthy answer or a gate, which no later word overrules",
    Objection.PROVEN: "it is {outcome}, and it is proven that it took no effect; only 'committed' would say something else",
    Objection.MAY_STILL_RUN: "it is pending and may still take effect; wait until it has ended, or has been open for so long "
    "that it counts as given up, or record that it is still_unknown",
}


@dataclass(frozen=True, slots=True)
class Making:
    """Where the time and the ids of findings come from."""

    clock: Clock = time.time_ns
    ids: Ids = field(default_factory=RandomIds)


@dataclass(frozen=True, slots=True)
class Word:
    """What is recorded beside a finding: how it was found out, by whom, and why; `reason` is free text, not yet redacted."""

    method: Method
    by: str | None = None
    reason: str | None = None
    remote_reference: str | None = None
    commit_level: CommitLevel = CommitLevel.UNKNOWN


@dataclass(frozen=True, slots=True)
class Settlement:
    """A finding as it was stored; `before` and `outcome` are the call's outcome before and after it.

    `is_open`: an attempt is not known to have ended, so that it may yet take effect if its process still runs.
    """

    call: str
    finding: Finding
    before: Outcome
    outcome: Outcome
    settled: Settled
    found_by: str | None
    reason: str | None
    reason_code: str | None
    is_open: bool

    @property
    def is_heard(self) -> bool:
        """Whether the call is settled as the finding says; else an attempt that it does not cover, or a commit, stands."""
        return self.settled.value == self.finding.value


def find_call(source: Source, prefix: str) -> Row:
    """What the ledger tells of the call that is called `prefix` or, where none is, the only one whose id starts with it.

    Raises CallNotFoundError where there is none or more than one.
    """
    found = source.query("ledger", prefix=prefix, limit=_SHOWN_MATCHES + 1).to_dicts() if prefix else []
    exact = [row for row in found if row["call_id"] == prefix]
    if exact or len(found) == 1:
        return (exact or found)[0]
    if not found:
        raise CallNotFoundError(
            f"no call whose id starts with {prefix!r} in {source.where}; `toolwitness reconcile` lists those in doubt"
        )
    some = ", ".join(row["call_id"] for row in found[:_SHOWN_MATCHES])
    more = ", ..." if len(found) > _SHOWN_MATCHES else ""
    raise CallNotFoundError(f"several calls start with {prefix!r}: {some}{more}; give more of the id")


def evidence_of(row: Row) -> Evidence:
    """All that decided a call's outcome."""
    return Evidence(
        gate=GateState(row["gate_state"]),
        attempt=LastAttempt(row["last_attempt"]),
        last_effect=Effect(row["last_effect"]),
        earlier_effect=Effect(row["earlier_effect"]),
        observation=ObservationStatus(row["observation"]),
        access=access_of(SideEffect(row["side_effect"])),
        settled=Settled(row["settled"]),
        age=Age(row["age"]),
    )


def attempted(row: Row, settle_after_s: float | None = None) -> Attempted:
    """What "not found" is measured against; `settle_after_s` stands in where the call does not tell its tool's own."""
    declared = row["settle_after_s"] if row["settle_after_s"] is not None else settle_after_s
    return Attempted(row["last_ended_ns"], declared, time_known=row["time_known"])


def settle(
    source: Source, call: str, finding: Finding | str, *, by: str, reason: str, making: Making | None = None
) -> Settlement:
    """Record a person's word about a call: `committed`, `not_committed` or `still_unknown`, by whom and why.

    `call` is an id or as much of its beginning as only it has. The word covers everything that had been attempted by now.
    Raises CallNotFoundError where there is no such call or several, and SettlementError where the word is not taken.
    """
    making = making or Making()
    said = _finding(finding)
    if not by.strip() or not reason.strip():
        raise SettlementError("who says so and why are recorded with every finding; give both a name and a reason")
    row = find_call(source, call)
    against = objection(evidence_of(row), said)
    if against is not None:
        why = _OBJECTIONS[against].format(outcome=row["outcome"])
        raise SettlementError(f"call {row['call_id']} cannot be settled as {said}: {why}")
    now = making.clock()
    word = Word(Method.PERSON, by=by, reason=reason)
    return store_finding(source, row, Judged(said, covers_until_ns=now), word, asked_ns=now, making=making)


def _finding(given: Finding | str) -> Finding:
    if given not in set(Finding):
        raise SettlementError(f"{given!r} is no finding; it is one of {', '.join(Finding)}")
    return Finding(given)


def store_finding(source: Source, row: Row, judged: Judged, word: Word, *, asked_ns: int, making: Making) -> Settlement:
    """Add a finding about the call of `row` to the store that `source` reads; it is durable when this returns.

    Raises SettlementError where it was not stored.
    """
    store = cast("Store | RemoteStore", source.backend)
    if isinstance(store, Store) and store.read_only:
        raise SettlementError(f"{source.where} is open for reading only; findings are stored within replay.load.open_ledger")
    record = _record(row, judged, word)
    place = Place(
        making.ids.trace_id(),
        making.ids.span_id(),
        None,
        asked_ns,
        making.clock(),
        links=((row["trace_id"], row["span_id"]),),
    )
    sink = sink_of(store)
    sink.export([build_span(record, place, _RESOURCE)])
    if not sink.receipt.stored:
        raise SettlementError(f"the finding about call {row['call_id']} was not stored: {_why_not(sink.receipt.rejected)}")
    after = find_call(source, row["call_id"])
    return Settlement(
        call=row["call_id"],
        finding=judged.finding,
        before=Outcome(row["outcome"]),
        outcome=Outcome(after["outcome"]),
        settled=Settled(after["settled"]),
        found_by=record.found_by,
        reason=None if record.reason is None else json.loads(record.reason),
        reason_code=judged.reason_code,
        is_open=after["last_ended_ns"] is None,
    )


def _record(row: Row, judged: Judged, word: Word) -> Reconciliation:
    # The name of a tool that stands in no catalog is model text, which is no span's name.
    tool = UNREGISTERED if row["registered"] == Known.NO else row["tool"]
    return Reconciliation(
        run_id=row["run_id"],
        source=row["source"],
        subject=row["subject"],
        call_id=row["call_id"],
        tool=tool,
        server=row["server"],
        finding=judged.finding,
        method=word.method,
        basis=judged.basis,
        covers_until_ns=judged.covers_until_ns,
        found_by=label(word.by),
        reason_code=judged.reason_code,
        reason=_redacted(word.reason),
        remote_reference=label(word.remote_reference),
        commit_level=word.commit_level,
    )


def _redacted(reason: str | None) -> Json | None:
    """A reason as it may be stored: what a value detector finds is masked."""
    if reason is None:
        return None
    copy = clean(reason, policy=_FREE_TEXT, part="reason")
    return None if isinstance(copy, Minimal) else Json(copy.json())


def _why_not(rejected: Mapping[str, int]) -> str:
    return ", ".join(rejected) or "its id was taken"
