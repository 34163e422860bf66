"""Makers of objects that break redactors: each gives a new one, and none of them may run its own code while it is cleaned."""

from __future__ import annotations

import array
import collections
import datetime as dt
import decimal
import fractions
import io
import math
import threading
import types
import typing
import weakref
from dataclasses import dataclass
from enum import Enum, Flag, IntEnum, auto

from pydantic import BaseModel, ConfigDict, SecretStr


class RanError(BaseException):
    """The code of a value ran; no guard swallows this."""


def _ran(*_, **__):
    raise RanError


HOOKS = (  # noqa: SIM905 -- names are read as a text
    "__repr__ __str__ __len__ __eq__ __hash__ __bool__ __iter__ __next__ __getattr__ __getitem__ __contains__ __call__ __int__ "
    "__float__ __index__ __lt__ __gt__ __reduce_ex__ __copy__ __deepcopy__ __format__ __array__ __fspath__ __bytes__ keys "
    "values items copy decode isascii encode startswith model_dump dict to_dict tolist item"
).split()


def hostile(base=object, *hooks):
    """A subclass of which every hook ends the test."""
    own = {name: _ran for name in hooks or HOOKS if not (base is not object and name == "__hash__")}
    return type(f"Hostile{base.__name__.title()}", (base,), own)


class LyingClass:
    """Says that it is a dict."""

    __class__ = property(lambda _: dict)


class RaisingClass:
    """Says nothing about its class."""

    __class__ = property(_ran)
    __dict__ = property(_ran)


class HostileMeta(type):
    """A class of classes that may not be asked."""

    __repr__ = __eq__ = __hash__ = __instancecheck__ = __subclasscheck__ = __getattribute__ = _ran


class OfHostileMeta(metaclass=HostileMeta):
    """Has a class that may not be asked."""


class Array:
    """Looks like one of numpy's."""

    shape, ndim, dtype = (2, 2), 2, "float64"
    __array__ = __len__ = __iter__ = __getitem__ = tolist = __eq__ = __bool__ = _ran


class Colour(Enum):
    """Has values of several kinds."""

    RED, PAIR = "red", ("a", 1)


class Level(IntEnum):
    """Is a number."""

    LOW = 1


class Rights(Flag):
    """Is a set of bits."""

    READ, WRITE = auto(), auto()


class Pair(typing.NamedTuple):
    """Is a tuple."""

    a: object
    b: object


@dataclass
class Node:
    """May hold itself."""

    name: str
    next: object = None


@dataclass(slots=True, frozen=True)
class Slotted:
    """Keeps its fields in slots."""

    x: object


class Login(BaseModel):
    """Hides a field from its own repr."""

    model_config = ConfigDict(extra="allow")
    user: str
    password: SecretStr


class Tree(BaseModel):
    """May hold itself."""

    name: str
    child: typing.Any = None


def cyclic_list():
    """A list in itself."""
    loop = [1]
    loop.append(loop)
    return loop


def cyclic_dict():
    """Two objects in each other."""
    one, two = {}, {}
    one["two"], two["one"] = two, [one]
    return one


def cyclic_node():
    """A dataclass in itself."""
    node = Node("a")
    node.next = {"again": node}
    return node


def cyclic_model():
    """A pydantic model in itself."""
    tree = Tree(name="a")
    tree.child = [tree]
    return tree


def deep(make, levels):
    """Something inside itself many times."""
    value = "bottom"
    for _ in range(levels):
        value = make(value)
    return value


def gone():
    """A reference to an object that is no more."""
    return weakref.ref(Node("a"))


ODD = {
    "a list in itself": cyclic_list,
    "two dicts in each other": cyclic_dict,
    "a dataclass in itself": cyclic_node,
    "a model in itself": cyclic_model,
    "hostile object": hostile(),
    "hostile attribute access": hostile(object, "__getattribute__"),
    "hostile dict": lambda: hostile(dict)(a=1),
    "hostile list": lambda: hostile(list)([1]),
    "hostile tuple": lambda: hostile(tuple)([1]),
    "hostile str": lambda: hostile(str)("x"),
    "hostile int": lambda: hostile(int)(7),
    "hostile float": lambda: hostile(float)(7.5),
    "hostile bytes": lambda: hostile(bytes)(b"x"),
    "hostile set": lambda: hostile(set)([1]),
    "hostile date": lambda: hostile(dt.datetime)(2026, 1, 2),
    "hostile exception": lambda: hostile(ValueError, "__str__", "__repr__", "__getattr__")("x"),
    "hostile dataclass": lambda: hostile(Node)("x"),
    "hostile model": lambda: hostile(Tree, "__repr__", "__str__", "__iter__", "model_dump", "__eq__")(name="x"),
    "a class of a hostile metaclass": lambda: OfHostileMeta,
    "an instance of it": OfHostileMeta,
    "a lying class": LyingClass,
    "a raising class": RaisingClass,
    "an array": Array,
    "not a number": lambda: [math.nan, math.inf, -math.inf, -0.0],
    "huge numbers": lambda: [10**5000, -(10**5000), 1 << 64, -(1 << 63) - 1, 5e-324],
    "lone surrogates": lambda: {"\ud800": "\udfff x", "a": "b\udc00"},
    "control characters": lambda: {"\x00": "\x1f\x7f\x85\u2028\x1f", "\x1f": ["a\x1fb"]},
    "astral and combining": lambda: "\U0001f512\u0301\U000e0041\ufeff\u202e",
    "deep lists": lambda: deep(lambda value: [value], 5_000),
    "deep dicts": lambda: deep(lambda value: {"k": value}, 5_000),
    "deep tuples": lambda: deep(lambda value: (value,), 500),
    "deep JSON text": lambda: "[" * 5_000 + "]" * 5_000,
    "JSON text in JSON text": lambda: '"' + "\\" * 2_000 + '"',
    "JSON text with constants": lambda: '{"a": NaN, "b": -Infinity, "c": 1e999, "a": 2}',
    "a long number in JSON text": lambda: '{"n": ' + "9" * 6_000 + "}",
    "a generator": lambda: (number for number in range(3)),
    "an iterator": lambda: iter([1, 2]),
    "a range": lambda: range(10**12),
    "a lock": threading.Lock,
    "thread-local": threading.local,
    "a module": lambda: math,
    "a function": lambda: _ran,
    "a method": lambda: [].append,
    "a class": lambda: dict,
    "a stream": lambda: io.BytesIO(b"abc"),
    "a view": lambda: memoryview(b"abc"),
    "bytes": lambda: [b"\xff\xfe", bytearray(b"ab"), b""],
    "an array of numbers": lambda: array.array("d", [1.0]),
    "sets": lambda: [{1, "a", None, (1, 2)}, frozenset({b"x"}), set()],
    "collections": lambda: [
        collections.deque([1, 2]),
        collections.OrderedDict(a=1),
        collections.defaultdict(list, a=[1]),
        collections.Counter("aab"),
        collections.ChainMap({"a": 1}),
        types.MappingProxyType({"a": 1}),
        types.SimpleNamespace(a=1),
    ],
    "named tuples": lambda: [Pair(1, "b"), dt.date(2026, 1, 2).timetuple()],
    "enums": lambda: [Colour.RED, Colour.PAIR, Level.LOW, Rights.READ | Rights.WRITE, Colour],
    "numbers of other kinds": lambda: [decimal.Decimal("sNaN"), decimal.Decimal("1E+999"), fractions.Fraction(1, 3), 1j],
    "times": lambda: [
        dt.datetime.min.replace(tzinfo=dt.UTC),
        dt.datetime(9999, 12, 31, tzinfo=dt.timezone(dt.timedelta(hours=-23))),
        dt.timedelta.max,
        dt.time(1),
    ],
    "dataclasses": lambda: [Node("a", Node("b")), Slotted(b"x"), Node],
    "models": lambda: [Login(user="a", password="b", more={"x": [1]}), Tree(name="a"), Tree],
    "an exception with a cause": lambda: ValueError("a", KeyError("b")),
    "a dead reference": gone,
    "singletons": lambda: [NotImplemented, Ellipsis, None, True],
    "keys that are no texts": lambda: {
        None: 1,
        True: 2,
        1.5: 3,
        (1, 2): 4,
        b"k": 5,
        math.nan: 6,
        10**5000: 7,
        Colour.RED: 8,
        frozenset(): 9,
        2: 10,
        "2": 11,
        dict: 12,
    },
    "the same object many times": lambda: [[shared := {"a": [1]}, shared, shared]] * 3,
    "many members": lambda: dict.fromkeys(range(20_000)),
    "a long text": lambda: "é" * 100_000,
    "a mutable default": lambda: collections.defaultdict(lambda: _ran()),  # noqa: PLW0108 -- runs when it is asked
}
