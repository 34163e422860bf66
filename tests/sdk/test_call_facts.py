"""What the application tells of a call beside its arguments: batches, cancellation, how it stands to other calls."""

import asyncio

import pytest

import toolwitness
from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import Cancellation, CommitLevel, GateKind, ItemStatus, ObservationStatus, SideEffect, Verdict
from toolwitness.sdk.guard import guard, swallowing
from toolwitness.sdk.scope import NO_SCOPE

OK, FAILED, SKIPPED, UNKNOWN = ItemStatus
LOOK = ToolDefinition(name="look", side_effect=SideEffect.READ)


def ended(recorded, **facts):
    """The record of one call that came back with these facts of a result."""
    with recorded.recorder.call("pay", {}) as call, call.attempt():
        call.result({}, **facts)
    return recorded.one("call")


@pytest.mark.parametrize(
    ("items", "status", "counts"),
    [
        (["ok", "ok"], ObservationStatus.OK, (2, 0, 0)),
        (["ok", "failed"], ObservationStatus.PARTIAL, (2, 1, 0)),
        (["ok", "skipped"], ObservationStatus.OK, (2, 0, 0)),
        (["failed", "failed"], ObservationStatus.ERROR, (2, 2, 0)),
        (["failed", "skipped"], ObservationStatus.ERROR, (2, 1, 0)),
        (["skipped", "skipped"], ObservationStatus.EMPTY, (2, 0, 0)),
        (["ok", "failed", "unknown"], ObservationStatus.PARTLY_UNKNOWN, (3, 1, 1)),
        (["failed", "unknown"], ObservationStatus.PARTLY_UNKNOWN, (2, 1, 1)),
        ([], ObservationStatus.OK, (0, 0, 0)),
    ],
)
def test_items_tell_the_status_of_a_batch(recorded, items, status, counts):
    """Counts and status follow from the items; one that nobody can tell about leaves the whole partly unknown."""
    found = ended(recorded, items=items)

    assert (found.observation, found.transport_status) == (status, ObservationStatus.OK)
    assert (found.items_total, found.items_failed, found.items_unknown) == counts
    assert found.item_statuses == tuple(items)


@pytest.mark.parametrize("items", [{"a-1": "ok", "a-2": "failed"}, [("a-1", "ok"), ("a-2", "failed")], ("ok", "failed")])
def test_no_id_of_an_item_is_kept(recorded, items):
    """A mapping and pairs tell the same as the words alone: their ids may name people."""
    found = ended(recorded, items=items)

    assert found.item_statuses == (OK, FAILED)
    assert "a-1" not in str(recorded.spans()[-1].attributes)


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        ({"items_total": 5, "items_failed": 0}, ObservationStatus.OK),
        ({"items_total": 5, "items_failed": 2}, ObservationStatus.PARTIAL),
        ({"items_total": 5, "items_failed": 5}, ObservationStatus.ERROR),
        ({"items_total": 5, "items_failed": 2, "items_unknown": 1}, ObservationStatus.PARTLY_UNKNOWN),
        ({"items_unknown": 1}, ObservationStatus.PARTLY_UNKNOWN),
        ({"items_failed": 1}, ObservationStatus.PARTLY_UNKNOWN),
        ({"items_total": 5}, ObservationStatus.OK),
    ],
)
def test_counts_tell_the_status_where_no_items_do(recorded, counts, status):
    """Where some failed and of the others nothing is told, nobody can tell what became of those."""
    found = ended(recorded, **counts)

    assert found.observation is status
    assert found.items_total == counts.get("items_total")


def test_an_outer_ok_of_a_batch_does_not_hide_its_failed_items(recorded):
    """The outer layer's word and what really came back stand side by side; another word of the application stands."""
    found = ended(recorded, status="ok", items=["ok", "failed"])
    assert (found.observation, found.transport_status) == (ObservationStatus.PARTIAL, ObservationStatus.OK)


def test_a_status_that_is_told_stands(recorded):
    """An application that says that nothing can be trusted is not overruled by items that went well."""
    assert ended(recorded, status="invalid", items=["ok"]).observation is ObservationStatus.INVALID


@pytest.mark.parametrize(
    "counts",
    [
        {"items_total": 1, "items_failed": 2},
        {"items_total": 2, "items_failed": 2, "items_unknown": 1},
        {"items": ["ok"], "items_total": 2},
        {"items_total": -1},
        {"items_total": True},
        {"items": "ok"},
    ],
)
def test_what_contradicts_itself_is_unknown(recorded, counts):
    """Nothing of such a batch is believed, its success neither; the agent sees a warning and no error."""
    before = guard.swallowed
    with swallowing():
        found = ended(recorded, **counts)

    assert guard.swallowed == before + 1
    assert found.observation is ObservationStatus.CUT_BY_RECORDING
    assert found.items_total is found.items_failed is None


def test_a_misspelt_item_is_one_that_nobody_can_tell_about(recorded):
    """The other items stand."""
    with swallowing():
        found = ended(recorded, items=["ok", "fialed"])

    assert found.item_statuses == (OK, UNKNOWN)
    assert found.observation is ObservationStatus.PARTLY_UNKNOWN


def test_commit_level_says_how_far_a_success_was_verified(recorded):
    """Not told, it is unknown."""
    assert ended(recorded, commit_level="read_back").commit_level is CommitLevel.READ_BACK


def test_calls_name_what_they_depend_on_and_touch(recorded):
    """Calls and ids alike; a single one needs no list."""
    first = recorded.recorder.call("read", {})
    second = recorded.recorder.call(
        "pay", {}, depends_on=[first, "elsewhere"], parallel_group="g", reads="account/1", writes=["account/2"]
    )
    third = recorded.recorder.call("pay", {}, depends_on=second, speculative=True)
    for call in (first, second, third):
        call.close()

    found = {record.call_id: record for record in recorded.records("call")}
    assert found[second.id].depends_on == (first.id, "elsewhere")
    assert (found[second.id].parallel_group, found[second.id].read_set, found[second.id].write_set) == (
        "g",
        ("account/1",),
        ("account/2",),
    )
    assert (found[third.id].depends_on, found[third.id].speculative) == ((second.id,), True)
    assert found[first.id].speculative is False


def test_a_call_whose_dependency_failed_says_so(recorded):
    """It is skipped by the dependency gate, with its reason."""
    with recorded.recorder.call("pay", {}) as call:
        call.skip()

    gate = recorded.one("gate")
    assert (gate.gate_kind, gate.verdict, gate.reason_code) == (GateKind.DEPENDENCY, Verdict.SKIP, "dependency_failed")


def test_a_discarded_result_gets_no_credit(recorded):
    """A value of it that reappears is nobody's, whether the result was discarded before its call ended or after."""
    with recorded.recorder.run("t") as run:
        with run.call("look", {}, speculative=True) as early:
            early.result({"found": "XK-4711"})
            early.discard()
        with run.call("look", {}, speculative=True) as late:
            late.result({"found": "YK-0815"})
        late.discard()
        with run.call("pay", {"a": "XK-4711", "b": "YK-0815"}):
            pass

    calls = recorded.records("call")
    assert [call.discarded for call in calls if call.call_id == early.id] == [True]
    assert [call.discarded for call in calls if call.call_id == late.id] == [False, True]
    assert calls[-1].argument_sources == ()


def test_called_off_before_dispatch(recorded):
    """Without an attempt, nothing was dispatched."""
    with recorded.recorder.call("pay", {}) as call:
        call.cancel()

    assert recorded.one("call").cancellation is Cancellation.BEFORE_DISPATCH


def test_called_off_while_running(recorded):
    """What the attempt came to is told by the attempt; between two tries it still is a running call."""
    with recorded.recorder.call("pay", {}) as call, call.attempt():
        call.cancel()
    with recorded.recorder.call("pay", {}) as call:
        with call.attempt() as attempt:
            attempt.end("error")
        call.cancel()

    assert [call.cancellation for call in recorded.records("call")] == [Cancellation.WHILE_RUNNING] * 2


@pytest.mark.parametrize("late", [False, True])
def test_called_off_after_it_went_well(recorded, late):
    """The fact is kept beside the result, which stands; also where it comes after the call ended."""
    with recorded.recorder.call("pay", {}) as call:
        with call.attempt():
            call.result({"state": "paid"})
        if not late:
            call.cancel()
    call.cancel()
    call.cancel()

    *_, found = recorded.records("call")
    assert (found.cancellation, found.observation) == (Cancellation.AFTER_COMMIT, ObservationStatus.OK)
    assert len(recorded.records("call")) == 1 + late


@pytest.mark.parametrize("error", [asyncio.CancelledError, KeyboardInterrupt, GeneratorExit])
def test_a_cancelled_attempt_calls_off_its_call(recorded, error):
    """The scope that an exception of that kind leaves says so by itself."""
    with pytest.raises(error), recorded.recorder.call("pay", {}) as call, call.attempt():
        raise error

    assert recorded.one("call").cancellation is Cancellation.WHILE_RUNNING


def test_an_attempt_that_was_cancelled_and_tried_again_calls_off_nothing(recorded):
    """A time limit for one try cancels that try alone."""
    with recorded.recorder.call("pay", {}) as call:
        with pytest.raises(asyncio.CancelledError), call.attempt():
            raise asyncio.CancelledError
        with call.attempt():
            call.result({})

    assert recorded.one("call").cancellation is None


@pytest.mark.parametrize(
    ("tool", "waits", "fact"),
    [("look", False, Cancellation.BEFORE_DISPATCH), ("pay", True, Cancellation.BEFORE_DISPATCH), ("pay", False, None)],
)
def test_left_before_anything_ran(recorded, tool, waits, fact):
    """Not dispatched is what a reading or waiting call was; one that may write may have run where nobody looked."""
    recorded.recorder.register(LOOK)
    call = recorded.recorder.call(tool, {})
    if waits:
        call.gate("confirmation", "needs_approval")
    with pytest.raises(asyncio.CancelledError), call:
        raise asyncio.CancelledError

    assert recorded.one("call").cancellation is fact


def test_nothing_is_recorded_without_a_recorder():
    """What a scope takes, the one that stands in for it takes too."""
    NO_SCOPE.skip()
    NO_SCOPE.cancel()
    NO_SCOPE.discard()
    NO_SCOPE.spend(cost=1)


class Hostile:
    """A value that fails whoever looks at it."""

    id = "x"

    def __hash__(self):
        raise RuntimeError("hash")

    def __eq__(self, other):
        raise RuntimeError("eq")


def test_no_code_of_what_is_told_runs(recorded):
    """An item or resource that is no text is none, and the agent sees nothing of it."""
    with swallowing(), recorded.recorder.call("pay", {}, reads=[Hostile()], depends_on=Hostile(), writes=Hostile()) as call:
        call.gate("confirmation", "allow", approval_id=Hostile(), resource_version=Hostile(), items=[Hostile()])
        call.executed({}, resource_version=Hostile())
        call.result({}, items=[Hostile(), ("x", Hostile())])

    found, gate = recorded.one("call"), recorded.one("gate")
    assert (found.read_set, found.write_set, found.depends_on) == ((), (), ())
    assert (found.item_statuses, found.flags) == ((UNKNOWN, UNKNOWN), ())
    assert (gate.approval_id, gate.approved_resource_version, gate.approved_items) == (None, None, ())


def test_lists_that_change_later_are_told_as_they_were(live):
    """The agent may go on with its own lists at once."""
    touched = ["account/1"]
    call = toolwitness.call("pay", {}, writes=touched)
    touched.append("account/2")
    call.close()

    (found,) = live("call")
    assert found.write_set == ("account/1",)


def test_a_decorated_tool_whose_task_is_cancelled_before_it_runs(live):
    """Nothing of the function ran, which is known; one that nobody awaits never ran either."""

    @toolwitness.tool(side_effect="write")
    async def pay():
        """Pay."""

    async def go():
        task = asyncio.create_task(pay())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())

    (found,) = live("call")
    assert found.cancellation is Cancellation.BEFORE_DISPATCH
    assert live("attempt") == []
