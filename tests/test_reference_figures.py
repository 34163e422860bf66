"""Figures of the shared trajectories, through the command line and the Python API, against those counted independently."""

import json
import os
import sys

import pytest

from toolwitness.__main__ import main
from toolwitness.replay import metrics
from toolwitness.replay.load import open_source


@pytest.fixture(name="answer")
def fixture_answer(monkeypatch, capsys):
    """`answer(*arguments)` -> what a command prints as JSON, run in this process, since that is quicker."""

    def answer(*arguments):
        monkeypatch.setattr(sys, "argv", ["toolwitness", *map(os.fspath, arguments), "--json"])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        assert (end.value.code or 0, err) == (0, "")
        return json.loads(out)

    return answer


def reference(shared, name):
    """Figures that were counted once, independently."""
    return json.loads((shared / "reference" / name).read_text(encoding="utf-8"))


def test_importing_twice_changes_nothing(import_both, both, answer):
    """The first import stores every span, the second finds each a duplicate; both count the same."""
    printed = both[1]

    again = answer(*import_both[:-1])

    assert (printed["runs"], printed["decisions"], printed["calls"]) == (100 + 48, 1229 + 466, 572 + 420)
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


def test_tau_bench_tools_equal_the_reference(shared, both, answer):
    """Every figure of the reference that is a tool's comes out exactly, for every tool."""
    rows = {row["tool"]: row for row in answer("tools", "--db", both[0], "--source", "tau-bench")}

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


def test_livemcpbench_tools_equal_the_reference(shared, both, answer):
    """Inner tools have the reference's figures; a figure that it leaves out is zero."""
    rows = {f"{row['server']}/{row['tool']}": row for row in answer("tools", "--db", both[0], "--source", "livemcpbench")}
    route = rows.pop("livemcp/route")

    expected = reference(shared, "livemcpbench.dev_even.json")["per_tool"]
    counted = {tool: {word: row[ours] for word, ours in LIVE_WORDS.items()} for tool, row in rows.items()}
    assert counted == {tool: {word: row.get(word, 0) for word in LIVE_WORDS} for tool, row in expected.items()}
    assert (route["calls"], sum(row["calls"] for row in rows.values())) == (145, 275)
    assert sum(row["unknown_commits"] for row in rows.values()) == 7


def test_runs_add_up_to_the_reference(shared, both, answer):
    """Runs, successes, decisions and calls of all runs are the reference's totals."""
    totals = reference(shared, "tau1_gpt-4o-airline.dev_trials01.json")["totals"]

    rows = answer("runs", "--db", both[0], "--source", "tau-bench")

    assert len(rows) == totals["trajectories"]
    assert sum(row["outcome"] == "success" for row in rows) == totals["success"]
    assert sum(row["decisions"] for row in rows) == totals["decisions"]
    assert sum(row["calls"] for row in rows) == totals["calls"]
    assert {"run", "task", "trial", "outcome", "decisions", "calls"} <= rows[0].keys()


def test_times_that_are_not_known_are_a_week_of_their_own(both, answer):
    """Imported runs have no times: null, and week 'unknown'."""
    db = both[0]

    assert {row["week"] for row in answer("tools", "--by", "week", "--db", db, "--source", "tau-bench")} == {"unknown"}
    assert {row["started"] for row in answer("runs", "--db", db, "--source", "tau-bench")} == {None}


def test_a_replay_is_one_object_a_decision(both, answer):
    """Every decision of the run comes with what was visible and its calls, which add up to the run's."""
    db = both[0]
    run = next(row for row in answer("runs", "--db", db, "--source", "tau-bench") if row["calls"])

    steps = answer("replay", run["run"], "--db", db)

    assert len(steps) == run["decisions"]
    assert {len(step["visible"]) for step in steps} == {14}
    assert sum(len(step["calls"]) for step in steps) == run["calls"]


@pytest.fixture(name="source")
def fixture_source(both):
    """An open source over the database."""
    with open_source(both[0]) as source:
        yield source


def test_tau_bench_totals_equal_the_reference(shared, source):
    """Repeats and utilisation add up to the reference's totals, adjacent and after an error too."""
    totals = reference(shared, "tau1_gpt-4o-airline.dev_trials01.json")["totals"]

    found, repeats = metrics.overview(source, origin="tau-bench"), metrics.repeats(source, origin="tau-bench")

    assert (found["errors"], found["identical_repeats"]) == (totals["error"], totals["repeat_identical"])
    assert (found["utilisation_denominator"], found["utilisation_either"]) == (totals["util_denominator"], totals["util_any"])
    assert found["decisions_with_call"] == totals["decisions_with_call"]
    assert repeats["adjacent"].sum() == totals["repeat_adjacent"]
    assert repeats["after_error"].sum() == totals["repeat_after_error"]


def test_argument_provenance_equals_the_reference(shared, source):
    """Every scalar argument leaf has the origin that the reference gives it, for every tool."""
    expected = reference(shared, "tau1_gpt-4o-airline.dev_trials01.json")["argument_leaf_provenance_by_tool"]

    counted = {}
    for row in metrics.provenance(source, origin="tau-bench").iter_rows(named=True):
        counted.setdefault(row["tool"], {})[row["origin"]] = row["leaves"]

    assert counted == expected


def test_livemcpbench_statuses_equal_the_reference(shared, source):
    """What the dispatcher said and what was effective are told apart as in the reference.

    Its `ok` is our `ok` and `empty`, its `truncated` our `cut_by_recording`.
    """
    ours = {"truncated": ("cut_by_recording",), "unknown(truncated)": ("cut_by_recording",), "ok": ("ok", "empty")}
    rows = [
        row
        for row in metrics.observation_statuses(source, origin="livemcpbench").iter_rows(named=True)
        if row["called"] == "execute-tool"
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

    counted = dict(metrics.offer_states(source, origin="livemcpbench")["offer_state"].value_counts().iter_rows())

    # The reference's other two states are about the catalogue and overlap with these.
    assert counted == {state: expected[state] for state in counted}
    assert sum(counted.values()) == 275


def test_the_timeouts_are_unknown_commits(source):
    """Seven, since side effects are unknown there; three followed by the same tool, none a duplicate risk."""
    found = metrics.unknown_commits(source, origin="livemcpbench")

    assert len(found) == 7
    assert found["followed_by_same_tool"].sum() == 3
    assert not found["duplicate_risk"].any()
