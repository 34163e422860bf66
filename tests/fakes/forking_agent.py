"""An agent that also runs in children of its process: `python forking_agent.py AGENT MODEL_URL ENDPOINT`."""

import importlib
import multiprocessing
import os
import sys

import toolwitness
from toolwitness.tests.fakes.orders import Orders


def run_agent(name, url):
    """Run it once."""
    importlib.import_module(f"toolwitness.tests.fakes.agents.{name}").run(url, "parallel", Orders())


def main(name, url):
    """Run it here, in a child of `os.fork`, and in children of `multiprocessing`."""
    run_agent(name, url)
    child = os.fork()
    if child == 0:
        run_agent(name, url)
        os._exit(not toolwitness.flush(20))
    _, status = os.waitpid(child, 0)
    assert status == 0
    for method in ("fork", "spawn"):
        process = multiprocessing.get_context(method).Process(target=run_agent, args=(name, url))
        process.start()
        process.join()
        assert process.exitcode == 0


if __name__ in {"__main__", "__mp_main__"}:  # a spawned child's own
    toolwitness.instrument(endpoint=sys.argv[3], exit_timeout_s=20.0)
if __name__ == "__main__":
    main(*sys.argv[1:3])
