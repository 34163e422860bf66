"""What the documents say is what the code does."""

import os
import re
import subprocess
import sys
import tomllib

import pytest

from toolwitness.model import enums
from toolwitness.sdk.instrument import registry

ENUMS = [
    enums.RunOutcome,
    enums.OutcomeSource,
    enums.StopReason,
    enums.DecisionFinish,
    enums.Exposure,
    enums.GateKind,
    enums.Verdict,
    enums.Contract,
    enums.AttemptStatus,
    enums.Known,
    enums.ObservationStatus,
    enums.CommitLevel,
    enums.ItemStatus,
    enums.Cancellation,
    enums.SideEffect,
    enums.PrivacyClass,
]


def test_the_readme_s_agent_runs(root, tmp_path):
    """Its code runs as it stands, without a collector, and the one line on stderr says how to start one."""
    (code,) = re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)
    environ = {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}
    environ |= {"TOOLWITNESS_ENDPOINT": "http://127.0.0.1:9", "TOOLWITNESS_EXIT_TIMEOUT": "20"}  # on a busy machine
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout) == (0, "")
    assert "toolwitness up" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_guide_s_reconciler_is_asked(root, tmp_path):
    """Its code, saved as the module that the guide names, settles a call that an agent left in doubt."""
    (code,) = re.findall(r"```python\n(.*?)```", (root / "docs" / "reconciliation.md").read_text(), re.DOTALL)
    (tmp_path / "payments.py").write_text(code)
    agent = (
        "import toolwitness, payments\ntoolwitness.instrument(db='runs.duckdb')\nwith toolwitness.run():\n"
        "  with toolwitness.call('pay', {'order': 1}, server='bank', action_id='order-1'):\n"
        "    try: payments.pay(order=1)\n    except TimeoutError: pass\n"
    )
    asked = [sys.executable, "-m", "toolwitness", "reconcile", "payments.py", "--db", "runs.duckdb", "--run"]
    environ = {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}
    for command in ([sys.executable, "-c", agent], asked):
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")

    assert "bank/pay: committed -> committed; unknown_commit -> succeeded" in done.stdout


@pytest.mark.parametrize("enum", ENUMS)
def test_the_guide_lists_every_word(root, enum):
    """Each set of words stands in the guide, whole and in order."""
    text = (root / "docs" / "recording.md").read_text()
    assert ", ".join(f"`{member}`" for member in enum) in text


def test_no_link_in_the_documents_is_broken(root):
    """Every relative link leads to a file."""
    pages = [root / "README.md", root / "ARCHITECTURE.md", *(root / "docs").rglob("*.md")]
    links = [
        page.parent / link
        for page in pages
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    ]

    assert [str(link) for link in links if not link.exists()] == []


def test_the_guide_to_frameworks_is_the_registry(root):
    """Each instrumentation stands there with its package and range, and no other."""
    rows = re.findall(r"^\| `(\w+)` \| ([\w-]+) \| (\S+) \|", (root / "docs" / "frameworks.md").read_text(), re.MULTILINE)

    assert sorted(rows) == sorted((one.name, one.distribution, one.supported) for one in registry.OWN.values())


def test_every_framework_has_an_extra_of_its_range(root):
    """What `pip install toolwitness[name]` brings is what is supported."""
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    packages = {one.distribution: one.supported for one in registry.OWN.values() if one.distribution != registry.PYTHON}
    declared = {name: text for extra in extras.values() for text in extra for name in packages if text == name + packages[name]}

    assert declared.keys() == packages.keys()
