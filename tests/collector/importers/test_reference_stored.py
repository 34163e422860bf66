"""The shared files imported into a real store, asked with SQL, against figures that were counted once, independently."""

import json
from collections import Counter

import pytest

from toolwitness.collector.store.store import Store

USE = """
with used as (
    select distinct unnest(argument_sources) as call_id, 'arguments' as place from spans where record = 'call'
    union all
    select distinct unnest(answer_sources), 'answer' from spans where record = 'decision'
),
measured as (
    select s.tool, a.call_id is not null as in_arguments, b.call_id is not null as in_answer
    from spans as s
    left join used as a on a.call_id = s.call_id and a.place = 'arguments'
    left join used as b on b.call_id = s.call_id and b.place = 'answer'
    where s.record = 'call' and s.source = 'tau-bench' and s.observation <> 'error' and s.novel_values > 0
)
select
    coalesce(tool, ''), count(*), count(*) filter (where in_arguments), count(*) filter (where in_answer),
    count(*) filter (where in_arguments or in_answer)
from measured group by grouping sets ((), (tool))
"""
LEAVES = """
select tool, origin, count(*) from (
    select tool, unnest(from_json(provenance, '[{"pointer": "VARCHAR", "origin": "VARCHAR"}]')).origin as origin
    from spans where record = 'call' and source = 'tau-bench'
) as leaves group by all
"""
VISIBLE = """
select m.server, m.tool, count(*), count(distinct d.run_id)
from decisions as d join toolset_members as m on m.toolset_digest = d.toolset_digest
where d.source = $source and m.server <> 'livemcp' group by all
"""
REPEATS = """
select server, tool, sum(calls - 1) from (
    select run_id, server, tool, arguments_digest, count(*) as calls from calls where source = $source group by all
) as twins group by all having sum(calls - 1) > 0
"""
EFFECTIVE = """
select server, tool, case observation
    when 'error' then 'eff_error' when 'timeout' then 'eff_timeout'
    when 'cut_by_recording' then 'eff_unknown(truncated)' else 'eff_ok' end as status, count(*)
from calls where source = 'livemcpbench' and via is not null group by all
"""
OUTER = """
select coalesce(via, tool), case transport_status when 'cut_by_recording' then 'truncated' else transport_status end, count(*)
from calls where source = 'livemcpbench' group by all
"""
RUNS_OF_TOOLS = """
select c.server, c.tool, count(*), count(distinct c.run_id), count(distinct c.run_id) filter (where r.run_outcome = 'success')
from calls as c join runs as r on r.run_id = c.run_id
where c.source = $source group by all
"""


@pytest.fixture(name="stored", scope="module")
def fixture_stored(both):
    """A store with both files."""
    store = Store.open(both[0], read_only=True)
    yield store
    store.close()


@pytest.fixture(name="ask", scope="module")
def fixture_ask(stored):
    """A function that runs SQL on it and returns the rows."""
    return lambda sql, **values: stored.read(lambda cursor: cursor.execute(sql, values).fetchall())


@pytest.fixture(name="tau", scope="module")
def fixture_tau(shared):
    """What was counted in tau-bench's file."""
    path = shared / "reference" / "tau1_gpt-4o-airline.dev_trials01.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(name="live", scope="module")
def fixture_live(shared):
    """What was counted in LiveMCPBench's file."""
    return json.loads((shared / "reference" / "livemcpbench.dev_even.json").read_text(encoding="utf-8"))


def _one(rows):
    ((value,),) = rows
    return value


def _tools(reference, name):
    """One figure of every tool, by (server, tool), without those where it is absent or zero."""
    return {
        tuple(tool.rsplit("/", 1)) if "/" in tool else ("", tool): figures[name]
        for tool, figures in reference["per_tool"].items()
        if figures.get(name)
    }


def test_tau_runs(ask, tau):
    """Runs and successes are the reference's."""
    (found,) = ask(
        "select count(*), count(*) filter (where run_outcome = 'success' and outcome_source = 'reward') "
        "from runs where source = 'tau-bench'"
    )

    assert found == (tau["totals"]["trajectories"], tau["totals"]["success"])


def test_tau_decisions(ask, tau):
    """Decisions, and those that proposed a call, are the reference's."""
    (found,) = ask("select count(*), count(*) filter (where len(chosen) > 0) from decisions where source = 'tau-bench'")

    assert found == (tau["totals"]["decisions"], tau["totals"]["decisions_with_call"])


def test_tau_calls(ask, tau):
    """Calls and errors are the reference's, though ids repeat."""
    (found,) = ask(
        "select count(*), count(distinct call_id), count(*) filter (where observation = 'error') "
        "from calls where source = 'tau-bench'"
    )

    assert found == (tau["totals"]["calls"], tau["totals"]["calls"], tau["totals"]["error"])


def test_tau_call_ids_are_no_keys(ask, tau):
    """Provider ids repeat within runs as often as counted."""
    found = _one(
        ask(
            "select cast(sum(calls - ids) as bigint) from (select count(*) as calls, count(distinct provider_call_id) as ids "
            "from calls where source = 'tau-bench' group by run_id) as of_run"
        )
    )

    assert found == tau["totals"]["duplicate_call_ids"]


def test_tau_tools(ask, tau):
    """Calls, runs and successful runs of every tool are the reference's."""
    found = {tool: figures for _, tool, *figures in ask(RUNS_OF_TOOLS, source="tau-bench")}

    assert found == {
        tool: [expected["selected"], expected["trajectories"], expected["success_trajectories"]]
        for tool, expected in tau["per_tool"].items()
    }


def test_tau_errors_of_tools(ask, tau):
    """So are their errors."""
    found = ask("select server, tool, count(*) from calls where source = 'tau-bench' and observation = 'error' group by all")

    assert {(server, tool): count for server, tool, count in found} == _tools(tau, "error")


def test_tau_visible(ask, tau):
    """Every tool of the catalogue was visible at every decision."""
    found = ask(VISIBLE, source="tau-bench")

    assert {(server, tool): decisions for server, tool, decisions, _ in found} == _tools(tau, "visible_decisions")


@pytest.mark.parametrize(("source", "reference"), [("tau-bench", "tau"), ("livemcpbench", "live")])
def test_repeats_of_tools(ask, request, source, reference):
    """Calls with the arguments of an earlier call of their run are the reference's, for every tool."""
    found = ask(REPEATS, source=source)

    assert {(server, tool): count for server, tool, count in found} == _tools(
        request.getfixturevalue(reference), "repeat_identical"
    )


def test_tau_utilisation(ask, tau):
    """Results whose new values reappear, in arguments, in answers, in either, are the reference's in sum and for every tool."""
    names = ("util_denominator", "util_args", "util_answer", "util_any")
    found = {tool: tuple(figures) for tool, *figures in ask(USE)}
    expected = {tool: tuple(figures[name] for name in names) for tool, figures in tau["per_tool"].items()}

    assert found.pop("") == tuple(tau["totals"][name] for name in names)
    assert found == {tool: figures for tool, figures in expected.items() if figures[0]}


def test_tau_argument_provenance(ask, tau):
    """Where argument leaves came from is the reference's, for every tool and origin."""
    found = ask(LEAVES)
    expected = tau["argument_leaf_provenance_by_tool"]

    assert {(tool, origin): count for tool, origin, count in found} == {
        (tool, origin): count for tool, origins in expected.items() for origin, count in origins.items()
    }


def test_live_runs(ask, live):
    """Runs and those that a person called successful are the reference's."""
    (found,) = ask(
        "select count(*), count(*) filter (where run_outcome = 'success' and outcome_source = 'person') "
        "from runs where source = 'livemcpbench'"
    )

    assert found == (live["totals"]["trajectories"], live["totals"]["human_success"])


def test_live_calls(ask, live):
    """Decisions and both layers of calls are the reference's."""
    decisions = _one(ask("select count(*) from decisions where source = 'livemcpbench'"))
    (layers,) = ask(
        "select count(*), count(*) filter (where server = 'livemcp' and tool = 'route'), "
        "count(*) filter (where via = 'execute-tool') from calls where source = 'livemcpbench'"
    )
    names = ("decisions", "calls", "calls_route", "calls_execute-tool")

    assert (decisions, *layers) == tuple(live["totals"][name] for name in names)


def test_live_search_hits(ask, live):
    """The hits that were kept are as many as counted."""
    found = ask("select json_array_length(discovery_hits) from spans where record = 'call' and discovery_hits is not null")

    assert sum(count for (count,) in found) == live["totals"]["search_hits"]


def test_live_effective_status(ask, live):
    """Effective statuses of every inner tool are the reference's, where an empty answer counts as ok."""
    found = {(server, tool, status): count for server, tool, status, count in ask(EFFECTIVE)}

    assert found == {
        (*identity, status): count
        for status in ("eff_ok", "eff_error", "eff_timeout", "eff_unknown(truncated)")
        for identity, count in _tools(live, status).items()
    }


def test_live_outer_status(ask, live):
    """Outer statuses of both layers are the reference's."""
    assert {f"{layer}|{status}": count for layer, status, count in ask(OUTER)} == live["outer_status"]


def test_live_visible(ask, live):
    """Every inner tool was visible in as many decisions and runs as its hits make it."""
    found = ask(VISIBLE, source="livemcpbench")

    assert {(server, tool): decisions for server, tool, decisions, _ in found} == _tools(live, "known_decisions")
    assert {(server, tool): runs for server, tool, _, runs in found} == _tools(live, "offered_trajectories")


def test_live_never_offered(ask, live):
    """Calls of tools that were not visible are those that no search had offered."""
    found = ask("select server, tool, count(*) from calls where source = 'livemcpbench' and visible = 'no' group by all")

    assert {(server, tool): count for server, tool, count in found} == _tools(live, "never_offered")


def test_live_offer_states(stored, live):
    """Calls of tools that the last, an earlier or no search had offered are as many as counted."""
    found = Counter(stored.query("offer_states").column("offer_state").to_pylist())

    assert found == {state: live["execute_offer_state"][state] for state in found}
    assert found.total() == live["totals"]["calls_execute-tool"]


def test_live_tools(ask, live):
    """Calls, runs and successful runs of every inner tool are the reference's."""
    found = {
        (server, tool): tuple(figures)
        for server, tool, *figures in ask(RUNS_OF_TOOLS, source="livemcpbench")
        if server != "livemcp"
    }

    assert found == {
        tuple(tool.rsplit("/", 1)): (expected["selected"], expected["trajectories"], expected["success_trajectories"])
        for tool, expected in live["per_tool"].items()
        if "selected" in expected
    }


def test_live_not_in_catalogue(ask, live):
    """Calls of tools that stand in no catalogue keep their names and are the reference's."""
    found = ask("select server, tool, count(*) from calls where source = 'livemcpbench' and registered = 'no' group by all")

    assert sorted(map(list, found)) == sorted(live["not_in_catalogue"])


def test_live_timeouts_are_unknown_commits(ask, live):
    """No tool here is known to be reading, so every timeout is an unknown commit and nothing else is."""
    found = ask(
        "select observation, count(*) from calls where source = 'livemcpbench' and outcome = 'unknown_commit' group by all"
    )

    assert found == [("timeout", live["totals"]["eff_timeout"])]


def test_imported_times_are_not_known(ask):
    """Everything stands under week `unknown`."""
    assert ask("select distinct time_known, week from spans") == [(False, "unknown")]
