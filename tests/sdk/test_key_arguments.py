"""Which arguments are the same to an idempotency key, and which could be taken for others."""

import contextlib
import datetime as dt
import enum
import json
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
from toolwitness.model.exceptions import IdempotencyConflictError, IdempotencyKeyError
from toolwitness.redaction import project
from toolwitness.sdk.canonical import exact_arguments
from toolwitness.tests.fakes import bank
from toolwitness.tests.fakes.bank import LostError, losing, outcomes, pay, seen, send


@pytest.fixture(autouse=True)
def _fresh():
    bank.fresh()


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


PLACES = st.tuples(
    st.sampled_from(["r-1", "r-2", None]),
    st.sampled_from(["", "bank"]),
    st.sampled_from(["pay", "refund"]),
    st.sampled_from([None, "0", "1"]),
    st.sampled_from([{}, {"a": 0}, {"a": "0"}, {"0": "a"}]),
)


def key_of(run, server, tool, node, arguments):
    """The key of a call that is never settled; None where its node was used with other arguments."""
    with toolwitness.run(id=run) as opened, contextlib.suppress(IdempotencyConflictError):
        return opened.call(tool, arguments, server=server, node=node).idempotency_key
    return None


@given(PLACES, PLACES)
def test_a_key_is_of_one_run_server_tool_node_and_arguments(one, other):
    """And of nothing else; a run without an id is another one each time."""
    first, second = key_of(*one), key_of(*other)
    if first is not None and second is not None:
        assert (first == second) == (one == other and one[0] is not None)
    else:
        assert one != other or one[3] is not None


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
