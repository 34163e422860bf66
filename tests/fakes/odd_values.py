"""Values that a tool may give and that break whoever looks at them; `touched` counts looks where that can be told."""

import math


def _cycle():
    value = {"name": "cycle"}
    value["self"] = value
    return value


class Hostile:
    """Raises at every look."""

    def __repr__(self):
        """Raise."""
        raise RuntimeError("no repr")

    __str__ = __len__ = __bool__ = __iter__ = __repr__

    def __eq__(self, other):
        """Raise."""
        raise RuntimeError("no comparison")

    def __hash__(self):
        """Raise."""
        raise RuntimeError("no hash")

    def __getattr__(self, name):
        """Raise."""
        raise RuntimeError("no attribute")


class QuerySet:
    """As an ORM's: every look at its content asks the database, which is counted."""

    def __init__(self):
        self.touched = 0

    def __iter__(self):
        """Ask the database."""
        self.touched += 1
        return iter(())

    def __len__(self):
        """Ask the database."""
        self.touched += 1
        return 0

    def __repr__(self):
        """Ask the database."""
        self.touched += 1
        return "<QuerySet []>"

    def __bool__(self):
        """Ask the database."""
        self.touched += 1
        return False


class Lazy(str):
    """A text that is made when it is looked at."""

    __slots__ = ("touched",)

    def __new__(cls):
        """Begin untouched."""
        made = super().__new__(cls, "lazy")
        made.touched = 0
        return made

    def __str__(self):
        """Make the text."""
        self.touched += 1
        return "lazy"


ODD_VALUES = {
    "bytes": lambda: b"\x00\xff",
    "cycle": _cycle,
    "generator": lambda: (number for number in range(3)),
    "hostile": Hostile,
    "huge": lambda: "x" * 5_000_000,
    "lazy": Lazy,
    "nan": lambda: {"value": math.nan, "limit": math.inf},
    "none": lambda: None,
    "queryset": QuerySet,
    "surrogate": lambda: {"text": "broken \ud800 text"},
}
