"""What was found out later about a call, in its replay."""

import io

import pytest
from rich.console import Console

from toolwitness.model.enums import AttemptStatus, ObservationStatus
from toolwitness.model.records import Json, Reconciliation
from toolwitness.replay.runs import replay_run
from toolwitness.replay.transcript import replay_view
from toolwitness.tests.factories import History


@pytest.fixture(name="run")
def fixture_run(source_of):
    """A run whose payment timed out and was looked up by somebody."""
    history = History()
    history.run("r1")
    call = history.call("r1", "pay", ObservationStatus.TIMEOUT, side_effect="write")
    history.attempt("r1", call, AttemptStatus.TIMEOUT)
    said = {"finding": "committed", "method": "person", "found_by": "ann", "reason": Json('"the books show it"')}
    history.add(Reconciliation(run_id="r1", call_id=call, tool="pay", remote_reference="PAY-7", **said))
    return replay_run(source_of(history), "r1")


def test_a_finding_says_when_by_whom_and_why(run):
    """And under which reference of the service."""
    (found,) = run.calls[0].reconciliations

    assert (found.finding, found.found_by, found.reason) == ("committed", "ann", "the books show it")
    assert (found.remote_reference, found.found) == ("PAY-7", "2026-11-02T00:00:03.000Z")


def test_the_terminal_shows_it_on_one_line(run):
    """With the time at which it was found out."""
    console = Console(file=io.StringIO(), width=120)
    console.print(replay_view(run))

    told = "found later: committed (person, ann, 2026-11-02T00:00:03.000Z): the books show it"
    assert told in console.file.getvalue()
