"""The digest key and the journal on disk."""

import os
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
for name in sys.argv[2]:
    journal.started(OpenAttempt("call", "run", "t" * 32, name, "s" * 16, 1, "bank", "pay", 1))
journal.delivered([sys.argv[2][0]])
own, *_ = Path(sys.argv[1]).rglob("*.jsonl")
{before_the_end}
os.kill(os.getpid(), 9)
"""


def die(folder, before_the_end="", names="ab", **how):
    """A process that is killed after it began two attempts and delivered the first."""
    subprocess.run([sys.executable, "-c", DIES.format(before_the_end=before_the_end), folder, names], check=False, **how)


def files(folder):
    """The journals that there are."""
    return list((folder / "journal").rglob("*"))[1:]


def test_the_journal_of_a_dead_process_names_what_is_open(tmp_path):
    """Delivered attempts are gone, and a line cut by the crash is left out."""
    die(tmp_path, "own.open('ab').write(b'[\"cut')")

    assert list(Journal(tmp_path, "there").orphans()) == [opened("b")]


def test_a_line_of_a_later_release_is_read_as_far_as_it_is_known(tmp_path):
    """An older release that starts after a newer one crashed still knows what that left open."""
    die(tmp_path, "own.write_text(own.read_text().replace(',null]', ',null,\"more\"]'))")

    assert list(Journal(tmp_path, "there").orphans()) == [opened("b")]


def test_what_a_dead_process_left_is_taken_over_once(tmp_path):
    """It moves to the file of the one that takes it over, which gives it on where it dies too."""
    die(tmp_path)
    die(tmp_path, "list(journal.orphans())", names="cd")
    journal = Journal(tmp_path, "there")

    assert len(files(tmp_path)) == 1
    assert list(journal.orphans()) == [opened("d"), opened("b")]
    assert list(Journal(tmp_path, "there").orphans()) == []
    journal.delivered(["b", "d"])
    journal.close()
    assert files(tmp_path) == []


def test_of_many_that_start_at_once_one_takes_over(tmp_path):
    """However many look at the same moment, what is open has one new owner."""
    die(tmp_path)
    code = (
        "import sys; from pathlib import Path; from toolwitness.sdk.state import Journal; journal = Journal(Path(sys.argv[1]), "
        "'there'); sys.stdin.readline(); print(len(list(journal.orphans())), flush=True); sys.stdin.readline()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", code, tmp_path], **pipes) for _ in range(4)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    counts = [int(process.stdout.readline()) for process in processes]
    for process in processes:
        process.communicate()

    assert sorted(counts) == [0, 0, 0, 1]


def test_another_destination_is_left_alone(tmp_path):
    """What was meant for one collector or file is never shipped to another."""
    die(tmp_path)

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
    """What is delivered goes, also while one attempt stays open for all that time; that one is still known."""
    journal = Journal(tmp_path)
    journal.started(opened("hangs"))
    for number in range(8000):
        journal.started(opened(str(number)))
        journal.delivered([str(number)])
    (own,) = files(tmp_path)

    assert own.stat().st_size < 1.1 * 1024 * 1024
    assert own.read_text().startswith(opened("hangs").line())


THREADS = """
import threading
def work(thread):
    for number in range(3000):
        name = f"{thread}{number}"
        journal.started(OpenAttempt("call", "run", "t" * 32, name, "s" * 16, 1, "bank", "pay", 1))
        if number % 100:
            journal.delivered([name])
threads = [threading.Thread(target=work, args=(thread,)) for thread in "wxyz"]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert journal.failures == 0
"""


def test_threads_lose_nothing_while_the_file_is_renewed(tmp_path):
    """What many threads began and was not delivered is known after a crash, just that, and stands in one file."""
    die(tmp_path, THREADS)
    (size,) = (path.stat().st_size for path in files(tmp_path))
    found = {attempt.attempt_span_id for attempt in Journal(tmp_path, "there").orphans()}

    assert size < 1.1 * 1024 * 1024
    assert found == {f"{thread}{number}" for thread in "wxyz" for number in range(0, 3000, 100)} | {"b"}


def test_a_failing_journal_is_told_once(tmp_path, caplog):
    """One warning says what it may cost and what to do; not before the next delivery, since a tool would wait for it."""
    (tmp_path / "journal").write_text("not a folder")
    journal = Journal(tmp_path)
    journal.started(opened("a"))
    before = caplog.messages[:]
    journal.delivered([])
    journal.started(opened("b"))
    journal.delivered([])
    (said,) = caplog.messages

    assert before == []
    assert "TOOLWITNESS_STATE_DIR" in said


def test_beyond_its_size_a_line_counts_as_failed(tmp_path):
    """A collector that is away for long costs so much disk and no more; what was written before stays known."""
    journal = Journal(tmp_path, most_bytes=2 * len(opened("a").line()))
    for name in "abc":
        journal.started(opened(name))
    (own,) = files(tmp_path)

    assert journal.failures == 1
    assert own.read_text() == opened("a").line() + opened("b").line()


def test_half_a_line_on_a_full_disk_spoils_no_other(tmp_path):
    """A line that finds no room is taken back whole, and what is written later is read."""
    limit = len(opened("a").line()) + 10
    die(
        tmp_path,
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit} + own.stat().st_size, -1));"
        "[journal.started(OpenAttempt('call', 'run', 't' * 32, name, 's' * 16, 1, 'bank', 'pay', 1)) for name in 'cd'];"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1)); assert journal.failures == 1;"
        "journal.started(OpenAttempt('call', 'run', 't' * 32, 'e', 's' * 16, 1, 'bank', 'pay', 1))",
    )

    assert list(Journal(tmp_path, "there").orphans()) == [opened("b"), opened("c"), opened("e")]


def test_an_end_with_something_open_keeps_the_file(tmp_path):
    """It stays this process's until that is gone, since the attempt may still be running; then a later one takes over."""
    closes = "journal.close(); assert list(Journal(Path(sys.argv[1]), 'there').orphans()) == []"
    die(tmp_path, closes)

    assert list(Journal(tmp_path, "there").orphans()) == [opened("b")]


def test_a_forked_child_does_not_keep_its_parent_s_file_alive(tmp_path):
    """A parent that is gone is gone, however long its child lives on."""
    waiting, until = os.pipe()
    forks = (
        f"ready, told = os.pipe(); child = os.fork(); child or (os.write(told, b'.'), os.read({waiting}, 1), os._exit(0)); "
        "os.read(ready, 1)"
    )
    die(tmp_path, forks, pass_fds=[waiting])
    found = list(Journal(tmp_path, "there").orphans())
    os.close(until)
    os.close(waiting)

    assert found == [opened("b")]


def test_a_tool_that_reads_leaves_the_journal_alone(tmp_path):
    """Only what may write is announced, and only what was announced is ended there."""
    journal = Journal(tmp_path)
    recorder = Recorder(exporter=InMemorySpanExporter(), clock=ManualClock(1), key=b"k", inline=True, journal=journal)
    recorder.register(ToolDefinition(name="look", side_effect=SideEffect.READ))
    with recorder.call("look") as call, call.attempt():
        pass

    assert list((tmp_path / "journal").rglob("*.jsonl")) == []
