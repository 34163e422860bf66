"""Answers that say themselves that they failed."""

import json

import pytest

from toolwitness.model.enums import ObservationStatus
from toolwitness.model.envelope import read_envelope

ERROR, PARTIAL, TIMEOUT = ObservationStatus.ERROR, ObservationStatus.PARTIAL, ObservationStatus.TIMEOUT


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"success": 0, "error": "no such order"}, (ERROR, None)),
        ({"success": False}, (ERROR, None)),
        ({"ok": False, "error": "channel_not_found"}, (ERROR, "channel_not_found")),
        ({"status": "error", "code": "E17"}, (ERROR, "E17")),
        ({"status": "timed_out"}, (TIMEOUT, None)),
        ({"error": {"code": "card_declined", "message": "no"}}, (ERROR, "card_declined")),
        ({"error": {"code": 404, "message": "no"}}, (ERROR, "404")),
        ({"isError": True, "content": []}, (ERROR, None)),
        ({"success": True, "result": {"success": False, "error": "OUT_OF_STOCK"}}, (ERROR, "OUT_OF_STOCK")),
        ({"status": "ok", "data": {"error": "it broke"}}, (ERROR, None)),
        ({"structuredContent": {"success": 0, "error": {"code": 7}}, "isError": False}, (ERROR, "7")),
        ({"content": [{"type": "text", "text": '{"status": "error"}'}], "isError": False}, (ERROR, None)),
        ({"data": None, "errors": [{"message": "m", "extensions": {"code": "FORBIDDEN"}}]}, (ERROR, "FORBIDDEN")),
        ({"data": {"pay": None}, "errors": [{"message": "m"}]}, (ERROR, None)),
        ({"data": {"a": 1, "b": None}, "errors": [{"message": "m"}]}, (PARTIAL, None)),
    ],
)
def test_an_error_is_found(answer, expected):
    """As data and as JSON text, with the vendor's own code."""
    assert read_envelope(answer) == expected
    assert read_envelope(json.dumps(answer)) == expected


@pytest.mark.parametrize(
    "answer",
    [
        {"error": None, "order": "A-1"},
        {"error": "", "errors": []},
        {"error": "none"},
        {"errors": ["E501 line too long"], "file": "a.py"},
        {"data": {"error": "the last line of a log"}},
        {"result": {"status": "failed", "job": 7}},
        {"success": 0, "failed": 0},
        {"status": "ok", "code": "A"},
        {"data": {"a": 1}, "errors": []},
        "Error: a text",
        "{broken",
        ["error"],
        None,
        7,
    ],
)
def test_what_may_be_meant_otherwise_is_no_error(answer):
    """A null, an empty list, findings, the data of a query."""
    assert read_envelope(answer) is None
