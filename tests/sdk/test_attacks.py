"""What an adversary found: each of these once changed the agent, lost a record, or let a value out."""

import asyncio
import contextlib
import gc
import logging
import pickle
import signal
import typing

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

import toolwitness
from toolwitness.model.enums import AttemptStatus, ObservationStatus, Verdict
from toolwitness.sdk import Settings, setup
from toolwitness.sdk.guard import guard, swallowing

MAIL = "jo" + "@example.org"


class AlarmError(Exception):
    """Raised by a signal handler of the application."""


def test_a_signal_handler_s_exception_reaches_the_agent(recorded):
    """What the application raises into code of ours, as a time limit does, is the application's."""

    def limit(*_):
        raise AlarmError

    before = signal.signal(signal.SIGALRM, limit)
    try:
        with swallowing(), pytest.raises(AlarmError), guard:
            signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert recorded.spans() == ()


@toolwitness.tool
def typed(order: str, amount: int = 1) -> dict:
    """A tool whose schema a framework builds from its types."""
    return {"order": order, "amount": amount}


class Desk:
    """Tools of every binding."""

    @toolwitness.tool
    @classmethod
    def make(cls, n):
        """Return the argument."""
        return n

    @toolwitness.tool
    @staticmethod
    def plain(n):
        """Return the argument."""
        return n

    @toolwitness.tool
    def look(self, order):
        """Return the argument."""
        return order


def test_types_are_the_function_s_own():
    """Frameworks that read annotations see the function's and nothing of ours."""
    assert typing.get_type_hints(typed) == {"order": str, "amount": int, "return": dict}


def test_class_and_static_methods_pickle():
    """They go to another process as they would undecorated."""
    assert [pickle.loads(pickle.dumps(method))(3) for method in (Desk.make, Desk.plain)] == [3, 3]  # noqa: S301 -- our own bytes


def test_a_callable_without_a_name_asks_for_one():
    """The error says what to write."""
    with pytest.raises(ValueError, match=r"@tool\(name=\.\.\.\)"):
        toolwitness.tool(type("Nameless", (), {"__call__": lambda _: 1})())


def test_builtins_can_be_tools(live):
    """What tells no signature is recorded by position."""
    assert toolwitness.tool(max)(1, 2) == 2
    (call,) = live("call")
    assert call.tool == "max"


class Slow(SpanExporter):
    """Takes no more than ten spans at once."""

    def __init__(self):
        self.names = []

    def export(self, spans):
        """Fail for a batch that is too large."""
        if len(spans) > 10:
            return SpanExportResult.FAILURE
        self.names += [span.name for span in spans]
        return SpanExportResult.SUCCESS


def test_a_batch_that_is_too_much_is_tried_in_parts(tmp_path):
    """One large batch does not stop delivery for ever."""
    exporter = Slow()
    setup.start(Settings(state_dir=tmp_path, export_interval_s=0.001), lambda: exporter)
    for _ in range(300):
        toolwitness.call("look").close()
    for _ in range(100):
        if toolwitness.flush(10):
            break
    setup.stop()

    assert exporter.names == ["execute_tool look"] * 300


@pytest.mark.parametrize(("given", "stored"), [(4711, "4711"), ("order-17", "order-17")])
def test_a_run_id_may_be_a_number(recorded, given, stored):
    """The id is kept as text."""
    with recorded.recorder.run("t", id=given):
        pass

    assert recorded.one("run").run_id == stored


@pytest.mark.parametrize("given", [MAIL, "order-\udcff"])
def test_a_run_id_that_cannot_leave_is_a_digest(recorded, given):
    """An id that tells who somebody is, or that no wire takes, still keeps its run together."""
    with recorded.recorder.run("t", id=given) as run, run.call("look"):
        pass

    ids = {record.run_id for record in recorded.records()}
    assert len(ids) == 1
    assert ids.pop().startswith("run-")


@pytest.mark.parametrize(("status", "facts"), [("failed", {}), ("succeeded", {}), ("timeout", {"http_status": 504})])
def test_an_unreadable_end_is_never_a_good_one(recorded, status, facts):
    """A misspelt status or fact leaves an attempt that ended nobody knows how."""
    with swallowing(), recorded.recorder.run("t") as run, run.call("pay") as call, call.attempt() as attempt:
        attempt.end(status, **facts)

    found = recorded.one("attempt")
    assert (found.attempt_status, found.error_type) == (AttemptStatus.ERROR, "UnreadableStatus")


def test_an_unreadable_result_is_not_known(recorded):
    """A misspelt status of a result is no success."""
    with swallowing(), recorded.recorder.run("t") as run, run.call("pay") as call:
        call.result({"a": 1}, status="fine")

    assert recorded.one("call").observation is ObservationStatus.CUT_BY_RECORDING


def test_every_misspelt_word_is_told_with_those_there_are(recorded, caplog):
    """The warning names the word and the choice, once for each."""
    with swallowing(), recorded.recorder.run("t") as run, run.call("pay") as call:
        for _ in range(2):
            call.gate("policy", "denied")
            run.finish("succes")

    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert "'denied' is no Verdict; use one of: allow, deny," in said[0]


@pytest.mark.parametrize("name", ["Jane Roe 12 Main Street", MAIL, "x" * 200])
def test_a_made_up_tool_name_stays_here(recorded, name):
    """What stands in no catalog and is no plain word is the model's text."""
    with recorded.recorder.run("t") as run, run.decision(tools=[]) as step, step.call(name, server=name):
        pass

    assert (recorded.one("call").tool, recorded.one("call").server) == ("(unregistered)", "(unregistered)")


def test_a_name_that_a_search_returned_is_kept(recorded):
    """It is the tool server's text, so a server may have a title of several words."""
    with recorded.recorder.run("t") as run:
        with run.call("route") as search:
            search.discovered([("Asset Price MCP", "get_price")])
        with run.decision(tools=[]) as step, step.call("get_price", server="Asset Price MCP"):
            pass

    assert recorded.records("call")[1].server == "Asset Price MCP"


def test_keys_that_are_texts_stay_here(recorded):
    """A key of several words is somebody's text, wherever it stands."""
    with recorded.recorder.run("t") as run, run.call("pay", {"Jane Roe": {"Jane Roe": 1}}) as call:
        call.result({"Jane Roe": 1})

    assert "Jane" not in str([dict(span.attributes) for span in recorded.spans()])


def test_lists_and_labels_are_masked(recorded):
    """Pointers, keywords, members, removals and type names leave nothing that a detector knows."""
    run = recorded.recorder.run("t")
    with run, run.decision(removals=[("s", MAIL, "no")], exposure_members=[MAIL]) as step, step.call("pay") as call:
        call.gate("input_validation", "deny", pointers=[f"/{MAIL}"], keywords=[MAIL], reason=MAIL)
        with contextlib.suppress(Exception), call.attempt():
            raise type("Jane Roe", (Exception,), {})

    text = str([dict(span.attributes) for span in recorded.spans()])
    assert MAIL not in text
    assert "Jane" not in text


def test_a_logging_handler_that_raises_does_not_reach_the_agent(recorded):
    """Our warning is no way for the application's logging to end its agent."""

    class Strict(logging.Handler):
        def emit(self, record):
            raise RuntimeError(record)

    handler = Strict()
    logging.getLogger("toolwitness").addHandler(handler)
    try:
        with swallowing(), recorded.recorder.run("t") as run, run.call("pay") as call:
            call.gate("policy", "perhaps not")
    finally:
        logging.getLogger("toolwitness").removeHandler(handler)
    assert recorded.one("call").tool == "pay"


def test_gates_keep_their_order_whatever_the_clock_does(recorded):
    """The last word on a gate is later than the first, also when the clock is set back."""
    with recorded.recorder.run("t") as run, run.call("pay") as call:
        call.gate("confirmation", "needs_approval")
        recorded.clock.tick(-1_000_000_000)
        call.gate("confirmation", "allow")

    gates = [span for span in recorded.spans() if span.name == "gate confirmation"]
    assert [span.attributes["toolwitness.gate.verdict"] for span in sorted(gates, key=lambda s: s.start_time)] == [
        Verdict.NEEDS_APPROVAL,
        Verdict.ALLOW,
    ]


def test_a_plain_function_that_returns_a_coroutine_is_judged_by_its_end(live):
    """What only begins when awaited has not succeeded yet."""

    async def inner():
        raise ValueError("v")

    @toolwitness.tool
    def outer():
        return inner()

    with pytest.raises(ValueError, match="v"):
        asyncio.run(outer())
    (call,) = live("call")
    assert call.observation is ObservationStatus.RAISED


@pytest.mark.usefixtures("live")
def test_a_coroutine_that_is_closed_unstarted_warns_no_more_than_before():
    """Closing it closes what it wraps."""

    @toolwitness.tool
    async def look():
        """Do nothing."""

    coroutine = look()
    assert coroutine.__name__ == "look"
    coroutine.close()
    del coroutine
    gc.collect()


def test_a_generator_left_by_break_keeps_what_it_gave(live):
    """Leaving the loop is no reason to lose the items."""

    @toolwitness.tool
    def rows():
        yield from range(5)

    for _ in rows():
        break
    gc.collect()
    (call,) = live("call")
    assert call.observation is ObservationStatus.OK
    assert call.result.count("integer") == 1


@pytest.mark.usefixtures("live")
def test_generator_exit_may_be_caught_inside():
    """Throwing GeneratorExit is not closing: what the generator yields then comes out."""

    @toolwitness.tool
    def stubborn():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    steps = stubborn()
    assert (next(steps), steps.throw(GeneratorExit())) == (1, 2)
    with pytest.raises(StopIteration):
        next(steps)


def test_decorated_tools_are_tools_for_every_decision(recorded):
    """A scope's own `decision` reads them as the front door does, bound methods too."""
    with recorded.recorder.run("t") as run, run.decision(tools=[typed, Desk().look], candidates=[typed]):
        pass

    toolsets = recorded.records("toolset")
    assert [[member.tool for member in toolset.members] for toolset in toolsets] == [["look", "typed"], ["typed"]]


def test_a_later_attempt_that_fails_is_the_last_word(live):
    """A good first answer does not hide that the tool was run again and broke."""
    answers = [1, ValueError("v")]

    @toolwitness.tool
    def pay():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with toolwitness.run(task="t"), toolwitness.call("pay"), contextlib.suppress(ValueError):
        pay()
        pay()
    (call,) = live("call")
    assert call.observation is ObservationStatus.RAISED


def test_the_same_name_on_another_server_is_another_tool(live):
    """A call of one server's tool is never ended by another's."""

    @toolwitness.tool(name="search", server="B")
    def search():
        return 1

    with toolwitness.run(task="t"), toolwitness.call("search", server="A"):
        search()
    assert sorted((call.server, call.observation) for call in live("call")) == [("A", "none"), ("B", "ok")]


def test_arguments_that_ran_are_kept_where_they_differ(live):
    """What was approved and what was executed stand side by side."""

    @toolwitness.tool(classes={"args.amount": "internal"})
    def transfer(amount):
        return amount

    with toolwitness.run(task="t"):
        with toolwitness.call("transfer", {"amount": 900}):
            transfer(amount=800)
        with toolwitness.call("transfer", {"amount": 900}):
            transfer(amount=900)
    first, second = live("call")
    assert (first.arguments, first.executed_arguments) == ('{"amount":900}', '{"amount":800}')
    assert second.executed_arguments is None


def test_a_call_that_was_proposed_and_never_entered_is_recorded(recorded):
    """The end of the run shows it, with no evidence of execution."""
    with recorded.recorder.run("t") as run, run.decision() as step:
        step.call("pay", {"amount": 1})

    assert recorded.one("call").observation is ObservationStatus.NONE
    assert recorded.records("attempt") == []


def test_prose_is_not_measurable(recorded):
    """A text result has no values to look for: neither its use nor an origin in it can be denied."""
    with recorded.recorder.run("t") as run:
        run.message("user", "show me the last change")
        with run.call("log") as first:
            first.result("commit a71bd637 by somebody")
        with run.call("show", {"revision": "a71bd637", "format": "short"}):
            pass

    log, show = recorded.records("call")
    assert log.novel_values is None
    assert [str(edge.origin) for edge in show.provenance] == ["unknown", "model"]


def test_values_that_no_wire_takes_lose_only_themselves(recorded):
    """Lone surrogates are replaced, integers beyond 64 bits are not known."""
    with recorded.recorder.run("t-\udcff", trial=2**70):
        pass

    run = recorded.one("run")
    assert (run.task, run.trial) == ("t-?", None)
