import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from importlib.metadata import version

import pytest
from starlette.applications import Starlette

from toolwitness.__main__ import _app_builder
from toolwitness.collector.importing import import_into
from toolwitness.collector.receive.collector import Collector
from toolwitness.collector.store.store import Store
from toolwitness.tests.factories import History


def toolwitness(*arguments):
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "toolwitness", *map(os.fspath, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(name="answer")
def fixture_answer(cli):
    """`answer(*arguments)` -> what the command prints as JSON."""

    def answer(*arguments):
        code, out, err = cli(*arguments, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return answer


@pytest.fixture(name="small")
def fixture_small(root):
    """A small file in tau-bench's format, made for these tests, with records that cannot be read among its runs."""
    return root / "tests" / "collector" / "importers" / "fixtures" / "tau_small.json"


@pytest.fixture(name="known", scope="module")
def fixture_known(root, tmp_path_factory):
    """A database with the runs of the small file, to be read."""
    db = tmp_path_factory.mktemp("known") / "db.duckdb"
    import_into(db, [root / "tests" / "collector" / "importers" / "fixtures" / "tau_small.json"])
    return db


def test_the_version_is_told(cli):
    """`--version` needs no command."""
    assert cli("--version")[:2] == (0, f"toolwitness {version('toolwitness')}\n")


def test_an_unreadable_record_is_counted_and_costs_only_itself(small, tmp_path, answer):
    """Records that cannot be read stand among the rejected, the others are stored."""
    result = answer("import", small, "--db", tmp_path / "db.duckdb")

    assert result["runs"] == 2
    assert sum(result["rejected"].values()) == 4
    assert result["received"] == result["stored"] + result["duplicate"] + sum(result["rejected"].values())


def test_tables_are_plain_text_when_piped(small, tmp_path, known, cli):
    """Without `--json` a person gets tables; piped they hold no colours."""
    told = [cli("import", small, "--db", tmp_path / "db")[1], cli("runs", "--db", known)[1], cli("tools", "--db", known)[1]]

    assert "2 runs, 8 decisions, 8 calls" in told[0]
    assert "outcome" in told[1]
    assert "runs ok: succeeded" in " ".join(told[2].split())
    assert not any("\x1b" in text for text in told)


@pytest.mark.parametrize("command", ["runs", "tools"])
def test_runs_and_tools_of_one_source(known, answer, cli, command):
    """`--source` leaves every other source out; one that there is not is told, with those that there are."""
    assert answer(command, "--db", known, "--source", "tau-bench") == answer(command, "--db", known) != []
    said = "nothing here has the source 'live'; there is: tau-bench\n"
    assert cli(command, "--db", known, "--source", "live", "--json") == (0, "[]\n", said)


def test_runs_can_be_cut(known, answer, cli):
    """`--limit` keeps the first runs; a person is told how many there are, a program gets just the runs."""
    assert answer("runs", "--db", known, "--limit", "1") == answer("runs", "--db", known)[:1]
    assert "total" not in answer("runs", "--db", known)[0]
    assert "1 of 2 runs, newest first; --limit 2 shows all" in cli("runs", "--db", known, "--limit", "1")[1]
    assert cli("runs", "--db", known)[1].endswith("2 runs\n")


@pytest.mark.parametrize(("on_terminal", "shown"), [(True, 50), (False, 60)])
def test_a_terminal_gets_the_first_fifty_runs(tmp_path, cli, monkeypatch, on_terminal, shown):
    """Piped text and JSON are whole."""
    history = History()
    for number in range(60):
        history.run(f"run {number:02}", task=f"task-{number:02}")
    store = Store.open(tmp_path / "db.duckdb")
    store.write_group([history.rows])
    store.close()
    monkeypatch.setattr("toolwitness.__main__.on_terminal", lambda: on_terminal)

    out = cli("runs", "--db", tmp_path / "db.duckdb")[1]

    assert out.count("task-") == shown
    assert len(json.loads(cli("runs", "--db", tmp_path / "db.duckdb", "--json")[1])) == 60


@pytest.mark.parametrize("command", [("runs",), ("tools",), ("replay", "x")])
def test_a_missing_database_is_one_sentence(tmp_path, cli, command):
    """No file: exit code 1, one line on standard error, no traceback."""
    code, out, err = cli(*command, "--db", tmp_path / "none.duckdb")

    assert (code, out) == (1, "")
    assert err.startswith("toolwitness: there is no database at")


def test_an_unknown_file_names_what_was_seen_and_what_is_supported(tmp_path, cli):
    """A file in no known format is told by what it holds, and nothing is made of it."""
    path = tmp_path / "other.json"
    path.write_text('{"hello": 1}')

    code, _, err = cli("import", path, "--db", tmp_path / "db.duckdb")

    assert code == 1
    assert all(said in err for said in ("other.json", "'hello'", "tau-bench", "livemcpbench"))
    assert not (tmp_path / "db.duckdb").exists()


def test_a_format_that_no_record_is_in_imports_nothing(small, tmp_path, cli):
    """The error names file and reasons, and no database is made."""
    code, out, err = cli("import", small, "--format", "livemcpbench", "--db", tmp_path / "db.duckdb")

    assert (code, out) == (1, "")
    assert all(said in err for said in (small.name, "trajectory_without_messages", "livemcpbench was asked for"))
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_an_import_with_a_sentence(small, tmp_path, cli, answer, monkeypatch):
    """Exit code 130; importing again brings the rest, and nothing twice."""

    def interrupt(*_):
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr("toolwitness.__main__._progress", lambda: nullcontext(interrupt))
        code, out, err = cli("import", small, "--db", tmp_path / "db.duckdb")
    assert (code, out) == (130, "")
    assert err.startswith("toolwitness: interrupted; import the same files again")

    again = answer("import", small, "--db", tmp_path / "db.duckdb")
    assert (len(answer("runs", "--db", tmp_path / "db.duckdb")), again["runs"]) == (2, 2)


@pytest.mark.parametrize("command", [("runs",), ("tools",), ("replay", "x"), ("up", "--port", "0", "--detach")])
def test_a_file_that_is_no_database_is_one_sentence(tmp_path, cli, command):
    """Exit code 1 and the file's name; nothing is made beside it."""
    (tmp_path / "empty.json").touch()

    code, out, err = cli(*command, "--db", tmp_path / "empty.json")

    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "empty.json is no database: it is empty" in err
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "command",
    [
        ("tools", "--by", "month"),
        ("runs", "--limit", "0"),
        ("import", "/no/such/file"),
        ("nonsense",),
        ("replay",),
        ("up", "--open-timeout", "soon"),
        ("purge", "--older-than", "3m", "--dry-run"),
    ],
)
def test_wrong_usage_exits_with_2(cli, command):
    """Wrong options, missing arguments and files that do not exist are wrong usage."""
    assert cli(*command)[0] == 2


def test_without_pages_the_receiver_stands_alone(monkeypatch, capsys, tmp_path):
    """Where streamlit is not installed, `up` makes the plain application and says so."""
    monkeypatch.setitem(sys.modules, "streamlit", None)
    monkeypatch.delitem(sys.modules, "toolwitness.dashboard.server", raising=False)

    app = _app_builder()(Collector(tmp_path / "db.duckdb"))

    assert type(app) is Starlette
    assert "pip install 'toolwitness[dashboard]'" in capsys.readouterr().err


def test_help_loads_nothing_heavy():
    """`--help` needs no database, no frames and no pages."""
    code = (
        "import sys; sys.argv = ['toolwitness', '--help']\n"
        "from toolwitness.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.exit(sorted({'duckdb', 'polars', 'pyarrow', 'streamlit', 'opentelemetry'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_bare_install_says_which_extra_is_missing(tmp_path):
    """Without duckdb, a command that reads says how to install what it needs."""
    code = (
        "import sys; sys.modules['duckdb'] = None\n"
        f"sys.argv = ['toolwitness', 'runs', '--db', {str(tmp_path / 'x.duckdb')!r}]\n"
        "from toolwitness.__main__ import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.startswith("toolwitness: this command needs duckdb")
    assert "pip install 'toolwitness[collector]'" in done.stderr


@pytest.fixture(name="serving", scope="module")
def fixture_serving(tmp_path_factory):
    """A toolwitness that was started in the background on a free port: database path and its port."""
    db = tmp_path_factory.mktemp("served") / "served.duckdb"
    started = toolwitness("up", "--db", db, "--port", "0", "--detach")
    assert started.returncode == 0, started.stderr
    yield db, started.stdout.strip().rpartition("http://127.0.0.1:")[2]
    toolwitness("down", "--db", db)


def test_everything_works_while_a_toolwitness_holds_the_file(serving, small, answer, cli):
    """Importing goes through the running toolwitness, and so do runs, replay and tools."""
    db, port = serving

    imported = answer("import", small, "--db", db)
    run = answer("runs", "--db", db)[0]["run"]

    assert imported["stored"] == imported["received"] - 4
    assert answer("replay", run, "--db", db)
    assert answer("tools", "--db", db)
    already = f"toolwitness already serves {db} at http://127.0.0.1:{port}\n"
    assert cli("up", "--db", db, "--port", port) == (0, already, "")
    moved = f"port 1 was not used; to move it there, stop it first: toolwitness down --db {db}\n"
    assert cli("up", "--db", db, "--port", "1") == (0, already, moved)


def test_down_stops_it_and_the_file_keeps_everything(tmp_path, small, answer, cli):
    """After `down` the file is free and holds what was stored; stopping again is no error."""
    db = tmp_path / "db.duckdb"
    toolwitness("up", "--db", db, "--port", "0", "--detach")
    answer("import", small, "--db", db)
    before = answer("tools", "--db", db)

    assert "stopped" in cli("down", "--db", db)[1]
    assert answer("tools", "--db", db) == before
    assert cli("down", "--db", db)[:2] == (0, f"no toolwitness serves {db}\n")


def test_up_runs_in_the_foreground_until_it_is_told_to_stop(tmp_path):
    """`up` prints its URL and ends with exit code 0 on SIGTERM."""
    command = [sys.executable, "-m", "toolwitness", "up", "--db", os.fspath(tmp_path / "db.duckdb"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)

    assert "http://127.0.0.1:" in line
    assert process.returncode == 0


def test_how_long_an_attempt_may_be_open_is_told_to_the_file(tmp_path, cli):
    """`up --open-timeout` reaches the process in the background, and the file keeps it."""
    db = tmp_path / "db.duckdb"
    toolwitness("up", "--db", db, "--port", "0", "--detach", "--open-timeout", "2h")
    cli("down", "--db", db)
    store = Store.open(db, read_only=True)
    kept = store.read(lambda cursor: cursor.sql("select value from meta where key = 'open_timeout_ns'").fetchall())
    store.close()

    assert kept == [(str(2 * 3600 * 10**9),)]


def test_up_on_a_taken_port_says_so(serving, tmp_path, cli):
    """A port that another toolwitness has is named with what it serves."""
    db, port = serving

    code, _, err = cli("up", "--db", tmp_path / "other.duckdb", "--port", port)

    assert code == 1
    assert f"port {port}" in err
    assert db.name in err


def test_a_start_in_the_background_that_fails_shows_its_log(serving, tmp_path, cli):
    """What the background process said before it ended is shown, and nothing that an earlier one said."""
    (tmp_path / "other.duckdb.log").write_text("said by an earlier one\n")

    code, _, err = cli("up", "--db", tmp_path / "other.duckdb", "--port", serving[1], "--detach")

    assert code == 1
    assert err.startswith(f"toolwitness: could not start in the background; what it said:\nport {serving[1]}")
    assert "earlier" not in err


def test_a_terminal_without_unicode_is_served_too(known):
    """What it cannot show becomes a question mark."""
    done = subprocess.run(
        [sys.executable, "-m", "toolwitness", "tools", "--db", known],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "?" in done.stdout
