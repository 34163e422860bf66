"""Whatever interrupts a purge, one file is whole; and whom it refuses."""

import os
import signal
import stat
import subprocess
import sys

import duckdb
import pytest

from toolwitness.collector.store.draft import draft_of, stamp_of, swap
from toolwitness.collector.store.purge import KEPT, Selection, Step, plan, purge
from toolwitness.collector.store.store import Store
from toolwitness.model.exceptions import PurgeError, StoreHeldError, StoreMissingError, StoreVersionError
from toolwitness.tests.collector.store.purging import told


def steps_of(path, selection):
    """Every step that a purge tells of."""
    steps = []
    purge(path, selection, progress=lambda *step: steps.append(step))
    return steps


def test_progress_is_told_from_choosing_to_cleaning(two):
    """Each step in its turn, with what of it is done."""
    steps = steps_of(two, Selection(runs=("r1",)))

    assert list(dict.fromkeys(step for step, _, _ in steps)) == list(Step)
    assert all(0 <= done <= total for _, done, total in steps)


class StoppedError(Exception):
    """What interrupts a purge here."""


STEPS = 7 + 1 + len(KEPT) + 3
"""What a purge of a small file tells of: choices, spans and heirs, the other tables, and check, swap, clean."""


@pytest.mark.parametrize("last", range(STEPS))
def test_an_error_at_any_step_leaves_one_whole_file(two, runs, last):
    """The old one up to the swap, then the new one, and nothing beside it."""
    steps = []

    def stop(*step):
        steps.append(step)
        if len(steps) > last:
            raise StoppedError

    with pytest.raises(StoppedError):
        purge(two, Selection(runs=("r1",)), progress=stop)

    assert runs() == (["r2"] if steps[-1][0] is Step.CLEAN else ["r1", "r2"])
    assert list(two.parent.iterdir()) == [two]


KILL_AT_EACH = """
import os, pathlib, shutil, signal, sys
from toolwitness.collector.store.purge import Selection, purge
two = pathlib.Path(sys.argv[1])
for last in range(int(sys.argv[2])):
    victim = two.parent / f"{last:02}" / two.name
    victim.parent.mkdir()
    shutil.copy(two, victim)
    child = os.fork()
    if child == 0:
        steps = []
        def die(*step):
            steps.append(step)
            if len(steps) > last:
                os.kill(os.getpid(), signal.SIGKILL)
        purge(victim, Selection(runs=("r1",)), progress=die)
        os._exit(0)
    print(os.waitpid(child, 0)[1])
"""


def test_a_kill_at_any_step_leaves_one_whole_file(two):
    """The old one up to the swap, then the new one; opening it for writing removes what was left beside it."""
    command = [sys.executable, "-c", KILL_AT_EACH, two, str(STEPS)]
    ends = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert ends == [str(signal.SIGKILL.value)] * STEPS

    left = {}
    for last in range(STEPS):
        victim = two.parent / f"{last:02}" / two.name
        before = len(list(victim.parent.iterdir()))
        store = Store.open(victim)
        found = store.query("run_ids", {"prefix": ""})["run"].to_pylist()
        calls = store.read(lambda cursor: cursor.sql("select run_id from calls order by 1").fetchall())
        store.close()
        assert [(run,) for run in found] == calls
        assert list(victim.parent.iterdir()) == [victim]
        left[last] = (found, before > 1)

    assert [found for found, _ in left.values()] == [["r1", "r2"]] * (STEPS - 1) + [["r2"]]
    assert any(draft for _, draft in left.values())


def test_the_next_purge_removes_what_one_before_left(two):
    """A draft with its log and spilled pages."""
    draft = draft_of(two)
    for end in ("", ".wal"):
        draft.with_name(draft.name + end).write_text("left over")
    draft.with_name(f"{draft.name}.tmp").mkdir()

    purge(two, Selection(runs=("r1",)))

    assert list(two.parent.iterdir()) == [two]


def test_reading_removes_nothing(two):
    """Only who holds the file for writing may take away a draft."""
    draft_of(two).write_text("somebody's")

    Store.open(two, read_only=True).close()

    assert draft_of(two).exists()


def test_a_full_disk_is_found_before_anything_is_written(two, runs):
    """The error says how much room is needed, and what there is."""
    with pytest.raises(PurgeError, match=r"may take \d+ MiB, and .* has 0 MiB free; make room there"):
        purge(two, Selection(runs=("r1",)), free_bytes=lambda _: 1000)

    assert runs() == ["r1", "r2"]


def test_room_is_needed_for_what_stays_alone(path, fill):
    """Nearly all may go on a nearly full disk."""
    fill(told("r1"))
    needed = 32 * 2**20
    with pytest.raises(PurgeError):
        purge(path, Selection(runs=("r1",)), free_bytes=lambda _: needed - 1)
    assert purge(path, Selection(runs=("r1",)), free_bytes=lambda _: needed).losses.runs == 1


HOLD = (
    "import sys; from toolwitness.collector.store.store import Store; s = Store.open(sys.argv[1]); print(flush=True); input()"
)


@pytest.fixture(name="holder")
def fixture_holder(two):
    """Another process that has the file open; its id."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, two], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    yield process.pid
    process.communicate(b"\n")


@pytest.mark.parametrize("act", [plan, purge])
def test_a_held_file_is_refused(path, holder, act):
    """The error names the process and the way to go on."""
    with pytest.raises(StoreHeldError, match=rf"process {holder};.*`toolwitness down --db .*agents\.duckdb`, purge, and start"):
        act(path, Selection(runs=("r1",)))


@pytest.mark.usefixtures("holder")
def test_a_file_that_was_taken_at_the_last_moment_is_left_alone(path):
    """Between the copying and the swap another process may come; it keeps its file."""
    draft_of(path).write_bytes(b"new")
    with pytest.raises(StoreHeldError, match="another process took"):
        swap(path, stamp_of(path), [])

    assert draft_of(path).exists()


def test_a_file_that_is_open_in_this_process_is_refused(store, path):
    """Its store would go on writing to a file without a name."""
    with pytest.raises(StoreHeldError, match="this process"):
        purge(path, Selection(runs=("r1",)))
    assert store.query("runs").num_rows == 0


@pytest.mark.parametrize("change", ["time", "log"])
def test_a_file_that_was_changed_meanwhile_is_left_alone(two, runs, change):
    """What came in after the copying began is not lost."""

    def interfere(step, *_):
        if step is Step.SWAP:
            if change == "time":
                os.utime(two, ns=(1, 1))
            else:
                (two.parent / "agents.duckdb.wal.recovery").write_bytes(b"")

    with pytest.raises(PurgeError, match="changed by another process"):
        purge(two, Selection(runs=("r1",)), progress=interfere)

    (two.parent / "agents.duckdb.wal.recovery").unlink(missing_ok=True)
    assert runs() == ["r1", "r2"]


def test_a_failure_of_the_database_is_told_as_one(two, runs):
    """With the word that the file is as it was."""

    def fail(*_):
        raise duckdb.IOException("no space left")

    with pytest.raises(PurgeError, match="which is as it was: no space left"):
        purge(two, Selection(runs=("r1",)), progress=fail)

    assert runs() == ["r1", "r2"]


@pytest.mark.parametrize(
    "statement", ["create table notes (text varchar)", "create view notes as select 1"], ids=["table", "view"]
)
def test_a_table_that_is_not_ours_is_not_lost(two, runs, statement):
    """The purge refuses, and names it."""
    with duckdb.connect(str(two)) as connection:
        connection.execute(statement)

    with pytest.raises(PurgeError, match=r"none of toolwitness's \(notes\)"):
        purge(two, Selection(runs=("r1",)))

    assert runs() == ["r1", "r2"]


def test_a_missing_file_is_not_made(path):
    """A wrong name is told as such."""
    with pytest.raises(StoreMissingError, match="does not exist"):
        purge(path, Selection(runs=("r1",)))
    assert not path.exists()


def test_an_empty_database_has_nothing_to_purge(path):
    """It is told apart from a store."""
    duckdb.connect(str(path)).close()
    with pytest.raises(StoreMissingError, match="holds no tables yet"):
        purge(path, Selection(runs=("r1",)))


@pytest.mark.parametrize("act", [plan, purge])
def test_another_schema_version_is_refused(two, act):
    """Its tables may mean something else."""
    with duckdb.connect(str(two)) as connection:
        connection.execute("update meta set value = '99' where key = 'schema_version'")

    with pytest.raises(StoreVersionError, match="schema version 99"):
        act(two, Selection(runs=("r1",)))


def test_the_new_file_is_as_private_as_the_old_one(two):
    """Its mode is the old one's."""
    two.chmod(0o600)

    purge(two, Selection(runs=("r1",)))

    assert stat.S_IMODE(two.stat().st_mode) == 0o600


def test_a_link_goes_on_naming_the_file(tmp_path, two, runs):
    """The file behind a symbolic link is rewritten, not the link."""
    link = tmp_path / "elsewhere" / "link.duckdb"
    link.parent.mkdir()
    link.symlink_to(two)

    purge(link, Selection(runs=("r1",)))

    assert link.is_symlink()
    assert runs() == ["r2"]
    assert list(link.parent.iterdir()) == [link]
