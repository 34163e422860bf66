"""Payloads of a realistic mix, about 2 KB each: what agents pass to tools and get back, some of it with secrets.

Everything is made up from parts, the same on every run.
"""

import itertools
import json
import random
import string
import uuid

SMALLEST, LARGEST = 1970, 2140
"""Bytes of the JSON text of one payload."""

WORDS = (  # noqa: SIM905 -- words are read as a text
    "the order was sent to our store in march and the parcel came back because nobody was at home so we wrote again and asked "
    "for a better time then the courier said that he would call before he comes please check the stock of the blue lamp"
).split()
FIRST, LAST = ("Odile", "Ravi", "Mei", "Jonas", "Ana"), ("Fabre", "Iyer", "Chen", "Berg", "Lima")


class Maker:
    """Makes the parts of one payload."""

    def __init__(self, seed):
        self.chance = random.Random(seed)  # noqa: S311 -- the same payloads on every run

    def text(self, words):
        """So many words."""
        return " ".join(self.chance.choices(WORDS, k=words))

    def letters(self, count):
        """So many letters and digits."""
        return "".join(self.chance.choices(string.ascii_letters + string.digits, k=count))

    def number(self, below=10_000):
        """A whole number."""
        return self.chance.randrange(below)

    def name(self):
        """A person's name."""
        return f"{self.chance.choice(FIRST)} {self.chance.choice(LAST)}"

    def uuid(self):
        """A random identifier."""
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def time(self):
        """An instant."""
        return f"2026-{self.number(12) + 1:02d}-{self.number(28) + 1:02d}T{self.number(24):02d}:{self.number(60):02d}:07Z"

    def secret(self):
        """A key as a vendor makes them."""
        return self.chance.choice(("gh" + "p_", "sk_" + "live_", "glp" + "at-")) + self.letters(36)


def orders(make):
    """Arguments of an order, with a customer."""
    payload = {
        "order_id": f"ORD-2026-{make.number():05d}",
        "customer": {"name": make.name(), "email": f"{make.text(1)}.{make.number()}@example.org", "phone": "+49 30 23125 177"},
        "express": True,
        "currency": "EUR",
        "items": [],
    }
    return (
        payload,
        payload["items"],
        lambda: {
            "sku": f"SKU-{make.number()}",
            "qty": make.number(9) + 1,
            "price": make.number() / 100,
            "title": make.text(5),
            "in_stock": make.number(2) == 1,
        },
    )


def hits(make):
    """A page of search results."""
    payload = {"query": make.text(4), "total": make.number(), "took_ms": make.number(90), "hits": []}
    return (
        payload,
        payload["hits"],
        lambda: {
            "id": make.uuid(),
            "title": make.text(6),
            "url": f"https://shop{make.number(9)}.example.com/{make.text(1)}/{make.number()}?ref=search",
            "snippet": make.text(18),
            "score": make.number() / 7919,
            "updated_at": make.time(),
        },
    )


def chat(make):
    """A conversation in which somebody says too much."""
    said = ["my password: " + make.letters(9), "call me on 415-555-0132", make.text(12), make.text(30), make.text(21)]
    payload = {"channel": "support", "thread": make.uuid(), "messages": []}
    lines = itertools.cycle(said)
    return (
        payload,
        payload["messages"],
        lambda: {
            "role": make.chance.choice(("user", "assistant")),
            "content": f"{next(lines)}. {make.text(12)}",
            "ts": make.time(),
        },
    )


def code(make):
    """A file of source code, line by line."""
    shapes = (
        "def {0}_{1}(self, token: str) -> int:",
        "    {0} = self._{1}.get('{2}', {3})",
        "    if {0} is None or len({1}) > {3}:",
        "        raise ValueError(f'{0} {1}: {{{2}!r}}')",
        "    return sum(x.{0} for x in {1}.items)  # {2}",
    )
    payload = {"path": f"src/{make.text(1)}/session.py", "language": "python", "lines": []}
    return payload, payload["lines"], lambda: make.chance.choice(shapes).format(*make.text(3).split(), make.number())


def logs(make):
    """Lines of a log, one of them with a header."""
    payload = {"service": "checkout", "level": "INFO", "lines": [f"authorization: Bearer {make.letters(40)}"]}
    return (
        payload,
        payload["lines"],
        lambda: (
            f"{make.time()} INFO [{make.letters(8)}] GET /v1/{make.text(1)}/{make.number()} 200 {make.number(900)}ms "
            f"from 203.0.113.{make.number(250)} {make.text(4)}"
        ),
    )


def nested(make):
    """A tree of settings, a credential in it."""
    payload = {"version": 3, "database": {"host": "db-4.internal", "password": make.letters(12)}, "services": []}
    return (
        payload,
        payload["services"],
        lambda: {
            "name": make.text(1),
            "limits": {"cpu": make.number(8), "memory_mb": make.number()},
            "probe": {
                "path": f"/health/{make.text(1)}",
                "every_s": make.number(60),
                "headers": [{"name": "Accept", "value": "*/*"}],
            },
            "labels": {make.text(1): make.letters(6), "tier": "web"},
            "image": f"registry.example.com/{make.text(1)}@sha256:{make.chance.getrandbits(256):064x}",
        },
    )


def wrapped(make):
    """JSON texts inside JSON, as queues and webhooks carry them."""
    payload = {"queue": "events", "records": []}
    return (
        payload,
        payload["records"],
        lambda: {
            "message_id": make.uuid(),
            "body": json.dumps(
                {"event": make.text(2), "data": {"amount": make.number(), "api_key": make.secret(), "note": make.text(8)}}
            ),
            "attempts": make.number(4),
        },
    )


def table(make):
    """Rows of a query beside the request that asked for them."""
    headers = {"Accept": "text/csv", "Authorization": f"Basic {make.letters(24)}", "X-Request-Id": make.uuid()}
    payload = {"request": {"method": "GET", "headers": headers}, "columns": ["id", "day", "city", "total", "paid"], "rows": []}
    return payload, payload["rows"], lambda: [make.number(), make.time()[:10], make.text(1), make.number() / 100, True]


def size(payload):
    """Bytes of the JSON text."""
    return len(json.dumps(payload, separators=(",", ":")))


def grown(build, seed, smallest=SMALLEST, largest=LARGEST):
    """A payload of one kind, grown by whole members and then by the words of a comment until it is in the range."""
    make = Maker(seed)
    payload, members, member = build(make)
    while size(payload) < smallest:
        members.append(member())
    if size(payload) > largest:
        members.pop()
        payload["comment"] = ""
        while size(payload) < smallest:
            payload["comment"] += f" {make.text(1)}"
    return payload


KINDS = (orders, hits, chat, code, logs, nested, wrapped, table)


def usual():
    """Three payloads of each kind."""
    return [grown(kind, seed) for seed in (1, 2, 3) for kind in KINDS]


def large():
    """One payload of about 60 KB, of all kinds."""
    return {kind.__name__: grown(kind, 4, 7_300, 7_800) for kind in KINDS}
