"""Of a message the words that can be its fixed text, and nothing else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwitness.redaction.frames import MOST_FRAMES, frames_of
from toolwitness.redaction.template import message_template, plain_word

CANARY = "canary" + "-7f3a9"

MESSAGES = {
    "invalid literal for int() with base 10: 'x'": "invalid literal for {} with base {}: {}",
    "Connection to https://api.example.com:443/v1 refused": "Connection to {} refused",
    "User jo@example.org not found in table users": "User {} not found in table users",
    "[Errno 2] No such file or directory: '/home/jo/x.txt'": "{} such file or directory: {}",
    "Request timed out after 30.5 seconds.": "Request timed out after {} seconds.",
    "can't find “the file” on disk": "can't find {} on disk",
    "Alice Smith has no access": "{} has no access",
    "the account of Alice is locked": "the {} of {} is locked",
    "Could not connect. Please try again later": "Could not connect. Please try again later",
    "password is hunter": "password is {}",
    "status=pending, retry": "{}, retry",
    "用户 不存在": "{}",
    "line one\nline two": "line one line {}",
    "": "",
}


@pytest.mark.parametrize("message", MESSAGES, ids=[str(at) for at in range(len(MESSAGES))])
def test_a_message_becomes_its_template(message):
    """Quoted parts, numbers, addresses, names, paths and foreign words are gaps, several in a row one."""
    assert message_template(message) == MESSAGES[message]


def test_what_a_detector_finds_is_a_gap_with_all_that_clings_to_it():
    """Even where the words around it are a program's own."""
    key = "sk-" + "proj-4f9aB7c1D2e3F4a5B6c7"
    assert message_template(f"invalid key {key}, access denied") == "invalid key {}, access denied"


def test_a_template_is_bounded():
    """Two hundred characters, whatever the message."""
    assert len(message_template("could not connect to the server " * 1000)) <= 200


@given(st.text(), st.sampled_from(["{} failed", "cannot read '{}'", "no {} in {}", "key={}", "{}"]))
def test_no_foreign_word_passes(text, frame):
    """Each word that is left is on the list, whatever stood around it."""
    kept = message_template(frame.replace("{}", text)).replace("{}", " ")
    words = ["".join(sign for sign in word if sign.isalpha() or sign in "'-") for word in kept.split()]
    assert all(plain_word(word.lower()) for word in words if word)


@pytest.mark.parametrize("sign", ["'", '"', "(", "a'", "a-", "“", ": ", "=", "aaaa "])
def test_its_time_does_not_hinge_on_the_message(sign):
    """The beginning alone is read."""
    before = time.thread_time()
    message_template(sign * 500_000)
    assert time.thread_time() - before < 0.2


TRACE = f"""Traceback (most recent call last):
  File "/home/jo/shop/pay.py", line 41, in pay
    raise CardError({CANARY!r})
  File "C:\\\\shop\\\\{CANARY} x.py", line 7, in <lambda>
  File "<string>", line 1, in Desk.look.<locals>.inner
shop.CardError: {CANARY}
During handling of the above exception, another exception occurred:
"""


def test_a_trace_becomes_file_line_and_function():
    """Paths, source lines, messages and odd names are left out."""
    assert frames_of(TRACE).splitlines() == ["pay.py:41 in pay", "{}:7 in <lambda>", "<string>:1 in Desk.look.<locals>.inner"]


def test_the_innermost_frames_are_kept():
    """As many as are worth reading."""
    lines = frames_of("".join(f'  File "a.py", line {at}, in f\n    x\n' for at in range(1, 500))).splitlines()
    assert (len(lines), lines[-1]) == (MOST_FRAMES, "a.py:499 in f")


def test_what_is_no_trace_has_no_frames():
    """Nothing of it is kept."""
    assert frames_of(f"at {CANARY} (app.js:3:1)") == ""
