from __future__ import annotations

import datetime as dt
import json
import math
import time
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, EnumMeta, StrEnum
from pathlib import PurePosixPath
from uuid import UUID

import pytest
from pydantic import BaseModel

from toolwitness.redaction.projection import CUT, DEFAULT_LIMITS, Limits, Projection, project


class Hostile:
    """Fails the test when any of its own code runs."""

    def _ran(self, *_):
        raise AssertionError("foreign code ran")

    __repr__ = __str__ = __len__ = __eq__ = __iter__ = __getattr__ = __hash__ = __bool__ = __format__ = _ran
    __getattribute__ = __call__ = __getitem__ = __index__ = __float__ = __enter__ = __reduce_ex__ = _ran


class HostileMeta(type):
    """Fails the test when a class is asked anything."""

    def _ran(cls, *_):
        raise AssertionError("foreign code ran")

    __repr__ = __eq__ = __hash__ = __getattribute__ = __instancecheck__ = __subclasscheck__ = _ran


class OfHostileMeta(metaclass=HostileMeta):
    """Has a class that must not be asked."""


class HostileDict(dict):
    """Fails the test when it is read as a mapping."""

    def _ran(self, *_):
        raise AssertionError("foreign code ran")

    __len__ = __iter__ = __getitem__ = items = keys = __repr__ = _ran


class HostileStr(str):
    """Fails the test when it is read as a text."""

    __slots__ = ()

    def _ran(self, *_):
        raise AssertionError("foreign code ran")

    __len__ = __eq__ = __hash__ = __str__ = __repr__ = isascii = _ran


class Colour(Enum):
    """Has a text as its value."""

    RED = "red"


class Grade(StrEnum):
    """Is a text itself."""

    HIGH = "high"


@dataclass
class Point:
    """Keeps its fields in a dictionary."""

    x: int
    y: object


@dataclass(slots=True)
class Slotted:
    """Keeps its fields in slots."""

    x: int


class Model(BaseModel):
    """Keeps its fields as pydantic does."""

    sku: str
    qty: int = 1


def test_plain_json_is_copied_as_it_is():
    """Plain JSON comes back equal, whole and as another object."""
    value = {"a": [1, 2.5, "x", None, True], "b": {"c": "é"}}

    copy = project(value)

    assert copy.value == value
    assert copy.value is not value
    assert copy.value["a"] is not value["a"]
    assert not copy.truncated
    assert copy.size > 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Hostile(), "<Hostile>"),
        (HostileDict(a=1), "<HostileDict>"),
        (HostileStr("x"), "<HostileStr>"),
        (OfHostileMeta(), "<OfHostileMeta>"),
        (Hostile, "<type>"),
        (object(), "<object>"),
    ],
    ids=["object", "dict", "str", "metaclass", "class", "plain"],
)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"k": v}, lambda v: [v]], ids=["bare", "dict", "list"])
def test_foreign_objects_become_their_type_name_without_running_their_code(value, expected, wrap):
    """A foreign object leaves only its type's name, and none of its methods is called."""
    copy = project(wrap(value))

    assert copy.value == wrap(expected)
    assert copy.truncated


def test_generators_are_not_advanced():
    """A generator still has all of its items after it was projected."""
    numbers = (n for n in range(3))

    assert project({"n": numbers}).value == {"n": "<generator>"}
    assert list(numbers) == [0, 1, 2]


def test_known_objects_are_read_by_their_fields():
    """Dataclasses, slotted ones, pydantic models and enum members give their stored values."""
    value = {"p": Point(1, [2]), "s": Slotted(3), "m": Model(sku="a"), "e": Colour.RED, "g": Grade.HIGH}

    copy = project(value)

    assert copy.value == {"p": {"x": 1, "y": [2]}, "s": {"x": 3}, "m": {"sku": "a", "qty": 1}, "e": "red", "g": "high"}
    assert not copy.truncated


def test_properties_of_a_dataclass_are_not_run():
    """A field that a subclass turned into a property is left out, and a `__dict__` property is not asked."""

    class Sly(Point):
        @property
        def __dict__(self):
            raise AssertionError("foreign code ran")

    assert project(Sly(1, 2)).value == {}


def test_an_enum_metaclass_of_its_own_is_not_asked():
    """The value of an enum member is read without the enum's metaclass."""

    class Loud(EnumMeta):
        def __len__(cls):
            raise AssertionError("foreign code ran")

    class Quiet(Enum, metaclass=Loud):
        A = 1

    assert project([Quiet.A]).value == [1]


def test_standard_scalars_become_their_text():
    """Times, decimals, UUIDs and paths of exact standard types are written out."""
    moment = dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC)

    copy = project([moment, dt.date(2026, 1, 2), Decimal("1.50"), UUID(int=1), PurePosixPath("/a")])

    assert copy.value == ["2026-01-02T03:04:00+00:00", "2026-01-02", "1.50", str(UUID(int=1)), "/a"]


def test_a_foreign_time_zone_is_not_asked():
    """A time with a time zone of a foreign class is written without its offset."""

    class Zone(dt.tzinfo):
        def utcoffset(self, _):
            raise AssertionError("foreign code ran")

    assert project(dt.datetime(2026, 1, 2, tzinfo=Zone())).value == "2026-01-02T00:00:00"


def test_numbers_that_json_or_64_bits_lack_become_text():
    """Not-a-number, infinities and long integers are markers or digits, and count as changed."""
    copy = project([math.nan, math.inf, -math.inf, 1 << 64, 10**5000])

    assert copy.value == ["<NaN>", "<Infinity>", "<-Infinity>", str(1 << 64), "<int>"]
    assert copy.truncated


def test_keys_become_text():
    """Keys that are atoms keep their text; others give their type's name."""
    value = {7: "a", None: "b", True: "c", 1.5: "d", (1,): "e", dt.date(2026, 1, 2): "f"}

    assert list(project(value).value) == ["7", "null", "true", "1.5", "<tuple>", "2026-01-02"]


def test_lone_surrogates_are_replaced():
    """A lone surrogate, which UTF-8 cannot carry, becomes the replacement character."""
    copy = project({"a": "x\ud800y", "\udc00": 1})

    assert copy.value == {"a": "x\ufffdy", "\ufffd": 1}
    assert json.dumps(copy.value, ensure_ascii=False).encode()


def test_sets_become_sorted_lists_and_bytes_their_length():
    """Sets of texts come out in order, and of bytes only the number leaves."""
    assert project({"s": {"b", "a"}, "b": b"12345"}).value == {"s": ["a", "b"], "b": "<bytes 5>"}


def test_cycles_end_in_a_marker():
    """A value that contains itself ends where it would repeat; one that is merely shared is copied twice."""
    shared = [1]
    loop = {"a": shared, "b": shared}
    loop["self"] = loop

    copy = project(loop)

    assert copy.value == {"a": [1], "b": [1], "self": "<cycle>"}
    assert copy.truncated


def test_a_cycle_through_an_object_ends_in_a_marker():
    """An object that contains itself ends where it would repeat."""
    point = Point(1, None)
    point.y = [point]

    assert project(point).value == {"x": 1, "y": ["<cycle>"]}


def test_depth_is_bounded():
    """Nesting stops at the limit."""
    value = []
    for _ in range(100_000):
        value = [value]

    copy = project(value)
    depth = 0
    at = copy.value
    while type(at) is list:
        at, depth = at[0], depth + 1

    assert (at, depth) == ("<depth>", DEFAULT_LIMITS.depth)
    assert copy.truncated


def test_members_are_bounded():
    """Of a long list only as many members are copied as the limit allows."""
    copy = project(list(range(1_000_000)), limits=Limits(nodes=10))

    assert copy.value == list(range(10))
    assert copy.truncated


@pytest.mark.parametrize("value", [list(range(1_000_000)), dict.fromkeys(range(1_000_000)), set(range(100_000))])
def test_of_a_huge_container_the_first_members_are_kept(value):
    """A container beyond the limit still gives as many members as the limit allows."""
    copy = project(value)

    assert len(copy.value) == DEFAULT_LIMITS.nodes
    assert copy.truncated


def test_strings_are_bounded():
    """A long string is cut and says so at its end."""
    copy = project("x" * 100, limits=Limits(string=10))

    assert copy.value == "x" * 10 + CUT
    assert copy.truncated


@pytest.mark.parametrize("text", ["x" * 5_000, "é" * 5_000])
def test_the_whole_copy_is_bounded(text):
    """Many strings together stay near the limit of the event, counted in bytes."""
    copy = project({"a": [text] * 1000, text: text})

    assert len(json.dumps(copy.value, ensure_ascii=False).encode()) < 2 * DEFAULT_LIMITS.event
    assert copy.size <= DEFAULT_LIMITS.event + 100
    assert copy.truncated


def test_huge_values_take_no_longer_than_their_limit():
    """Fifty million characters and a list of a million items are projected in milliseconds."""
    value = {"text": "x" * 50_000_000, "items": [0] * 1_000_000}

    start = time.thread_time()
    project(value)

    assert time.thread_time() - start < 0.05


def test_a_projection_does_not_show_its_value():
    """The repr of a projection, which may end in a log, has no content."""
    assert "hunter" not in repr(project("hunter"))


def test_a_size_is_at_least_one():
    """Even nothing has a size."""
    assert isinstance(project(None), Projection)
    assert project(None).size == 1
