"""Idempotency keys: one a payment that is meant, whatever happens to telemetry or to the process."""

import asyncio
import contextlib
import datetime as dt
import enum
import json
import os
import threading
import uuid
import zoneinfo
from collections import OrderedDict, deque
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePosixPath

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolwitness
from toolwitness.model.enums import ErrorClass, Flag, GateKind, GateMode, ObservationStatus, Verdict
from toolwitness.model.exceptions import IdempotencyConflictError, IdempotencyKeyError
from toolwitness.redaction import project
from toolwitness.sdk import keybook, setup
from toolwitness.sdk.canonical import exact_arguments
from toolwitness.sdk.guard import swallowing

seen = []


class LostError(Exception):
    """The connection broke after the request was sent."""


@toolwitness.tool(server="bank", side_effect="write")
def pay(amount, context=None):
    """Ask for the key of all arguments."""
    seen.append(toolwitness.current_call().idempotency_key)
    return {"ok": True, "amount": amount, "context": type(context).__name__}


outcomes = []


@toolwitness.tool(server="bank", side_effect="write", key_arguments=["amount"])
def send(amount, context=None):
    """Ask for the key, and end as the next of `outcomes` says."""
    seen.append(toolwitness.current_call().idempotency_key)
    end = outcomes.pop(0) if outcomes else {"ok": True, "amount": amount, "context": type(context).__name__}
    if isinstance(end, BaseException):
        raise end
    return end


@pytest.fixture(autouse=True)
def _fresh():
    seen.clear()
    outcomes.clear()


@pytest.fixture(name="telemetry", params=["off", "on"])
def _telemetry(request):
    """Every truth that uses it holds with telemetry off and on."""
    if request.param == "on":
        request.getfixturevalue("live")
    return request.param


def losing(amount):
    """Pay, and lose the answer."""
    outcomes.append(LostError())
    with contextlib.suppress(LostError):
        send(amount)
    return seen[-1]


def paying(amount, answer=None):
    """Pay, and get an answer; the key that was sent along."""
    outcomes.append(answer or {"ok": True})
    send(amount)
    return seen[-1]


@pytest.mark.usefixtures("telemetry")
def test_a_key_is_sixty_four_hex_digits_and_the_same_in_each_retry_of_a_call():
    """However often it is asked for, and whatever the attempts came to."""
    with toolwitness.run(id="r-1") as run, run.call("pay", {"amount": 5}, server="bank") as call:
        for _ in range(2):
            with contextlib.suppress(LostError), call.attempt():
                seen.append(call.idempotency_key)
                raise LostError
        assert {*seen} == {call.idempotency_key}
    assert len(seen[0]) == 64
    assert int(seen[0], 16)


@pytest.mark.usefixtures("telemetry")
def test_a_proposal_whose_twin_is_unsettled_shares_its_key():
    """What was lost may have taken effect, so that a repetition must be known for one."""
    with toolwitness.run(id="r-1"):
        assert losing(5) == losing(5) == paying(5)


@pytest.mark.usefixtures("telemetry")
def test_a_second_payment_that_is_meant_has_another_key():
    """Its twin was answered, so nobody repeats it by mistake."""
    with toolwitness.run(id="r-1"):
        keys = [paying(5), paying(5), losing(5), paying(5), paying(5)]
    assert len({*keys}) == 4
    assert keys[2] == keys[3]


REFUSALS = [{"status": "error", "error": "no such account"}, {"success": False, "error": {"code": "declined"}}]


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("answer", REFUSALS)
def test_an_answer_that_says_no_settles_a_call_of_its_own(answer):
    """The service may keep its answer for the key."""
    with toolwitness.run(id="r-1"):
        assert paying(5, answer) != paying(5)


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refusal_settles_nothing_while_another_call_with_the_key_is_unsettled(answer):
    """The first may have taken effect; a new key would pay twice."""
    with toolwitness.run(id="r-1"):
        assert losing(5) == paying(5, answer) == paying(5) != paying(5)


@pytest.mark.usefixtures("telemetry")
def test_parallel_twins_share_unless_they_name_their_node():
    """Two equal proposals may be one by mistake; the application knows when they are not."""
    with toolwitness.run(id="r-1") as run:
        equal = [run.call("pay", {"amount": 5}) for _ in range(2)]
        named = [run.call("pay", {"amount": 5}, node=node) for node in ("a", "b", 1)]
        again = run.call("pay", {"amount": 5}, node="a")
        keys = [call.idempotency_key for call in (*equal, *named)]
    assert keys[0] == keys[1]
    assert len({*keys}) == 4
    assert again.idempotency_key == keys[2]
    assert (named[0].node, equal[0].node) == ("a", None)


@pytest.mark.usefixtures("telemetry")
def test_a_late_end_of_a_shared_key_uses_up_no_other():
    """Two calls share the first key; that both end well makes one payment."""
    with toolwitness.run(id="r-1") as run:
        slow, quick = (run.call("pay", {"amount": 5}) for _ in range(2))
        first = slow.idempotency_key, quick.idempotency_key
        with quick, quick.attempt():
            quick.result("ok")
        lost = run.call("pay", {"amount": 5})
        second = lost.idempotency_key
        with pytest.raises(LostError), lost, lost.attempt():
            raise LostError
        with slow, slow.attempt():
            slow.result("ok")
        third = run.call("pay", {"amount": 5}).idempotency_key
    assert first[0] == first[1] != second == third


@pytest.mark.usefixtures("telemetry")
def test_what_a_loop_says_in_the_place_of_a_denied_call_settles_nothing():
    """The first may have taken effect; nothing ran for the second."""
    with toolwitness.run(id="r-1") as run:
        first = losing_by_hand(run)
        with run.call("pay", {"amount": 5}) as denied:
            assert denied.idempotency_key == first
            denied.gate("confirmation", "deny")
            denied.result("the user said no")
        assert run.call("pay", {"amount": 5}).idempotency_key == first


def losing_by_hand(run):
    """A hand-written attempt that is lost."""
    with contextlib.suppress(LostError), run.call("pay", {"amount": 5}) as call, call.attempt():
        key = call.idempotency_key
        raise LostError
    return key


@pytest.mark.usefixtures("telemetry")
def test_a_call_that_is_answered_and_still_open_is_settled():
    """A model client's calls stay open until its next request."""
    with toolwitness.run(id="r-1") as run:
        first = run.call("pay", {"amount": 5})
        key = first.idempotency_key
        with first.attempt():
            pass
        assert run.call("pay", {"amount": 5}).idempotency_key == key
        first.result("ok")
        assert run.call("pay", {"amount": 5}).idempotency_key != key


@pytest.mark.usefixtures("telemetry")
def test_calls_that_ask_for_no_key_count_for_nothing():
    """Nothing is kept of them."""
    with toolwitness.run(id="r-1") as run:
        with run.call("pay", {"amount": 5}) as call, call.attempt():
            call.result("ok")
        key = run.call("pay", {"amount": 5}).idempotency_key
    with toolwitness.run(id="r-1") as run:
        assert run.call("pay", {"amount": 5}).idempotency_key == key


@pytest.mark.usefixtures("telemetry")
def test_a_run_goes_on_by_its_id_and_another_run_has_other_keys():
    """Without an id of the application's a run is one of its own each time."""
    keys = []
    for how in ({"id": "r-1"}, {"id": "r-1"}, {"id": "r-2"}, {}, {}):
        with toolwitness.run(**how):
            keys.append(losing(5))
    with toolwitness.run(id="r-1"), toolwitness.run():
        assert losing(5) == keys[0] == keys[1]
    assert len({*keys}) == 4


@pytest.mark.usefixtures("telemetry")
def test_outside_of_runs_a_key_is_that_of_one_call():
    """Nothing tells what belongs together."""
    assert losing(5) != losing(5)


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("kind", ["async", "generator", "method", "bound"])
def test_every_kind_of_tool_finds_its_call(kind):
    """The key is the same in each, for the same tool and arguments."""

    def key():
        return toolwitness.current_call().idempotency_key

    @toolwitness.tool(name="t")
    async def of_async(amount):
        await asyncio.sleep(0)
        return key(), amount

    @toolwitness.tool(name="t")
    def of_generator(amount):
        yield key(), amount

    class Desk:
        @toolwitness.tool(name="t")
        def of_method(self, amount):
            return key(), amount

    ways = {
        "async": lambda: asyncio.run(of_async(5)),
        "generator": lambda: next(of_generator(5)),
        "method": lambda: Desk().of_method(5),
        "bound": lambda: Desk().of_method(amount=5),
    }
    with toolwitness.run(id="r-1") as run:
        proposed = run.call("t", {"amount": 5}).idempotency_key
        assert ways[kind]() == (proposed, 5)


@pytest.mark.usefixtures("telemetry")
def test_in_a_decorated_tool_the_arguments_are_those_it_runs_with():
    """They are the same with and without a framework or a loop around it; a name that the loop uses makes no difference."""
    with toolwitness.run(id="r-1") as run, run.call("send", '{ "amount": 5.0, "note": "x" }'), contextlib.suppress(LostError):
        outcomes.append(LostError())
        send(amount=5)
    with toolwitness.run(id="r-1"):
        assert losing(5) == seen[0]


# -- arguments ------------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
ARGUMENTS = st.dictionaries(st.text(max_size=4), JSON, max_size=4)


def exact(value):
    """The canonical text of a value as a call keeps it."""
    return exact_arguments(project(value))


def shuffled(value):
    """The same with the members of every object the other way around."""
    if isinstance(value, dict):
        return {name: shuffled(value[name]) for name in reversed(value)}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


def plain(text):
    """Whether it can leave as UTF-8."""
    return "\\ud" not in json.dumps(text).lower()


@given(ARGUMENTS.filter(plain), st.sampled_from([None, 1]), st.booleans())
def test_order_white_space_and_escapes_make_no_difference(arguments, indent, ascii_only):
    """As an object or as JSON text, however it is written."""
    assert exact(arguments) is not None
    assert (
        exact(arguments) == exact(shuffled(arguments)) == exact(json.dumps(arguments, indent=indent, ensure_ascii=ascii_only))
    )


@given(ARGUMENTS.filter(plain), ARGUMENTS.filter(plain))
def test_different_arguments_have_different_texts(one, other):
    """Numbers are compared as numbers, all else by kind and value."""
    assert (exact(one) == exact(other)) == (tagged(one) == tagged(other))


def tagged(value):
    """The value with the kind of every member, since Python takes True for 1."""
    if isinstance(value, dict):
        return {name: tagged(item) for name, item in value.items()}
    if isinstance(value, list):
        return [tagged(item) for item in value]
    return ("number", Decimal(repr(value))) if type(value) in {int, float} else (type(value), value)


class Currency(enum.StrEnum):
    """An enum that is a text."""

    EUR = "EUR"


class Color(enum.Enum):
    """An enum whose members only have values."""

    RED = 1


@dataclass
class Charge:
    """What a refund could look like too."""

    amount: int


class Bill(pydantic.BaseModel):
    """A model that takes more than it declares."""

    model_config = pydantic.ConfigDict(extra="allow")
    amount: int


class Own(dict):
    """A class of the application's."""


class Zone(dt.tzinfo):
    """A zone of the application's."""

    def utcoffset(self, _):
        """Return an hour."""
        return dt.timedelta(hours=1)


PARIS = zoneinfo.ZoneInfo("Europe/Paris")
SAME = [
    (5, 5.0),
    ((1, 2), [1, 2]),
    (OrderedDict(a=1), {"a": 1}),
    (deque([1]), [1]),
    (Currency.EUR, "EUR"),
    (dt.date(2026, 1, 2), "2026-01-02"),
    (Decimal("5.10"), "5.10"),
    (uuid.UUID(int=1), str(uuid.UUID(int=1))),
    (PurePosixPath("a/b"), "a/b"),
    (-0.0, 0),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=repr)
def test_what_is_written_the_same_in_json_is_the_same(one, other):
    """No tool takes both for different payments."""
    assert exact({"a": one}) == exact({"a": other}) is not None


DIFFERENT = [
    (1, True),
    (0, False),
    (1, "1"),
    (None, "null"),
    (0.1, "0.1"),
    (0.1, 0.10000000000000002),
    (10**18, 10**18 + 1),
    (10, 100),
    (10, 1),
    (1, -1),
    (Decimal(5), 5),
    (Decimal(5), Decimal(6)),
    (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 1)),  # noqa: DTZ001 -- that is the difference
    (dt.datetime(2026, 1, 1, tzinfo=PARIS), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
    ([], {}),
    ("", None),
    ("é", "e\u0301"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=repr)
def test_what_differs_has_another_text(one, other):
    """Each pair has been one in some canonical form."""
    assert None not in {exact({"a": one}), exact({"a": other})}
    assert exact({"a": one}) != exact({"a": other})


def test_numbers_in_json_text_are_read_without_rounding():
    """A float would take these for the same."""
    texts = [
        f'{{"amount": {number}}}' for number in ("0.1", "0.1000000000000000055", "1e400", "1e401", "12345678901234567890.5")
    ]
    assert len({*map(exact, texts)}) == len(texts)
    assert exact('{"amount": 100}') == exact('{"amount": 1.00E2}')


INEXACT = {
    "a dataclass": Charge(5),
    "a model": Bill(amount=5, more=1),
    "an enum that is no value": Color.RED,
    "a set": {1, 2},
    "a set of texts": frozenset("ab"),
    "bytes": b"ab",
    "an object": object(),
    "a subclass": Own(a=1),
    "no number": float("nan"),
    "an endless one": float("inf"),
    "a longer integer": 1 << 70,
    "a longer text": "x" * 20_000,
    "half a character": "\ud800",
    "keys that are no text": {1: "a"},
    "a zone that is not said": dt.datetime(2026, 1, 1, tzinfo=Zone()),
    "a time of day somewhere": dt.time(1, tzinfo=PARIS),
    "the second of two equal hours": dt.datetime(2026, 10, 25, 2, fold=1),  # noqa: DTZ001 -- without a zone
    "a function": len,
    "a complex number": 1j,
}


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("value", INEXACT.values(), ids=INEXACT)
@pytest.mark.parametrize("node", [None, "n-1"])
def test_a_copy_that_another_value_could_have_gives_no_key(value, node):
    """Two payments could share it; a node would not tell them apart, since nobody could see that they differ."""
    with toolwitness.run(id="r-1") as run, pytest.raises(IdempotencyKeyError, match=r"tool bank/pay .*key_arguments"):
        _ = run.call("pay", {"amount": 5, "more": [value]}, server="bank", node=node).idempotency_key


AMBIGUOUS = ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1e99999999999999999999}', '{"a":' * 100_000]


@pytest.mark.parametrize("text", AMBIGUOUS, ids=lambda text: text[:12])
def test_json_text_that_two_readers_may_read_differently_gives_no_key(text):
    """Such as one with a member twice."""
    assert exact(text) is None


def test_a_text_that_is_no_json_is_itself():
    """Tools may take free text."""
    assert exact("pay five") == exact("pay five") != exact('"pay five"')
    assert exact("{pay five") is not None


@pytest.mark.usefixtures("telemetry")
def test_arguments_that_were_not_told_are_not_none():
    """Without them two payments would look the same; a tool without arguments has an empty object of them."""
    with toolwitness.run(id="r-1") as run:
        with pytest.raises(IdempotencyKeyError, match="were not told"):
            _ = run.call("pay").idempotency_key
        assert run.call("pay", {}).idempotency_key


@pytest.mark.usefixtures("telemetry")
def test_an_argument_that_is_not_named_does_not_count():
    """A framework's context would make every call one without a key."""
    with toolwitness.run(id="r-1"):
        outcomes.append(LostError())
        with contextlib.suppress(LostError):
            send(5, context=object())
        assert losing(5) == seen[0]
        with pytest.raises(IdempotencyKeyError):
            pay(5, context=object())


@pytest.mark.parametrize("names", ["amount", [], ["amont"], ["rest"]])
def test_names_that_are_no_parameters_are_refused(names):
    """All calls would have one key."""
    with pytest.raises(ValueError, match="some of the parameters amount"):

        @toolwitness.tool(key_arguments=names)
        def tool(amount, *more, **rest):
            """Take anything."""


# -- keys and nodes of the application's own --------------------------------------------------------------------------------


@pytest.mark.usefixtures("telemetry")
def test_a_key_of_the_application_s_own_is_given_back():
    """Also where the arguments could have no other."""
    with toolwitness.run() as run, run.decision() as step:
        calls = (run.call("pay", idempotency_key="k-1"), step.call("pay", {"a": object()}, idempotency_key="k-2"))
        seen.extend(call.idempotency_key for call in calls)
    with toolwitness.call("pay", {"amount": 1}, idempotency_key="k-3") as call:
        seen.append(call.idempotency_key)
    assert seen == ["k-1", "k-2", "k-3"]


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("given_key", ["", 5, b"k"])
def test_a_key_that_is_no_text_is_told_when_it_is_asked_for(given_key):
    """Proposing a call raises nothing."""
    with toolwitness.run() as run, pytest.raises(IdempotencyKeyError, match="no text"):
        _ = run.call("pay", {"amount": 5}, idempotency_key=given_key).idempotency_key


WAYS = [{"node": "n-1"}, {"idempotency_key": "k-1"}]


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("how", WAYS)
def test_asking_for_the_key_of_other_arguments_is_a_conflict(how):
    """Another tool, or another node or key, has nothing to do with it."""
    with toolwitness.run(id="r-1") as run:
        first = run.call("pay", {"amount": 5}, **how).idempotency_key
        assert run.call("pay", {"amount": 5}, **how).idempotency_key == first
        assert run.call("refund", {"amount": 6}, **how).idempotency_key
        with pytest.raises(IdempotencyConflictError, match="tool pay: its node or idempotency key"):
            _ = run.call("pay", {"amount": 6}, **how).idempotency_key


@pytest.mark.usefixtures("telemetry")
@pytest.mark.parametrize("how", WAYS)
def test_a_decorated_tool_does_not_run_on_a_conflict(how):
    """Whether or not it would have asked for its key."""
    ran = []

    @toolwitness.tool(side_effect="write")
    def book(room):
        ran.append(room)

    with toolwitness.run(id="r-1") as run:
        for room in (1, 1, 2):
            with run.call("book", {"room": room}, **how), contextlib.suppress(IdempotencyConflictError):
                book(room)
    assert ran == [1, 1]


@pytest.mark.parametrize("how", WAYS)
def test_a_conflict_is_a_call_that_a_gate_stopped(live, how):
    """No attempt, nothing observed, class `conflict`, and the call is flagged."""
    with toolwitness.run(id="r-1") as run:
        with run.call("send", {"amount": 5}, **how):
            send(5)
        with pytest.raises(IdempotencyConflictError), run.call("send", {"amount": 6}, **how):
            send(6)
    fine, call = live("call")
    (gate,), (attempt,) = live("gate"), live("attempt")
    assert (attempt.call_id, gate.call_id, fine.flags) == (fine.call_id, call.call_id, ())
    assert (gate.gate_kind, gate.verdict, gate.gate_mode) == (GateKind.IDEMPOTENCY, Verdict.DENY, GateMode.ENFORCED)
    assert (gate.reason_code, call.flags) == ("conflict", (Flag.IDEMPOTENCY_CONFLICT,))
    assert (call.observation, call.error_class) == (ObservationStatus.NONE, ErrorClass.CONFLICT)


@pytest.mark.parametrize("how", WAYS)
def test_where_the_runtime_is_not_ours_a_conflict_is_reported(live, how):
    """A hand-written attempt goes on; the gate only looked."""
    with toolwitness.run(id="r-1") as run:
        for amount in (5, 6):
            with run.call("pay", {"amount": amount}, **how) as call, call.attempt():
                call.result("ok")
    (gate,), (first, second) = live("gate"), live("call")
    assert (gate.call_id, gate.gate_mode, gate.reason_code) == (second.call_id, GateMode.OBSERVED, "conflict")
    assert (first.flags, second.flags) == ((), (Flag.IDEMPOTENCY_CONFLICT,))
    assert len(live("attempt")) == 2


@pytest.mark.usefixtures("telemetry")
def test_a_call_that_runs_with_other_arguments_than_before_is_a_conflict():
    """Its key stands for what it was first asked for with."""
    with toolwitness.run(id="r-1") as run, run.call("send", {"amount": 5}):
        outcomes.append(LostError())
        with pytest.raises(LostError):
            send(5)
        with pytest.raises(IdempotencyConflictError):
            send(6)


@pytest.mark.usefixtures("telemetry")
def test_a_key_that_the_loop_asked_for_is_of_one_payment():
    """The tool runs with what the application adds; that it adds something else under the same key is a conflict."""
    with toolwitness.run(id="r-1") as run:
        for amount, fits in ((5, True), (5, True), (7, False)):
            with run.call("send", {"order": "A-1"}) as call:
                seen.append(call.idempotency_key)
                outcomes.append(LostError())
                with pytest.raises(LostError if fits else IdempotencyConflictError):
                    send(amount)
    assert len({*seen}) == 1


# -- restarts, files, processes ---------------------------------------------------------------------------------------------


def books():
    """The files of this test's state folder."""
    return list((setup.Settings.usable().state_dir / "keys").glob("*.jsonl"))


def test_a_run_with_an_id_is_kept_in_one_private_file():
    """It holds digests, and nothing of arguments, ids, tools or keys."""
    with toolwitness.run(id="r-secret-run") as run:
        key = paying(4711)
        named = run.call("send", {"amount": 4712}, node="n-secret").idempotency_key
    (file,) = books()
    text = file.read_text()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [json.loads(line)[0] for line in text.splitlines()] == ["asked", "ended", "bound"]
    assert not [word for word in ("4711", "secret", "send", "bank", key, named) if word in text + file.name]


def test_a_run_without_an_id_leaves_no_file():
    """Nobody could go on with it."""
    with toolwitness.run():
        paying(5)
    assert books() == []


def test_a_line_that_a_crash_cut_is_passed_over():
    """Nobody got an answer by it, and what comes after it is read."""
    with toolwitness.run(id="r-1"):
        keys = [paying(5)]
    (file,) = books()
    with file.open("a") as out:
        out.write('["asked", "ab')
    for _ in range(2):
        with toolwitness.run(id="r-1"):
            keys.append(paying(5))
    assert len({*keys}) == 3


def test_without_a_writable_folder_a_run_with_an_id_has_no_keys(tmp_path, monkeypatch):
    """A restart would make others; a run that cannot outlive the process has some."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TOOLWITNESS_STATE_DIR", str(tmp_path / "file" / "state"))
    with toolwitness.run():
        assert paying(5)
    with toolwitness.run(id="r-1") as run:
        with pytest.raises(IdempotencyKeyError, match="TOOLWITNESS_DIGEST_KEY"):
            paying(5)
        assert run.call("pay", idempotency_key="k-1").idempotency_key == "k-1"


def test_with_a_configured_secret_it_still_needs_the_folder(tmp_path, monkeypatch):
    """Which payments were made would be forgotten."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TOOLWITNESS_STATE_DIR", str(tmp_path / "file" / "state"))
    monkeypatch.setenv("TOOLWITNESS_DIGEST_KEY", "one of the team's")
    with toolwitness.run(id="r-1"), pytest.raises(IdempotencyKeyError, match="TOOLWITNESS_STATE_DIR"):
        paying(5)


def test_beyond_the_bound_there_is_no_key(monkeypatch):
    """None is forgotten, since a second payment would get the first one's."""
    monkeypatch.setattr(keybook, "_MOST", 3)
    with toolwitness.run():
        keys = [paying(amount) for amount in (1, 2, 3)]
        with pytest.raises(IdempotencyKeyError, match="in this run"):
            paying(4)
        assert paying(1) not in keys


def test_old_files_are_removed_and_others_stay():
    """By the time of the last key, and not while somebody holds them."""
    for run in ("r-1", "r-2"):
        with toolwitness.run(id=run):
            paying(5)
    first, second = books()
    os.utime(first, (0, 0))
    keybook.prune(first.parent)
    assert books() == [second]


def test_a_run_whose_file_was_removed_goes_on():
    """What this process knows it still knows."""
    with toolwitness.run(id="r-1"):
        keys = [paying(5)]
        (file,) = books()
        file.unlink()
        keys.append(paying(5))
    assert len({*keys}) == 2


def test_threads_that_make_the_same_payment_share_its_key():
    """However they meet."""
    keys = []
    with toolwitness.run(id="r-1") as run:

        def ask():
            keys.append(run.call("pay", {"amount": 5}).idempotency_key)

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(keys) == 16
    assert len({*keys}) == 1


# -- what is recorded, and that it makes no difference whether anything is --------------------------------------------------


def test_only_digests_are_recorded(live, tmp_path):
    """On the call, its attempts and their announcement; the key itself stands in no span and in no file."""
    keys = []
    with toolwitness.run(id="r-1") as run:
        keys += [paying(5), run.call("pay", {"amount": 1}, idempotency_key="application-key").idempotency_key]
        with run.call("pay", {"amount": 2}) as call:
            keys.append(call.idempotency_key)
            with call.attempt():
                pass
    records = live()
    by_call = {}
    for record in records:
        if record.kind in {"call", "attempt", "attempt_start"}:
            by_call.setdefault(record.call_id, set()).add(record.key_digest)
    assert all(len(digests) == 1 and None not in digests for digests in by_call.values())
    assert len({*map(tuple, by_call.values())}) == 3
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not [key for key in keys if key in repr(records) or any(key.encode() in text for text in written)]


def test_a_call_that_never_asks_has_no_digest(live):
    """Nothing was made."""
    with toolwitness.run() as run, run.call("pay", {"amount": 5}, node="n") as call, call.attempt():
        pass
    assert {record.key_digest for kind in ("call", "attempt", "attempt_start") for record in live(kind)} == {None}


def story():
    """A run with everything in it; the keys, and what was raised."""
    told = []
    with toolwitness.run(id="r-story") as run:
        told += [losing(5), paying(5), paying(5), paying(6, REFUSALS[0]), paying(6)]
        with run.decision() as step, step.call("send", {"amount": 7}, node="n") as call:
            told.append(call.idempotency_key)
            send(7)
        for wrong in ({"amount": 8}, {"amount": object()}):
            try:
                told.append(step.call("send", wrong, node="n").idempotency_key)
            except (IdempotencyConflictError, IdempotencyKeyError) as error:
                told.append(str(error))
    return told


def test_keys_are_the_same_with_telemetry_on_off_and_broken(tmp_path, monkeypatch):
    """The same secret is all that they need."""
    monkeypatch.setenv("TOOLWITNESS_DIGEST_KEY", "one of the team's")
    told = []
    for way in ("off", "dead", "disabled", "unusable"):
        monkeypatch.setenv("TOOLWITNESS_STATE_DIR", str(tmp_path / way))
        monkeypatch.setattr(setup._Active, "keys", None)  # noqa: SLF001 -- as in a new process
        monkeypatch.setattr(setup._Active, "silent", None)  # noqa: SLF001 -- as above
        with swallowing(), monkeypatch.context() as patch:
            if way == "disabled":
                patch.setenv("OTEL_SDK_DISABLED", "true")
            if way == "unusable":
                patch.setenv("TOOLWITNESS_QUEUE_BYTES", "many")
            if way != "off":
                toolwitness.instrument(endpoint="http://127.0.0.1:9", only=(), exit_timeout_s=0)
            told.append(story())
            toolwitness.uninstrument()
    assert told[0] == told[1] == told[2] == told[3]
    assert len({*told[0]}) == 7
