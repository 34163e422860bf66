"""Work that is handed to threads belongs to what it was handed over in, and is done as it would be without us."""

import asyncio
import contextvars
import gc
import inspect
import pickle
import platform
import threading
import traceback
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

import toolwitness
from toolwitness.model.enums import RecordKind
from toolwitness.sdk import context
from toolwitness.sdk.instrument.registry import OWN
from toolwitness.sdk.instrument.threads import _starting

pytestmark = pytest.mark.skipif(
    not OWN["threads"].fits(platform.python_version()), reason="threads of this version of Python are not supported"
)
APPLICATION = contextvars.ContextVar("application", default="unset")


@toolwitness.tool
def threaded(value=1):
    """A tool that gives what it gets."""
    return value


class Subclass(threading.Thread):
    """A thread with a `run` of its own."""

    def run(self):
        """Call the tool."""
        threaded()


def in_thread(function):
    """Run in a bare thread."""
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def in_timer(function):
    """Run in a timer."""
    timer = threading.Timer(0, function)
    timer.start()
    timer.join()


def in_pool(function):
    """Run in a pool of threads."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(function).result()


def in_map(function):
    """Run by a pool's `map`."""
    with ThreadPoolExecutor(1) as pool:
        list(pool.map(lambda _: function(), [1]))


def in_executor(function):
    """Run by a loop in its executor."""

    async def main():
        await asyncio.get_running_loop().run_in_executor(None, function)

    asyncio.run(main())


def in_to_thread(function):
    """Run by `asyncio.to_thread`."""
    asyncio.run(asyncio.to_thread(function))


def in_loop_of_a_thread(function):
    """Run in a loop that another thread runs."""

    async def main():
        await asyncio.create_task(asyncio.to_thread(function))

    in_thread(lambda: asyncio.run(main()))


WAYS = [in_thread, in_timer, in_pool, in_map, in_executor, in_to_thread, in_loop_of_a_thread]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__[3:])


@pytest.fixture(name="recorded")
def _recorded(instrument):
    with instrument("threads") as recorded:
        yield recorded


def calls(recorded):
    """The tool and the number of attempts of each call, and how many runs there are."""
    found = sorted(recorded.records(RecordKind.CALL), key=lambda one: one.call_ordinal)
    return [(one.tool, len(recorded.attempts(one.call_id))) for one in found], len({one.run_id for one in found})


@every_way
def test_a_tool_in_a_thread_is_the_attempt_of_its_call(recorded, way):
    """As it would be in the thread that opened the call."""
    with toolwitness.run("task"), toolwitness.call("threaded", {"value": 1}):
        way(threaded)

    assert calls(recorded) == ([("threaded", 1)], 1)


@every_way
def test_in_a_run_it_is_a_call_of_that_run(recorded, way):
    """Not one of a run that had to be inferred."""
    with toolwitness.run("task", id="r-1"):
        way(threaded)

    assert recorded.one(RecordKind.CALL).run_id == "r-1"


def test_a_thread_with_a_run_of_its_own(recorded):
    """What a subclass does belongs there too."""
    with toolwitness.run("task", id="r-1"):
        thread = Subclass()
        thread.start()
        thread.join()

    assert recorded.one(RecordKind.CALL).run_id == "r-1"


def test_a_pool_s_threads_belong_to_nobody(recorded):
    """What is submitted later, outside or in another run, is not what the thread was started for."""
    with ThreadPoolExecutor(1) as pool:
        with toolwitness.run("first", id="r-1"):
            pool.submit(threaded).result()
        with toolwitness.run("second", id="r-2"):
            pool.submit(threaded).result()
        pool.submit(threaded).result()
    runs = [one.run_id for one in recorded.records(RecordKind.CALL)]

    assert runs[:2] == ["r-1", "r-2"]
    assert runs[2] not in {"r-1", "r-2"}


def test_pools_share_nothing_between_what_runs_at_once(recorded):
    """Two runs in one pool, interleaved."""
    meet = threading.Barrier(2)

    def both():
        meet.wait(10)
        threaded()
        meet.wait(10)

    with ThreadPoolExecutor(2) as pool:
        with toolwitness.run("first", id="r-1"):
            first = pool.submit(both)
        with toolwitness.run("second", id="r-2"):
            second = pool.submit(both)
        first.result()
        second.result()

    assert sorted(one.run_id for one in recorded.records(RecordKind.CALL)) == ["r-1", "r-2"]


def test_a_thread_that_outlives_its_call_goes_on_in_the_run(recorded):
    """Its tool is a call of its own, not an attempt of a call that ended."""
    ended = threading.Event()
    with toolwitness.run("task", id="r-1"):
        with toolwitness.call("threaded", {"value": 1}) as call:
            thread = threading.Thread(target=lambda: ended.wait(10) and threaded())
            thread.start()
            call.result("begun")
        ended.set()
        thread.join()

    assert calls(recorded) == ([("threaded", 0), ("threaded", 1)], 1)
    assert {one.run_id for one in recorded.records(RecordKind.CALL)} == {"r-1"}


def test_our_own_threads_belong_to_nobody(recorded, monkeypatch):
    """What works the notes off outlives the call that they are of."""
    seen, export = [], recorded.exporter.export
    monkeypatch.setattr(recorded.exporter, "export", lambda spans: (seen.append(context.current.get()), export(spans))[1])
    with toolwitness.run("task"):
        toolwitness.call("look").close()
        recorded.records()

    assert set(seen) == {None}


def test_the_application_s_variables_do_not_go_along(recorded):
    """What it sets here is unset in a thread, as without us."""
    del recorded
    seen = []
    with toolwitness.run("task"):
        APPLICATION.set("set")
        in_thread(lambda: seen.append(APPLICATION.get()))
        in_pool(lambda: seen.append(APPLICATION.get()))
        in_to_thread(lambda: seen.append(APPLICATION.get()))

    assert seen == ["unset", "unset", "set"]


def fails():
    """Raise."""
    raise KeyError("order")


def test_exceptions_and_results_are_the_same_objects(recorded):
    """Through a pool, with the arguments as they were given."""
    del recorded
    error, result = KeyError("order"), object()

    def give(*args, **kwargs):
        return args, kwargs, result

    def throw():
        raise error

    with toolwitness.run("task"), ThreadPoolExecutor(1) as pool:
        given = pool.submit(give, 1, function=2, self=3).result()
        raised = pool.submit(throw).exception()

    assert given == ((1,), {"function": 2, "self": 3}, result)
    assert raised is error


def test_what_an_uncaught_exception_shows_is_the_same(recorded, monkeypatch):
    """No frame of ours stands in a thread's traceback."""
    del recorded
    shown = []
    monkeypatch.setattr(threading, "excepthook", lambda told: shown.append(traceback.extract_tb(told.exc_traceback)))
    in_thread(fails)
    with toolwitness.run("task"):
        in_thread(fails)

    assert shown[0] == shown[1]


def test_a_thread_looks_as_before(recorded):
    """Name, target and attributes are its own, and its methods look as they did."""
    del recorded
    bare, inside = (threading.Thread(target=threaded, name="desk", daemon=True, args=(1,)) for _ in range(2))
    bare.start()
    with toolwitness.run("task"):
        inside.start()
        looks = inside.name, inside.daemon
    bare.join()
    inside.join()

    assert looks == ("desk", True)
    assert vars(inside).keys() == vars(bare).keys()
    assert str(inspect.signature(threading.Thread.start)) == "(self)"
    assert pickle.loads(pickle.dumps(threading.Thread.start)) == threading.Thread.start  # noqa: S301 -- our own


def test_a_thread_that_cannot_start_raises_as_before(recorded):
    """And nothing waits for it."""
    del recorded
    thread = threading.Thread(target=threaded)
    thread.start()
    thread.join()
    with toolwitness.run("task"), pytest.raises(RuntimeError, match="only be started once"):
        thread.start()

    assert _starting == {}


def test_submitting_nothing_raises_as_before(recorded):
    """The pool says what is missing."""
    del recorded
    with toolwitness.run("task"), ThreadPoolExecutor(1) as pool, pytest.raises(TypeError, match="fn"):
        pool.submit()


def test_what_was_submitted_is_let_go(recorded):
    """Neither the function nor its arguments live longer than without us."""
    del recorded

    class Value:
        pass

    value = Value()
    gone = weakref.ref(value)
    gc.disable()
    try:
        with toolwitness.run("task"), ThreadPoolExecutor(1) as pool:
            pool.submit(threaded, value).result()
            pool.submit(fails).exception()
            del value
            thread = threading.Thread(target=threaded)
            thread.start()
            thread.join()
        freed = gone() is None
    finally:
        gc.enable()

    assert freed


def test_without_a_scope_nothing_is_in_between(recorded):
    """What is submitted reaches the pool as it is."""
    del recorded
    with ThreadPoolExecutor(1) as pool:
        error = contextvars.Context().run(pool.submit, fails).exception()

    assert [frame.name for frame in traceback.extract_tb(error.__traceback__)] == ["run", "fails"]


@pytest.mark.parametrize(
    ("owner", "name"), [(threading.Thread, "start"), (threading.Thread, "_bootstrap_inner"), (ThreadPoolExecutor, "submit")]
)
def test_taken_back_it_is_as_it_was(instrument, owner, name):
    """Every method is the one that it was."""
    before = vars(owner)[name]
    with instrument("threads"):
        during = vars(owner)[name]

    assert during is not before
    assert vars(owner)[name] is before
