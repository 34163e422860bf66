"""Histories written by hand: records of a few lines each, as the rows that a store takes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from toolwitness.model import codec, names
from toolwitness.model.enums import AttemptStatus, ObservationStatus, RunOutcome
from toolwitness.model.records import (
    Attempt,
    AttemptStart,
    Call,
    Decision,
    Gate,
    Member,
    Reconciliation,
    Record,
    Run,
    Schema,
    Toolset,
)

MONDAY_NS = 1_793_577_600_000_000_000
"""Monday 2026-11-02T00:00:00Z, the start of week 2026-W45."""
SECOND_NS = 1_000_000_000
WEEK_NS = 7 * 86_400 * SECOND_NS


class History:
    """Records in the order in which they are told, one second apart unless `at` says otherwise.

    Methods take the fields of their record and return the id by which later ones refer to it.
    """

    def __init__(self, *, start_ns: int = MONDAY_NS, time_known: bool = True):
        self.rows = []
        self._now_ns = start_ns
        self._time_known = time_known
        self._numbers = itertools.count(1)
        self._ordinals = {}

    def skip(self, ns: int) -> None:
        """Let time pass."""
        self._now_ns += ns

    @property
    def now_ns(self) -> int:
        """The start of the next record."""
        return self._now_ns

    def add(self, record: Record, *, span_id: str | None = None, parent: str | None = None) -> str:
        """Tell a record as one span of a second's length; its span id."""
        row = {"record": record.kind.value}
        for attribute, value in codec.encode(record).items():
            column = codec.COLUMN_OF_ATTRIBUTE.get(attribute)
            if column is not None and attribute != names.RECORD:
                row[column.name] = column.read(value)
        row |= {
            "trace_id": f"{1:032x}",
            "span_id": span_id or self._id(),
            "name": codec.span_name(record),
            "start_ns": self._now_ns,
            "end_ns": self._now_ns + SECOND_NS,
        }
        if parent is not None:
            row["parent_span_id"] = parent
        self.rows.append(row)
        self._now_ns += SECOND_NS
        return row["span_id"]

    def run(self, run: str, outcome: RunOutcome = RunOutcome.UNKNOWN, **fields) -> str:
        """Tell of a run."""
        self.add(Run(run_id=run, run_outcome=outcome, time_known=self._time_known, **fields))
        return run

    def decision(self, run: str, **fields) -> str:
        """Tell of the run's next decision."""
        number = self._id()
        given = {"decision_ordinal": self._next(run, "decision"), "time_known": self._time_known, **fields}
        return self.add(Decision(run_id=run, decision_id=number, **given), span_id=number)

    def call(self, run: str, tool: str, observation: ObservationStatus = ObservationStatus.OK, **fields) -> str:
        """Tell of the run's next call."""
        number = self._id()
        given = {"call_ordinal": self._next(run, "call"), "time_known": self._time_known, **fields}
        return self.add(Call(run_id=run, call_id=number, tool=tool, observation=observation, **given), span_id=number)

    def gate(self, run: str, call: str, kind: str, verdict: str, **fields) -> str:
        """Tell of a gate of a call."""
        return self.add(Gate(run_id=run, call_id=call, gate_kind=kind, verdict=verdict, **fields))

    def attempt(self, run: str, call: str, status: AttemptStatus = AttemptStatus.OK, **fields) -> str:
        """Tell of an attempt of a call."""
        given = {"attempt_ordinal": self._next(call, "attempt"), "time_known": self._time_known, **fields}
        return self.add(Attempt(run_id=run, call_id=call, attempt_status=status, **given))

    def attempt_start(self, run: str, call: str, tool: str, *, parent: str) -> str:
        """Tell of the announcement of the attempt `parent`."""
        return self.add(AttemptStart(run_id=run, call_id=call, tool=tool, attempt_ordinal=1), parent=parent)

    def reconciliation(self, run: str, call: str, tool: str, finding: str) -> str:
        """Tell of what a person found out about a call."""
        return self.add(Reconciliation(run_id=run, call_id=call, tool=tool, finding=finding, method="person"))

    def toolset(self, run: str, digest: str, members: Iterable[tuple[str, str]]) -> str:
        """Tell of a toolset of (server, tool); its digest."""
        told = tuple(Member(server, tool, f"definition of {tool}") for server, tool in members)
        self.add(Toolset(run_id=run, toolset_digest=digest, members=told))
        return digest

    def schema(self, run: str, tool: str, *, server: str = "", **fields) -> str:
        """Tell of a tool's definition, under the digests that `toolset` gives it."""
        digests = {"definition_digest": f"definition of {tool}", "schema_digest": f"schema of {tool}"}
        return self.add(Schema(run_id=run, tool=tool, server=server, **digests, **fields))

    def _id(self) -> str:
        return f"{next(self._numbers):016x}"

    def _next(self, owner: str, kind: str) -> int:
        ordinal = self._ordinals.get((owner, kind), 1)
        self._ordinals[owner, kind] = ordinal + 1
        return ordinal
