"""`toolwitness reconcile`: what is in doubt, and what the application's reconcilers find out, through the real entry point."""

import json
import os
import subprocess
import sys

import pytest

from toolwitness.collector.store.store import Store
from toolwitness.model.enums import AttemptStatus, ObservationStatus
from toolwitness.tests.factories import History

APPLICATION = """
import sys
import toolwitness

print("imported")

@toolwitness.tool(server="bank", side_effect="write", settle_after=60)
def pay(amount):
    sys.exit("nobody pays here")

@toolwitness.reconciler(pay)
async def status(unknown):
    print("asked")
    return {"answer": "not_found", "reason": "no such payment"}

@toolwitness.reconciler("mail")
def sent(unknown):
    raise ConnectionError("no route\\x1b[2J")
"""


@pytest.fixture(name="history")
def _history():
    """A payment, a letter and a booking that timed out, hours ago."""
    history = History()
    history.run("r1")
    history.doubts = {}
    for server, tool in (("bank", "pay"), ("", "mail"), ("", "book")):
        call = history.call("r1", tool, ObservationStatus.TIMEOUT, side_effect="write", server=server, owner="desk")
        history.attempt("r1", call, AttemptStatus.TIMEOUT, sent="yes")
        history.doubts[tool] = call
    return history


@pytest.fixture(name="file")
def _file(history, tmp_path):
    (tmp_path / "application.py").write_text(APPLICATION)
    store = Store.open(tmp_path / "a.duckdb", clock=lambda: history.now_ns)
    store.write_group([history.rows])
    store.close()
    return tmp_path / "a.duckdb"


def reconcile(file, *arguments):
    """Run the command in a process of its own, with the application's module."""
    command = [sys.executable, "-m", "toolwitness", "reconcile", *arguments, "--db", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=file.parent, env=os.environ.copy())


def found(file):
    """Call -> outcome and how many findings."""
    store = Store.open(file, read_only=True)
    outcomes = {row["tool"]: row["outcome"] for row in store.query("ledger", {"prefix": ""}).to_pylist()}
    findings = store.query("replay_reconciliations", {"run": "r1"}).num_rows
    store.close()
    return outcomes, findings


IN_DOUBT = {"pay": "unknown_commit", "mail": "unknown_commit", "book": "unknown_commit"}


def test_a_dry_run_is_the_default(file):
    """Readable at 100 columns; nothing is asked and nothing stored, and what the module prints is no answer of ours."""
    done = reconcile(file, "application.py")

    assert (done.returncode, done.stderr) == (0, "imported\n")
    assert "3 calls in doubt: 2 to ask about, 1 for a person" in done.stdout
    assert "nothing was asked; --run asks" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert found(file) == (IN_DOUBT, 0)


def test_run_asks_and_tells_what_came_of_it(file, history):
    """A reconciler that raises leaves its call in doubt, the others go on, and the exit code says it."""
    done = reconcile(file, "application.py", "--run")
    by_hand = f"toolwitness settle {history.doubts['book']} FINDING --by NAME --reason TEXT --db {file}"

    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        f"{history.doubts['pay']} bank/pay: not_found -> not_committed (not_found); unknown_commit -> failed",
        f"{history.doubts['mail']} mail: nothing recorded: its reconciler raised ConnectionError: no route?[2J",
        "asked about 2 of 3 calls in doubt",
        f"{history.doubts['book']} book needs a person: {by_hand}",
    ]
    assert "of 2 calls that were asked about, 1 got no finding" in done.stderr
    assert found(file) == (IN_DOUBT | {"pay": "failed"}, 1)


def test_programs_get_both_lists(file, history):
    """What is due, with the command for a person, and what came of asking."""
    done = reconcile(file, "application.py", "--run", "--tool", "bank/pay", "--json")
    told = json.loads(done.stdout)

    assert (done.returncode, done.stderr, told["dry_run"], told["total"]) == (0, "imported\nasked\n", False, 1)
    (due,) = told["due"]
    assert (due["call"], due["owner"], due["reconciler"], due["not_found_settles_not"]) == (
        history.doubts["pay"],
        "desk",
        True,
        None,
    )
    (asked,) = told["asked"]
    assert (asked["answer"], asked["finding"], asked["outcome"], asked["failure"]) == (
        "not_found",
        "not_committed",
        "failed",
        None,
    )


def test_without_a_module_every_call_needs_a_person(cli, file):
    """Which is no failure; the list is cut where it is asked to be, and says so."""
    code, out, said = cli("reconcile", "--db", file, "--run", "--limit", "2")

    assert (code, said) == (0, "")
    assert out.splitlines()[0] == "asked about 0 of 3 calls in doubt"
    assert out.count("needs a person") == 2


def test_a_call_that_is_not_in_doubt_is_told(cli, file, history):
    """Whoever names it wants to know why it is not asked about."""
    call = history.doubts["pay"]
    cli("settle", call, "committed", "--by", "ann", "--reason", "books", "--db", file)
    code, _, said = cli("reconcile", "--call", call, "--db", file)

    assert (code, said) == (0, f"call {call} is not in doubt: it is succeeded\n")


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        (["no_such_module"], (1, "no_such_module cannot be imported")),
        (["--again-after", "soon"], (2, "is no age")),
        (["--call", "ff"], (1, "no call whose id starts with 'ff'")),
    ],
)
def test_what_cannot_be_done_is_told(cli, file, arguments, refused):
    """With exit code 1, for wrong usage 2; nothing is stored."""
    code, _, said = cli("reconcile", *arguments, "--run", "--db", file)

    assert code == refused[0]
    assert refused[1] in said
    assert found(file) == (IN_DOUBT, 0)


def test_findings_go_through_the_toolwitness_that_holds_the_file(live, history, file):
    """Asked here, stored there."""
    live.collector.store.write_group([history.rows])
    command = [sys.executable, "-m", "toolwitness", "reconcile", "application.py", "--run", "--tool", "pay", "--db"]
    done = subprocess.run([*command, str(live.collector.path)], capture_output=True, text=True, check=False, cwd=file.parent)
    outcomes = {row["tool"]: row["outcome"] for row in live.collector.store.query("ledger", {"prefix": ""}).to_pylist()}

    assert (done.returncode, outcomes["pay"]) == (0, "failed")


PAYING = """
import json, pathlib, sys, uuid
import toolwitness

BOOKS = pathlib.Path("books.json")

@toolwitness.tool(server="bank", side_effect="write", settle_after=0)
def pay(amount):
    key = toolwitness.current_call().idempotency_key
    if amount > 1:
        books = json.loads(BOOKS.read_text()) if BOOKS.exists() else [None, "another"]
        sent = {5: key, 6: key[:45], 7: str(uuid.UUID(key[:32])).upper()}[amount]
        BOOKS.write_text(json.dumps([*books, sent]))
    raise TimeoutError("no answer")

@toolwitness.reconciler(pay)
def status(unknown):
    return "committed" if any(map(unknown.matches_key, json.loads(BOOKS.read_text()))) else "not_found"

if __name__ == "__main__":
    toolwitness.instrument(db="keyed.duckdb")
    with toolwitness.run(id="r1"):
        for amount in (1, 5, 6, 7):
            try:
                pay(amount)
            except TimeoutError:
                pass
"""


def test_a_payment_is_found_by_its_key(tmp_path):
    """In the service's books the key alone tells which call it was, cut as well; under another secret nothing is claimed."""
    (tmp_path / "paying.py").write_text(PAYING)
    subprocess.run([sys.executable, "paying.py"], check=True, cwd=tmp_path)
    file = tmp_path / "keyed.duckdb"
    command = [sys.executable, "-m", "toolwitness", "reconcile", "paying.py", "--db", str(file), "--run", "--json"]
    other = os.environ | {"TOOLWITNESS_DIGEST_KEY": "another secret"}
    elsewhere = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=other)
    here = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert [one["finding"] for one in json.loads(elsewhere.stdout)["asked"]] == [None] * 4
    assert [one["outcome"] for one in json.loads(here.stdout)["asked"]] == ["failed", *["succeeded"] * 3]
