"""Which of the agents in `tests/fakes/agents` can run here: each needs its framework."""

import importlib
import pkgutil

from toolwitness.tests.fakes import agents


def installed_agents():
    """The modules of the agents whose framework is in this environment."""
    for found in pkgutil.iter_modules(agents.__path__, agents.__name__ + "."):
        try:
            yield importlib.import_module(found.name)
        except ImportError:  # its framework needs another environment
            continue


def name_of(agent):
    """What a test is called that an agent plays in: its framework's name stands in it."""
    own = agent.__name__.rpartition(".")[2]
    return own if agent.INSTRUMENTATION in own else f"{agent.INSTRUMENTATION}-{own}"
