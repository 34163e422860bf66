"""What every test stands on: the shared data, and a state of its own instead of the user's."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent

# These machines are shared: how long an example takes says nothing about the code.
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Browser tests come last: Playwright leaves an event loop behind in which `asyncio.run` refuses to run."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


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


@pytest.fixture(autouse=True)
def _own_state(monkeypatch, tmp_path_factory):
    """No test sees the user's settings or writes to the user's state directory."""
    for name in list(os.environ):
        if name.startswith(("TOOLWITNESS_", "OTEL_")) and name != "TOOLWITNESS_SHARED":
            monkeypatch.delenv(name)
    monkeypatch.setenv("TOOLWITNESS_STATE_DIR", str(tmp_path_factory.mktemp("state")))
