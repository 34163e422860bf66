"""An agent that hands a canary to every part of the SDK; run as `python canary_agent.py ENDPOINT` in a process of its own."""

from __future__ import annotations

import contextlib
import logging
import sys

import toolwitness
from toolwitness.tests.canaries import KEPT, RUN, Material
from toolwitness.tests.canary_steps import steps

material = Material()


@toolwitness.tool(side_effect="write")
def pay(order):
    """Answer with a canary."""
    secret = material.tool_result
    if not order:
        raise material.errors[0]
    return {"receipt": secret}


def decorated():
    """Run a decorated tool well and badly, within a call and without one."""
    pay(**material.tool_arguments)
    with contextlib.suppress(ValueError):
        pay(order="")


def main(endpoint):
    """Record it all, with every log line of the process on standard error."""
    logging.basicConfig(level=logging.DEBUG)
    toolwitness.instrument(endpoint=endpoint, headers={"x-collector-key": material.collector_key}, export_timeout_s=10.0)
    named = material.named
    facts = {name: named[name] for name in ("agent", "category", "session")}
    facts |= {"labels": {"cohort": named["label"]}, "budget": {named["limit"]: 1}, "subject": material.subject}
    with toolwitness.run(KEPT, id=RUN, **facts) as run:
        steps(run, material)
        run.spend(**{named["limit"]: 1})
        decorated()
        run.finish("success")
    delivered = toolwitness.flush(30)
    toolwitness.uninstrument()
    sys.exit(not delivered)


if __name__ == "__main__":
    main(sys.argv[1])
