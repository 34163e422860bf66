"""Flags of a call, and where an attempt's exception came from, as the replay shows them."""

import io
import json
from dataclasses import asdict

import pytest
from rich.console import Console

from toolwitness.dashboard.stepview import steps_view
from toolwitness.model.enums import AttemptStatus, Flag, ObservationStatus
from toolwitness.replay.honest import FLAGS
from toolwitness.replay.runs import replay_run
from toolwitness.replay.transcript import replay_view
from toolwitness.tests.factories import History


@pytest.fixture(name="run")
def fixture_run(source_of):
    """A run with a flagged call whose attempt raised, and a call without either."""
    history = History()
    history.run("r")
    flagged = history.call("r", "pay", ObservationStatus.RAISED, flags=(Flag.REDACTED_COPY_IN_ARGUMENTS,))
    history.attempt(
        "r",
        flagged,
        AttemptStatus.ERROR,
        error_type="CardError",
        error_causes=("ConnectionError", "OSError"),
        error_frames=("shop.pay:pay:41", "shop.card:charge:7"),
    )
    history.attempt("r", history.call("r", "look"))
    return replay_run(source_of(history), "r")


def printed(view):
    """What a terminal without colours shows."""
    out = io.StringIO()
    Console(file=out, width=140, markup=False, highlight=False, emoji=False).print(view)
    return out.getvalue()


def test_the_replay_has_them(run):
    """As words of the model and texts, empty where there are none; in JSON too."""
    flagged, other = run.calls
    assert (flagged.flags, other.flags) == (("redacted_copy_in_arguments",), ())
    assert flagged.attempts[0].error_causes == ("ConnectionError", "OSError")
    assert flagged.attempts[0].error_frames == ("shop.pay:pay:41", "shop.card:charge:7")
    assert other.attempts[0].error_frames == ()
    assert "shop.card:charge:7" in json.dumps([asdict(step) for step in run.steps])


def test_the_terminal_shows_them_under_the_call_and_the_attempt(run):
    """Once each, and nothing where there is nothing."""
    lines = [line.strip() for line in printed(replay_view(run)).splitlines()]
    assert f"warning: {FLAGS['redacted_copy_in_arguments']}" in lines
    assert "caused by ConnectionError, OSError" in lines
    assert "raised at shop.pay:pay:41 > shop.card:charge:7" in lines
    assert sum("raised at" in line for line in lines) == 1


def test_the_page_shows_them_too(run):
    """The flag aloud, the places to be opened."""
    shown = steps_view(run)
    assert shown.count('role="alert"') == 1
    assert FLAGS["redacted_copy_in_arguments"] in shown
    assert "<code>shop.card:charge:7</code>" in shown
    assert shown.count("where it was raised") == 1


def test_every_flag_has_words():
    """A reader is never shown a name of ours."""
    assert set(FLAGS) == set(Flag)
