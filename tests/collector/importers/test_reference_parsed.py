"""The importers' reading of the shared files against figures that were counted once, independently."""

import gzip
import json
from collections import Counter

import pytest

from toolwitness.collector.importers import livemcpbench, tau_bench
from toolwitness.model.digest import canonical_json
from toolwitness.model.enums import Known, ObservationStatus, RunOutcome

EFFECTIVE = {"ok": "ok", "empty": "ok", "error": "error", "timeout": "timeout", "cut_by_recording": "unknown(truncated)"}
OUTER = {"ok": "ok", "error": "error", "timeout": "timeout", "cut_by_recording": "truncated"}


def _json(path):
    return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())


@pytest.fixture(name="tau", scope="module")
def fixture_tau(shared):
    """tau-bench's runs."""
    folder = shared / "data" / "tau-bench"
    catalogue = tau_bench.read_catalogue(_json(folder / "tau1_airline_tools.json"))
    return [tau_bench.read_record(record, catalogue) for record in _json(folder / "gpt-4o-airline.dev_trials01.json.gz")]


@pytest.fixture(name="tau_reference", scope="module")
def fixture_tau_reference(shared):
    """What was counted there."""
    return _json(shared / "reference" / "tau1_gpt-4o-airline.dev_trials01.json")


@pytest.fixture(name="live_catalogue", scope="module")
def fixture_live_catalogue(shared):
    """LiveMCPBench's tools."""
    return livemcpbench.read_catalogue(_json(shared / "data" / "livemcpbench" / "tools.json.gz"))


@pytest.fixture(name="live", scope="module")
def fixture_live(shared, live_catalogue):
    """LiveMCPBench's runs."""
    records = _json(shared / "data" / "livemcpbench" / "dev_even.json.gz")
    return [livemcpbench.read_record(record, live_catalogue) for record in records]


@pytest.fixture(name="live_reference", scope="module")
def fixture_live_reference(shared):
    """What was counted there."""
    return _json(shared / "reference" / "livemcpbench.dev_even.json")


def _observed(runs):
    """Every call with its observation, run by run."""
    return [(run, call, run.observations.get(position)) for run in runs for position, call in enumerate(run.calls)]


def _executions(runs):
    return [(run, call, seen) for run, call, seen in _observed(runs) if call.via]


def _identity(call):
    return f"{call.server}/{call.tool}" if call.server else call.tool


def _subset(expected, names):
    return {name: expected[name] for name in names}


def test_tau_totals(tau, tau_reference):
    """Trajectories, successes, decisions, calls and errors are the reference's."""
    errors = sum(seen.status is ObservationStatus.ERROR for _, _, seen in _observed(tau))
    found = {
        "trajectories": len(tau),
        "success": sum(run.outcome is RunOutcome.SUCCESS for run in tau),
        "decisions": sum(len(run.steps) for run in tau),
        "decisions_with_call": sum(bool(step.calls) for run in tau for step in run.steps),
        "calls": len(_observed(tau)),
        "error": errors,
        "ok": len(_observed(tau)) - errors,
    }

    assert found == _subset(tau_reference["totals"], found)


def test_tau_calls_per_decision(tau, tau_reference):
    """No decision proposes more calls than the reference says."""
    found = Counter(str(len(step.calls)) for run in tau for step in run.steps if step.calls)

    assert found == tau_reference["calls_per_decision"]


def test_tau_call_ids_are_no_keys(tau, tau_reference):
    """Ids repeat within trajectories as often as counted, and more across them; every call still has its own result."""
    ids = [[call.provider_call_id for call in run.calls] for run in tau]
    repeated = sum(len(of_run) - len(set(of_run)) for of_run in ids)

    assert repeated == tau_reference["totals"]["duplicate_call_ids"]
    assert len({one for of_run in ids for one in of_run}) < tau_reference["totals"]["calls"] / 4
    assert all(seen is not None for _, _, seen in _observed(tau))


def test_tau_tools(tau, tau_reference):
    """Calls, errors, trajectories, successes and repeats of every tool are the reference's."""
    assert _tau_tools(tau) == {
        tool: _subset(
            expected,
            (
                "visible_decisions",
                "selected",
                "trajectories",
                "success_trajectories",
                "calls_in_success",
                "error",
                "no_result",
                "ok",
                "repeat_identical",
            ),
        )
        for tool, expected in tau_reference["per_tool"].items()
    }


def _tau_tools(tau):
    visible = Counter(tool.name for run in tau for step in run.steps for tool in step.tools)
    found = {}
    for name in {call.tool for run in tau for call in run.calls}:
        calls = [(run, seen) for run, call, seen in _observed(tau) if call.tool == name]
        won = [run.run_id for run, _ in calls if run.outcome is RunOutcome.SUCCESS]
        errors = sum(seen.status is ObservationStatus.ERROR for _, seen in calls)
        found[name] = {
            "visible_decisions": visible[name],
            "selected": len(calls),
            "trajectories": len({run.run_id for run, _ in calls}),
            "success_trajectories": len(set(won)),
            "calls_in_success": len(won),
            "error": errors,
            "no_result": sum(seen is None for _, seen in calls),
            "ok": len(calls) - errors,
            "repeat_identical": _repeats(tau, name),
        }
    return found


def _repeats(runs, name):
    """Calls with the tool and canonical arguments of an earlier call of their run."""
    keys = [
        Counter((_identity(call), canonical_json(call.arguments)) for call in run.calls if _identity(call) == name)
        for run in runs
    ]
    return sum(count - 1 for of_run in keys for count in of_run.values())


def test_live_catalogue(live_catalogue, live_reference):
    """Servers, tools and shared names of the catalogue are the reference's."""
    servers = {tool.server for tool in live_catalogue.definitions}
    shared_names = Counter(name for _, name in {(tool.server, tool.name) for tool in live_catalogue.definitions})
    found = {
        "servers": len(servers),
        "tools": len(live_catalogue.definitions),
        "names_shared_by_several_servers": sum(count > 1 for count in shared_names.values()),
    }

    assert found == _subset(live_reference["catalogue"], found)


def test_live_totals(live, live_reference):
    """Trajectories, successes, decisions, both layers of calls and hits are the reference's."""
    searches = [seen.search for _, _, seen in _observed(live) if seen.search is not None]
    found = {
        "trajectories": len(live),
        "human_success": sum(run.outcome is RunOutcome.SUCCESS for run in live),
        "decisions": sum(len(run.steps) for run in live),
        "decisions_with_call": sum(bool(step.calls) for run in live for step in run.steps),
        "calls": len(_observed(live)),
        "calls_route": sum(call.tool == "route" for _, call, _ in _observed(live)),
        "calls_execute-tool": len(_executions(live)),
        "search_hits": sum(len(search.hits) for search in searches),
        "route_not_success": sum(
            seen.search is not None and seen.status is ObservationStatus.ERROR for _, _, seen in _observed(live)
        ),
    }

    assert found == _subset(live_reference["totals"], found)


def test_live_hit_pairs(live, live_reference):
    """Distinct (run, server, tool) of the hits, those called, and those outside the catalogue are the reference's."""
    hits = {(run.run_id, *hit) for run, _, seen in _observed(live) if seen.search is not None for hit in seen.search.hits}
    called = {(run.run_id, call.server, call.tool) for run, call, _ in _executions(live)}
    known = {(run.run_id, tool.server, tool.name) for run in live for tool in run.steps[0].candidates}
    found = {
        "hit_pairs_distinct": len(hits),
        "hit_pairs_selected": len(hits & called),
        "hit_pairs_offered_but_not_in_catalogue": len(hits - known),
    }

    assert found == _subset(live_reference["totals"], found)


def test_live_calls_per_decision(live, live_reference):
    """Parallel calls are where the reference sees them."""
    found = Counter(str(len(step.calls)) for run in live for step in run.steps if step.calls)

    assert found == live_reference["calls_per_decision"]


def test_live_hits_per_search(live, live_reference):
    """Every search has as many hits as counted."""
    found = Counter(str(len(seen.search.hits)) for _, _, seen in _observed(live) if seen.search is not None)

    assert found == live_reference["hits_per_search"]


def test_live_effective_status(live, live_reference):
    """Effective statuses of executions are the reference's, where an empty answer counts as ok."""
    found = Counter("eff_" + EFFECTIVE[seen.status] for _, _, seen in _executions(live))

    assert found == _subset(live_reference["totals"], found)


def test_live_outer_status(live, live_reference):
    """Outer statuses of both layers are the reference's."""
    layers = [("execute-tool" if call.via else "route", seen) for _, call, seen in _observed(live)]

    assert Counter(f"{layer}|{OUTER[seen.transport_status]}" for layer, seen in layers) == live_reference["outer_status"]


def test_live_outer_against_effective(live, live_reference):
    """As many inner errors hide behind an outer success as counted."""
    found = Counter(f"{OUTER[seen.transport_status]}->{EFFECTIVE[seen.status]}" for _, _, seen in _executions(live))

    assert found == live_reference["execute_outer_vs_effective"]


def _offer_states(run):
    """Of each execution, in the order of the calls, what searches had shown before it."""
    seen, last, position, states = set(), set(), 0, []
    for step in run.steps:
        calls = range(position, position + len(step.calls))
        for at in calls:
            call = run.calls[at]
            if call.via:
                identity = (call.server, call.tool)
                earlier = "in_earlier_search_hits" if identity in seen else "never_offered_by_a_search"
                states.append("in_last_search_hits" if identity in last else earlier)
        searches = [run.observations[at].search for at in calls if run.observations[at].search is not None]
        for search in searches:
            last = set(search.hits)
            seen |= last
        position += len(step.calls)
    return states


def test_live_offer_states(live, live_reference):
    """Executions of tools that the last, an earlier or no search had shown are as many as counted."""
    found = Counter(state for run in live for state in _offer_states(run))

    assert found == _subset(live_reference["execute_offer_state"], found)


def test_never_offered_was_not_visible(live, live_reference):
    """What no search had shown is what was not visible to the decision that called it."""
    not_visible = sum(call.visible is Known.NO for _, call, _ in _executions(live))

    assert not_visible == live_reference["execute_offer_state"]["never_offered_by_a_search"]


def test_live_not_in_catalogue(live, live_catalogue, live_reference):
    """Executions of tools that the catalogue lacks are those of the reference, by server and tool."""
    servers = {tool.server for tool in live_catalogue.definitions}
    strange = [call for _, call, _ in _executions(live) if call.registered is Known.NO]
    states = Counter("not_in_catalogue" if call.server in servers else "server_not_in_catalogue" for call in strange)

    assert Counter((call.server, call.tool) for call in strange) == {
        (server, tool): count for server, tool, count in live_reference["not_in_catalogue"]
    }
    assert states == _subset(live_reference["execute_offer_state"], states)


def test_live_tools(live, live_reference):
    """Calls, runs, effective statuses, repeats, offers and visible decisions of every tool are the reference's."""
    known = ("schema_invalid",)
    expected = {
        tool: {name: value for name, value in figures.items() if name not in known and value}
        for tool, figures in live_reference["per_tool"].items()
    }

    assert _live_tools(live) == expected


def _live_tools(live):
    found = {}
    for run, call, seen in _executions(live):
        figures = found.setdefault(_identity(call), Counter())
        figures["selected"] += 1
        figures["eff_" + EFFECTIVE[seen.status]] += 1
        figures["never_offered"] += call.visible is Known.NO
        figures.setdefault("runs", set()).add((run.run_id, run.outcome))
    for run in live:
        for step in run.steps:
            for tool in step.tools[1:]:
                figures = found.setdefault(f"{tool.server}/{tool.name}", Counter())
                figures["known_decisions"] += 1
                figures.setdefault("offered", set()).add(run.run_id)
    return {tool: _finished(tool, figures, live) for tool, figures in found.items()}


def _finished(tool, figures, live):
    runs = figures.pop("runs", set())
    figures["trajectories"] = len(runs)
    figures["success_trajectories"] = sum(outcome is RunOutcome.SUCCESS for _, outcome in runs)
    figures["offered_trajectories"] = len(figures.pop("offered", ()))
    figures["repeat_identical"] = _repeats(live, tool)
    return {name: value for name, value in figures.items() if value}
