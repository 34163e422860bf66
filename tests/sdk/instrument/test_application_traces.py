"""The application's own traces are the same bytes with us as without: ids, times, sampling, propagation, destination."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolwitness.model import names
from toolwitness.tests.fakes import traced_app
from toolwitness.tests.fakes.agents import openai_chat
from toolwitness.tests.fakes.installed import installed_agents, name_of

QUICK = {"openai", "pydantic_ai"}
AGENTS = [
    pytest.param(agent, id=name_of(agent), marks=() if agent.INSTRUMENTATION in QUICK else pytest.mark.long)
    for agent in installed_agents()
]


def play(agent, *endpoint):
    """Start the application with one agent; gives a function that waits for what it printed."""
    command = [sys.executable, traced_app.__file__, Path(agent.__file__).stem, *endpoint]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def told():
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        return out

    return told


@pytest.mark.parametrize("agent", AGENTS)
def test_the_application_s_traces_are_the_same_bytes(agent, collector):
    """Sampled whole, in part and not at all: spans, headers and bodies are the bare ones; ours go to our collector alone."""
    server = collector()
    waiting_bare, waiting_with_us = play(agent), play(agent, server.url)
    bare, with_us = waiting_bare(), waiting_with_us()
    told = json.loads(bare)

    assert with_us == bare
    assert (told["same provider"], told["processors"]) == (True, 1)
    assert {scope.name for scope in server.scopes} == {names.SCOPE}
    assert sum(name.startswith("execute_tool") for name in server.names()) >= 2 * len(agent.MODES) * len(traced_app.RATIOS)


def test_the_comparison_is_of_something():
    """All that can differ is in what is compared: spans of tools and requests, and the propagated trace, sampled and not."""
    told = json.loads(play(openai_chat)())
    parents = [dict(headers)["traceparent"] for requests in told["received"] for _, headers, _ in requests]

    assert {span["name"] for span in told["exported"]} == {"question", "POST", "tool search_orders", "tool cancel_order"}
    assert {parent[-2:] for parent in parents} == {"00", "01"}
