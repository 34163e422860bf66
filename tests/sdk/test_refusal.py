"""A redaction placeholder is refused as a tool's argument, and flagged wherever it is proposed."""

import asyncio
import json
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolwitness
from toolwitness.model.enums import Flag, GateKind, GateMode, ObservationStatus, PrivacyClass, Verdict
from toolwitness.model.exceptions import RedactedArgumentError
from toolwitness.redaction.flowback import MOST_NODES, holds_placeholder
from toolwitness.redaction.placeholder import TAG, placeholder

COPY = placeholder("jo@example.org", PrivacyClass.PERSONAL, "name:email")
ran = []


@dataclass
class Order:
    """An argument that is an object."""

    to: object


@toolwitness.tool(server="mail", side_effect="write")
def send(to, *more, subject="", **rest):
    """Remember that it ran."""
    ran.append((to, more, subject, rest))
    return "sent"


@toolwitness.tool
async def fetch(url):
    """Remember that it ran."""
    ran.append(url)


@toolwitness.tool
def count(n):
    """Remember that it ran."""
    ran.append(n)
    yield n


@toolwitness.tool
async def stream(n):
    """Remember that it ran."""
    ran.append(n)
    yield n


class Desk:
    """A tool that is a method."""

    @toolwitness.tool
    def look(self, order):
        """Remember that it ran."""
        ran.append(order)


@pytest.fixture(autouse=True)
def _nothing_ran():
    ran.clear()


@pytest.fixture(name="_telemetry", params=["off", "on"])
def _telemetry(request):
    """Every truth here holds with telemetry off and on."""
    if request.param == "on":
        request.getfixturevalue("live")


FLOWED_BACK = {
    "itself": COPY,
    "altered": {TAG: "anything", "more": 1},
    "in a list": [1, [COPY]],
    "in a tuple": (1, {"a": (COPY,)}),
    "in a mapping": OrderedDict(a=defaultdict(list, b=[COPY])),
    "in a queue": deque([COPY]),
    "in an object": Order({"deep": [COPY]}),
    "as JSON text": json.dumps({"to": COPY}),
    "as JSON text in JSON text": json.dumps({"body": json.dumps([COPY])}),
    "as JSON text in a list": [json.dumps(COPY, indent=2)],
    "in broken JSON": json.dumps(COPY)[:-1],
    "in a sentence": f"send it to {json.dumps(COPY)}, please",
    "as Python writes a dict": str(COPY),
    "with its sign escaped": json.dumps(COPY).replace("$", "\\u0024"),
    "as bytes": json.dumps(COPY).encode(),
}


@pytest.mark.usefixtures("_telemetry")
@pytest.mark.parametrize("value", FLOWED_BACK.values(), ids=FLOWED_BACK.keys())
def test_a_placeholder_is_refused_at_any_depth(value):
    """The function does not run; the error names tool and argument, says what to do, and quotes nothing."""
    with pytest.raises(RedactedArgumentError) as seen:
        send("a", subject=value)
    assert ran == []
    assert "argument subject of tool mail/send" in str(seen.value)
    assert "pass the value itself" in str(seen.value)
    assert not any(word in str(seen.value) for word in ("personal", "email", TAG))


FINE = {
    "a text that speaks of one": f"what does {TAG} mean?",
    "JSON that has only its name": json.dumps({TAG: "x"}),
    "a list": [{"to": "jo", "n": 1}, None, 2.5, b"x"],
    "an object": Order("jo"),
}


@pytest.mark.usefixtures("_telemetry")
@pytest.mark.parametrize("value", FINE.values(), ids=FINE.keys())
def test_anything_else_passes(value):
    """The tool runs with the very object."""
    assert send(value) == "sent"
    assert ran[0][0] is value


@pytest.mark.usefixtures("_telemetry")
@pytest.mark.parametrize("tool", [fetch, count, stream, Desk().look], ids=lambda tool: tool.__name__)
def test_every_kind_of_tool_refuses_when_it_is_called(tool):
    """As with arguments that do not fit the signature, nothing is made that could be awaited or iterated."""
    with pytest.raises(RedactedArgumentError, match=f"of tool {tool.__name__} "):
        tool(COPY)
    assert ran == []


@pytest.mark.usefixtures("_telemetry")
def test_arguments_beyond_the_names_are_looked_at_too():
    """A name that the function does not declare is model text and may be anything."""
    for args, named in ((("a", COPY), {}), (("a",), {"to me": COPY}), (("a",), {TAG: 1})):
        with pytest.raises(RedactedArgumentError, match="argument of another name of tool"):
            send(*args, **named)
    with pytest.raises(RedactedArgumentError, match="argument cc of tool"):
        send("a", cc=COPY)


def test_it_is_a_call_that_a_gate_stopped(live):
    """Outside of any loop: zero attempts, nothing observed, and the call is flagged."""
    with pytest.raises(RedactedArgumentError):
        send(COPY)
    (call,), (gate,) = live("call"), live("gate")
    assert live("attempt") == live("attempt_start") == []
    assert (gate.call_id, gate.gate_kind, gate.verdict) == (call.call_id, GateKind.INPUT_VALIDATION, Verdict.DENY)
    assert (gate.gate_mode, gate.reason_code, gate.pointers) == (GateMode.ENFORCED, "redacted_argument", ("/to",))
    assert (call.tool, call.server, call.observation) == ("send", "mail", ObservationStatus.NONE)
    assert call.flags == (Flag.REDACTED_COPY_IN_ARGUMENTS,)


def test_inside_an_open_call_it_is_that_call(live):
    """The error on its way out is no answer of the tool."""
    with toolwitness.run(), toolwitness.decision() as step:
        call = step.call("send", {"to": COPY}, server="mail")
        with pytest.raises(RedactedArgumentError), call:
            send(COPY)
    (record,), (gate,) = live("call"), live("gate")
    assert (record.call_id, record.observation, record.error_type) == (gate.call_id, ObservationStatus.NONE, None)
    assert record.executed_arguments is None


def test_a_better_try_in_the_same_call_runs(live):
    """The gate's last word is then that the arguments pass."""
    with toolwitness.run(), toolwitness.decision() as step, step.call("send", {"to": "jo"}, server="mail"):
        with pytest.raises(RedactedArgumentError):
            send(COPY)
        send("jo")
    assert [gate.verdict for gate in live("gate")] == [Verdict.DENY, Verdict.ALLOW]
    (call,), (attempt,) = live("call"), live("attempt")
    assert (attempt.call_id, call.observation) == (call.call_id, ObservationStatus.OK)


def test_any_proposed_call_is_flagged(recorded):
    """Also where no tool of ours runs it; JSON text as models send it counts, other calls are not flagged."""
    with recorded.recorder.run("t") as run, run.decision() as step:
        for arguments in ({"to": [COPY]}, json.dumps({"to": COPY}), {"body": json.dumps(COPY)}, {"to": "jo"}):
            step.call("send", arguments)
    flagged = [bool(call.flags) for call in recorded.records("call")]
    assert flagged == [True, True, True, False]


def test_arguments_that_it_ran_with_are_flagged_too(recorded):
    """A loop of its own may tell what it really passed on."""
    with recorded.recorder.run("t") as run, run.decision() as step, step.call("send", {"to": "jo"}) as call:
        call.executed({"to": COPY})
    assert recorded.one("call").flags == (Flag.REDACTED_COPY_IN_ARGUMENTS,)


class Trap:
    """An object any of whose methods raises."""

    def __getattribute__(self, name):
        raise AssertionError(name)

    __eq__ = __hash__ = __iter__ = __len__ = __repr__ = __bool__ = None


class Key(str):
    """A key that is equal to the tag by its own word, with its hash."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        raise AssertionError(other)


def test_no_code_of_a_value_runs():
    """Neither methods nor comparisons nor iteration."""
    assert not holds_placeholder([Trap(), {"a": Trap()}, {Key(TAG): 1}, type("Many", (list,), {"__iter__": None})([COPY])])


def test_the_search_is_bounded():
    """Cycles end, and beyond the limit nothing is looked at."""
    loop = []
    loop.append(loop)
    assert not holds_placeholder([loop])
    assert not holds_placeholder([*range(MOST_NODES), COPY])
    assert holds_placeholder([COPY, *range(10 * MOST_NODES)])


UNTAGGED = st.text().filter(lambda text: "tw:redacted" not in text)


@given(st.recursive(st.none() | UNTAGGED | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(UNTAGGED, inner)))
def test_a_value_without_the_tag_is_never_refused(value):
    """Whatever its shape."""
    assert not holds_placeholder(value)
    assert holds_placeholder([value, {"x": COPY}])


def test_a_coroutine_that_is_refused_leaves_nothing_unawaited():
    """The refusal comes before there is a coroutine."""

    async def main():
        with pytest.raises(RedactedArgumentError):
            await fetch(COPY)

    asyncio.run(main())
