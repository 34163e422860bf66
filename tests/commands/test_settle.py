"""`toolwitness settle`: a person's word, into a file or through the toolwitness that holds it."""

import json

import pytest

from toolwitness.collector.store.store import Store
from toolwitness.model.enums import AttemptStatus, ObservationStatus
from toolwitness.tests.factories import History

WHO = ["--by", "ann", "--reason", "seen in the books"]


@pytest.fixture(name="history")
def _history():
    """A payment that timed out."""
    history = History()
    history.run("r1")
    history.doubt = history.call("r1", "pay", ObservationStatus.TIMEOUT, side_effect="write", server="bank")
    history.attempt("r1", history.doubt, AttemptStatus.TIMEOUT, sent="yes")
    return history


@pytest.fixture(name="file")
def _file(history, tmp_path):
    store = Store.open(tmp_path / "a.duckdb", clock=lambda: history.now_ns)
    store.write_group([history.rows])
    store.close()
    return tmp_path / "a.duckdb"


def test_a_word_is_recorded_and_what_it_changed_is_told(cli, file, history):
    """In two lines that a person can check."""
    code, out, said = cli("settle", history.doubt, "committed", *WHO, "--db", file)

    assert (code, said) == (0, "")
    assert out.splitlines() == [
        f"call {history.doubt}: committed, says ann: seen in the books",
        "outcome unknown_commit -> succeeded",
    ]


def test_a_word_about_an_open_attempt_is_told_to_be_one(cli, history, file):
    """Whoever says that nothing happened should know that it may still happen."""
    history.attempt_start("r1", history.doubt, "pay", parent="00000000000000ff")
    store = Store.open(file)
    store.write_group([history.rows])
    store.close()
    code, _, said = cli("settle", history.doubt, "not_committed", *WHO, "--db", file)

    assert code == 0
    assert "an attempt is not known to have ended" in said


def test_programs_get_the_same(cli, file, history):
    """As one object, with whether the word is heard."""
    code, out, _ = cli("settle", history.doubt, "not_committed", *WHO, "--db", file, "--json")
    told = json.loads(out)

    assert code == 0
    assert (told["outcome"], told["settled"], told["heard"], told["found_by"]) == ("failed", "not_committed", True, "ann")


def test_a_word_goes_through_the_toolwitness_that_holds_the_file(cli, live, history):
    """And is derived there, in the same transaction."""
    live.collector.store.write_group([history.rows])
    code, _, said = cli("settle", history.doubt, "committed", *WHO, "--db", live.collector.path)
    (row,) = live.collector.store.query("ledger", {"prefix": history.doubt}).to_pylist()

    assert (code, said, row["outcome"]) == (0, "", "succeeded")


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        (["ff", "committed", *WHO], (1, "no call whose id starts with 'ff'")),
        (["00", "committed", "--by", "", "--reason", "x"], (1, "give both a name and a reason")),
        (["00", "perhaps", *WHO], (2, "committed")),
        (["00", "committed", "--by", "ann"], (2, "--reason")),
    ],
)
def test_what_is_not_taken_is_told_and_changes_nothing(cli, file, arguments, refused):
    """With exit code 1, for wrong usage 2."""
    code, out, said = cli("settle", *arguments, "--db", file)
    store = Store.open(file, read_only=True)
    (row,) = store.query("ledger", {"prefix": ""}).to_pylist()
    store.close()

    assert (code, out, row["settled"]) == (refused[0], "", "no_finding")
    assert refused[1] in said
