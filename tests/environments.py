"""Runs tests in environments of their own, made below `.venv-others`, and says in a table what ran there.

    python tests/environments.py oldest [NAME ...]   each framework in the oldest version that is supported, with its own tests
    python tests/environments.py beside              the instrumentors of others, with which ours has to get along

Versions are read from the extras, whose ranges are the registry's. What else comes along is pinned by constraints.txt where
that holds, for what toolwitness itself needs; the rest is what fits the framework.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
import zlib
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from toolwitness.sdk.instrument import registry

ROOT = Path(__file__).parent.parent
HOME = ROOT / ".venv-others"
TESTS = ROOT / "tests" / "sdk" / "instrument"
EVERYBODY_S = ("test_every_framework.py", "test_non_interference.py")
RUNNER = ("pytest", "hypothesis")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TOGETHER = {"httpx": "http", "httpx2": "http", "requests": "http"}
"""Whose tests need each other."""
COMPANIONS = {
    "http": ("openai", *PROJECT["optional-dependencies"]["collector"]),
    "langchain": ("langchain", "langchain-openai", "langgraph-prebuilt==1.0.2"),  # newer ones need a newer langgraph, unsaid
    "fastmcp": ("openai",),
    "litellm": ("tenacity",),  # which it retries by, where it is
    "mcp": ("openai",),
    "pydantic_ai": ("openai",),
}
"""What a framework's tests need beside its extra."""
BESIDE = (
    "openai",
    "langchain",
    "langchain-openai",
    "logfire",
    "openinference-instrumentation-openai",
    "openinference-instrumentation-langchain",
    "opentelemetry-instrumentation-openai",
    "opentelemetry-instrumentation-langchain",
)


class FailedError(Exception):
    """A command failed; its output is the message."""


@dataclass(frozen=True)
class Environment:
    """Where tests run: its folder's name, what is installed, which tests, and which of their names are meant."""

    name: str
    requirements: tuple[str, ...]
    tests: tuple[Path, ...]
    wanted: str = ""

    @property
    def python(self):
        """Its interpreter."""
        return HOME / self.name / "bin" / "python"

    def make(self):
        """Install everything, unless that is done for just these requirements at this place."""
        pins = pinned()
        state = str(zlib.crc32(repr((self.requirements, pins, PROJECT["dependencies"], str(ROOT))).encode()))
        ready = HOME / self.name / ".ready"
        if ready.exists() and ready.read_text() == state:
            return
        say(f"making {HOME.name}/{self.name}")
        run(sys.executable, "-m", "venv", "--clear", HOME / self.name)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
            constraints.write("\n".join(pins))
            constraints.flush()
            try:
                self._install("--constraint", constraints.name)
            except FailedError:
                say("  without pins, which do not hold beside these versions")
                self._install()
        ready.write_text(state)

    def _install(self, *options):
        install = ("-m", "pip", "install", "--quiet", "--no-compile", "--only-binary=:all:", *options)
        run(self.python, *install, *RUNNER, "--editable", ".", *self.requirements)

    def test(self):
        """Run the tests; gives pytest's last line. What old versions warn of beside newer ones is not ours to answer for."""
        options = ("-q", "--tb=line", "-p", "no:cacheprovider", "-W", "default", "-k", self.wanted)
        return run(self.python, "-m", "pytest", *options, *self.tests).strip().splitlines()[-1]


def say(text):
    """Tell the person at the terminal."""
    sys.stdout.write(f"toolwitness: {text}\n")
    sys.stdout.flush()


def run(*command):
    """Run a command; gives its output, or raises FailedError."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(done.stdout + done.stderr)
    return done.stdout


def pinned():
    """The lines of constraints.txt for what toolwitness itself and the tests' runner need."""
    needed, waiting = set(), ["toolwitness", *RUNNER]
    while waiting:
        name = plain(waiting.pop())
        if name in needed:
            continue
        needed.add(name)
        try:
            requires = distribution(name).requires or ()
        except PackageNotFoundError:  # of another platform
            continue
        waiting += [re.split(r"[^\w.-]", text)[0] for text in requires if "extra ==" not in text]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [line for line in lines if plain(line.partition("==")[0]) in needed]


def plain(name):
    """A distribution's name as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def oldest():
    """One environment a framework: its extra with the lowest of every version."""
    lowest = defaultdict(list)
    for one in registry.OWN.values():
        if one.distribution != registry.PYTHON:
            extra = PROJECT["optional-dependencies"][one.name.replace("_", "-")]
            lowest[TOGETHER.get(one.name, one.name)] += [re.sub(r">=([\w.]+).*", r"==\1", text) for text in extra]
    for name, requirements in lowest.items():
        tests = [path for path in sorted(TESTS.glob(f"test_{name}*.py")) if path.stem[5:] not in lowest.keys() - {name}]
        everybody_s = [TESTS / file for file in EVERYBODY_S]
        yield Environment(name, (*requirements, *COMPANIONS.get(name, ())), (*tests, *everybody_s), name)


def beside():
    """One environment with all of them."""
    yield Environment("beside", BESIDE, (TESTS / "test_beside_others.py",))


def main(kind, *names):
    """Make the environments, run the tests in each, and print the table."""
    rows, failed = [], False
    for each in {"oldest": oldest, "beside": beside}[kind]():
        if names and each.name not in names:
            continue
        try:
            each.make()
            told = each.test()
        except FailedError as error:
            failed = True
            say(f"{each.name}:\n{error}")
            told = "FAILED, see above"
        rows.append(f"{each.name:16} {told:50} {', '.join(each.requirements)}")
    for row in rows:
        say(row)
    sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
