"""What a sick collector adds to an agent's run and to the end of its process: `python benchmarks/faults.py [ROUNDS]`.

An agent over OpenAI's client runs against a model server on loopback, in a process of its own each time, bare and recorded in
turn. Figures are the best of all rounds; the targets are 5 ms more of the run, 2 s more of the end, one warning.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext

from toolwitness.tests.fakes import agent_process
from toolwitness.tests.fakes.collector import Collector
from toolwitness.tests.fakes.model_server import start_model_server
from toolwitness.tests.fakes.sick_collectors import SICK, sick_collector

BARE, WELL = "bare", "well"


def play(url, endpoint):
    """One process: seconds of the run, seconds of the end, lines of warnings."""
    with tempfile.TemporaryDirectory() as state:
        environment = os.environ | {"TOOLWITNESS_STATE_DIR": state}
        command = [sys.executable, agent_process.__file__, "openai_chat", url, *([endpoint] if endpoint else [])]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        end = time.monotonic()
    facts = json.loads(done.stdout.splitlines()[-1])
    return facts["seconds"], end - facts["worked until"], len(done.stderr.splitlines())


def collector(state):
    """Where to send, for the time of `with`; None for nowhere."""
    if state in SICK:
        return sick_collector(state)
    return nullcontext(Collector().url if state == WELL else None)


def main(rounds=5):
    """Play every state in turn, as often as that, and print what each added."""
    server, stop = start_model_server()
    played = {state: [] for state in (BARE, WELL, *SICK)}
    for _ in range(int(rounds)):
        for state, seen in played.items():
            with collector(state) as endpoint:
                seen.append(play(server.url, endpoint))
    stop()
    best = {state: [min(figures) for figures in zip(*seen, strict=True)] for state, seen in played.items()}
    run, end, _ = best[BARE]
    print(f"{'collector':12} {'run (ms)':>10} {'added':>8} {'end (s)':>10} {'added':>8} {'warnings':>9}")
    for state, (its_run, its_end, _) in best.items():
        most = max(warnings for _, _, warnings in played[state])
        print(f"{state:12} {its_run * 1e3:10.1f} {(its_run - run) * 1e3:8.1f} {its_end:10.2f} {its_end - end:8.2f} {most:9}")


if __name__ == "__main__":
    main(*sys.argv[1:])
