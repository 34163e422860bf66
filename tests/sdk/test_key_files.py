"""What is kept of keys, for the next process."""

import json
import os
import subprocess
import sys
import textwrap
import threading

import pytest

import toolwitness
from toolwitness.model.exceptions import IdempotencyKeyError
from toolwitness.sdk import keybook, setup
from toolwitness.tests.fakes import bank
from toolwitness.tests.fakes.bank import paying


@pytest.fixture(autouse=True)
def _fresh():
    bank.fresh()


def books():
    """The files of this test's state folder."""
    return list((setup.Settings.usable().state_dir / "keys").glob("*.jsonl"))


def test_a_run_with_an_id_is_kept_in_one_private_file():
    """It holds digests, and nothing of arguments, ids, tools or keys."""
    with toolwitness.run(id="r-secret-run") as run:
        key = paying(4711)
        named = run.call("send", {"amount": 4712}, node="n-secret").idempotency_key
    (file,) = books()
    text = file.read_text()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [json.loads(line)[0] for line in text.splitlines()] == ["asked", "ended", "bound"]
    assert not [word for word in ("4711", "secret", "send", "bank", key, named) if word in text + file.name]


def test_a_run_without_an_id_leaves_no_file():
    """Nobody could go on with it."""
    with toolwitness.run():
        paying(5)
    assert books() == []


def test_a_line_that_a_crash_cut_is_passed_over():
    """Nobody got an answer by it, and what comes after it is read."""
    with toolwitness.run(id="r-1"):
        keys = [paying(5)]
    (file,) = books()
    with file.open("a") as out:
        out.write('["asked", "ab')
    for _ in range(2):
        with toolwitness.run(id="r-1"):
            keys.append(paying(5))
    assert len({*keys}) == 3


def test_without_a_writable_folder_a_run_with_an_id_has_no_keys(tmp_path, monkeypatch):
    """A restart would make others; a run that cannot outlive the process has some."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TOOLWITNESS_STATE_DIR", str(tmp_path / "file" / "state"))
    with toolwitness.run():
        assert paying(5)
    with toolwitness.run(id="r-1") as run:
        with pytest.raises(IdempotencyKeyError, match="TOOLWITNESS_DIGEST_KEY"):
            paying(5)
        assert run.call("pay", idempotency_key="k-1").idempotency_key == "k-1"


def test_with_a_configured_secret_it_still_needs_the_folder(tmp_path, monkeypatch):
    """Which payments were made would be forgotten."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TOOLWITNESS_STATE_DIR", str(tmp_path / "file" / "state"))
    monkeypatch.setenv("TOOLWITNESS_DIGEST_KEY", "one of the team's")
    with toolwitness.run(id="r-1"), pytest.raises(IdempotencyKeyError, match="TOOLWITNESS_STATE_DIR"):
        paying(5)


def test_beyond_the_bound_there_is_no_key(monkeypatch):
    """None is forgotten, since a second payment would get the first one's."""
    monkeypatch.setattr(keybook, "_MOST", 3)
    with toolwitness.run():
        keys = [paying(amount) for amount in (1, 2, 3)]
        with pytest.raises(IdempotencyKeyError, match="in this run"):
            paying(4)
        assert paying(1) not in keys


def test_old_files_are_removed_and_others_stay():
    """By the time of the last key, and not while somebody holds them."""
    for run in ("r-1", "r-2"):
        with toolwitness.run(id=run):
            paying(5)
    first, second = books()
    os.utime(first, (0, 0))
    keybook.prune(first.parent)
    assert books() == [second]


def test_a_run_whose_file_was_removed_goes_on():
    """What this process knows it still knows."""
    with toolwitness.run(id="r-1"):
        keys = [paying(5)]
        (file,) = books()
        file.unlink()
        keys.append(paying(5))
    assert len({*keys}) == 2


def test_threads_that_make_the_same_payment_share_its_key():
    """However they meet."""
    keys = []
    with toolwitness.run(id="r-1") as run:

        def ask():
            keys.append(run.call("pay", {"amount": 5}).idempotency_key)

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(keys) == 16
    assert len({*keys}) == 1


PROCESS = """
    import os, signal, sys
    import toolwitness, toolwitness.model.exceptions
    telemetry, run, *ends = sys.argv[1:]
    if telemetry == "on":
        toolwitness.instrument(endpoint="http://127.0.0.1:9", exit_timeout_s=0, only=())

    @toolwitness.tool(side_effect="write")
    def pay(amount):
        print(toolwitness.current_call().idempotency_key, flush=True)
        end = ends.pop(0)
        if end == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if end == "forks":
            raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(fork(), 0)[1]))
        return {"ok": True}

    def fork():
        pid = os.fork()
        if pid:
            return pid
        try:
            ends.append("ok")
            pay(5)
        except toolwitness.model.exceptions.IdempotencyKeyError as error:
            os._exit("id=" in str(error) and 3)
        os._exit(0)

    with toolwitness.run(id=run or None):
        while ends:
            pay(5)
"""


def start(*arguments):
    """Begin a process with this test's state folder; each payment prints its key."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    command = [sys.executable, "-c", textwrap.dedent(PROCESS), *arguments]
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def process(*arguments):
    """The keys that a whole process printed, and how it ended."""
    running = start(*arguments)
    return running.communicate(timeout=60)[0].split(), running.returncode


@pytest.mark.parametrize("telemetry", [("on", "off"), ("off", "on")], ids="-".join)
def test_after_a_kill_the_next_process_repeats_what_was_open_and_nothing_else(telemetry):
    """The first payment is over, the second was running; whether anything is recorded changes nothing."""
    before, killed = process(telemetry[0], "invoice-7", "ok", "dies")
    after, ended = process(telemetry[1], "invoice-7", "ok", "ok")
    assert (killed, ended) == (-9, 0)
    assert before[1] == after[0]
    assert len({*before, *after}) == 3


def test_processes_at_work_on_one_run_use_up_no_key_twice():
    """Whatever they share while they overlap, the next payment has a key that none of them had."""
    running = [start("off", "invoice-7", *["ok"] * 20) for _ in range(4)]
    keys = [key for each in running for key in each.communicate(timeout=120)[0].split()]
    (last,), _ = process("off", "invoice-7", "ok")
    assert len(keys) == 80
    assert last not in keys
    assert len({*keys}) >= 20


@pytest.mark.parametrize(("run", "status"), [("", 3), ("invoice-7", 0)])
def test_a_forked_child_needs_a_run_with_an_id(run, status):
    """Parent and child would otherwise not know of each other's payments."""
    keys, ended = process("off", run, "forks")
    assert ended == status
    assert len({*keys}) == 1
