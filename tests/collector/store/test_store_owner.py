"""The word of a process that it holds a database file."""

import json
import os
import subprocess
import sys

import pytest

from toolwitness.collector.store.owner import read_owner, remove_owner, write_owner

URL = "http://127.0.0.1:4318"


def owner_file(path):
    """Where the word is written."""
    return path.with_name(path.name + ".owner.json")


def ended_process():
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_owner_is_the_process_that_said_so(path):
    """Pid, URL and time are read as they were written."""
    said = write_owner(path, URL)
    assert read_owner(path) == said
    assert (said.pid, said.url) == (os.getpid(), URL)


def test_a_dead_process_owns_nothing(path):
    """The word of a process that has ended counts for nothing."""
    owner_file(path).write_text(json.dumps({"pid": ended_process(), "url": URL, "started_ns": 1}))
    assert read_owner(path) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": "x", "url": "u", "started_ns": 1}', '{"pid": 0}'])
def test_a_garbled_owner_file_names_no_owner(path, text):
    """Whatever else stands in the file is no owner and no error."""
    owner_file(path).write_text(text)
    assert read_owner(path) is None


def test_taking_back_removes_the_own_word(path):
    """After that the file has no owner."""
    write_owner(path, URL)
    remove_owner(path)
    assert not owner_file(path).exists()


def test_taking_back_leaves_the_word_of_another_process(path):
    """A second process cannot disown the first."""
    owner_file(path).write_text(json.dumps({"pid": os.getppid(), "url": URL, "started_ns": 1}))
    remove_owner(path)
    assert read_owner(path).pid == os.getppid()
