"""What becomes of a call, derived in the file by all its spans."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwitness.collector.store.store import Store
from toolwitness.model import codec
from toolwitness.model.enums import Known, ObservationStatus, RecordKind, SideEffect
from toolwitness.model.names import PROCESS_DIED
from toolwitness.model.outcome import Access, Age, Effect, Evidence, GateState, LastAttempt, Settled, outcome
from toolwitness.model.records import Attempt, AttemptStart, Call, Gate, Reconciliation
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS, WEEK_NS, History

TIMEOUT_NS = 900 * SECOND_NS
NOT_BEFORE_EXECUTION = {"output_validation", "recovery"}
COLUMNS = ("gate_state", "last_attempt", "last_effect", "earlier_effect", "observation", "settled", "age", "outcome")


@pytest.fixture(name="calls")
def fixture_calls(store, rows_of):
    """`calls(rows)` stores rows in a group of their own and returns the calls by id."""

    def calls(rows):
        store.write_group([rows])
        return {row["call_id"]: row for row in rows_of("select * from calls")}

    return calls


def only(found):
    """The one call of a history."""
    (call,) = found.values()
    return call


def gates_of(rows):
    """The last verdicts of the gates that could stop the call, by kind."""
    told = sorted((row for row in rows if row["record"] == "gate"), key=lambda row: row["start_ns"])
    return {
        row["gate_kind"]: row["verdict"]
        for row in told
        if row["gate_mode"] == "enforced" and row["gate_kind"] not in NOT_BEFORE_EXECUTION
    }


def gate_state(rows):
    """Which state the last verdicts come to; a call that nothing stopped and that was never dispatched is withdrawn."""
    verdicts = set(gates_of(rows).values())
    withdrawn = "withdrawn" if any(row.get("cancellation") == "before_dispatch" for row in rows) else None
    ranked = {
        "deny": GateState.REJECTED,
        "skip": GateState.SKIPPED,
        "withdrawn": GateState.WITHDRAWN,
        "needs_approval": GateState.PENDING,
    }
    return next((state for verdict, state in ranked.items() if verdict in {*verdicts, withdrawn}), GateState.CLEAR)


def attempt_rows(rows):
    """The row of each attempt, in order; an announced one that never came is open."""
    came = {row["span_id"] for row in rows if row["record"] == "attempt"}
    told = [row for row in rows if row["record"] == "attempt"]
    told += [row for row in rows if row["record"] == "attempt_start" and row["parent_span_id"] not in came]
    return sorted(told, key=lambda row: (row["attempt_ordinal"], row["start_ns"]))


def is_possible(row):
    """Whether an attempt may have taken effect."""
    return row.get("sent") != "no" and not row.get("effect_ruled_out", False)


def status_of(row):
    """How the attempt of a row stands."""
    status = row.get("attempt_status", "open")
    return "raised" if status == "error" and row.get("error_type") is not None else status


def latest(rows, finding, basis=None):
    """The latest row of that finding; None where there is none."""
    told = [row for row in rows if row.get("finding") == finding and basis in {None, row.get("basis")}]
    return max(told, key=lambda row: row["start_ns"], default=None)


def covered_until(row):
    """Until when a finding says something of attempts."""
    return row.get("covers_until_ns", row["start_ns"])


def possible_effects(rows):
    """The rows of what may have taken effect: attempts and announcements, else the call itself."""
    return list(filter(is_possible, attempt_rows(rows))) or [row for row in rows if row["record"] == "call"]


def begun_until(rows):
    """Until when all that may have taken effect had begun, as far as is known."""
    begun = [row["start_ns"] for row in possible_effects(rows)]
    return max([*begun, *([call_of(rows)["end_ns"]] if any(unseen_attempts(rows)) else [])], default=0)


def ended_until(rows):
    """Until when all that may have taken effect had ended; None where something is open or may still begin."""
    effects = possible_effects(rows)
    is_open = any(status_of(row) == "open" for row in effects if row["record"] != "call")
    gone_on = any(row["start_ns"] > call_of(rows).get("end_ns", 0) for row in rows if row["record"] == "gate")
    died = any(row.get("error_type") == "ProcessDied" for row in rows if row["record"] == "attempt")
    over = died or (is_told(rows) and not gone_on)
    return (
        max(row["end_ns"] for row in effects) if effects and over and not is_open and not any(unseen_attempts(rows)) else None
    )


def settlement(rows):
    """What the findings come to."""
    committed, denied = latest(rows, "committed"), latest(rows, "not_committed", "answer")
    if (
        denied is not None
        and begun_until(rows) <= covered_until(denied)
        and (committed is None or denied["start_ns"] > committed["start_ns"])
    ):
        return Settled.NOT_COMMITTED
    if committed is not None:
        return Settled.COMMITTED
    absences = [row for row in rows if row.get("finding") == "not_committed" and row.get("basis") == "absence"]
    ended = ended_until(rows)
    if ended is not None and any(ended <= covered_until(absence) for absence in absences):
        return Settled.NOT_COMMITTED
    return Settled.STILL_UNKNOWN if any(row["record"] == "reconciliation" for row in rows) else Settled.NO_FINDING


def call_of(rows):
    """The row of the call's own span; empty where it never came."""
    return next((row for row in rows if row["record"] == "call"), {})


def unseen_attempts(rows):
    """(latest, earlier): whether the call tells of a latest attempt, and of some before it, that are not there."""
    made = call_of(rows).get("attempts_made") or 0
    seen = [row["attempt_ordinal"] for row in attempt_rows(rows)]
    latest = made > max(seen, default=0)
    return latest, made > len(seen) + latest


def is_told(rows):
    """Whether the call's own span knows of the latest attempt."""
    call = call_of(rows)
    made = call.get("attempts_made")
    return bool(call) and (made is None or made >= max((row["attempt_ordinal"] for row in attempt_rows(rows)), default=0))


def observation_of(rows):
    """What came back; lost where the call's own span does not know of its latest attempt."""
    if is_told(rows) or not attempt_rows(rows):
        return ObservationStatus(call_of(rows).get("observation", "none"))
    return ObservationStatus.NONE if status_of(attempt_rows(rows)[-1]) == "open" else ObservationStatus.CUT_BY_RECORDING


def effects_of(rows):
    """(latest, earlier) possible effects."""
    latest_unseen, earlier_unseen = unseen_attempts(rows)
    told = [(is_possible(row), (row.get("remote_status") or 0) >= 500) for row in attempt_rows(rows)]
    before = told if latest_unseen else told[:-1]
    last = (True, False) if latest_unseen else next(iter(told[-1:]), (False, False))
    return last[0], earlier_unseen or all(last) or any(possible for possible, _ in before)


def effect(possible):
    """The word for it."""
    return Effect.POSSIBLE if possible else Effect.NONE


def evidence_of(rows):
    """The evidence about one call, told in plain Python; no call here is older than the time-out."""
    latest, earlier = effects_of(rows)
    status = "unseen" if unseen_attempts(rows)[0] else next(map(status_of, attempt_rows(rows)[-1:]), "none")
    return Evidence(
        gate=gate_state(rows),
        attempt=LastAttempt(status),
        last_effect=effect(latest),
        earlier_effect=effect(earlier),
        observation=observation_of(rows),
        access=Access.READS if call_of(rows).get("side_effect") == "read" else Access.MAY_WRITE,
        settled=settlement(rows),
        age=Age.WITHIN,
    )


SOMETIMES = {
    "error_type": st.sampled_from([None, "TimeoutError", "ProcessDied"]),
    "remote_status": st.sampled_from([None, None, 200, 502]),
    "attempts_made": st.sampled_from([None, 0, 1, 2, 6]),
    "covers_until_ns": st.sampled_from([None, MONDAY_NS, MONDAY_NS + 3 * SECOND_NS]),
    "cancellation": st.sampled_from([None, None, "before_dispatch", "while_running"]),
}


def fields(kind, **fixed):
    """A strategy for the fields of a record that decide an outcome."""
    hints = codec.FIELDS_OF[kind]
    free = {
        RecordKind.CALL: ("observation", "side_effect"),
        RecordKind.GATE: ("gate_kind", "verdict", "gate_mode"),
        RecordKind.ATTEMPT: ("attempt_status", "sent", "effect_ruled_out"),
        RecordKind.RECONCILIATION: ("finding", "basis"),
    }[kind]
    drawn = {name: st.booleans() if hints[name] is bool else st.sampled_from(hints[name]) for name in free}
    drawn |= {name: strategy for name, strategy in SOMETIMES.items() if name in hints}
    return st.fixed_dictionaries(drawn).map(lambda given: (kind, {**fixed, **given}))


STORIES = st.lists(
    fields(RecordKind.GATE)
    | fields(RecordKind.ATTEMPT)
    | fields(RecordKind.RECONCILIATION, method="person")
    | st.just((RecordKind.ATTEMPT_START, {})),
    max_size=6,
)
RECORDS = {cls.kind: cls for cls in (Call, Gate, Attempt, AttemptStart, Reconciliation)}


def told(history, number, call, story):
    """Tell one drawn story of a call; its rows."""
    ids = {"run_id": "r", "call_id": f"{number:08x}00000000"}
    before = len(history.rows)
    for ordinal, (kind, given_fields) in enumerate(story):
        takes = codec.FIELDS_OF[kind]
        extra = {"attempt_ordinal": ordinal + 1} if "attempt_ordinal" in takes else {}
        extra |= {"tool": "t"} if "tool" in takes else {}
        span_id, parent = f"{number:08x}{ordinal + 1:08x}", f"{number:08x}{ordinal + 101:08x}"
        history.add(RECORDS[kind](**ids, **given_fields, **extra), span_id=span_id, parent=parent)
    if call is not None:
        history.add(Call(**ids, tool="t", call_ordinal=number, **call[1]), span_id=ids["call_id"])
    return history.rows[before:]


@settings(max_examples=20, deadline=None)
@given(drawn=st.lists(st.tuples(st.none() | fields(RecordKind.CALL), STORIES), min_size=1, max_size=30))
def test_the_file_judges_calls_as_plain_python_does(tmp_path_factory, drawn):
    """Whatever spans a call has, its row holds their evidence and the outcome that `model.outcome` gives it."""
    history = History()
    expected = {}
    for number, (call, story) in enumerate(drawn):
        rows = told(history, number, call, story)
        if rows:
            evidence = evidence_of(rows)
            expected[rows[0]["call_id"]] = (*evidence._replace(access=None), outcome(evidence))
    store = Store.open(tmp_path_factory.mktemp("drawn") / "db", clock=lambda: MONDAY_NS)
    store.write_group([history.rows])
    stored = store.read(lambda cursor: cursor.sql("select * from calls").to_arrow_table().to_pylist())
    store.close()
    found = {row["call_id"]: tuple(row[name] for name in COLUMNS) for row in stored}
    assert found == {call: tuple(value for value in values if value is not None) for call, values in expected.items()}


def story_of_a_payment(number):
    """A call that waited for approval, timed out, and was retried; five spans."""
    history = History()
    call = f"{number:08x}00000000"
    ids = {"run_id": "r", "call_id": call}
    history.add(Gate(**ids, gate_kind="confirmation", verdict="needs_approval"), span_id=f"{number:08x}00000001")
    history.add(Gate(**ids, gate_kind="confirmation", verdict="allow"), span_id=f"{number:08x}00000002")
    attempt = f"{number:08x}00000003"
    history.add(AttemptStart(**ids, tool="pay", attempt_ordinal=0), span_id=f"{number:08x}00000004", parent=attempt)
    history.add(Attempt(**ids, attempt_ordinal=0, attempt_status="timeout", sent=Known.YES), span_id=attempt)
    history.add(Call(**ids, call_ordinal=0, tool="pay", side_effect=SideEffect.WRITE), span_id=call)
    return history.rows


def test_any_order_of_arrival_gives_the_same_call(store, rows_of):
    """Every order of a call's five spans over five groups ends in the row that one group gives."""
    orders = list(itertools.permutations(range(5)))
    stories = [story_of_a_payment(number) for number in range(len(orders) + 1)]
    store.write_group([stories.pop()])
    for turn in range(5):
        store.write_group([[story[order[turn]] for story, order in zip(stories, orders, strict=True)]])
    own = ("call_id", "span_id")
    results = {tuple((k, v) for k, v in row.items() if k not in own) for row in rows_of("select * from calls")}
    assert len(results) == 1
    assert dict(*results)["outcome"] == "unknown_commit"


def test_a_denied_approval_is_a_rejection_without_attempts(calls):
    """A wait for approval that ends in a denial leaves a rejected call that nothing ran."""
    history = History()
    run = history.run("r")
    call = history.call(run, "pay", ObservationStatus.NONE)
    history.gate(run, call, "confirmation", "needs_approval")
    assert only(calls(history.rows))["outcome"] == "pending"
    history.gate(run, call, "confirmation", "deny")
    found = only(calls(history.rows[-1:]))
    assert (found["outcome"], found["rejected"], found["rejected_by"], found["attempts"]) == (
        "rejected",
        True,
        "confirmation",
        0,
    )


def test_an_observed_gate_rejects_nothing(calls):
    """A denial by a gate that could not stop the call leaves its outcome alone."""
    history = History()
    call = history.call(history.run("r"), "look")
    history.gate("r", call, "policy", "deny", gate_mode="observed")
    found = only(calls(history.rows))
    assert (found["outcome"], found["rejected"], found["rejected_by"]) == ("succeeded", False, None)


def announced():
    """A history of an attempt that was announced and never heard of again."""
    history = History()
    call = "00000000000000aa"
    history.attempt_start(history.run("r"), call, "pay", parent="00000000000000bb")
    return history


def test_a_call_whose_process_died_still_tells_what_finds_its_repeats_and_who_must_act(calls):
    """The announcement of its attempt carries digests, action, node, owner and time to settle, and its row has them."""
    told = {"arguments_digest": "a" * 32, "key_digest": "b" * 32, "action_id": "refund-1", "node": "n", "owner": "payments"}
    history = History()
    history.add(AttemptStart(run_id="r", call_id="c", tool="pay", attempt_ordinal=1, settle_after_s=60.0, **told))
    found = only(calls(history.rows))
    assert {name: found[name] for name in (*told, "settle_after_s")} == {**told, "settle_after_s": 60.0}


def test_an_announced_attempt_is_pending_and_then_an_unknown_commit(store, clock, calls, rows_of):
    """Past the time-out nobody waits any longer, and whether it committed is not known."""
    found = only(calls(announced().rows))
    assert (found["outcome"], found["age"], found["attempts"]) == ("pending", "within", 1)
    clock.now = found["last_attempt_ns"] + TIMEOUT_NS
    assert store.derive_open() == 0
    clock.now += 1
    assert store.derive_open() == 1
    assert rows_of("select outcome, age from calls") == [{"outcome": "unknown_commit", "age": "beyond"}]


def test_open_calls_age_while_no_process_has_the_file_open(store, path, clock, calls):
    """Opening the file again judges them by the time that it is then."""
    call = only(calls(announced().rows))
    store.close()
    clock.now = call["t0_ns"] + TIMEOUT_NS + 1
    opened = Store.open(path, clock=clock)
    outcomes = opened.read(lambda cursor: cursor.sql("select outcome from calls").fetchall())
    opened.close()
    assert outcomes == [("unknown_commit",)]


def test_the_file_keeps_how_long_an_attempt_may_be_open(store, path, clock, calls):
    """Who opens it without saying judges by what was said last, also who only reads."""
    call = only(calls(announced().rows))
    store.close()
    clock.now = call["last_attempt_ns"] + TIMEOUT_NS + 1
    answers = []
    for said in ({"open_timeout_s": 2 * 900}, {}, {"open_timeout_s": 900}, {}):
        opened = Store.open(path, clock=clock, **said)
        answers += opened.read(lambda cursor: cursor.sql("select outcome from calls").fetchall())
        opened.close()
    clock.now -= 1
    Store.open(path, clock=clock).close()
    clock.now += 1
    reading = Store.open(path, read_only=True, clock=clock)
    overdue = reading.overdue()
    reading.close()

    assert answers == [("pending",), ("pending",), ("unknown_commit",), ("unknown_commit",)]
    assert overdue == 1


def test_the_attempt_that_was_announced_is_one_attempt(calls):
    """An attempt and its announcement count once, and the attempt's own word holds."""
    history = History()
    run = history.run("r")
    call = history.call(run, "pay")
    attempt = history.attempt(run, call, "ok")
    history.attempt_start(run, call, "pay", parent=attempt)
    found = only(calls(history.rows))
    assert (found["attempts"], found["last_attempt"]) == (1, "ok")


def died(by_ns):
    """The rows of a call whose process delivered all of it and died before it noted that, and those of who took over."""
    history = History()
    run = history.run("r")
    call = history.call(run, "pay")
    history.attempt_start(run, call, "pay", parent=history.attempt(run, call))
    _, _, attempt, announcement = history.rows
    lost = {"attempt_status": "error", "error_type": PROCESS_DIED, "end_ns": by_ns}
    return history.rows, [announcement, {**attempt, **lost}]


def test_what_a_dead_process_delivered_wins_over_who_took_over(calls):
    """The attempt is told again by the next process, and falls out as a duplicate."""
    own, adopted = died(MONDAY_NS + WEEK_NS)
    before = calls(own)

    assert calls(adopted) == before
    assert only(before)["outcome"] == "succeeded"


def test_where_who_took_over_is_first_the_attempt_is_unknown(calls):
    """What the dead process sent came by a detour; its answer is lost then, and unknown is never wrong."""
    own, adopted = died(MONDAY_NS + WEEK_NS)
    alone = only(calls(adopted))
    late = only(calls(own))

    assert (alone["outcome"], alone["last_ended_ns"]) == ("unknown_commit", MONDAY_NS + WEEK_NS)
    assert (late["outcome"], late["attempts"]) == ("unknown_commit", 1)


def test_a_run_does_not_last_until_its_death_was_found(store, rows_of):
    """The run of a dead process ended where it was last heard of."""
    own, adopted = died(MONDAY_NS + WEEK_NS)
    store.write_group([adopted])

    assert rows_of("select ended_ns from runs") == [{"ended_ns": own[-1]["end_ns"]}]


def test_a_call_without_its_own_span_takes_tool_and_times_from_the_others(calls):
    """What is known of it is shown, the rest is unknown and not guessed."""
    history = announced()
    found = only(calls(history.rows))
    span = history.rows[-1]
    shown = {name: found[name] for name in ("has_call_span", "tool", "server", "started_ns", "ended_ns", "run_id", "week")}
    assert shown == {
        "has_call_span": False,
        "tool": "pay",
        "server": "",
        "started_ns": span["start_ns"],
        "ended_ns": span["end_ns"],
        "run_id": "r",
        "week": "2026-W45",
    }
    assert (found["side_effect"], found["observation"]) == ("unknown", "none")


def test_a_finding_weeks_later_in_another_trace_settles_the_call(calls):
    """A reconciliation reaches back to spans that arrived long before it."""
    history = History()
    run = history.run("r")
    call = history.call(run, "pay", ObservationStatus.TIMEOUT)
    history.attempt(run, call, "timeout")
    assert only(calls(history.rows))["outcome"] == "unknown_commit"
    history.skip(5 * WEEK_NS)
    history.reconciliation(run, call, "pay", "committed")
    later = {**history.rows[-1], "trace_id": f"{2:032x}"}
    found = only(calls([later]))
    assert (found["outcome"], found["finding"], found["found_ns"]) == ("succeeded", "committed", later["start_ns"])
    assert (found["t0_ns"], found["t1_ns"]) == (history.rows[1]["start_ns"], later["end_ns"])


def test_times_that_stand_for_an_order_have_no_week(calls):
    """A call of such a history is of week unknown."""
    history = History(time_known=False)
    history.call(history.run("r"), "look")
    found = only(calls(history.rows))
    assert (found["time_known"], found["week"]) == (False, "unknown")


def test_a_call_that_was_called_off_before_dispatch_is_cancelled(calls):
    """While it waited for approval too; where a gate had stopped it already, that is what became of it."""
    history = History()
    waiting = history.call("r", "waits", ObservationStatus.NONE, cancellation="before_dispatch")
    history.gate("r", waiting, "confirmation", "needs_approval")
    denied = history.call("r", "denied", ObservationStatus.NONE, cancellation="before_dispatch")
    history.gate("r", denied, "policy", "deny")
    ran = history.call("r", "ran", ObservationStatus.OK, cancellation="after_commit")
    history.attempt("r", ran)

    found = calls(history.rows)

    assert {call: row["outcome"] for call, row in found.items()} == {waiting: "cancelled", denied: "rejected", ran: "succeeded"}


def test_what_is_learnt_of_a_call_after_its_end_counts(calls):
    """A second span of the call that begins when the first did is the later one where it ends later."""
    history = History()
    call = history.call("r", "look", ObservationStatus.OK, speculative=True)
    again = {**history.rows[-1], "span_id": "00000000000000aa", "discarded": True}
    again["end_ns"] += 1

    first = calls(history.rows)[call]["discarded"]
    assert (first, calls([again])[call]["discarded"]) == (False, True)
