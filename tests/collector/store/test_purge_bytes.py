"""After a purge the bytes are gone, and why deleting is not enough."""

import json
import signal
import subprocess
import sys

import duckdb
import pytest

from toolwitness.collector.store.purge import Selection, purge
from toolwitness.tests.collector.store.purging import ANNA, foreign, told, unique
from toolwitness.tests.factories import MONDAY_NS, WEEK_NS, History

CANARIES = [
    b"RunCanary",
    b"TaskCanary",
    b"LabelCanary",
    b"ToolCanary",
    b"AgentCanary",
    b"KeptCanary",
    b"CauseCanary",
    b"OtherCanary",
]


def planted():
    """A run with a word to be looked for in every place that keeps text, and a hundred others."""
    history = History()
    run = history.run(
        "RunCanary-1", task="TaskCanary-1", agent="AgentCanary-1", labels='{"team":"LabelCanary-1"}', subject=ANNA
    )
    history.toolset(run, "ts-canary", [("srv", "ToolCanary-1")])
    history.schema(run, "ToolCanary-1", server="srv", definition='{"name":"ToolCanary-1"}')
    decision = history.decision(run, toolset_digest="ts-canary", subject=ANNA)
    texts = {"arguments": '{"a":"KeptCanary-1"}', "result": '"KeptCanary-2"', "action_id": "KeptCanary-3"}
    call = history.call(run, "ToolCanary-1", decision_id=decision, subject=ANNA, **texts)
    history.gate(run, call, "policy", "allow", reason_code="CauseCanary-1", pointers=("/KeptCanary-4",))
    rows = unique(history.rows, "RunCanary-1")
    other = foreign("RunCanary-1") | {"rest": '{"note":"OtherCanary-1"}'}
    return [*rows, other]


def found_in(folder):
    """Which canaries stand in the bytes of any file of the folder."""
    content = b"".join(file.read_bytes() for file in folder.iterdir())
    return [canary for canary in CANARIES if canary in content]


@pytest.fixture(name="canaries")
def fixture_canaries(path, fill):
    """The file with the canaries in it, among a hundred other runs; the canaries came in the middle."""
    before = [row for number in range(50) for row in told(f"before-{number}")]
    after = [row for number in range(50) for row in told(f"after-{number}", start_ns=MONDAY_NS + WEEK_NS)]
    fill(before, planted(), after)
    assert found_in(path.parent) == CANARIES
    return path.parent


def test_deleting_leaves_the_bytes(path, canaries):
    """DELETE, CHECKPOINT and VACUUM do not take them out of the file, which is why a purge rewrites it."""
    with duckdb.connect(str(path)) as connection:
        for table in ("spans", "calls", "toolsets", "toolset_members", "schemas"):
            connection.execute(f"delete from {table} where {table}::varchar like '%anary%'")  # noqa: S608 -- our own tables
        connection.execute("checkpoint")
        connection.execute("vacuum")

    assert found_in(canaries) == CANARIES


@pytest.mark.parametrize(
    "selection",
    [Selection(subject=ANNA), Selection(runs=("RunCanary-1",)), Selection(before_ns=MONDAY_NS + WEEK_NS)],
    ids=["subject", "run", "age"],
)
def test_after_a_purge_the_bytes_are_gone(path, canaries, selection):
    """No text of the run stands in the file or beside it: not in kept fields, ids, names, labels or tools."""
    purge(path, selection)

    assert found_in(canaries) == []
    assert list(canaries.iterdir()) == [path]


def test_after_a_purge_even_changed_calls_are_gone(path, canaries, fill):
    """Rows that were derived again before, of which the file kept the old bytes, are gone too."""
    late = History(start_ns=MONDAY_NS + WEEK_NS)
    late.gate("RunCanary-1", "x", "policy", "deny", reason_code="CauseCanary-2")
    late.rows[0]["call_id"] = planted()[4]["call_id"]
    fill([{**late.rows[0], "span_id": "e" * 16}])

    purge(path, Selection(runs=("RunCanary-1",)))

    assert found_in(canaries) == []


@pytest.mark.usefixtures("canaries")
def test_the_search_of_the_bytes_is_reported(path):
    """Ids that went are found in the old file and not in the new one."""
    seen = purge(path, Selection(subject=ANNA)).witnessed

    assert seen == (7, 7, 0)


WRITE_AND_DIE = """
import json, os, signal, sys
from toolwitness.collector.store.store import Store
store = Store.open(sys.argv[1])
store.write_group([json.load(sys.stdin)])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_write_ahead_log_still_held_is_gone(path, fill):
    """A writer that was killed leaves its spans in the log alone; the purge takes that in first, and leaves none."""
    fill(told("r1"))
    died = subprocess.run([sys.executable, "-c", WRITE_AND_DIE, path], input=json.dumps(planted()).encode(), check=False)
    assert died.returncode == -signal.SIGKILL
    assert (path.parent / "agents.duckdb.wal").exists()

    purge(path, Selection(subject=ANNA))

    assert found_in(path.parent) == []
    assert list(path.parent.iterdir()) == [path]
