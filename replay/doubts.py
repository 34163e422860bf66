"""What the rows of a run do not tell, in words: the `unknown` of a replay and of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolwitness.model.names import APPROVAL_UNCLEAR
from toolwitness.replay.steps import GateReplay

Row = Mapping[str, Any]

LATER_USE = "later use"
_ANSWERED = frozenset({"ok", "empty", "partial", "partly_unknown", "accepted"})
_CUT = frozenset({"cut_by_recording", "cut_on_wire"})


def _words(doubts: Mapping[str, bool]) -> tuple[str, ...]:
    return tuple(word for word, doubtful in doubts.items() if doubtful)


def of_call(row: Row, gates: Sequence[GateReplay], *, searched: bool) -> tuple[str, ...]:
    """What is not known of a call; `searched` says whether every later answer was searched for its new values."""
    observation = row["observation"]
    unmeasured = observation in _ANSWERED and (row["novel_values"] is None or not searched)
    return _words(
        {
            "proposal": not row["has_call_span"],
            "decision": row["decision_id"] is None,
            "visibility": row["visible"] == "unknown",
            "schema version": row["schema_digest"] is None,
            "side effect": row["side_effect"] == "unknown",
            "arguments": row["arguments"] is None,
            "whether the arguments fit their schema": row["schema_digest"] is not None
            and row["arguments_valid"] in {None, "indeterminate"},
            "execution": observation == "none" and row["attempts"] == 0 and not gates,
            "end of the result": observation in _CUT,
            "whether what ran was approved": any(gate.reason_code == APPROVAL_UNCLEAR for gate in gates),
            "what it writes": row["parallel_group"] is not None and row["side_effect"] != "read" and not row["write_set"],
            "what became of some items": bool(row["items_unknown"]),
            "commit": row["outcome"] == "unknown_commit",
            LATER_USE: observation in _CUT or unmeasured,
            "time": not row["time_known"],
        }
    )


def of_step(row: Row, visible: Sequence[object] | None) -> tuple[str, ...]:
    """What is not known of a decision; `visible` are the tools of its toolset, None where that is not known."""
    return _words(
        {
            "visible tools": visible is None,
            "whether these were all visible tools": visible is not None and row["visibility"] != "yes",
            "how it ended": row["finish"] == "unknown",
            "later use in its answer": row["answer_measured"] is False,
        }
    )


def of_run(row: Row) -> tuple[str, ...]:
    """What is not known of a run as a whole."""
    return _words(
        {
            "outcome": row["run_outcome"] == "unknown",
            "time": not row["time_known"],
            "run id (taken from the trace)": bool(row["run_inferred"]),
            "task": row["task"] is None,
        }
    )


def unsearched_calls(decisions: Sequence[Row], calls: Sequence[Row]) -> frozenset[str]:
    """Ids of calls after which a limit kept an answer from being searched (the rule of the view `call_facts`)."""
    ordinals = {row["decision_id"]: row["decision_ordinal"] for row in decisions}
    last = max((row["decision_ordinal"] for row in decisions if row["answer_measured"] is False), default=-1)
    return frozenset(row["call_id"] for row in calls if ordinals.get(row["decision_id"], -1) < last)
