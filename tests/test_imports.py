"""Who may import whom, and what an import costs, checked on the code and in fresh interpreters."""

import subprocess
import sys

import pytest

HEAVY = ("duckdb", "polars", "pyarrow", "pandas", "streamlit", "starlette", "uvicorn", "playwright")
LOADED = f"import sys, toolwitness; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
USE_FRONT_DOOR = "import toolwitness; [getattr(toolwitness, name) for name in toolwitness.__all__]; "


def _python(code, cwd):
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_contracts_are_kept(root):
    """The floors of the architecture hold, as import-linter reads them from pyproject."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


def test_front_door_loads_nothing_heavy(tmp_path):
    """`import toolwitness` in an agent loads no database, data frame, page or server library."""
    assert _python(LOADED, tmp_path) == ""


def test_names_of_the_front_door_load_nothing_heavy(tmp_path):
    """Nor does touching every public name."""
    assert _python(USE_FRONT_DOOR + LOADED, tmp_path) == ""


@pytest.mark.parametrize("module", ["toolwitness.model.outcome", "toolwitness.sdk", "toolwitness.collector.store.store"])
def test_user_folders_do_not_shadow_ours(tmp_path, module):
    """A project with folders `model`, `sdk` and `collector` of its own gets ours under our name."""
    for name in ("model", "sdk", "collector", "redaction", "replay", "dashboard", "commands"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('the user\\'s own package was imported')\n")

    found = _python(f"import {module}; print({module}.__name__)", tmp_path)

    assert found == module


def test_user_files_do_not_shadow_the_command_line(tmp_path):
    """`python -m toolwitness` in such a project starts too."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "__init__.py").write_text("raise RuntimeError\n")

    done = subprocess.run(
        [sys.executable, "-m", "toolwitness", "--help"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "replay" in done.stdout
