"""`@toolwitness.tool` records, and changes nothing."""

import asyncio
import copy
import inspect
import pickle

import pytest
from opentelemetry import trace

import toolwitness
from toolwitness.model.enums import AttemptStatus, ObservationStatus, SideEffect
from toolwitness.sdk import setup
from toolwitness.sdk.calls import CallScope


@toolwitness.tool(side_effect="read", classes={"args.a": "internal"})
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


@toolwitness.tool
async def fetch(url):
    """Answer with what was asked."""
    await asyncio.sleep(0)
    return {"url": url}


@toolwitness.tool
def count(n):
    """Yield numbers, and return what was sent."""
    got = []
    for i in range(n):
        got.append((yield i))  # noqa: PERF401 -- a comprehension cannot yield
    return got


@toolwitness.tool
async def stream(n):
    """Yield numbers."""
    for i in range(n):
        await asyncio.sleep(0)
        yield i


class Desk:
    """Tools that are methods of every kind."""

    def __init__(self):
        self.seen = []

    @toolwitness.tool
    def look(self, order):
        """Return the desk itself."""
        self.seen.append(order)
        return self

    @toolwitness.tool
    @classmethod
    def make(cls, n):
        """Return the class."""
        return cls, n

    @toolwitness.tool
    @staticmethod
    def plain(n):
        """Return the argument."""
        return n


@pytest.fixture(name="_telemetry", params=["off", "on"])
def _telemetry(request):
    """Every truth here holds with telemetry off and on."""
    if request.param == "on":
        request.getfixturevalue("live")


@pytest.mark.usefixtures("_telemetry")
class TestNothingChanges:
    """Results, exceptions and kinds are those of the bare function."""

    def test_result(self):
        """The very object comes back."""
        desk = Desk()
        assert (add(1), desk.look("o") is desk, Desk.make(3), Desk.plain(4)) == (3, True, (Desk, 3), 4)

    def test_exception(self):
        """The very exception comes out, with its cause."""
        cause, error = KeyError("c"), ValueError("v")

        @toolwitness.tool
        def broken():
            raise error from cause

        with pytest.raises(ValueError, match="v") as seen:
            broken()
        assert seen.value is error
        assert seen.value.__cause__ is cause

    def test_wrong_arguments(self):
        """A call that does not fit the signature raises what Python raises."""
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
            add()

    def test_coroutine(self):
        """An async tool is a coroutine function and returns its result."""
        assert inspect.iscoroutinefunction(fetch)
        assert asyncio.run(fetch("u")) == {"url": "u"}

    def test_generator(self):
        """A generator yields, takes what is sent and returns."""
        steps = count(3)
        assert inspect.isgenerator(steps)
        sent = [next(steps), steps.send("a"), steps.send("b")]
        with pytest.raises(StopIteration) as stop:
            steps.send("c")
        assert (sent, stop.value.value) == ([0, 1, 2], ["a", "b", "c"])

    def test_generator_thrown_into(self):
        """What is thrown into a generator arrives inside, and what it yields then comes out."""

        @toolwitness.tool
        def careful():
            try:
                yield 1
            except LookupError:
                yield 2

        steps = careful()
        assert (next(steps), steps.throw(LookupError())) == (1, 2)

    def test_generator_closed_early(self):
        """Closing runs the generator's own cleaning up."""
        cleaned = []

        @toolwitness.tool
        def careful():
            try:
                yield 1
            finally:
                cleaned.append(True)

        steps = careful()
        next(steps)
        steps.close()
        assert cleaned == [True]

    def test_async_generator(self):
        """An async generator yields what it did."""

        async def main():
            return [item async for item in stream(3)]

        assert inspect.isasyncgenfunction(stream)
        assert asyncio.run(main()) == [0, 1, 2]

    def test_signature_and_name(self):
        """Frameworks that build schemas from functions see the same function."""
        assert str(inspect.signature(add)) == "(a: int, b: int = 2) -> int"
        assert (add.__name__, add.__doc__) == ("add", "Add two numbers.")

    def test_pickle_and_copy(self):
        """It pickles by name and is its own copy, as a function is."""
        assert copy.deepcopy(add) is add
        assert pickle.loads(pickle.dumps(add)) is add  # noqa: S301 -- our own bytes
        bound = pickle.loads(pickle.dumps(Desk().look))  # noqa: S301 -- as above
        assert bound("o").seen == ["o"]


def test_a_bare_call_is_a_call_with_one_attempt(live):
    """Outside of any loop, calling the tool is proposal, attempt and observation."""
    add(1, b=5)
    (call,) = live("call")
    (attempt,) = live("attempt")

    assert (call.tool, call.side_effect, call.observation) == ("add", SideEffect.READ, ObservationStatus.OK)
    assert (attempt.call_id, attempt.attempt_status) == (call.call_id, AttemptStatus.OK)
    assert call.arguments.startswith('{"a":1,"b":')


def test_it_joins_the_open_call_of_its_tool(live):
    """Inside `with step.call(...)` it is an attempt of that call, and a second try is a second attempt."""
    with toolwitness.run(task="t"), toolwitness.decision() as step, step.call("add", {"a": 1}, id="call_1"):
        add(1)
        add(1)

    (call,) = live("call")

    assert call.provider_call_id == "call_1"
    assert [a.attempt_ordinal for a in live("attempt")] == [1, 2]


def test_another_tool_inside_is_a_call_of_its_own(live):
    """A tool that calls a tool makes a second call, which no decision proposed."""

    @toolwitness.tool
    def outer():
        return add(1)

    with toolwitness.run(task="t"), toolwitness.decision():
        outer()
    inner, wrapping = live("call")

    assert (inner.tool, inner.decision_id) == ("add", None)
    assert wrapping.decision_id is not None


@pytest.mark.parametrize(
    ("error", "attempt", "observation"),
    [
        (ValueError("secret text"), AttemptStatus.ERROR, ObservationStatus.RAISED),
        (TimeoutError(), AttemptStatus.TIMEOUT, ObservationStatus.TIMEOUT),
        (asyncio.CancelledError(), AttemptStatus.CANCELLED, ObservationStatus.NONE),
    ],
)
def test_how_a_tool_broke(live, error, attempt, observation):
    """Raising, timing out and being cancelled are three different facts; the text of an error stays here."""

    @toolwitness.tool
    def broken():
        raise error

    with pytest.raises(type(error)):
        broken()
    (call,) = live("call")

    assert (live("attempt")[0].attempt_status, call.observation) == (attempt, observation)
    assert "secret text" not in str(live())


@pytest.mark.parametrize("tool", [fetch, count, stream], ids=lambda tool: tool.__name__)
def test_arguments_that_no_signature_takes_are_a_gate_without_an_attempt(live, tool):
    """Nothing of it ran: there was not even a coroutine or generator."""
    with toolwitness.run("t"), pytest.raises(TypeError):
        tool(colour="blue")
    (gate,) = [record for record in live("gate") if record.gate_mode == "enforced"]

    assert (str(gate.gate_kind), str(gate.verdict), gate.reason_code) == ("input_validation", "deny", "signature")
    assert (len(live("attempt")), str(live("call")[0].observation)) == (0, "none")


@pytest.mark.parametrize("inside", [False, True])
def test_a_function_that_its_arguments_did_not_reach_did_nothing(live, inside):
    """A TypeError of its own proves nothing."""

    @toolwitness.tool(side_effect="write")
    def pay(amount):
        return amount + "cents"

    with pytest.raises(TypeError):
        pay(1) if inside else pay(1, colour="blue")
    (attempt,) = live("attempt")

    assert (attempt.effect_ruled_out, str(attempt.sent)) == ((False, "unknown") if inside else (True, "no"))


def test_a_stream_is_observed_as_the_items_it_gave(live):
    """What was read of a generator is its result, also when the reader stopped early."""
    steps = count(10)
    next(steps)
    next(steps)
    steps.close()
    (call,) = live("call")

    assert call.observation is ObservationStatus.OK
    assert call.result.count("integer") == 2


def test_a_generator_never_iterated_is_a_proposal_without_attempt(live):
    """Nothing ran, and nothing is claimed to have run."""
    count(3)
    (call,) = live("call")

    assert call.observation is ObservationStatus.NONE
    assert live("attempt") == []


@pytest.mark.usefixtures("live")
def test_scopes_do_not_leak_out_of_a_generator():
    """Between two items the consumer has its own scope again."""
    steps = count(3)
    next(steps)
    assert toolwitness.current_call() is None
    steps.close()


@pytest.mark.usefixtures("live")
def test_inside_the_tool_the_call_is_at_hand():
    """A tool can ask which logical call it runs for; OpenTelemetry's current span is the application's alone."""
    seen = []

    @toolwitness.tool
    def ask():
        seen.append((toolwitness.current_call().tool, trace.get_current_span().get_span_context().is_valid))

    ask()
    assert seen == [("ask", False)]


def test_without_instrument_nothing_is_recorded():
    """With telemetry off the scopes take everything and do nothing."""
    setup.stop()
    with toolwitness.run(task="t") as run, toolwitness.decision() as step, step.call("add", {"a": 1}) as call:
        call.gate("policy", "allow")
        with call.attempt() as attempt:
            attempt.sent("yes")
        run.finish("success")
    assert toolwitness.current_call() is None
    assert toolwitness.flush() is False


def test_a_method_that_is_a_tool_is_copied_as_others_are():
    """A shallow copy is the method, a deep one is that of a copied object."""

    class Desk:
        limit = 5

        @toolwitness.tool
        def pay(self, amount):
            return min(amount, self.limit)

    desk = Desk()
    copied = copy.deepcopy(desk.pay)

    assert (copy.copy(desk.pay)(9), copied(9)) == (5, 5)
    assert copied.__self__ is not desk
    assert copy.deepcopy(Desk.pay) is not None


@pytest.mark.parametrize(("ran_with", "attempts"), [("A-1", [1]), ("B-2", [1, 1])], ids=["the call's", "others"])
def test_a_tool_that_a_framework_knows_by_another_name(live, ran_with, attempts):
    """Run with the call's arguments it is that call's attempt; with others it is a tool inside that tool."""

    @toolwitness.tool(side_effect="write")
    def submit(order, tenant):
        return {"order": order, "tenant": tenant}

    with toolwitness.run("t") as run:
        call = CallScope(run, "refund", {"order": "A-1"}, awaited=True)
        with call, call.attempt(unclaimed=True):
            submit(order=ran_with, tenant="t-1")

    assert [one.attempt_ordinal for one in live("attempt")] == attempts
