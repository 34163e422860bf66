"""What a replay says of approvals, batches, cancellations, calls beside each other, and budgets."""

import io

import pytest
from rich.console import Console

from toolwitness.dashboard.stepview import facts, steps_view
from toolwitness.model.enums import AttemptStatus, ObservationStatus, StopReason
from toolwitness.replay import metrics
from toolwitness.replay.budgets import run_budgets
from toolwitness.replay.runs import replay_run
from toolwitness.replay.transcript import replay_view
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS, History

DIGEST, OTHER = "a" * 32, "b" * 32


@pytest.fixture(name="shown")
def fixture_shown(source_of):
    """`shown(history)` -> run `r` of a history, as a replay and as the terminal's text."""

    def shown(history):
        run = replay_run(source_of(history), "r")
        out = io.StringIO()
        Console(file=out, width=240, markup=False, highlight=False, emoji=False).print(replay_view(run))
        return run, out.getvalue()

    return shown


def test_an_approval_shows_what_it_was_of(shown):
    """The arguments proposed or others, and whatever else it named."""
    history = History()
    for digest in (DIGEST, OTHER):
        call = history.call("r", "pay", arguments_digest=DIGEST)
        approved = {"approved_arguments_digest": digest, "approval_id": "ap-1", "approved_resource_version": "v7"}
        history.gate(
            "r", call, "confirmation", "allow", approved_items=("a-1",), approval_expires_ns=MONDAY_NS, **approved
        )  # fmt: skip
        history.attempt("r", call)
    unbound = history.call("r", "pay", arguments_digest=DIGEST)
    history.gate("r", unbound, "confirmation", "allow")

    run, text = shown(history)

    assert [call.gates[0].approval_id for call in run.calls] == ["ap-1", "ap-1", None]
    said = "approval ap-1, {}, of version v7, of items a-1, until 2026-11-02T00:00:00.000Z"
    assert said.format("of the arguments proposed") in text
    assert said.format("of other arguments than proposed") in text
    assert "gate confirmation: allow (of arguments that are not known)" in text


def test_what_broke_an_approval_shows(shown):
    """As a warning of the call and as a gate that stopped nothing; where nobody could tell, as not known."""
    history = History()
    void = history.call("r", "pay", flags=("approval_void",))
    history.gate("r", void, "confirmation", "deny", gate_mode="observed", reason_code="approval_void")
    history.attempt("r", void)
    unclear = history.call("r", "pay")
    history.gate("r", unclear, "confirmation", "skip", gate_mode="observed", reason_code="approval_unclear")
    history.attempt("r", unclear)

    run, text = shown(history)

    assert [call.outcome for call in run.calls] == ["succeeded", "succeeded"]
    assert "warning: it ran although something else had been approved" in text
    assert "gate confirmation: deny (approval_void); observed only, stops nothing" in text
    assert ["whether what ran was approved" in call.unknown for call in run.calls] == [False, True]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"items_total": 3, "items_failed": 1, "items_unknown": 0}, "of 3 items: 1 failed, 0 unknown"),
        ({"items_total": 3}, "of 3 items: not known how many failed, not known how many unknown"),
        ({"items_failed": 2}, "items: 2 failed, not known how many unknown"),
        (
            {"items_total": 2, "items_failed": 0, "items_unknown": 1, "item_statuses": ("skipped", "unknown")},
            "of 2 items: 0 failed, 1 unknown, 1 skipped",
        ),
    ],
)
def test_a_batch_says_how_many_failed_and_how_many_nobody_knows(shown, fields, said):
    """A count that was not told is not zero."""
    history = History()
    history.call("r", "send", ObservationStatus.PARTIAL, **fields)

    run, text = shown(history)

    assert said in text
    assert ("what became of some items" in run.calls[0].unknown) is bool(fields.get("items_unknown"))


@pytest.mark.parametrize(
    ("fact", "tried", "said"),
    [
        ("before_dispatch", False, "called off before it was dispatched"),
        ("before_dispatch", True, "called off before it was dispatched, and ran all the same"),
        ("while_running", True, "called off while it ran"),
        ("after_commit", True, "called off after it had gone well"),
    ],
)
def test_a_cancellation_shows_when_it_came(shown, fact, tried, said):
    """Three facts, and the contradiction where a call ran that had been called off."""
    history = History()
    call = history.call("r", "pay", cancellation=fact)
    if tried:
        history.attempt("r", call)

    assert said in {line.strip() for line in shown(history)[1].splitlines()}


def test_calls_beside_each_other_show_by_proposal(shown):
    """However they came back: what they depend on, read and write, and which of them were in conflict."""
    history = History()
    first = history.call("r", "pay", write_set=("account/1",), parallel_group="g")
    history.attempt("r", first)
    begun = history.rows[-1]["start_ns"]
    second = history.call("r", "pay", write_set=("account/1",), read_set=("rate",), depends_on=(first,), speculative=True)
    history.attempt("r", second)
    history.rows[-1]["start_ns"], history.rows[-1]["end_ns"] = begun - SECOND_NS, begun + 2 * SECOND_NS
    third = history.call("r", "pay", parallel_group="g", discarded=True)
    history.attempt("r", third)

    run, text = shown(history)

    assert [call.call for call in run.calls] == [first, second, third]
    assert "in the parallel group g; writes account/1" in text
    assert "depends on call 1; reads rate; writes account/1; speculative" in text
    assert "warning: writes account/1 at the same time as call 2" in text
    assert "warning: writes account/1 at the same time as call 1" in text
    assert "its result was discarded" in text
    assert ["what it writes" in call.unknown for call in run.calls] == [False, False, True]


def test_a_budget_shows_what_was_used_of_each_limit(shown):
    """Counted from the records or told; a limit of which nothing was told is not known to be kept."""
    history = History()
    history.run("r", budget='{"calls":1,"cost":1.5,"bytes":10}', spent='{"cost":0.5,"objects":3}', stopped_by=StopReason.BUDGET)
    for _ in range(2):
        history.attempt("r", history.call("r", "pay"), AttemptStatus.OK)

    run, text = shown(history)

    assert "stopped by budget" in text
    said = "budget: calls 2 of 1 (exceeded), cost 0.5 of 1.5, bytes not known of 10, attempts 2, seconds 1, objects 3"
    assert said in " ".join(text.split())
    assert {use.name: use.exceeded for use in run.budget if use.limit is not None} == {
        "calls": True,
        "cost": False,
        "bytes": None,
    }


def test_a_run_without_a_budget_shows_none(shown):
    """And nothing of what stopped it, where nobody said."""
    history = History()
    history.run("r")

    run, text = shown(history)

    assert run.budget == ()
    assert "budget" not in text
    assert "stopped by" not in text


def test_budgets_are_listed_over_runs(source_of):
    """What the parts of a run spent adds up; runs without any limit are left out unless asked for."""
    history = History()
    history.run("r", budget='{"cost":2}', spent='{"cost":1}')
    history.run("r", spent='{"cost":1.5}')
    history.run("plain")
    source = source_of(history)

    (found,) = run_budgets(source)
    (plain,) = run_budgets(source, run="plain")

    assert (found.run, found.uses[0].used, found.uses[0].exceeded) == ("r", 2.5, True)
    assert (plain.stopped_by, [use.name for use in plain.uses]) == ("unknown", ["calls", "attempts", "seconds"])


def test_guesses_and_conflicts_are_frames(source_of):
    """As the named queries answer; without weeks unless asked for."""
    history = History()
    history.call("r", "look", speculative=True, discarded=True)
    source = source_of(history)

    assert metrics.speculative_calls(source)["discarded"].to_list() == [1]
    assert metrics.speculative_calls(source, by_week=True)["week"].to_list() == ["2026-W45"]
    assert metrics.conflicting_writes(source, run="r").is_empty()


def test_the_page_shows_all_of_it_too(shown):
    """In the same words as the terminal."""
    history = History()
    history.run("r", budget='{"calls":1}', stopped_by=StopReason.BUDGET)
    first = history.call("r", "pay", write_set=("a",), items_total=2, items_failed=1, cancellation="after_commit")
    history.gate("r", first, "confirmation", "allow", approval_id="ap-1")
    history.attempt("r", first)
    second = history.call("r", "pay", write_set=("a",), depends_on=(first,))
    history.attempt("r", second)
    history.rows[-1]["start_ns"] -= 3 * SECOND_NS

    run, _ = shown(history)
    page, head = str(steps_view(run)), str(facts(run))

    assert "approval ap-1, of arguments that are not known" in page
    assert "of 2 items: 1 failed, not known how many unknown" in page
    assert "called off after it had gone well" in page
    assert "depends on call 1 (pay); writes a" in page
    assert page.count("writes a at the same time as") == 2
    assert "Stopped by" in head
    assert "calls 2 of 1 (exceeded)" in head
