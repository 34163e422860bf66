"""An agent's whole process: `python agent_process.py AGENT MODEL_URL [ENDPOINT]`; with ENDPOINT it is recorded.

Prints what the agent gave and did, then facts about the process after it, as one line of JSON each; it ends with the status 7.
"""

import importlib
import json
import random
import sys
import threading
import time

import toolwitness
from toolwitness.tests.fakes.orders import Orders

REPEATS = 10


class Exports:
    """Which threads export, and whether one is in the middle of it."""

    def __init__(self, exporter):
        self.threads, self.begun, self.ended, self.first = set(), 0, 0, threading.Event()
        self._export = exporter.export

        def export(*args):
            return self._count(*args)

        exporter.export = export

    def _count(self, *args):
        self.threads.add(threading.current_thread().name)
        self.begun += 1
        self.first.set()
        try:
            return self._export(*args)
        finally:
            self.ended += 1


def play(agent, url, script):
    """What the agent gave or raised, and what its tools did."""
    orders = Orders()
    try:
        gave = agent.run(url, script, orders)
    except Exception as error:  # noqa: BLE001 -- whatever the agent raises is compared
        gave = repr(error)
    return [script, gave, sorted(map(repr, orders.ledger))]


def seconds(agent, url):
    """How long one run takes."""
    begun = time.perf_counter()
    play(agent, url, "parallel")
    return time.perf_counter() - begun


def main(name, url, *endpoint):
    """Record one call by hand, so that the first export has begun, and then run the agent."""
    random.seed(17)
    agent = importlib.import_module(f"toolwitness.tests.fakes.agents.{name}")
    exports = None
    if endpoint:
        exports = Exports(importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter)
        toolwitness.instrument(endpoint=endpoint[0], export_interval_s=0.01)
        with toolwitness.call("warm_up", {}) as call:
            call.result("ok")
        assert exports.first.wait(30)
    played = [play(agent, url, script) for script in ("parallel", "raises", "timeout", "notool")]
    played.append(random.random())  # noqa: S311 -- whether it is the number that it would be
    facts = {"seconds": min(seconds(agent, url) for _ in range(REPEATS))}
    if exports is not None:
        facts.update(threads=sorted(exports.threads), waiting=exports.begun - exports.ended, exports=exports.ended)
    sys.stdout.write(json.dumps(played) + "\n" + json.dumps({**facts, "worked until": time.monotonic()}) + "\n")
    sys.exit(7)


if __name__ == "__main__":
    main(*sys.argv[1:])
