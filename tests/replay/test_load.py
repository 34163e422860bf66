import os
import subprocess
import sys

import pytest

from toolwitness.collector.store.owner import write_owner
from toolwitness.collector.store.store import Store
from toolwitness.model.exceptions import StoreHeldError, StoreMissingError, UnknownQueryError
from toolwitness.replay import load
from toolwitness.replay.runs import replay_run
from toolwitness.tests.factories import SECOND_NS, History


def test_a_missing_file_says_how_to_get_one(tmp_path):
    """No database is an error that names the file and three ways to make one; nothing is created."""
    path = tmp_path / "none.duckdb"

    with pytest.raises(StoreMissingError, match=r"none\.duckdb.*toolwitness import.*toolwitness up.*make demo"):
        load.open_source(path).__enter__()

    assert not path.exists()


def test_a_file_is_read_where_it_lies(source_of):
    """A file that nobody holds is opened read-only and answers named queries as frames."""
    history = History()
    history.run("r")

    frame = source_of(history).query("run_ids", prefix="")

    assert frame["run"].to_list() == ["r"]


def test_an_unknown_query_is_named(source_of):
    """Asking for a query that does not exist says so."""
    with pytest.raises(UnknownQueryError, match="no named query 'runz'"):
        source_of(History()).query("runz")


def test_the_file_is_free_after_the_block(stored):
    """A source lets go of its file, so that a writer may have it."""
    path = stored(History())

    with load.open_source(path):
        pass

    Store.open(path).close()


def test_a_stale_owner_file_is_no_obstacle(stored):
    """Where the process in the owner file lives but answers no queries, the file is read as usual."""
    path = stored(History())
    write_owner(path, "http://127.0.0.1:9")

    with load.open_source(path) as source:
        assert source.where == str(path)


@pytest.fixture(name="left_open")
def fixture_left_open(stored):
    """A file with a write that was announced and never heard of again, a day ago, and the time that it is now."""
    history = History()
    history.attempt_start(history.run("r"), "00000000000000aa", "pay", parent="00000000000000bb")
    path = stored(history)
    history.skip(24 * 3600 * SECOND_NS)
    return path, lambda: history.now_ns


def outcomes(source):
    """What the calls of the source came to."""
    return [call.outcome for call in replay_run(source, "r").calls]


def test_what_was_open_yesterday_is_not_pending_today(left_open, caplog):
    """A file that no process serves is judged before it is read, and from then on for everybody."""
    path, clock = left_open
    with load.open_source(path, clock=lambda: 0) as source:
        before = outcomes(source)
    with load.open_source(path, clock=clock) as source:
        after = outcomes(source)
    with load.open_source(path, clock=lambda: 0) as source:
        assert outcomes(source) == after

    assert (before, after, caplog.records) == (["pending"], ["unknown_commit"], [])


def test_where_the_file_cannot_be_written_old_answers_are_called_so(left_open, caplog):
    """While another process reads the file too, a warning says how many calls are pending in it for too long."""
    path, clock = left_open
    reads = "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True); print('reads', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", reads, os.fspath(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as reader:
        assert reader.stdout.readline() == b"reads\n"
        with load.open_source(path, clock=clock) as source:
            assert outcomes(source) == ["pending"]
        reader.stdin.close()
    (said,) = caplog.messages

    assert "history.duckdb cannot be written now" in said
    assert "1 of those that are pending" in said


def test_a_reader_waits_while_another_judges(left_open):
    """However many look at once, each gets an answer, and none says pending."""
    path, clock = left_open
    code = (
        "import sys; from toolwitness.replay.load import open_source; from toolwitness.replay.runs import replay_run\n"
        "sys.stdin.readline()\n"
        "with open_source(sys.argv[1], clock=lambda: int(sys.argv[2])) as s: print(replay_run(s, 'r').calls[0].outcome)"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    readers = [subprocess.Popen([sys.executable, "-c", code, path, str(clock())], **pipes) for _ in range(3)]
    told = [reader.communicate("go\n") for reader in readers]

    assert all(out == "unknown_commit\n" or "cannot be written now" in err for out, err in told), told


def test_a_file_that_a_silent_process_holds_is_refused_by_its_pid(stored):
    """A process that holds the file and answers nothing is named."""
    path = stored(History())
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, os.fspath(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"

        with pytest.raises(StoreHeldError, match=str(holder.pid)):
            load.open_source(path).__enter__()

        holder.stdin.close()


def test_the_source_in_use_is_that_of_the_whole_process(source_of):
    """`use` sets what `current` gives; before and after there is none."""
    source = source_of(History())
    load.use(source)
    assert load.current() is source
    load.use(None)

    with pytest.raises(StoreMissingError, match="toolwitness up"):
        load.current()
