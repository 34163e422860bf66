import subprocess
import sys


def test_no_module_of_the_pages_hides_another(root):
    """While a page runs its folder comes first on the path, so no file there may be named like any installed module."""
    names = sorted(path.stem for path in (root / "dashboard").iterdir() if path.suffix == ".py" or path.is_dir())
    names = [name for name in names if not name.startswith("__")]
    find = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    found = subprocess.run([sys.executable, "-I", "-c", find, *names], capture_output=True, text=True, check=True, cwd="/")
    assert found.stdout.strip() == "[]"
