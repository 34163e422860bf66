"""Figures of the shared trajectories, through the command line and the Python API, against those counted independently."""

import json
import os
import subprocess
import sys

import pytest

from toolwitness.replay import metrics
from toolwitness.replay.load import open_source

FORMATS = {
    "tau": ("tau-bench/gpt-4o-airline.dev_trials01.json.gz", "tau-bench/tau1_airline_tools.json"),
    "live": ("livemcpbench/dev_even.json.gz", "livemcpbench/tools.json.gz"),
}


def toolwitness(*arguments):
    """What a command prints as JSON, run in a process of its own."""
    command = [sys.executable, "-m", "toolwitness", *map(os.fspath, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.fixture(name="imported", scope="module")
def fixture_imported(shared, tmp_path_factory):
    """`imported(which)` -> database path and what the first import printed; the file is imported once."""
    done = {}

    def imported(which):
        if which not in done:
            db = tmp_path_factory.mktemp(which) / "db.duckdb"
            done[which] = db, toolwitness(*import_arguments(shared, which, db))
        return done[which]

    return imported


def import_arguments(shared, which, db):
    """The command that imports one of the shared files."""
    runs, tools = FORMATS[which]
    return ("import", shared / "data" / runs, "--tools", shared / "data" / tools, "--db", db)


def reference(shared, name):
    """Figures that were counted once, independently."""
    return json.loads((shared / "reference" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("which", "expected"), [("tau", (100, 1229, 572)), ("live", (48, 466, 420))])
def test_importing_twice_changes_nothing(shared, imported, which, expected):
    """The first import stores every span, the second finds each a duplicate; both count the same."""
    db, printed = imported(which)

    again = toolwitness(*import_arguments(shared, which, db))

    assert (printed["runs"], printed["decisions"], printed["calls"]) == expected
    assert list(printed) == ["runs", "decisions", "calls", "received", "stored", "duplicate", "rejected"]
    assert (printed["stored"], printed["duplicate"], printed["rejected"]) == (printed["received"], 0, {})
    assert again == printed | {"stored": 0, "duplicate": printed["received"]}


TAU_WORDS = {
    "visible_decisions": "visible",
    "selected": "calls",
    "trajectories": "runs",
    "success_trajectories": "runs_succeeded",
    "error": "errors",
    "repeat_identical": "identical_repeats",
}
UTILISATION_WORDS = {
    "util_denominator": "denominator",
    "util_args": "in_arguments",
    "util_answer": "in_answer",
    "util_any": "either",
}


def test_tau_bench_tools_equal_the_reference(shared, imported):
    """Every figure of the reference that is a tool's comes out exactly, for every tool."""
    rows = {row["tool"]: row for row in toolwitness("tools", "--db", imported("tau")[0])}

    expected = reference(shared, "tau1_gpt-4o-airline.dev_trials01.json")["per_tool"]
    counted = {
        tool: {word: row[ours] for word, ours in TAU_WORDS.items()}
        | {word: row["utilisation"][ours] for word, ours in UTILISATION_WORDS.items()}
        for tool, row in rows.items()
    }
    words = {*TAU_WORDS, *UTILISATION_WORDS}
    assert counted == {tool: {word: row[word] for word in words} for tool, row in expected.items()}


LIVE_WORDS = {
    "known_decisions": "visible",
    "selected": "calls",
    "trajectories": "runs",
    "success_trajectories": "runs_succeeded",
    "eff_error": "errors",
    "eff_timeout": "timeouts",
    "eff_unknown(truncated)": "indeterminate",
    "repeat_identical": "identical_repeats",
}


def test_livemcpbench_tools_equal_the_reference(shared, imported):
    """Inner tools have the reference's figures; a figure that it leaves out is zero."""
    rows = {f"{row['server']}/{row['tool']}": row for row in toolwitness("tools", "--db", imported("live")[0])}
    route = rows.pop("livemcp/route")

    expected = reference(shared, "livemcpbench.dev_even.json")["per_tool"]
    counted = {tool: {word: row[ours] for word, ours in LIVE_WORDS.items()} for tool, row in rows.items()}
    assert counted == {tool: {word: row.get(word, 0) for word in LIVE_WORDS} for tool, row in expected.items()}
    assert (route["calls"], sum(row["calls"] for row in rows.values())) == (145, 275)
    assert sum(row["unknown_commits"] for row in rows.values()) == 7


def test_runs_add_up_to_the_reference(shared, imported):
    """Runs, successes, decisions and calls of all runs are the reference's totals."""
    totals = reference(shared, "tau1_gpt-4o-airline.dev_trials01.json")["totals"]

    rows = toolwitness("runs", "--db", imported("tau")[0])

    assert len(rows) == totals["trajectories"]
    assert sum(row["outcome"] == "success" for row in rows) == totals["success"]
    assert sum(row["decisions"] for row in rows) == totals["decisions"]
    assert sum(row["calls"] for row in rows) == totals["calls"]
    assert {"run", "task", "trial", "outcome", "decisions", "calls"} <= rows[0].keys()


def test_times_that_are_not_known_are_a_week_of_their_own(imported):
    """Imported runs have no times: null, and week 'unknown'."""
    db = imported("tau")[0]

    assert {row["week"] for row in toolwitness("tools", "--by", "week", "--db", db)} == {"unknown"}
    assert {row["started"] for row in toolwitness("runs", "--db", db)} == {None}


def test_a_replay_is_one_object_a_decision(imported):
    """Every decision of the run comes with what was visible and its calls, which add up to the run's."""
    db = imported("tau")[0]
    run = next(row for row in toolwitness("runs", "--db", db) if row["calls"])

    steps = toolwitness("replay", run["run"], "--db", db)

    assert len(steps) == run["decisions"]
    assert {len(step["visible"]) for step in steps} == {14}
    assert sum(len(step["calls"]) for step in steps) == run["calls"]


@pytest.fixture(name="source")
def fixture_source(imported):
    """`source(which)` -> an open source over one of the imported files."""
    opened = []

    def source(which):
        opened.append(open_source(imported(which)[0]))
        return opened[-1].__enter__()

    yield source
    for one in opened:
        one.__exit__(None, None, None)


def test_tau_bench_totals_equal_the_reference(shared, source):
    """Repeats and utilisation add up to the reference's totals, adjacent and after an error too."""
    totals = reference(shared, "tau1_gpt-4o-airline.dev_trials01.json")["totals"]

    found, repeats = metrics.overview(source("tau")), metrics.repeats(source("tau"))

    assert (found["errors"], found["identical_repeats"]) == (totals["error"], totals["repeat_identical"])
    assert (found["utilisation_denominator"], found["utilisation_either"]) == (totals["util_denominator"], totals["util_any"])
    assert found["decisions_with_call"] == totals["decisions_with_call"]
    assert repeats["adjacent"].sum() == totals["repeat_adjacent"]
    assert repeats["after_error"].sum() == totals["repeat_after_error"]


def test_argument_provenance_equals_the_reference(shared, source):
    """Every scalar argument leaf has the origin that the reference gives it, for every tool."""
    expected = reference(shared, "tau1_gpt-4o-airline.dev_trials01.json")["argument_leaf_provenance_by_tool"]

    counted = {}
    for row in metrics.provenance(source("tau")).iter_rows(named=True):
        counted.setdefault(row["tool"], {})[row["origin"]] = row["leaves"]

    assert counted == expected


def test_livemcpbench_statuses_equal_the_reference(shared, source):
    """What the dispatcher said and what was effective are told apart as in the reference.

    Its `ok` is our `ok` and `empty`, its `truncated` our `cut_by_recording`.
    """
    ours = {"truncated": ("cut_by_recording",), "unknown(truncated)": ("cut_by_recording",), "ok": ("ok", "empty")}
    rows = [
        row for row in metrics.observation_statuses(source("live")).iter_rows(named=True) if row["called"] == "execute-tool"
    ]

    expected = reference(shared, "livemcpbench.dev_even.json")["execute_outer_vs_effective"]
    for pair, calls in expected.items():
        outer, effective = (ours.get(status, (status,)) for status in pair.split("->"))
        counted = (row["calls"] for row in rows if row["transport_status"] in outer and row["observation"] in effective)
        assert (pair, sum(counted)) == (pair, calls)
    assert sum(row["calls"] for row in rows) == sum(expected.values())


def test_offer_states_equal_the_reference(shared, source):
    """Executed tools were offered by the latest search, an earlier one, or none, as often as in the reference."""
    expected = reference(shared, "livemcpbench.dev_even.json")["execute_offer_state"]

    counted = dict(metrics.offer_states(source("live"))["offer_state"].value_counts().iter_rows())

    # The reference's other two states are about the catalogue and overlap with these.
    assert counted == {state: expected[state] for state in counted}
    assert sum(counted.values()) == 275


def test_the_timeouts_are_unknown_commits(source):
    """Seven, since side effects are unknown there; three followed by the same tool, none a duplicate risk."""
    found = metrics.unknown_commits(source("live"))

    assert len(found) == 7
    assert found["followed_by_same_tool"].sum() == 3
    assert not found["duplicate_risk"].any()
