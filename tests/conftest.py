"""What every test stands on: the shared data, and a state of its own instead of the user's."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from toolwitness.__main__ import main
from toolwitness.sdk import reconcilers, setup

ROOT = Path(__file__).parent.parent

# These machines are shared: how long an example takes says nothing about the code.
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Browser tests come last: Playwright leaves an event loop behind in which `asyncio.run` refuses to run.

    Files with many tests come first, so that no process is left with a long one at the end.
    """
    sizes = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.get_closest_marker("browser") is not None, -sizes[item.path]))


@pytest.fixture(name="root", scope="session")
def fixture_root():
    """Folder of the source tree."""
    return ROOT


@pytest.fixture(name="shared", scope="session")
def fixture_shared():
    """Folder of recorded trajectories and reference figures, which is no part of the repository; skips where absent."""
    folder = Path(ROOT, os.environ.get("TOOLWITNESS_SHARED", "../shared")).resolve()
    if not (folder / "data").is_dir():
        pytest.skip(f"no shared data at {folder}: set TOOLWITNESS_SHARED to the folder that holds data/ and reference/")
    return folder


@pytest.fixture(name="import_both", scope="session")
def fixture_import_both(shared, tmp_path_factory):
    """The arguments of the command that imports both shared files of runs, with their tools, into one database."""
    names = ["tau-bench/gpt-4o-airline.dev_trials01.json.gz", "tau-bench/tau1_airline_tools.json",
             "livemcpbench/dev_even.json.gz", "livemcpbench/tools.json.gz"]  # fmt: skip
    db = tmp_path_factory.mktemp("both") / "both.duckdb"
    return ["import", *(str(shared / "data" / name) for name in names), "--db", str(db), "--json"]


@pytest.fixture(name="both", scope="session")
def fixture_both(import_both):
    """That database, to be read, and what its import printed; it takes long enough to be done once."""
    command = [sys.executable, "-m", "toolwitness", *import_both]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return Path(import_both[import_both.index("--db") + 1]), json.loads(done.stdout)


@pytest.fixture(name="cli")
def fixture_cli(monkeypatch, capsys):
    """`cli(*arguments)` -> exit code, standard output, standard error; in this process, since that is quicker."""

    def cli(*arguments):
        monkeypatch.setattr(sys, "argv", ["toolwitness", *map(os.fspath, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return (end.value.code or 0, *capsys.readouterr())

    return cli


@pytest.fixture(autouse=True)
def _own_state(monkeypatch, tmp_path_factory):
    """No test sees the user's settings, writes to the user's state directory or declares tools for the next one."""
    monkeypatch.setattr(setup._Active, "keys", None)  # noqa: SLF001 -- a process has one secret, tests have one each
    monkeypatch.setattr(setup._Active, "silent", None)  # noqa: SLF001 -- as above
    monkeypatch.setattr(setup, "_declared", {(each.server, each.name): each for each in setup.declared()})
    monkeypatch.setattr(reconcilers, "_registered", {})
    for name in list(os.environ):
        if name.startswith(("TOOLWITNESS_", "OTEL_")) and name != "TOOLWITNESS_SHARED":
            monkeypatch.delenv(name)
    monkeypatch.setenv("TOOLWITNESS_STATE_DIR", str(tmp_path_factory.mktemp("state")))
