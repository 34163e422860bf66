"""Which instrumentations there are, and that none of them can hurt."""

import copy
import importlib
import inspect
import logging
import pickle
import subprocess
import sys
import threading
import types

import pytest
import wrapt

import toolwitness
from toolwitness.model.exceptions import SettingsError
from toolwitness.sdk import Settings, setup
from toolwitness.sdk.guard import swallowing
from toolwitness.sdk.instrument import registry
from toolwitness.sdk.instrument.patching import Patched, Patches
from toolwitness.sdk.instrument.registry import Instrumentation


@pytest.fixture(autouse=True)
def _no_warnings_of_ours():
    """Here warnings of ours are expected."""


class Greeter:
    """What a framework could be."""

    def greet(self, name):
        """Greet."""
        return f"hello {name}"

    @staticmethod
    def wave():
        """Wave."""
        return "o/"


def through(wrapped, _instance, args, kwargs):
    """Calls through and marks that it did."""
    return "seen " + wrapped(*args, **kwargs)


@pytest.fixture(name="recording")
def _recording(tmp_path):
    """A recorder is active."""
    setup.start(Settings(state_dir=tmp_path), lambda: None)
    yield
    setup.stop()


@pytest.fixture(name="patches")
def _patches():
    patches = Patches()
    yield patches
    patches.undo()


@pytest.fixture(name="framework")
def _framework(monkeypatch):
    """A framework that is imported, and an instrumentation of it that does what it is told."""
    module = types.ModuleType("a_framework")
    code = types.ModuleType("a_framework_code")
    monkeypatch.setitem(sys.modules, "a_framework", module)
    monkeypatch.setitem(sys.modules, "a_framework_code", code)
    monkeypatch.setattr("toolwitness.sdk.instrument.registry._State.told", set())
    monkeypatch.setattr(registry, "version", lambda _: "2.5")

    def make(instrument, oldest="2", below="3"):
        code.instrument = instrument
        one = Instrumentation(
            name="one", module="a_framework", distribution="one", oldest=oldest, below=below, code="a_framework_code"
        )
        registry.switch_on({"one": one})
        return module

    yield make
    registry.switch_off()


@pytest.mark.usefixtures("recording")
def test_a_wrapped_method_looks_pickles_and_copies_as_before(patches):
    """Signature, kind, copies and pickles are those of the method."""
    before = inspect.signature(Greeter.greet)
    patches.methods(Greeter, {"greet": through, "wave": through})

    assert Greeter().greet("you") == "seen hello you"
    assert Greeter.wave() == "seen o/"
    assert inspect.signature(Greeter.greet) == before
    assert inspect.isfunction(Greeter.greet)
    assert pickle.loads(pickle.dumps(Greeter.greet)) == Greeter.greet  # noqa: S301 -- our own
    assert copy.deepcopy(Greeter.__dict__["greet"]) is Greeter.__dict__["greet"]
    assert pickle.loads(pickle.dumps(Greeter().greet))("you") == "seen hello you"  # noqa: S301 -- our own


@pytest.mark.usefixtures("recording")
def test_wrapping_twice_wraps_once(patches):
    """Also where somebody else has wrapped ours meanwhile."""
    patches.method(Greeter, "greet", through)
    wrapt.wrap_function_wrapper(Greeter, "greet", lambda wrapped, _i, args, kwargs: wrapped(*args, **kwargs))
    patches.method(Greeter, "greet", through)

    assert Greeter().greet("you") == "seen hello you"
    Greeter.greet = Greeter.__dict__["greet"].__wrapped__


@pytest.mark.usefixtures("recording")
def test_undoing_leaves_a_wrapper_of_somebody_else_and_does_nothing_in_it(patches):
    """What is no longer the outermost stays in place, switched off."""
    original = Greeter.__dict__["greet"]
    patches.method(Greeter, "greet", through)
    wrapt.wrap_function_wrapper(Greeter, "greet", lambda wrapped, _i, args, kwargs: wrapped(*args, **kwargs))
    patches.undo()

    assert Greeter().greet("you") == "hello you"
    Greeter.greet = original


def test_without_a_recorder_a_wrapper_only_calls_through(patches):
    """Nothing is recorded, nothing is done."""
    patches.method(Greeter, "greet", through)

    assert Greeter().greet("you") == "hello you"


def test_a_missing_method_is_an_error_of_that_instrumentation_alone(framework, caplog):
    """One warning with version and range; the framework is as it was."""
    with swallowing(), caplog.at_level(logging.WARNING):
        framework(lambda patches, _: patches.methods(Greeter, {"greet": through, "gone": through}))
        framework(lambda patches, _: patches.method(Greeter, "gone", through))

    assert not isinstance(Greeter.__dict__["greet"], Patched)
    (said,) = [record.getMessage() for record in caplog.records]
    assert said == (
        "toolwitness does not record one: AttributeError while it was put in place "
        "(one 2.5 is installed, supported is >=2,<3); the agent is not affected"
    )


def test_an_unsupported_version_is_left_out_with_one_warning(framework, caplog):
    """The instrumentation is not even looked at."""
    with caplog.at_level(logging.WARNING):
        framework(lambda *_: pytest.fail("was looked at"), oldest="2.6")

    (said,) = [record.getMessage() for record in caplog.records]
    assert "this version is not supported (one 2.5 is installed, supported is >=2.6,<3)" in said


@pytest.mark.parametrize(
    ("version", "fits"), [("2.0", True), ("2", True), ("2.9.9rc1", True), ("3.0.0", False), ("1.99", False), ("1!2.5", True)]
)
def test_versions_are_compared_by_their_release(version, fits):
    """The oldest one is in, the one below which it must be is out."""
    one = Instrumentation(name="one", module="m", distribution="d", oldest="2.0", below="3", code="c")

    assert one.fits(version) is fits


def test_a_name_that_no_instrumentation_has_is_told_with_those_there_are():
    """A typo must not mean that nothing is recorded."""
    with pytest.raises(SettingsError, match="no instrumentation is called opneai; there are anthropic"):
        registry.choose(["opneai"])
    with pytest.raises(SettingsError, match="takes a list of names, not the text 'openai'"):
        registry.choose("openai")


def test_a_wrong_name_records_nothing_and_raises_nothing(caplog):
    """`instrument` never raises."""
    toolwitness.instrument(skip=["opneai"])

    assert setup.active() is None
    assert "no instrumentation is called opneai" in caplog.text


def test_only_and_skip_choose():
    """Each by itself and together."""
    assert registry.choose(["openai", "anthropic"], ["anthropic"]).keys() == {"openai"}
    assert "openai" not in registry.choose(skip=["openai"])


def test_every_instrumentation_of_ours_can_be_loaded():
    """Its module exists and imports no framework."""
    code = (
        "import importlib, sys\n"
        "from toolwitness.sdk.instrument import registry\n"
        "modules = {one.module for one in registry.OWN.values()} - {'threading', 'requests'}\n"
        "for one in registry.OWN.values(): assert callable(importlib.import_module(one.code).instrument), one\n"
        "print(sorted(modules & sys.modules.keys()))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.strip() == "[]"


def test_instrument_imports_no_framework():
    """What the application does not use costs it nothing."""
    code = (
        "import sys, toolwitness; toolwitness.instrument()\n"
        "frameworks = {'openai', 'anthropic', 'langchain_core', 'agents', 'pydantic_ai', 'mcp', 'litellm'}\n"
        "print(sorted(frameworks & sys.modules.keys()))\n"
        "toolwitness.uninstrument()"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.strip() == "[]"


def test_third_parties_add_theirs_by_entry_point(monkeypatch):
    """One that cannot be loaded costs only itself."""
    one = Instrumentation(name="theirs", module="m", distribution="d", oldest="1", below="2", code="c")

    class Point:
        def __init__(self, load):
            self.load = load

    def broken():
        raise ImportError("gone")

    monkeypatch.setattr(registry, "entry_points", lambda group: [Point(broken), Point(lambda: one)] if group else [])
    with swallowing():
        found = registry.known()

    assert found["theirs"] is one
    assert "openai" in found


def test_a_module_that_another_thread_is_importing_is_waited_for(monkeypatch, tmp_path):
    """Half of it would not fit, and the framework would be left out."""
    (tmp_path / "slow_framework.py").write_text("import builtins\nbuiltins.slow_framework_import()\nvalue = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    begun, go_on = threading.Event(), threading.Event()

    def importing():
        begun.set()
        go_on.wait(10)

    monkeypatch.setattr("builtins.slow_framework_import", importing, raising=False)
    thread = threading.Thread(target=importlib.import_module, args=("slow_framework",))
    thread.start()
    begun.wait(10)
    threading.Timer(0.1, go_on.set).start()
    seen = []
    Patches().when_imported("slow_framework", lambda module: seen.append(module.value))
    thread.join(10)

    assert seen == [1]
