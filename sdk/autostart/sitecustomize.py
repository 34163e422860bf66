"""Python runs this at its start where `toolwitness run` put its folder on PYTHONPATH: instruments, then lets another one run.

Child processes inherit the folder, so agents that the agent starts are recorded too.
"""

import importlib.util
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path


def _names(variable: str) -> list[str] | None:
    given = os.environ.get(variable)
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


def _instrument() -> None:
    try:
        import toolwitness  # noqa: PLC0415 -- may be missing in this Python
    except ImportError as error:
        sys.stderr.write(f"toolwitness: nothing is recorded, since {sys.executable} cannot import it ({error})\n")
        return
    toolwitness.instrument(
        db=os.environ.get("TOOLWITNESS_RUN_DB"),
        only=_names("TOOLWITNESS_RUN_ONLY"),
        skip=_names("TOOLWITNESS_RUN_SKIP") or (),
    )


def _run_the_other() -> None:
    """The environment's own `sitecustomize`, which ours stands before."""
    here = Path(__file__).parent.resolve()
    elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    spec = PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


_instrument()
_run_the_other()
