"""A confirmation that was answered with a no, while what the model is told looks like an error of the tool."""

import contextlib
import itertools

import pytest

import toolwitness
from toolwitness.collector.embedded import StoreExporter
from toolwitness.model.enums import ObservationStatus
from toolwitness.sdk import Settings, setup
from toolwitness.tests.factories import History

TOLD = [ObservationStatus.ERROR, ObservationStatus.RAISED, ObservationStatus.BUSINESS_ERROR, ObservationStatus.OK]
DENIED = '{"error": "the user denied this action"}'


def seen(store):
    """What became of the only call."""
    (row,) = store.query("replay_calls", {"run": "r"}).to_pylist()
    return row["outcome"], row["rejected_by"], row["attempts"]


@pytest.mark.parametrize("told", TOLD)
def test_spans_in_any_order_are_a_rejection_without_attempts(store, told):
    """The denial says what happened, whatever the call's own span says came back."""
    history = History()
    history.run("r")
    call = history.call("r", "pay", told, side_effect="write")
    history.gate("r", call, "confirmation", "needs_approval")
    history.gate("r", call, "confirmation", "deny")
    for order in itertools.permutations(history.rows):
        store.write_group([list(order)])

    assert seen(store) == ("rejected", "confirmation", 0)


@pytest.fixture(name="recording")
def _recording(store, tmp_path):
    """`with recording():` records into the store."""

    @contextlib.contextmanager
    def recording():
        setup.start(Settings(state_dir=tmp_path / "state", export_interval_s=0.01), lambda: StoreExporter(store))
        try:
            yield
            assert setup.flush(10)
        finally:
            setup.stop()

    return recording


@pytest.mark.parametrize("told", [{}, {"status": "error"}, {"status": "raised", "error_type": "ToolDenied"}])
def test_a_loop_that_tells_the_model_of_the_denial_is_a_rejection(store, recording, told):
    """It asks, hears no, and puts an error into the conversation as the tool's result, as loops do."""
    with recording(), toolwitness.run("pay the bill", id="r"):
        history = [{"role": "user", "content": "Pay 12.50 to shop-1."}]
        with toolwitness.decision("m", tools=[], messages=history) as step:
            call = step.call("pay", {"to": "shop-1", "amount": 12.5}, id="call_1")
        with call:
            call.gate("confirmation", "needs_approval")
            call.gate("confirmation", "deny", reason="user_denied", approver="jo")
            call.result(DENIED, **told)
        history += [{"role": "tool", "tool_call_id": "call_1", "content": DENIED}]
        with toolwitness.decision("m", tools=[], messages=history) as step:
            step.answer("I did not pay.")

    assert seen(store) == ("rejected", "confirmation", 0)
