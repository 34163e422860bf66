"""An agent's whole process beside a collector that is dead, slow, erring or breaking off; its children deliver too."""

import json
import os
import subprocess
import sys
import time
from collections import defaultdict

import pytest

from toolwitness.tests.fakes import agent_process, forking_agent
from toolwitness.tests.fakes.sick_collectors import SICK, sick_collector

EXIT_LIMIT_S = 2.0
QUICK = {"dead", "slow"}
WARNINGS = ("toolwitness cannot deliver its spans", "toolwitness ran out of time at the end of the process")
TRIES = 4
"""The machines are shared: how long an end takes is the best of a few."""


def run(script, *arguments, **environment):
    """Run a script in a process of its own, as outside of pytest."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"} | environment
    command = [sys.executable, script.__file__, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environ)


class Ended:
    """An agent's process that is over: what it printed, and how long its end took after its work was done."""

    def __init__(self, *arguments, **environment):
        done = run(agent_process, *arguments, **environment)
        end = time.monotonic()
        self.played, facts = done.stdout.splitlines()
        self.facts = json.loads(facts)
        self.seen = (done.returncode, self.played)
        self.warned = done.stderr.splitlines()
        self.exit_s = end - self.facts["worked until"]


@pytest.mark.parametrize("sick", [pytest.param(sick, marks=() if sick in QUICK else pytest.mark.long) for sick in SICK])
def test_a_sick_collector_is_one_warning_and_nothing_else(sick, model):
    """Same output, random numbers and status; the end comes in two seconds, and exports never ran on the agent's threads."""
    limit = {"TOOLWITNESS_EXPORT_TIMEOUT": "30"} if sick == "slow" else {}
    ends, ends_of_bare = [], []
    with sick_collector(sick) as endpoint:
        for _ in range(TRIES):
            bare, with_us = Ended("openai_chat", model.url), Ended("openai_chat", model.url, endpoint, **limit)
            assert with_us.seen == bare.seen
            assert with_us.facts["threads"] == ["toolwitness"]
            assert len(with_us.warned) <= 1, with_us.warned
            assert all(any(said in line for said in WARNINGS) for line in with_us.warned)
            ends.append(with_us.exit_s)
            ends_of_bare.append(bare.exit_s)
            if min(ends) - min(ends_of_bare) <= EXIT_LIMIT_S:
                break

    assert min(ends) - min(ends_of_bare) <= EXIT_LIMIT_S


def test_the_agent_does_not_wait_for_an_export(model):
    """One that had begun before the agent's run is still waiting for its answer after it."""
    with sick_collector("slow") as endpoint:
        ended = Ended("openai_chat", model.url, endpoint, TOOLWITNESS_EXPORT_TIMEOUT="30")

    assert (ended.facts["waiting"], ended.facts["exports"]) == (1, 0)


@pytest.mark.parametrize("agent", ["openai_chat", pytest.param("langchain_agent", marks=pytest.mark.long)])
def test_children_of_an_agent_deliver(agent, model, collector):
    """Those of `os.fork` and of both ways of `multiprocessing`: each run is whole, and its own."""
    server = collector()
    done = run(forking_agent, agent, model.url, server.url)
    runs = defaultdict(list)
    for span in server.spans:
        if span.name.startswith("execute_tool"):
            runs[span.trace_id].append(span.name)

    assert (done.returncode, done.stderr) == (0, "")
    assert [sorted(calls) for calls in runs.values()] == [["execute_tool get_weather", "execute_tool search_orders"]] * 4
