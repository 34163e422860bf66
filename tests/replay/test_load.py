import os
import subprocess
import sys

import pytest

from toolwitness.collector.store.owner import write_owner
from toolwitness.collector.store.store import Store
from toolwitness.model.exceptions import StoreHeldError, StoreMissingError, UnknownQueryError
from toolwitness.replay import load
from toolwitness.tests.factories import History


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
