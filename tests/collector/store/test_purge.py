"""Taking runs out of a file for good: what goes with a run, and what stays."""

import pytest

from toolwitness.collector.store.draft import stamp_of
from toolwitness.collector.store.purge import KEPT, Selection, plan, purge
from toolwitness.collector.store.queries import DDL
from toolwitness.tests.collector.store.purging import ANNA, BERT, NOW_NS, foreign, told, unique
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS, WEEK_NS, History

TABLES = sorted(KEPT)
EVERYTHING = {table: f"select * from {table} order by all" for table in TABLES}  # noqa: S608 -- names of our own tables


def test_a_run_goes_with_all_that_is_its_own(path, fill, see):
    """No table knows the run, its call, its trace, its toolset or its tool any more."""
    fill(told("r1", tool="one", toolset="ts-1"), told("r2", tool="two", toolset="ts-2"))

    losses = purge(path, Selection(runs=("r1",))).losses

    assert (losses.runs, losses.calls, losses.spans) == (1, 1, 9)
    names = "select run_id from spans union select run_id from calls"
    tools = "select tool from spans where tool is not null union select tool from calls"
    defined = "select tool from toolset_members union select tool from schemas"
    assert see(names) == [("r2",)]
    assert see(tools) == see(defined) == [("two",)]
    assert see("select toolset_digest from toolsets") == [("ts-2",)]
    assert see("select trace_id from trace_loc") == see("select distinct trace_id from spans")


def test_the_file_is_as_if_the_run_had_never_come(tmp_path, path, fill, see):
    """Every table holds what it would hold if the other runs had been recorded alone, but for the counts of what was sent."""
    fill(told("r2"))
    alone = {table: see(sql) for table, sql in EVERYTHING.items()}
    path.rename(tmp_path / "alone")
    shared = told("r1", start_ns=MONDAY_NS - SECOND_NS, subject=ANNA, agent="x")
    fill(shared, told("r2"))

    purge(path, Selection(runs=("r1",)))

    found = {table: see(sql) for table, sql in EVERYTHING.items()}
    del alone["ingest"], found["ingest"]
    assert found == alone


def test_a_shared_definition_passes_to_the_first_run_that_still_uses_it(path, fill, see):
    """Run, subject, times and service of the sender are gone with it."""
    fill(
        told("r1", subject=ANNA),
        told("r3", start_ns=MONDAY_NS + 3 * WEEK_NS),
        told("r2", start_ns=MONDAY_NS + WEEK_NS, subject=BERT),
    )

    purge(path, Selection(runs=("r1",)))

    first_use = MONDAY_NS + WEEK_NS + 3 * SECOND_NS
    sql = "select record, run_id, subject, start_ns, end_ns, week from spans where record in ('toolset', 'schema') order by 1"
    facts = ("r2", BERT, first_use, first_use, "2026-W46")
    assert see(sql) == [("schema", *facts), ("toolset", *facts)]
    assert see("select first_seen_ns from schemas union all select first_seen_ns from toolsets") == [(first_use,)] * 2


@pytest.mark.parametrize(
    "use",
    [
        {"decision": {"toolset_digest": "ts"}},
        {"decision": {"candidate_digest": "ts"}},
        {"call": {"catalog_digest": "ts"}},
        {"call": {"definition_digest": "definition of look"}},
        {"call": {"schema_digest": "schema of look"}},
        {"call": {"definition_digest": "other", "validated_schema_digest": "schema of look"}},
    ],
    ids=lambda use: "-".join(next(iter(use.values()))),
)
def test_any_use_keeps_a_definition(path, fill, see, use):
    """Toolset, candidates, catalog, definition and schema are uses, by whoever stays."""
    history = History(start_ns=MONDAY_NS + WEEK_NS)
    history.run("r2")
    history.decision("r2", **use.get("decision", {}))
    history.call("r2", "look", **use.get("call", {}))
    fill(told("r1"), unique(history.rows, "r2"))

    purge(path, Selection(runs=("r1",)))

    assert see("select definition_digest from schemas") == [("definition of look",)]


def test_a_definition_that_nobody_used_stays_with_its_sender(path, fill, see):
    """What a run sent and no decision names yet is not lost by another run's purge."""
    history = History()
    history.run("r2")
    history.toolset("r2", "unused", [])
    fill(told("r1"), unique(history.rows, "r2"))

    purge(path, Selection(runs=("r1",)))

    assert see("select toolset_digest from toolsets") == [("unused",)]


def test_a_subject_goes_with_whole_runs(path, fill, runs):
    """One span that names the subject is enough: a process that died sent no more."""
    some = told("r1")
    some[4]["subject"] = ANNA
    fill(some, told("r2", subject=ANNA), told("r3", subject=BERT), told("r4"))

    assert purge(path, Selection(subject=ANNA)).losses.runs == 2

    assert runs() == ["r3", "r4"]


def test_age_counts_from_the_last_span_of_a_run(path, fill, runs):
    """A run of which anything began at the time or later stays whole."""
    end = MONDAY_NS + 8 * SECOND_NS
    fill(told("old"), told("edge", start_ns=MONDAY_NS + SECOND_NS), told("new", start_ns=MONDAY_NS + WEEK_NS))

    assert purge(path, Selection(before_ns=end + SECOND_NS)).losses.runs == 1

    assert runs() == ["edge", "new"]


def test_what_has_no_known_time_has_no_age(path, fill, runs):
    """Imported runs whose times stand for an order only stay (F)."""
    fill(told("imported", time_known=False), told("old"))

    purge(path, Selection(before_ns=NOW_NS))

    assert runs() == ["imported"]


def test_a_call_goes_as_a_whole(path, fill, see):
    """What another run told about a call of a run that goes, such as how it was settled, goes too."""
    rows = told("r1")
    late = History(start_ns=MONDAY_NS + WEEK_NS)
    late.run("r2")
    late.reconciliation("r2", rows[4]["call_id"], "look", "committed")
    call = rows[4]["call_id"]
    others = unique(late.rows, "r2")
    others[1]["call_id"] = call
    fill(rows, others)

    purge(path, Selection(runs=("r1",)))

    assert see("select record, run_id from spans") == [("run", "r2")]
    assert see("select * from calls") == []


def test_foreign_spans_go_with_the_last_run_of_their_trace(path, fill, see):
    """They name no run, so they stay while a run of their trace does, and that is counted."""
    other = told("r2", start_ns=MONDAY_NS + WEEK_NS)
    trace = told("r1")[0]["trace_id"]
    fill(told("r1"), [{**row, "trace_id": trace} for row in other], [foreign("r1"), foreign("elsewhere", number=2)])
    foreigners = "select span_id from spans where record is null order by 1"

    assert purge(path, Selection(runs=("r1",))).losses.foreign_left == 1
    assert see(foreigners) == [(f"f{1:015x}",), (f"f{2:015x}",)]

    losses = purge(path, Selection(runs=("r2",))).losses
    assert (losses.runs, losses.foreign_left) == (1, 0)
    assert see(foreigners) == [(f"f{2:015x}",)]


def test_foreign_traces_have_an_age(path, fill, see):
    """A trace without a run goes by age as a whole."""
    new = MONDAY_NS + WEEK_NS
    fill([foreign("a"), foreign("b", number=2), foreign("b", number=3, start_ns=new)])

    losses = purge(path, Selection(before_ns=new)).losses

    assert (losses.runs, losses.spans) == (0, 1)
    assert see("select span_id from spans order by 1") == [(f"f{2:015x}",), (f"f{3:015x}",)]


def test_the_order_of_arrival_stays(path, fill, see):
    """However many steps the copying takes."""
    fill(told("c"), told("a", start_ns=MONDAY_NS + 2 * WEEK_NS), told("d"), told("b", start_ns=MONDAY_NS + WEEK_NS))

    purge(path, Selection(runs=("d",)), places_at_once=4)

    own = "select run_id from spans where record not in ('schema', 'toolset')"
    assert see(own) == [("c",)] * 7 + [("a",)] * 7 + [("b",)] * 7


def test_the_counts_of_what_was_sent_stay(two, see):
    """They name nobody, and what was received stays the sum of what became of it."""
    before = see(EVERYTHING["ingest"])

    purge(two, Selection(runs=("r1",)))

    assert see(EVERYTHING["ingest"]) == before


def test_the_file_can_be_written_again(path, fill, runs, see):
    """Nothing is known of a run that went, and views and calls work as before."""
    fill(told("r1"), told("r2"))
    purge(path, Selection(runs=("r1",)))

    fill(told("r1"), told("r2"))

    assert runs() == ["r1", "r2"]
    assert see("select outcome from calls") == [("succeeded",)] * 2
    assert see("select count(*) from call_facts where in_toolset") == [(2,)]


def test_losses_tell_the_times_of_what_goes(path, fill):
    """From the first start to the last, and none where no time is known."""
    fill(told("r1"), told("r2", time_known=False))

    losses = plan(path, Selection(runs=("r1",)))
    assert (losses.oldest_ns, losses.newest_ns) == (MONDAY_NS, MONDAY_NS + 8 * SECOND_NS)
    unknown = plan(path, Selection(runs=("r1", "r2")))
    assert (unknown.oldest_ns, unknown.newest_ns) == (losses.oldest_ns, losses.newest_ns)
    assert (unknown.runs, unknown.spans) == (2, 9 + 7)


def test_a_plan_is_what_a_purge_then_does_and_changes_nothing(path, fill):
    """The file's bytes are the same after a dry run, and nothing lies beside it."""
    fill(told("r1", subject=ANNA), told("r2"))
    before = path.read_bytes()

    planned = plan(path, Selection(subject=ANNA))

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    assert purge(path, Selection(subject=ANNA)).losses == planned


@pytest.mark.parametrize(
    "selection", [Selection(subject=BERT), Selection(runs=("r",)), Selection(before_ns=1)], ids=["subject", "run", "age"]
)
def test_where_nothing_goes_nothing_is_written(path, fill, selection):
    """The file is the same one."""
    fill(told("r1", subject=ANNA))
    before = stamp_of(path)

    done = purge(path, selection)

    assert (done.losses.spans, done.witnessed, done.bytes_before) == (0, None, done.bytes_after)
    assert stamp_of(path) == before


@pytest.mark.parametrize("given", [{}, {"runs": ("r",), "subject": ANNA}], ids=["none", "two"])
def test_a_selection_is_one_thing(given):
    """Nothing, and two things at once, are refused."""
    with pytest.raises(ValueError, match="just one of the three"):
        Selection(**given)


def test_of_every_table_it_is_said_what_stays():
    """A table that is added to the store needs a statement `sql/purge/keep_TABLE.sql`."""
    assert {statement.name for statement in DDL if statement.text.split("create ")[1].startswith("table")} == KEPT
