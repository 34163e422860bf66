"""What a run may use, what the application says that it used, and what ended it."""

import asyncio
import json
import threading

import pytest

from toolwitness.model.enums import RunOutcome, StopReason
from toolwitness.sdk.guard import guard, swallowing


def test_a_run_carries_its_limits_and_what_was_spent(recorded):
    """Amounts of the same name add up; they are kept under the application's own names."""
    limits = {"calls": 10, "cost": 1.5}
    with recorded.recorder.run("t", budget=limits) as run:
        limits["calls"] = 11
        run.spend(cost=0.25, objects=3)
        run.spend(cost=0.5)

    found = recorded.one("run")
    assert json.loads(found.budget) == {"calls": 10, "cost": 1.5}
    assert json.loads(found.spent) == {"cost": 0.75, "objects": 3}


def test_a_run_without_limits_has_none(recorded):
    """Nothing told is nothing known, not zero."""
    with recorded.recorder.run("t"):
        pass

    assert (recorded.one("run").budget, recorded.one("run").spent) == (None, None)


def test_a_part_of_a_run_spends_for_it(recorded):
    """However a request is split: a nested run without an id of its own is part of the outer one, another is not."""
    with recorded.recorder.run("t", id="outer") as run:
        run.spend(cost=1)
        with recorded.recorder.run("part") as part:
            part.spend(cost=2)
        with recorded.recorder.run("other", id="other") as other:
            other.spend(cost=4)

    assert {found.run_id: found.spent for found in recorded.records("run")} == {"outer": '{"cost": 3}', "other": '{"cost": 4}'}


def test_threads_lose_nothing_of_what_they_spend(recorded):
    """Amounts add up from any number of threads."""
    with recorded.recorder.run("t") as run:

        def work():
            for _ in range(2000):
                run.spend(objects=1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert json.loads(recorded.one("run").spent) == {"objects": 16000}


@pytest.mark.parametrize("amount", ["1", True, float("nan"), float("inf"), -1, None])
def test_what_is_no_amount_is_a_warning(recorded, amount):
    """Neither a limit nor an amount is taken from it, and the run goes on."""
    before = guard.swallowed
    with swallowing(), recorded.recorder.run("t", budget={"cost": amount}) as run:
        run.spend(cost=amount, objects=1)

    assert guard.swallowed == before + 2
    assert (recorded.one("run").budget, recorded.one("run").spent) == (None, None)


@pytest.mark.parametrize(
    ("error", "reason", "outcome"),
    [
        (KeyError(), StopReason.ERROR, RunOutcome.FAILURE),
        (TimeoutError(), StopReason.DEADLINE, RunOutcome.FAILURE),
        (asyncio.CancelledError(), StopReason.CANCELLED, RunOutcome.ABANDONED),
        (KeyboardInterrupt(), StopReason.CANCELLED, RunOutcome.ABANDONED),
    ],
)
def test_an_exception_tells_what_ended_a_run(recorded, error, reason, outcome):
    """Time that ran out, somebody who stopped it, or an error."""
    with pytest.raises(type(error)), recorded.recorder.run("t"):
        raise error

    assert (recorded.one("run").stopped_by, recorded.one("run").run_outcome) == (reason, outcome)


def test_what_the_application_says_ended_its_run_stands(recorded):
    """An exception that leaves the run afterwards changes neither."""
    run = recorded.recorder.run("t")
    run.finish("handed_off", stopped_by="budget")
    with pytest.raises(KeyError), run:
        raise KeyError

    assert (recorded.one("run").stopped_by, recorded.one("run").run_outcome) == (StopReason.BUDGET, RunOutcome.HANDED_OFF)


def test_a_run_that_nobody_says_what_ended_is_unknown(recorded):
    """Left without an exception is not the same as finished: agents give up quietly too."""
    with recorded.recorder.run("t") as run:
        run.finish("failure")

    assert recorded.one("run").stopped_by is StopReason.UNKNOWN
