"""Rows of whole runs, as agents send them, for what takes runs out of a file."""

import hashlib
import json

from toolwitness.tests.factories import MONDAY_NS, WEEK_NS, History

ANNA, BERT = "a" * 32, "b" * 32
NOW_NS = MONDAY_NS + 10 * WEEK_NS
_IDS = ("trace_id", "span_id", "parent_span_id", "call_id", "decision_id")


def unique(rows, trace):
    """The rows with ids as agents make them, in a trace of their own; a short id could stand anywhere by chance."""
    for row in rows:
        row["trace_id"] = trace
        for name in _IDS:
            if name in row:
                row[name] = hashlib.sha256(f"{trace}{row[name]}".encode()).hexdigest()[: 32 if name == "trace_id" else 16]
    return rows


def told(run, *, start_ns=MONDAY_NS, time_known=True, tool="look", toolset="ts", **facts):
    """The rows of one run with a span of each kind, nine seconds long."""
    history = History(start_ns=start_ns, time_known=time_known)
    common = {"subject": facts.pop("subject", None), "time_known": time_known}
    history.run(run, task=f"task of {run}", subject=common["subject"], **facts)
    history.toolset(run, toolset, [("srv", tool)])
    history.schema(run, tool, server="srv", definition=json.dumps({"name": tool}))
    decision = history.decision(run, toolset_digest=toolset, **common)
    call = history.call(run, tool, server="srv", decision_id=decision, definition_digest=f"definition of {tool}", **common)
    history.gate(run, call, "policy", "allow")
    attempt = history.attempt(run, call)
    history.attempt_start(run, call, tool, parent=attempt)
    history.reconciliation(run, call, tool, "committed")
    return as_sent(unique(history.rows, run))


def as_sent(rows):
    """Definitions as an agent sends them: beside the decision, under ids that their content has, whoever sends them."""
    (decided_ns,) = (row["start_ns"] for row in rows if row["record"] == "decision")
    for row in rows:
        if row["record"] in {"schema", "toolset"}:
            content = hashlib.sha256(row["name"].encode()).hexdigest()
            row |= {"trace_id": content[:32], "span_id": content[32:48], "start_ns": decided_ns, "end_ns": decided_ns}
    return rows


def foreign(trace, *, start_ns=MONDAY_NS, number=1):
    """A span of another instrumentation, which names no run."""
    ids = {"trace_id": hashlib.sha256(f"{trace}{trace}".encode()).hexdigest()[:32], "span_id": f"f{number:015x}"}
    return {**ids, "name": "GET /", "start_ns": start_ns, "end_ns": start_ns + 1, "rest": '{"http.method":"GET"}'}
