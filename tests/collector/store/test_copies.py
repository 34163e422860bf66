"""Which copies of a database's content can be seen from beside it."""

import os
import stat

import pytest

from toolwitness.collector.store.copies import Export, copies_of, exports_of, note_export
from toolwitness.tests.factories import MONDAY_NS


def test_the_notes_are_private_and_bear_a_broken_line(tmp_path):
    """A crash in the middle of a line loses that line alone."""
    db = tmp_path / "agents.duckdb"
    notes = tmp_path / "agents.duckdb.exports.jsonl"
    note_export(db, Export(str(tmp_path), MONDAY_NS, 1))
    with notes.open("a") as file:
        file.write('{"path": "/cu\n')

    assert exports_of(db) == [Export(str(tmp_path), MONDAY_NS, 1)]
    assert stat.S_IMODE(notes.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("agents.duckdb.bak", True),
        ("agents-copy.duckdb", True),
        ("agents_old.duckdb", True),
        ("agents (1).duckdb", True),
        ("agents.parquet", True),
        ("agents.duckdb.log", True),
        ("agents2.duckdb", False),
        ("other.duckdb", False),
        ("agents.duckdb.wal", False),
        ("agents.duckdb.owner.json", False),
        ("agents.duckdb.purge", False),
        ("agents.duckdb.purge.wal", False),
    ],
)
def test_what_looks_like_a_copy(tmp_path, name, alike):
    """The database's name with something behind it, but none of its own files."""
    for file in ("agents.duckdb", name):
        (tmp_path / file).write_text("")

    assert [copy.path for copy in copies_of(tmp_path / "agents.duckdb")] == ([str(tmp_path / name)] if alike else [])


def test_another_name_of_the_file_keeps_the_old_bytes(tmp_path):
    """A hard link is no copy that a purge could reach."""
    db = tmp_path / "agents.duckdb"
    db.write_text("")
    os.link(db, tmp_path / "second.duckdb")

    (copy,) = copies_of(db)

    assert "had 2 names" in copy.why
