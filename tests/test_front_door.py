"""The names that a user imports, and what `instrument()` does when it cannot."""

import os
import subprocess
import sys
import textwrap

import pytest

import toolwitness
from toolwitness.replay.load import open_source
from toolwitness.replay.metrics import tool_calls, unknown_commits

NAMES = [
    "RedactingSpanExporter",
    "Settings",
    "ToolDefinition",
    "call",
    "current_call",
    "decision",
    "flush",
    "instrument",
    "reconciler",
    "run",
    "tool",
    "uninstrument",
]


def test_the_front_door_is_pinned():
    """A new public name is a decision; at most twelve."""
    assert NAMES == toolwitness.__all__ == sorted(toolwitness.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there_and_documented(name):
    """Each name can be had and tells what it is for."""
    assert getattr(toolwitness, name).__doc__


def test_a_name_that_is_not_there_says_what_is():
    """A misspelling is answered with the names."""
    with pytest.raises(AttributeError, match=r"no attribute 'instument'; it has .*instrument"):
        toolwitness.instument  # noqa: B018 -- asking is the point


AGENT = """
    import sys
    import toolwitness
    toolwitness.instrument(db=sys.argv[1])

    @toolwitness.tool(side_effect="write")
    def pay(amount):
        return {"ok": True}

    with toolwitness.run(task="invoice-7") as run:
        with toolwitness.decision("scripted", tools=[pay]) as step:
            call = step.call("pay", {"amount": 5})
        with call:
            print(pay(amount=5))
        run.finish("success")
"""


def agent(db, *, code=AGENT, **environment):
    """Run an agent that writes the file itself."""
    environ = {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(db)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**environ, **environment},
        check=False,
    )


def test_the_process_writes_the_file_itself(tmp_path):
    """With `db=` no collector is needed, and the file holds the run when the script has ended."""
    done = agent(tmp_path / "a.duckdb")
    with open_source(tmp_path / "a.duckdb") as source:
        (run,) = source.query("runs").to_dicts()

    assert (done.returncode, done.stdout, done.stderr) == (0, "{'ok': True}\n", "")
    assert (run["task"], run["outcome"], run["decisions"], run["calls"]) == ("invoice-7", "success", 1, 1)


def test_a_held_file_is_an_error_that_names_the_process(tmp_path):
    """The agent runs on unrecorded, and one line says who holds the file."""
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print(flush=True); input()",
            tmp_path / "a.duckdb",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        holder.stdout.readline()
        done = agent(tmp_path / "a.duckdb")
        holder.stdin.write(b"\n")
        holder.stdin.flush()

    assert (done.returncode, done.stdout) == (0, "{'ok': True}\n")
    assert len(done.stderr.splitlines()) == 1
    assert str(holder.pid) in done.stderr


def test_without_the_extra_the_agent_runs_on(tmp_path):
    """A bare install says which extra is missing, and the agent is not affected."""
    (tmp_path / "duckdb.py").write_text("raise ModuleNotFoundError('no duckdb here', name='duckdb')")
    done = agent(tmp_path / "a.duckdb", PYTHONPATH=str(tmp_path))

    assert (done.returncode, done.stdout) == (0, "{'ok': True}\n")
    assert "pip install 'toolwitness[collector]'" in done.stderr


def test_a_bad_setting_in_the_environment_does_not_end_the_agent(tmp_path):
    """It is told, with its name, and nothing is recorded."""
    done = agent(tmp_path / "a.duckdb", TOOLWITNESS_EXPORT_TIMEOUT="soon")

    assert (done.returncode, done.stdout) == (0, "{'ok': True}\n")
    assert "TOOLWITNESS_EXPORT_TIMEOUT" in done.stderr


KILLED = """
    import os, signal, sys
    import toolwitness
    toolwitness.instrument(db=sys.argv[1])

    @toolwitness.tool(side_effect="write")
    def pay(amount):
        os.kill(os.getpid(), signal.SIGKILL)

    with toolwitness.run(task="invoice-7"), toolwitness.decision("scripted", tools=[pay]) as step:
        with step.call("pay", {"amount": 5}):
            pay(amount=5)
"""


def test_a_write_that_was_running_at_a_kill_is_an_unknown_commit(tmp_path):
    """The next process of the same file tells it, with its tool, decision and side effect, and at once."""
    db = tmp_path / "a.duckdb"
    killed = agent(db, code=KILLED)
    agent(db)
    with open_source(db) as source:
        (row,) = unknown_commits(source).to_dicts()
        (call,) = source.query("replay_calls", run=row["run"]).to_dicts()

    assert killed.returncode == -9
    assert (row["tool"], row["outcome"]) == ("pay", "unknown_commit")
    assert (call["side_effect"], call["decision_id"] is not None) == ("write", True)


FORKS = """
    import os, sys
    import toolwitness
    toolwitness.instrument(db=sys.argv[1])

    @toolwitness.tool(side_effect="write")
    def pay():
        pid = os.fork()
        if pid == 0:
            sys.exit(0)
        os.waitpid(pid, 0)
        return {"ok": True}

    with toolwitness.run(task="t"):
        pay()
    print("done")
"""


def test_a_fork_inside_a_tool_does_not_end_its_call(tmp_path):
    """The child leaves the parent's scopes alone; the call is what it was in the parent."""
    db = tmp_path / "a.duckdb"
    done = agent(db, code=FORKS)
    with open_source(db) as source:
        (row,) = tool_calls(source, "", "pay").to_dicts()

    assert done.stdout.endswith("done\n")
    assert row["outcome"] == "succeeded"


def test_a_user_without_a_home_can_be_recorded(tmp_path):
    """Where there is no home for state, a temporary folder serves."""
    code = """
        import pathlib
        def homeless(cls): raise RuntimeError("Could not determine home directory.")
        pathlib.Path.home = classmethod(homeless)
    """
    done = agent(tmp_path / "a.duckdb", code=textwrap.dedent(code) + textwrap.dedent(AGENT), TOOLWITNESS_STATE_DIR="")

    assert (done.returncode, done.stdout, done.stderr) == (0, "{'ok': True}\n", "")
