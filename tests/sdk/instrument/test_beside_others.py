"""Beside Logfire, OpenInference and OpenLLMetry in one process nobody's spans are lost, changed or sent elsewhere.

Where none of them is installed, as in the environment of the other tests, this is skipped; `make test-beside` has them all.
"""

import functools
import importlib.util
import json
import subprocess
import sys

import pytest

from toolwitness.model import names
from toolwitness.tests.fakes import beside_others
from toolwitness.tests.fakes.beside_others import NEEDS, ORDERS


def installed(module):
    """Whether a module of a module can be found."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


OTHERS = [
    pytest.param(other, marks=pytest.mark.skipif(not installed(module), reason=f"{module} is not installed here"))
    for other, module in NEEDS.items()
]


@functools.cache
def played(other, order):
    """What each side got; the same every time, so it is played once."""
    command = [sys.executable, beside_others.__file__, other, order]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("other", OTHERS)
def test_theirs_are_the_same_spans_with_us(other, order):
    """Names, parents, attributes and number are those that they have alone, with ours on and after ours was taken back."""
    alone, beside = played(other, "theirs alone"), played(other, order)

    assert alone["on"]["theirs"] != []
    assert beside["on"]["theirs"] == alone["on"]["theirs"]
    assert beside["ours off"]["theirs"] == alone["on"]["theirs"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("other", OTHERS)
def test_ours_are_the_same_spans_with_them(other, order):
    """As many of each as alone, with theirs on and after theirs was taken back, and nothing but ours reaches our collector."""
    alone, beside = played(other, "ours alone"), played(other, order)

    assert alone["on"]["ours"] != []
    assert beside["on"]["ours"] == beside["theirs off"]["ours"] == alone["on"]["ours"]
    assert beside["scopes"] == [names.SCOPE]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("other", OTHERS)
def test_what_is_taken_back_is_silent(other, order):
    """Ours leaves nothing in place; theirs leaves what it leaves alone."""
    alone, beside = played(other, "theirs alone"), played(other, order)

    assert (beside["ours off"]["ours"], beside["off"]["ours"]) == ([], [])
    assert beside["theirs off"]["theirs"] == beside["off"]["theirs"] == alone["theirs off"]["theirs"]
