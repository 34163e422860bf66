"""What an install brings: every folder and every file that the product reads at run time."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

CONSTRAINTS = ("constraints.txt", "constraints-crewai.txt")
FOLDERS = ("model", "redaction", "sdk", "collector", "replay", "dashboard", "commands")
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "var", "tests")


@pytest.fixture(name="wheel", scope="module")
def fixture_wheel(root, tmp_path_factory):
    """Names of the files in a wheel that was built from a copy of the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(root, folder / "tree", ignore=LEFT_OUT, symlinks=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(folder),
        str(folder / "tree"),
    ]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


@pytest.fixture(name="pyproject", scope="module")
def fixture_pyproject(root):
    """The project's declarations."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def _sources(root, suffixes):
    """Paths below the package folders, relative to the root."""
    return {
        path.relative_to(root)
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.is_file() and path.suffix in suffixes and "__pycache__" not in path.parts
    }


def test_packages_list_is_complete(root, pyproject):
    """Every folder that holds Python files is declared, and nothing else is."""
    folders = {path.parent for path in _sources(root, {".py"})}

    expected = {"toolwitness", *("toolwitness." + ".".join(folder.parts) for folder in folders)}

    assert expected == set(pyproject["tool"]["setuptools"]["packages"])


def test_every_package_folder_is_known_to_this_test(root):
    """A new top-level package cannot hide from these tests."""
    folders = {path.parent.name for path in root.glob("*/__init__.py")}

    assert folders - set(FOLDERS) == set()


def test_wheel_holds_every_module(root, wheel):
    """Each Python file of the packages is in the wheel, under `toolwitness/`."""
    expected = {f"toolwitness/{path.as_posix()}" for path in _sources(root, {".py"})}
    expected |= {f"toolwitness/{path.name}" for path in root.glob("*.py")}

    assert expected == {name for name in wheel if name.endswith(".py")}


def test_wheel_holds_every_statement(root, wheel):
    """Each SQL file and each order manifest is in the wheel."""
    expected = {f"toolwitness/{path.as_posix()}" for path in _sources(root, {".sql"})}
    expected |= {f"toolwitness/{path.relative_to(root).as_posix()}" for path in (root / "collector").rglob("_order")}

    assert expected == {name for name in wheel if name.endswith((".sql", "/_order"))}


def test_wheel_says_that_it_is_typed_and_licensed(wheel):
    """Type checkers of users read our annotations, and the licence travels along."""
    assert "toolwitness/py.typed" in wheel
    assert any(Path(name).name == "LICENSE" for name in wheel)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_are_names_and_versions_only(root, name):
    """The pinned lists hold no hosts, no paths and no editable installs."""
    lines = (root / name).read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]

    assert [line for line in pins if line.count("==") != 1 or set(line) & set("/@: ")] == []
    assert pins == sorted(pins, key=lambda line: line.split("==")[0].lower())


def test_constraints_cover_what_is_declared(root, pyproject):
    """Each direct dependency of the package and its extras is pinned."""
    lines = [line for name in CONSTRAINTS for line in (root / name).read_text(encoding="utf-8").lower().splitlines()]
    pinned = {line.split("==")[0] for line in lines}
    project = pyproject["project"]
    declared = [*project["dependencies"], *(item for extra in project["optional-dependencies"].values() for item in extra)]
    names = {item.split(">=")[0].lower() for item in declared if not item.startswith("toolwitness[")}

    assert names - pinned == set()
