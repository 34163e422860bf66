"""How much of the shared corpus of made-up values is found, and how much is taken that should stay."""

from __future__ import annotations

import gzip
import json

import pytest

from toolwitness.redaction import Clean, RedactionPolicy, clean

PARTS = ("args", "result", "error")
HOLDS_BYTES, OWN_CORPUS = "bytes", ("value", "name", "structure")
ENOUGH = {"value": (54, 55), "name": (54, 54), "structure": (21, 22), "evasion": (11, 12), "meta": (5, 5)}


def cleaned(row, unknown):
    """The clean copy of a row's value, which stands at its path: `args.note` is the member `note` of the arguments."""
    head, _, rest = row["path"].partition(".")
    value = row["value"].encode() if row.get("pytype") == HOLDS_BYTES else row["value"]
    value = {rest: value} if rest else value
    if head not in PARTS:
        value = {head: value}
    return clean(
        value,
        part=head if head in PARTS else "result",
        schema={"type": "object", "properties": {rest: row["schema"]}} if "schema" in row else None,
        policy=RedactionPolicy(unknown=unknown),
    )


def told(copy):
    """All that a copy tells, as one text without escapes."""
    assert isinstance(copy, Clean)
    return json.dumps(copy.value, ensure_ascii=False) + copy.json()


def missed(rows, unknown="scan"):
    """The rows of which something survives that must vanish."""
    return [row["id"] for row in rows if any(secret in told(cleaned(row, unknown)) for secret in row["secret"])]


@pytest.fixture(name="corpus", scope="module")
def fixture_corpus(shared):
    """The rows, in order."""
    with gzip.open(shared / "data" / "redaction" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("suite", ENOUGH)
def test_what_must_vanish_is_found_where_unclassified_values_are_kept(corpus, suite):
    """With every unclassified value kept, names and detectors alone find at least so many of the rows of a suite."""
    rows = [row for row in corpus if row["suite"] == suite and row["expect"] == "redact"]
    least, of = ENOUGH[suite]

    assert len(rows) == of
    lost = missed(rows)
    assert of - len(lost) >= least, lost


def test_by_default_nothing_survives_that_must_vanish(corpus):
    """Where unclassified values are not kept, no row fails."""
    assert missed([row for row in corpus if row["expect"] == "redact"], "shape") == []


def test_what_may_stay_stays(corpus):
    """Of the harmless values that look like secrets, at most one is touched."""
    rows = [row for row in corpus if row["suite"] in OWN_CORPUS and row["expect"] == "keep"]
    touched = [row["id"] for row in rows if cleaned(row, "scan").redacted]

    assert len(rows) == 94
    assert len(touched) <= 1, touched


def test_what_a_schema_declares_public_stays(corpus):
    """Values that a schema calls public are not touched."""
    rows = [row for row in corpus if row["suite"] == "meta" and row["expect"] == "keep"]

    assert [row["id"] for row in rows if cleaned(row, "scan").redacted] == []


def test_the_text_around_a_secret_stays(corpus):
    """Of the words around what was taken out, at least 98 of 100 can still be read."""
    words = [(row, word) for row in corpus for word in row.get("keep", ())]
    lost = [(row["id"], word) for row, word in words if word not in told(cleaned(row, "scan"))]

    assert len(lost) <= 0.02 * len(words), lost
