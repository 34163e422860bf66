"""A span without its content: what is stored of one that the redactor could not handle.

Nothing here looks at a text without allowing for that to fail too: what does not pass a pattern that leaves no room for
content is left out, or replaced by its digest where rows are joined by it.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from toolwitness.collector.receive.kinds import CLOSED, DIGESTS, HEX
from toolwitness.collector.store.columns import Row
from toolwitness.model import names
from toolwitness.redaction.closed import fails_closed
from toolwitness.redaction.conventions import one_word, span_name, type_name
from toolwitness.redaction.template import GAP

MINIMAL = "toolwitness.minimal"
"""Key in `rest` under which stands why a span was stored without content."""

_NEEDED = frozenset({"run_id", "call_id", "decision_id", "toolset_digest", "definition_digest"})
_HASHED = re.compile(r"redacted-[0-9a-f]{16}")
_PLACE = frozenset({"trace_id", "span_id", "parent_span_id", "start_ns", "end_ns", "status_code", "record", "links"}) | {
    "service",  # what senders call themselves was looked at before
    "scope",
}


def hashed(text: str) -> str:
    """What stands for a key that must not be stored: the same for the same text, and another for another."""
    return f"redacted-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


def shrink(row: Row, reason: str) -> None:
    """Take the content out of a row in place: ids, times, status and what has no room for text stay.

    A tool's or exception type's name, and an id of the application's, stays where it still can be seen to be one word.
    """
    kept = {name: value for name, value in row.items() if name in _PLACE or name in CLOSED}
    kept |= {name: value for name, value in row.items() if name in DIGESTS and _is_hex(value)}
    for name in _NEEDED & row.keys() - kept.keys():
        kept[name] = row[name] if fails_closed(one_word, row[name]) or _HASHED.fullmatch(row[name]) else hashed(row[name])
    if "tool" in row:
        kept["tool"] = row["tool"] if fails_closed(one_word, row["tool"]) else names.UNREGISTERED
    if row.get("error_type") is not None:
        kept["error_type"] = fails_closed(type_name, row["error_type"]) or "Exception"
    name = kept.get("record") or fails_closed(span_name, row["name"]) or GAP
    row.clear()
    row.update(kept, name=name, rest=json.dumps({MINIMAL: reason}))


def _is_hex(value: Any) -> bool:
    if type(value) is str:
        return HEX.fullmatch(value) is not None
    return type(value) is list and all(type(item) is str and HEX.fullmatch(item) for item in value)
