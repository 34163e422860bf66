"""Long texts that tempt a pattern to look everywhere again end in a copy; `benchmarks/redaction_adversarial.py` times them."""

from __future__ import annotations

import json

import pytest

from toolwitness.redaction import Clean, RedactionPolicy, clean
from toolwitness.tests.redaction.repeats import LONG, REPEATS

SCAN = RedactionPolicy(unknown="scan")
KEY = "gl" + "pat-" + "Wq3" + "xZ8mN5" + "vB1kT7" + "pLs9"


@pytest.mark.parametrize("name", REPEATS)
def test_a_key_after_a_long_text_is_found(name):
    """What hides behind 16,000 characters of one kind does not survive, and the copy is made."""
    copy = clean({"note": f"{REPEATS[name].text(LONG - 100)} {KEY}"}, policy=SCAN)

    assert isinstance(copy, Clean)
    assert KEY[6:] not in copy.json()


@pytest.mark.parametrize("name", REPEATS)
def test_a_key_among_many_texts_is_found(name):
    """The same holds where the text is spread over the items of a list."""
    text = REPEATS[name].text(LONG)
    copy = clean({"notes": [*(text[at : at + 40] for at in range(0, LONG, 40)), KEY]}, policy=SCAN)

    assert isinstance(copy, Clean)
    assert KEY[6:] not in copy.json()


@pytest.mark.parametrize("name", [name for name, repeat in REPEATS.items() if repeat.harmless])
def test_a_harmless_text_is_kept(name):
    """A long text that holds nothing is in the copy as it was."""
    text = REPEATS[name].text(LONG)
    copy = clean({"note": text}, policy=SCAN)

    assert (copy.value, copy.redacted) == ({"note": text}, 0)


@pytest.mark.parametrize("name", REPEATS)
def test_a_long_name_is_no_error(name):
    """As the name of a member it ends in a copy as well."""
    assert isinstance(clean({REPEATS[name].text(LONG): 1}, policy=SCAN), Clean)


@pytest.mark.parametrize("name", REPEATS)
def test_a_long_text_in_a_text_is_no_error(name):
    """Wrapped in a JSON text it ends in a copy as well."""
    assert isinstance(clean({"body": json.dumps({"note": REPEATS[name].text(LONG // 2)})}, policy=SCAN), Clean)
