"""Findings and attempts, in whatever order and groups they arrive, come to one state, and to no more than is proven."""

import itertools
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwitness.collector.store.store import Store
from toolwitness.model import codec, names
from toolwitness.model.enums import AttemptStatus, Basis, Finding, Known, Method, ObservationStatus, SideEffect
from toolwitness.model.records import Attempt, AttemptStart, Call, Reconciliation
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS

STATE = ("outcome", "settled", "finding", "found_ns", "last_begun_ns", "last_ended_ns", "last_attempt", "attempts")
HOUR_NS = 3600 * SECOND_NS


class Told(NamedTuple):
    """One thing that is told about a call: what, and the seconds from when to when."""

    fields: dict
    start: int
    end: int


def _attempt(number, start, length, status):
    facts = {"attempt_status": status, "attempt_ordinal": number, "sent": Known.YES}
    return Told({"record": Attempt, **facts}, start, start + length)


def _finding(start, finding, basis, lag):
    absent = basis is Basis.ABSENCE and finding is not Finding.COMMITTED
    covers = (MONDAY_NS + (start - lag) * SECOND_NS) if finding is not Finding.STILL_UNKNOWN else None
    facts = {"finding": finding, "basis": Basis.ABSENCE if absent else Basis.ANSWER, "covers_until_ns": covers}
    return Told({"record": Reconciliation, "method": Method.STATUS_QUERY, **facts}, start, start)


SECONDS = st.integers(0, 9)
ATTEMPTS = st.builds(
    _attempt,
    st.integers(1, 4),
    SECONDS,
    SECONDS,
    st.sampled_from([AttemptStatus.OPEN, AttemptStatus.OK, AttemptStatus.TIMEOUT, AttemptStatus.CANCELLED]),
)
STARTS = st.builds(lambda at: Told({"record": AttemptStart, "attempt_ordinal": 1, "parent": True}, at, at), SECONDS)
CALLS = st.builds(
    lambda at, observation: Told({"record": Call, "observation": observation, "call_ordinal": 1}, at, at + 9),
    SECONDS,
    st.sampled_from([ObservationStatus.NONE, ObservationStatus.TIMEOUT, ObservationStatus.RAISED, ObservationStatus.OK]),
)
FINDINGS = st.builds(_finding, st.integers(0, 19), st.sampled_from(Finding), st.sampled_from(Basis), SECONDS)


def _row(told, call, number):
    """A span of the call; each call has a trace of its own, so that span ids may be the same in both."""
    fields = dict(told.fields)
    kind, has_parent = fields.pop("record"), fields.pop("parent", False)
    common = {"run_id": "r", "call_id": call, "tool": "pay"} if kind is not Attempt else {"run_id": "r", "call_id": call}
    if kind in {Call, AttemptStart}:
        common["side_effect"] = SideEffect.WRITE
    record = kind(**common, **fields)
    columns = {codec.COLUMN_OF_ATTRIBUTE[name]: value for name, value in codec.encode(record).items() if name in _OURS}
    row = {column.name: column.read(value) for column, value in columns.items()}
    times = {"start_ns": MONDAY_NS + told.start * SECOND_NS, "end_ns": MONDAY_NS + told.end * SECOND_NS}
    ids = {"trace_id": call.rjust(32, "0"), "span_id": f"{number + 1:016x}", "parent_span_id": "f" * 16 if has_parent else None}
    return {"record": kind.kind.value, "name": codec.span_name(record), **row, **ids, **times}


_OURS = set(codec.COLUMN_OF_ATTRIBUTE) - {names.RECORD}
_numbers = itertools.count(1)


@pytest.fixture(name="store", scope="module")
def _store(tmp_path_factory):
    store = Store.open(tmp_path_factory.mktemp("findings") / "a.duckdb", clock=lambda: MONDAY_NS + HOUR_NS)
    yield store
    store.close()


def state_of(store, call):
    """What the ledger tells of a call."""
    (row,) = store.query("ledger", {"prefix": call}).to_pylist()
    return {name: row[name] for name in STATE}


@settings(max_examples=30)
@given(st.lists(ATTEMPTS | STARTS | CALLS | FINDINGS, min_size=1, max_size=7), st.randoms(use_true_random=False), st.data())
def test_the_order_of_arrival_changes_nothing(store, told, random, data):
    """One group in order, or shuffled and cut into groups: the same row of `calls`."""
    ordered, shuffled = (f"{next(_numbers):016x}" for _ in range(2))
    store.write_group([[_row(one, ordered, number) for number, one in enumerate(told)]])
    rows = [_row(one, shuffled, number) for number, one in enumerate(told)]
    random.shuffle(rows)
    cut = data.draw(st.integers(0, len(rows)))
    for part in (rows[:cut], rows[cut:]):
        store.write_group([part])

    assert state_of(store, shuffled) == state_of(store, ordered)


@settings(max_examples=30)
@given(st.lists(ATTEMPTS | FINDINGS, min_size=1, max_size=7))
def test_no_settlement_goes_beyond_what_it_covers(store, told):
    """`not_committed` needs an answer newer than every begin, or an absence newer than every end, and no commit after it."""
    call = f"{next(_numbers):016x}"
    store.write_group([[_row(one, call, number) for number, one in enumerate(told)]])
    state = state_of(store, call)
    tries = [one for one in told if one.fields["record"] is Attempt]
    found = [one for one in told if one.fields["record"] is Reconciliation]
    denials = [one for one in found if one.fields["finding"] is Finding.NOT_COMMITTED]

    def covers(one):
        """Whether a denial speaks of every attempt."""
        until = one.fields["covers_until_ns"]
        if one.fields["basis"] is Basis.ANSWER:
            return all(MONDAY_NS + each.start * SECOND_NS <= until for each in tries)
        ended = all(each.fields["attempt_status"] is not AttemptStatus.OPEN for each in tries)
        return ended and all(MONDAY_NS + each.end * SECOND_NS <= until for each in tries)

    if state["settled"] == "not_committed":
        assert any(map(covers, denials))
    if state["settled"] == "committed":
        assert any(one.fields["finding"] is Finding.COMMITTED for one in found)
    if any(one.fields["finding"] is Finding.COMMITTED for one in found):
        assert state["settled"] in {"committed", "not_committed"}
