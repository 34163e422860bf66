"""Every query that takes `source`, `week`, `limit` or `search`, on a history of two sources in two weeks."""

import pytest

from toolwitness.collector.store.store import Store
from toolwitness.model.enums import AttemptStatus, ErrorClass, ObservationStatus, Origin, RunOutcome
from toolwitness.model.records import LeafOrigin
from toolwitness.tests.factories import WEEK_NS, History

FIRST, SECOND = "2026-W45", "2026-W46"


def told():
    """In the first week a live run, in the second a demo run with twice as many of each kind of call, that fails."""
    history = History()
    history.toolset("live-1", "set", [("s", "pay"), ("s", "idle")])
    for run, source, times in (("live-1", "live", 1), ("demo-1", "demo", 2)):
        outcome = RunOutcome.SUCCESS if source == "live" else RunOutcome.FAILURE
        history.run(
            run,
            outcome,
            spent='{"cost":1}',
            source=source,
            task=f"Book {times}",
            agent="Office Bot" if source == "live" else None,
        )
        step = history.decision(run, source=source, toolset_digest="set")
        told_of = {"source": source, "server": "s", "decision_id": step, "arguments_digest": "x"}
        for _ in range(times):
            call = history.call(run, "pay", ObservationStatus.TIMEOUT, via="gateway", **told_of)
            history.attempt(run, call, AttemptStatus.TIMEOUT, source=source)
            history.call(run, "pay", ObservationStatus.ERROR, error_class=ErrorClass.CONFLICT, **told_of)
            history.call(run, "pay", provenance=(LeafOrigin("/a", Origin.USER),), speculative=True, **told_of)
        history.skip(WEEK_NS)
    return history


@pytest.fixture(name="answer", scope="module")
def fixture_answer(tmp_path_factory):
    """`answer(query, **params)` -> the rows of a query about that history, as dicts."""
    history = told()
    store = Store.open(tmp_path_factory.mktemp("filters") / "history.duckdb", clock=lambda: history.now_ns)
    store.write_group([history.rows])
    yield lambda query, **params: store.query(query, params).to_pylist()
    store.close()


BY_ALL, NOW = {"by_week": False}, {"now_ns": 0}
PAY = {"server": "s", "tool": "pay"}
# query, what it needs, the column that is added up (None counts rows), and that sum for all, live and demo
BY_SOURCE = [
    ("failed_runs", {}, None, (1, 0, 1)),
    ("observation_statuses", {}, "calls", (9, 3, 6)),
    ("offer_states", {}, None, (3, 1, 2)),
    ("provenance", {}, "leaves", (3, 1, 2)),
    ("repeats", {}, "calls", (9, 3, 6)),
    ("repeats", {}, "identical", (7, 2, 5)),
    ("run_budgets", {}, None, (2, 1, 1)),
    ("runs", {}, None, (2, 1, 1)),
    ("speculative_calls", BY_ALL, "speculative", (3, 1, 2)),
    ("submission_states", {}, "calls", (9, 3, 6)),
    ("submissions", NOW, None, (9, 3, 6)),
    ("tool_calls", PAY, None, (9, 3, 6)),
    ("tool_error_classes", BY_ALL, "errors", (3, 1, 2)),
    ("tools", BY_ALL, "calls", (9, 3, 6)),
    ("tools", BY_ALL, "visible", (4, 2, 2)),
    ("tools", BY_ALL, "selected", (2, 1, 1)),
    ("totals", BY_ALL, "runs", (2, 1, 1)),
    ("totals", BY_ALL, "decisions_with_call", (2, 1, 1)),
    ("totals", BY_ALL, "calls", (9, 3, 6)),
    ("totals", {"by_week": True}, "calls", (9, 3, 6)),
    ("unknown_commits", NOW, None, (3, 1, 2)),
]


def added(rows, column):
    """The sum of a column, or the number of rows."""
    return len(rows) if column is None else sum(row[column] for row in rows)


@pytest.mark.parametrize(("query", "needed", "column", "expected"), BY_SOURCE)
def test_a_source_leaves_the_others_out(answer, query, needed, column, expected):
    """All records, those of `live` and those of `demo` give the figures that were counted by hand."""
    given = ({}, {"source": "live"}, {"source": "demo"})

    assert tuple(added(answer(query, **needed, **one), column) for one in given) == expected


@pytest.mark.parametrize(("query", "needed", "column", "expected"), BY_SOURCE)
def test_a_source_that_is_not_there_has_no_records(answer, query, needed, column, expected):  # noqa: ARG001 -- one table
    """Nothing comes from a source that never told anything."""
    assert added(answer(query, **needed, source="nobody"), column) == 0


@pytest.mark.parametrize(
    ("query", "needed", "column", "expected"),
    [
        ("failed_runs", {}, None, (0, 1)),
        ("tool_calls", PAY, None, (3, 6)),
        ("tools", BY_ALL, "calls", (3, 6)),
        ("tools", BY_ALL, "visible", (2, 2)),
        ("totals", BY_ALL, "runs", (1, 1)),
        ("totals", BY_ALL, "decisions", (1, 1)),
        ("totals", BY_ALL, "tools_called", (1, 1)),
        ("totals", BY_ALL, "calls", (3, 6)),
    ],
)
def test_a_week_leaves_the_others_out(answer, query, needed, column, expected):
    """Each of the two weeks has its own records."""
    assert tuple(added(answer(query, **needed, week=week), column) for week in (FIRST, SECOND)) == expected


def test_a_week_of_tools_is_that_part_of_all_weeks(answer):
    """The figures of one week are those that stand under it by week."""
    by_week = [row for row in answer("tools", by_week=True) if row["week"] == SECOND]

    assert answer("tools", by_week=False, week=SECOND) == [{**row, "week": "all"} for row in by_week]


def test_a_week_without_records_has_totals_of_zero(answer):
    """The headline figures are one row, whatever is asked for."""
    (row,) = answer("totals", by_week=False, week="2026-W01")

    assert (row["runs"], row["decisions"], row["calls"], row["tools_visible"]) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("query", "needed", "limit", "expected"),
    [
        ("runs", {}, 1, [2]),
        ("runs", {}, 5, [2, 2]),
        ("runs", {"source": "live"}, 5, [1]),
        ("failed_runs", {}, 1, [1]),
        ("submissions", NOW, 1, [9]),
        ("tool_calls", PAY, 2, [9, 9]),
        ("tool_calls", {**PAY, "week": FIRST}, 2, [3, 3]),
    ],
)
def test_a_list_that_is_cut_tells_its_whole_length(answer, query, needed, limit, expected):
    """The column `total` counts what the filters leave, before the limit cuts it."""
    assert [row["total"] for row in answer(query, **needed, limit=limit)] == expected


@pytest.mark.parametrize(("query", "needed"), [("runs", {}), ("tool_calls", PAY)])
def test_a_cut_list_is_the_beginning_of_the_whole(answer, query, needed):
    """The limit keeps the first rows in the order of the query."""
    assert answer(query, **needed, limit=1) == answer(query, **needed)[:1]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("E-1", ["live-1"]),
        ("book", ["demo-1", "live-1"]),
        ("BOOK 2", ["demo-1"]),
        ("office", ["live-1"]),
        ("%", []),
        ("book_2", []),
    ],
)
def test_a_search_looks_in_id_task_and_agent(answer, search, found):
    """It is contained, in whatever case, and text rather than a pattern; an agent that is not known matches nothing."""
    assert [row["run"] for row in answer("runs", search=search)] == found


def test_sources_are_listed_with_what_they_have(answer):
    """Runs and calls of each source add up to the totals."""
    assert answer("sources") == [
        {"source": "demo", "runs": 1, "calls": 6},
        {"source": "live", "runs": 1, "calls": 3},
    ]
