"""Opening a file: what it must be, who else may have it open, and what a killed writer leaves behind."""

import json
import os
import signal
import subprocess
import sys

import duckdb
import pytest

from toolwitness.collector.store.owner import write_owner
from toolwitness.collector.store.store import Store
from toolwitness.collector.store.version import SCHEMA_VERSION
from toolwitness.model.exceptions import StoreHeldError, StoreMissingError, StoreVersionError
from toolwitness.tests.factories import History

HOLD = """
import sys
from toolwitness.collector.store.store import Store
store = Store.open(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""
WRITE_AND_DIE = """
import json, os, signal, sys
from toolwitness.collector.store.store import Store
store = Store.open(sys.argv[1])
store.write_group([json.loads(sys.stdin.read())])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(name="holder")
def fixture_holder(path):
    """The id of another process that has the file open."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"open\n"
    yield process.pid
    process.communicate()


@pytest.fixture(name="rows")
def fixture_rows():
    """A run with one call."""
    history = History()
    history.call(history.run("r"), "look")
    return history.rows


@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_that_another_process_holds_names_it(holder, path, read_only):
    """The error says which process to stop or to ask."""
    with pytest.raises(StoreHeldError, match=rf"agents\.duckdb is held by process {holder};"):
        Store.open(path, read_only=read_only)


@pytest.mark.usefixtures("holder")
def test_a_holder_that_answers_is_named_with_its_url(path):
    """Where the file's owner says where it answers, the error does too."""
    write_owner(path, "http://127.0.0.1:4318")
    with pytest.raises(StoreHeldError, match=rf"process {os.getpid()}, which answers at http://127.0.0.1:4318"):
        Store.open(path)


def test_a_file_open_in_another_mode_here_is_held_by_this_process(store, path):
    """DuckDB refuses that, and the error says why."""
    assert store.path == path
    with pytest.raises(StoreHeldError, match="this process, in another mode"):
        Store.open(path, read_only=True)


def test_readers_share_a_file_that_nobody_writes(store, path, rows):
    """Two read-only stores see what was written, and cannot write."""
    store.write_group([rows])
    store.close()
    readers = [Store.open(path, read_only=True) for _ in range(2)]
    counts = [reader.read(lambda cursor: cursor.sql("select count(*) from spans").fetchall()) for reader in readers]
    assert counts == [[(2,)], [(2,)]]
    with pytest.raises(duckdb.Error, match="read-only"):
        readers[0].count_refusal("x")
    for reader in readers:
        reader.close()


def test_a_reader_cannot_write(store):
    """What is handed to `read` has a transaction that refuses changes."""
    with pytest.raises(duckdb.TransactionException, match="read-only"):
        store.read(lambda cursor: cursor.execute("delete from spans"))


@pytest.mark.parametrize("read_only", [True, False])
def test_a_killed_writer_loses_nothing_that_it_confirmed(path, rows, read_only):
    """After kill -9 right behind `write_group` every span is there, and opening needs no help."""
    told = json.dumps(rows).encode()
    died = subprocess.run([sys.executable, "-c", WRITE_AND_DIE, path], input=told, check=False)
    assert died.returncode == -signal.SIGKILL
    store = Store.open(path, read_only=read_only)
    found = store.read(lambda cursor: cursor.sql("select (select count(*) from spans), count(*) from calls").fetchall())
    store.close()
    assert found == [(2, 1)]


OTHER_VERSION = "update meta set value = '99' where key = 'schema_version'"


def test_another_schema_version_is_refused_with_a_remedy(path, spoil):
    """The error names the file, both versions and what to do."""
    spoil(OTHER_VERSION)
    with pytest.raises(
        StoreVersionError, match=rf"agents\.duckdb has schema version 99, .* version {SCHEMA_VERSION}; open it with"
    ):
        Store.open(path)


def test_the_version_is_checked_before_anything_is_written(path, spoil):
    """A refused file is left as it was."""
    spoil(OTHER_VERSION, "delete from outcome_rule", "delete from meta where key <> 'schema_version'")
    with pytest.raises(StoreVersionError):
        Store.open(path)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("select * from outcome_rule").fetchall() == []


def test_a_database_of_something_else_is_refused(path):
    """A DuckDB file with other tables is not written to."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table customers (id bigint)")
    with pytest.raises(StoreVersionError, match=r"something else \(its tables: customers\)"):
        Store.open(path)


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("text.duckdb", "not a database", "it does not begin as one"),
        ("runs.json", '[{"a": 1}]', "it does not begin as one"),
        ("empty.json", "", "it is empty"),
        ("empty.duckdb", "", "it is empty"),
    ],
)
def test_a_file_that_is_no_database_is_refused(tmp_path, name, content, why, read_only):
    """The error names the file, which is left as it was; DuckDB would take JSON for a table in memory."""
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(StoreVersionError, match=rf"{name} is no database: {why}; name another file"):
        Store.open(path, read_only=read_only)
    assert path.read_text() == content


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(("name", "seen"), [("/dev/null", "a device or pipe"), (".", "a folder")])
def test_what_is_no_file_is_refused(name, seen, read_only):
    """Devices and folders are told as such."""
    with pytest.raises(StoreVersionError, match=f"is no database but {seen}"):
        Store.open(name, read_only=read_only)


def test_a_missing_folder_is_named(tmp_path):
    """A file is made where there is none, a folder is not."""
    with pytest.raises(StoreMissingError, match=r"no folder .*nowhere to make a\.duckdb in"):
        Store.open(tmp_path / "nowhere" / "a.duckdb")


def test_a_file_that_begins_as_a_database_and_is_none_is_refused(path):
    """What DuckDB says stands in the error."""
    path.write_bytes(bytes(8) + b"DUCK" + bytes(8192))
    with pytest.raises(StoreVersionError, match=r"agents\.duckdb cannot be opened as a database \("):
        Store.open(path)


def test_a_file_to_be_read_must_exist(path):
    """Reading makes no file."""
    with pytest.raises(StoreMissingError, match="does not exist"):
        Store.open(path, read_only=True)
    assert not path.exists()


def test_a_file_to_be_read_must_hold_tables(path):
    """An empty database is nothing to read."""
    duckdb.connect(str(path)).close()
    with pytest.raises(StoreMissingError, match="holds no tables yet"):
        Store.open(path, read_only=True)


def test_closing_twice_is_as_good_as_once(store):
    """The second call does nothing."""
    store.close()
    store.close()
