"""The digest key and the journal on disk."""

import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.enums import SideEffect
from toolwitness.sdk import ManualClock, Recorder
from toolwitness.sdk.state import Journal, OpenAttempt, digest_key


def opened(name):
    """An attempt with this span id."""
    return OpenAttempt("call", "run", "t" * 32, name, "s" * 16, 1, "bank", "pay", 1)


def test_the_key_is_made_once_and_is_the_owner_s_alone(tmp_path):
    """Every later process reads the same key; nobody else can."""
    keys = {digest_key(tmp_path / "state") for _ in range(3)}

    assert len(keys) == 1
    assert stat.S_IMODE((tmp_path / "state" / "digest.key").stat().st_mode) == 0o600


def test_racing_processes_agree_on_the_key(tmp_path):
    """However many start at once, there is one key."""
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: digest_key(tmp_path), range(32)))) == 1


def test_without_a_folder_the_key_lives_in_memory(tmp_path):
    """A state folder that cannot be made is no reason to fail."""
    (tmp_path / "file").write_text("")
    assert len(digest_key(tmp_path / "file" / "state")) == 32


DIES = """
import os, sys
from pathlib import Path
from toolwitness.sdk.state import Journal, OpenAttempt
journal = Journal(Path(sys.argv[1]), "there")
for name in "ab":
    journal.started(OpenAttempt("call", "run", "t" * 32, name, "s" * 16, 1, "bank", "pay", 1))
journal.ended("a")
os.write(journal._descriptor(), b'["cut')
os.kill(os.getpid(), 9)
"""


def test_the_journal_of_a_dead_process_names_what_is_open(tmp_path):
    """Ended attempts are gone, and a line cut by the crash is left out."""
    subprocess.run([sys.executable, "-c", DIES, tmp_path], check=False)

    assert [orphan.attempts for orphan in Journal(tmp_path, "there").orphans()] == [[opened("b")]]


def test_another_destination_is_left_alone(tmp_path):
    """What was meant for one collector or file is never shipped to another."""
    subprocess.run([sys.executable, "-c", DIES, tmp_path], check=False)

    assert list(Journal(tmp_path, "elsewhere").orphans()) == []


def test_a_living_process_is_left_alone(tmp_path):
    """The journal of a process that runs is its own, whatever process ids are in use."""
    journal = Journal(tmp_path)
    journal.started(opened("a"))

    assert list(Journal(tmp_path).orphans()) == []


def test_a_failing_journal_is_counted_and_blocks_nothing(tmp_path):
    """Where nothing can be written, the agent goes on."""
    (tmp_path / "journal").write_text("not a folder")
    journal = Journal(tmp_path)
    journal.started(opened("a"))

    assert journal.failures == 1


def test_a_long_life_does_not_grow_the_file(tmp_path):
    """When nothing is open and the file is large, it is emptied."""
    journal = Journal(tmp_path)
    for number in range(8000):
        journal.started(opened(str(number)))
        journal.ended(str(number))
    (own,) = (tmp_path / "journal").rglob("*.jsonl")

    assert own.stat().st_size < 1.1 * 1024 * 1024


def test_a_tool_that_reads_leaves_the_journal_alone(tmp_path):
    """Only what may write is announced, and only what was announced is ended there."""
    journal = Journal(tmp_path)
    recorder = Recorder(exporter=InMemorySpanExporter(), clock=ManualClock(1), key=b"k", inline=True, journal=journal)
    recorder.register(ToolDefinition(name="look", side_effect=SideEffect.READ))
    with recorder.call("look") as call, call.attempt():
        pass

    assert list((tmp_path / "journal").rglob("*.jsonl")) == []
