"""From what an agent loop tells to what is known of it: the recorder, a real database file, and a replay of it."""

import asyncio

import pytest

from toolwitness.collector.embedded import open_sink
from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import SideEffect
from toolwitness.replay.load import open_source
from toolwitness.replay.runs import replay_run
from toolwitness.sdk import ManualClock, Recorder, SeededIds

PAY = ToolDefinition(name="pay", side_effect=SideEffect.WRITE)
LOOK = ToolDefinition(name="look", side_effect=SideEffect.READ)


@pytest.fixture(name="play")
def fixture_play(tmp_path):
    """`play(told)` has `told(run)` tell a run, and replays it from the file."""

    def play(told):
        sink = open_sink(tmp_path / "agents.duckdb")
        clock = ManualClock(1_700_000_000_000_000_000)
        recorder = Recorder(exporter=sink, clock=clock, key=b"k", ids=SeededIds("test"), inline=True)
        for definition in (PAY, LOOK):
            recorder.register(definition)
        with recorder.run("t", id="r") as run:
            told(run)
        recorder.close()
        sink.shutdown()
        with open_source(tmp_path / "agents.duckdb") as source:
            return replay_run(source, "r")

    return play


def ended(call, **result):
    """One attempt that went well, and what came back."""
    with call:
        with call.attempt():
            pass
        call.result({}, **result)


@pytest.mark.parametrize(
    ("tool", "items", "outcome"),
    [
        ("pay", ["ok", "ok"], "succeeded"),
        ("pay", ["ok", "failed"], "partial"),
        ("pay", ["failed", "failed"], "failed"),
        ("pay", ["failed", "unknown"], "unknown_commit"),
        ("look", ["failed", "unknown"], "partial"),
        ("pay", ["skipped", "skipped"], "empty"),
    ],
)
def test_what_became_of_a_batch(play, tool, items, outcome):
    """An item that nobody can tell about leaves a writing call in doubt, however many others failed."""
    (call,) = play(lambda run: ended(run.call(tool, {}), items=items)).calls

    assert (call.outcome, call.items_total, call.item_statuses) == (outcome, len(items), tuple(items))


def cancelled(call):
    """The loop says so before it dispatched anything."""
    with call:
        call.cancel()


def left(call):
    """A task is cancelled inside of the call's scope, where nobody saw whether it ran."""
    with pytest.raises(asyncio.CancelledError), call:
        raise asyncio.CancelledError


def waiting(call):
    """It is cancelled while it waits for somebody."""
    call.gate("confirmation", "needs_approval")
    left(call)


def running(call):
    """It is cancelled in an attempt."""
    with pytest.raises(asyncio.CancelledError), call, call.attempt():
        raise asyncio.CancelledError


def late(call):
    """It is cancelled when it is long done."""
    ended(call)
    call.cancel()


def stopped(call):
    """A gate had stopped it already."""
    call.gate("policy", "deny")
    cancelled(call)


@pytest.mark.parametrize(
    ("tool", "happens", "outcome", "cancellation"),
    [
        ("pay", cancelled, "cancelled", "before_dispatch"),
        ("pay", waiting, "cancelled", "before_dispatch"),
        ("pay", left, "indeterminate", None),
        ("look", left, "cancelled", "before_dispatch"),
        ("pay", running, "unknown_commit", "while_running"),
        ("look", running, "cancelled", "while_running"),
        ("pay", late, "succeeded", "after_commit"),
        ("pay", stopped, "rejected", "before_dispatch"),
    ],
)
def test_what_became_of_a_call_that_was_called_off(play, tool, happens, outcome, cancellation):
    """Nothing happened is said only where nothing can have; what went well stays so."""
    (call,) = play(lambda run: happens(run.call(tool, {}))).calls

    assert (call.outcome, call.cancellation) == (outcome, cancellation)


def test_what_ran_otherwise_than_approved_succeeded_and_shows(play):
    """A flag and a look of ours change nothing of what became of the call; waiting is pending."""

    def told(run):
        waits = run.call("pay", {"amount": 5})
        waits.gate("confirmation", "needs_approval")
        waits.close()
        void = run.call("pay", {"amount": 5})
        void.gate("confirmation", "needs_approval")
        void.gate("confirmation", "allow", approval_id="ap-1")
        void.executed({"amount": 50})
        ended(void)

    waits, void = play(told).calls

    assert (waits.outcome, void.outcome, void.flags) == ("pending", "succeeded", ("approval_void",))
    assert (void.rejected_by, void.ran_although_denied_by) == (None, None)
    assert [gate.mode for gate in void.gates] == ["enforced", "enforced", "observed"]


def test_a_result_that_is_discarded_late_was_used_nowhere(play):
    """The call is shown once, as discarded, and a value of it that reappears is nobody's."""

    def told(run):
        guess = run.call("look", {}, speculative=True)
        with guess, guess.attempt():
            guess.result({"found": "XK-4711"})
        guess.discard()
        ended(run.call("pay", {"a": "XK-4711"}))

    guess, pay = play(told).calls

    assert (guess.discarded, guess.used_in_arguments, pay.argument_sources) == (True, (), ())


def test_a_call_that_is_skipped_names_why(play):
    """Its dependency failed: nothing ran, and it says so."""

    def told(run):
        first = run.call("pay", {})
        ended(first, status="error")
        second = run.call("pay", {}, depends_on=first)
        second.skip()
        second.close()

    first, second = play(told).calls

    assert (first.outcome, second.outcome, second.depends_on) == ("failed", "skipped", (first.call,))
    assert [(gate.kind, gate.verdict, gate.reason_code) for gate in second.gates] == [
        ("dependency", "skip", "dependency_failed")
    ]


def test_a_budget_is_counted_however_a_request_was_split(play):
    """Calls of a part of the run are calls of the run."""

    def told(run):
        run.budget = {"calls": 1, "cost": 2}
        with run.recorder.run("part") as part:
            ended(part.call("pay", {}))
            part.spend(cost=1.5)
        ended(run.call("pay", {}))
        run.finish("handed_off", stopped_by="budget")

    run = play(told)

    assert run.stopped_by == "budget"
    assert {use.name: (use.used, use.exceeded) for use in run.budget if use.limit} == {"calls": (2, True), "cost": (1.5, False)}
