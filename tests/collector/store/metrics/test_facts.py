"""Figures about calls beside each other, about guesses, and about budgets, counted by hand."""

import pytest

from toolwitness.model.enums import AttemptStatus, Known, StopReason
from toolwitness.tests.factories import SECOND_NS, History


def side_by_side(history, first, second, *, gap_ns=0, **fields):
    """Two calls with an attempt of a second each, the second one beginning `gap_ns` after the first; their ids."""
    ids = []
    for sets in (first, second):
        begun = history.now_ns
        call = history.call("r", "pay", **sets)
        history.attempt("r", call, **fields)
        history.rows[-1]["start_ns"], history.rows[-1]["end_ns"] = begun, begun + SECOND_NS
        history.skip(begun + gap_ns - history.now_ns)
        ids.append(call)
    return ids


WRITES, READS = {"write_set": ("account/1", "log")}, {"read_set": ("account/1",)}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (WRITES, {"write_set": ("account/1",)}, [("account/1", "write_write")]),
        (WRITES, READS, [("account/1", "read_write")]),
        (READS, WRITES, [("account/1", "read_write")]),
        (READS, READS, []),
        (WRITES, {"write_set": ("account/2",)}, []),
        (WRITES, {}, []),
        (
            {"write_set": ("a",), "read_set": ("a",)},
            {"write_set": ("a",), "read_set": ("a",)},
            [("a", "write_write")],
        ),
    ],
)
def test_calls_that_overlap_conflict_where_one_of_them_writes(ask, first, second, expected):
    """Each pair and resource once, the earlier proposal first."""
    history = History()
    ids = side_by_side(history, first, second, gap_ns=SECOND_NS // 2)

    rows = ask(history, "conflicting_writes")

    assert [(row["resource"], row["kind"]) for row in rows] == expected
    assert {(row["call"], row["other_call"]) for row in rows} <= {tuple(ids)}


@pytest.mark.parametrize(
    ("gap_ns", "fields"),
    [
        (SECOND_NS, {}),
        (0, {"status": AttemptStatus.OPEN}),
        (0, {"time_known": False}),
        (0, {"sent": Known.NO}),
    ],
)
def test_what_does_not_overlap_or_nobody_can_tell_is_no_conflict(ask, gap_ns, fields):
    """One after the other, an attempt without a known end, records without times, and what never left the process."""
    history = History()
    side_by_side(history, WRITES, WRITES, gap_ns=gap_ns, **fields)

    assert ask(history, "conflicting_writes") == []


def test_conflicts_are_those_of_one_run(ask):
    """The same resource in two runs is nobody's parallel step."""
    history = History()
    side_by_side(history, WRITES, WRITES)
    other = history.call("elsewhere", "pay", **WRITES)
    history.attempt("elsewhere", other)
    history.rows[-1]["start_ns"] = history.rows[0]["start_ns"]

    assert {row["run"] for row in ask(history, "conflicting_writes")} == {"r"}
    assert ask(history, "conflicting_writes", run="elsewhere") == []
    assert ask(history, "conflicting_writes", source="demo") == []


def test_guesses_in_vain_are_counted_with_their_cost(ask):
    """Attempts and seconds of all speculative calls, and of the discarded ones; others are in no figure."""
    history = History()
    for discarded in (True, False):
        call = history.call("r", "look", speculative=True, discarded=discarded)
        history.attempt("r", call, AttemptStatus.ERROR)
        history.attempt("r", call)
    history.call("r", "look")

    (row,) = ask(history, "speculative_calls", by_week=False)

    assert tuple(row.values()) == ("", "look", "all", 2, 1, 4, 2, 2, 2.0, 1.0)


def test_budgets_are_counted_over_every_part_of_a_run(ask):
    """Calls, attempts and seconds from the records; what is told to be spent is one text a part."""
    history = History()
    history.run("r", budget='{"calls": 1}', spent='{"cost": 1}', stopped_by=StopReason.BUDGET)
    for _ in range(2):
        history.attempt("r", history.call("r", "pay"))
    history.run("r", spent='{"cost": 2}', stopped_by=StopReason.BUDGET)
    history.run("plain")

    (row,) = ask(history, "run_budgets")

    assert (row["run"], row["budget"], sorted(row["spent"])) == ("r", '{"calls": 1}', ['{"cost": 1}', '{"cost": 2}'])
    assert (row["calls"], row["attempts"], row["seconds"], row["stopped_by"]) == (2, 2, 6.0, "budget")


def test_a_run_that_is_asked_for_is_told_whatever_it_had(ask):
    """Also where it had no limits."""
    history = History()
    history.run("plain")

    (row,) = ask(history, "run_budgets", run="plain")

    assert (row["calls"], row["budget"], row["spent"]) == (0, None, None)
