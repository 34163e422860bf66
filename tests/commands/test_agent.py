"""`toolwitness run` and `toolwitness frameworks`."""

import json
import os
import subprocess
import sys

import pytest

AGENT = """
import json, sys
import openai
sys.stdout.write(json.dumps([sys.argv[1:], type(openai._base_client.SyncAPIClient.__dict__["request"]).__name__]))
sys.exit(7)
"""


@pytest.fixture(name="agent")
def _agent(tmp_path):
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    return path


def run(*arguments, **environment):
    """Start the command in a process of its own, which it hands over."""
    command = [sys.executable, "-m", "toolwitness", "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_the_program_runs_instrumented_with_its_own_arguments_and_exit_code(agent, tmp_path):
    """Options after the program's name are the program's."""
    done = run("--db", tmp_path / "a.duckdb", sys.executable, agent, "--only", "x", "-h")

    assert (done.returncode, done.stderr) == (7, "")
    assert json.loads(done.stdout) == [["--only", "x", "-h"], "Patched"]


def test_skip_leaves_a_framework_alone(agent, tmp_path):
    """The choice reaches the program."""
    done = run("--skip", "openai,anthropic", "--db", tmp_path / "a.duckdb", sys.executable, agent)

    assert json.loads(done.stdout)[1] == "function"


def test_a_wrong_name_is_told_before_anything_starts(agent):
    """The sentence says which names there are."""
    done = run("--only", "opneai", sys.executable, agent)

    assert (done.returncode, done.stdout) == (1, "")
    assert "no instrumentation is called opneai; there are" in done.stderr


def test_a_program_that_is_not_there_is_told(tmp_path):
    """As a shell does, by 127, and with what to try."""
    done = run(tmp_path / "agent.txt")

    assert done.returncode == 127
    assert "there is no program" in done.stderr


def test_the_sitecustomize_of_the_environment_still_runs(agent, tmp_path):
    """Ours stands before it and lets it run: once in the command itself, where ours is not yet, and once in the program."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import sys; sys.stderr.write('theirs')")
    done = run("--db", tmp_path / "a.duckdb", sys.executable, agent, PYTHONPATH=str(folder))

    assert (done.returncode, done.stderr) == (7, "theirs" * 2)


def test_frameworks_tells_ranges_and_what_is_installed(cli):
    """One row each; what is not installed is no error."""
    code, out, _ = cli("frameworks", "--json")
    rows = {row["name"]: row for row in json.loads(out)}

    assert code == 0
    assert rows["openai"]["state"] == "recorded"
    assert rows["openai"]["supported"].startswith(">=")
    assert {row["state"] for row in rows.values()} <= {"recorded", "not installed", "not supported"}


def test_frameworks_is_a_table_for_people(cli):
    """Readable at 100 columns."""
    code, out, _ = cli("frameworks")

    assert code == 0
    assert "openai_agents" in out
    assert max(map(len, out.splitlines())) <= 100
