"""One call told to the person who must act: gates and attempts in a few words, what is known, what is not, and the next step.

Pure: from a row of the query `submissions` and the gates and attempts of its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from toolwitness.model.enums import ErrorClass
from toolwitness.model.errors import RECOVERY
from toolwitness.model.reconciling import Attempted, NotYet
from toolwitness.replay.advice import Advice, Retry, Step
from toolwitness.replay.doubts import Row
from toolwitness.replay.facts import CALLED_OFF, approval_words
from toolwitness.replay.honest import FLAGS
from toolwitness.replay.metrics import iso_time
from toolwitness.replay.steps import AttemptReplay, GateReplay

_DOUBTFUL = frozenset({"unknown_commit", "indeterminate"})
_GOOD = frozenset({"succeeded", "empty"})
_ENDED = {
    "open": "no end recorded",
    "ok": "ended well",
    "error": "failed",
    "timeout": "timed out",
    "cancelled": "cancelled",
}
_SENT = {"yes": "sent", "no": "never sent", "unknown": "not known whether sent"}
_CAME_BACK = {
    "ok": "An answer came back.",
    "empty": "An answer came back, and it was empty.",
    "partial": "An answer came back: some of it failed.",
    "partly_unknown": "An answer came back, and of a part of it nobody can tell what became of it.",
    "accepted": "The service took it in (202) and had not carried it out by then.",
    "error": "The tool itself reported an error{why}.",
    "business_error": "The tool said no on business grounds{why}.",
    "raised": "An exception came in place of an answer{why}.",
    "timeout": "Time ran out before an answer came{why}.",
    "cut_by_recording": "An answer came back, but not all of it was recorded.",
    "cut_on_wire": "An answer broke off on its way.",
    "invalid": "What came back was no answer that can be read{why}.",
}
_NOTHING_RAN = {
    "rejected": "Nothing ran: gate {gate} denied it.",
    "pending": "Nothing has run: it waits for an approval.",
    "skipped": "Nothing ran: it was skipped.",
    "withdrawn": "Nothing ran: it was called off before.",
}
_COMMITTED = {
    "succeeded": "yes",
    "empty": "yes",
    "partial": "partly",
    "business_rejected": "says_no",
    "unknown_commit": "unknown",
    "indeterminate": "unknown",
    "pending": "unknown",
    **dict.fromkeys(("failed", "rejected", "skipped", "cancelled"), "no"),
}
_REPEAT_TOOK = {"done": "took effect", "open": "may take effect"}


@dataclass(frozen=True, slots=True)
class Account:
    """What is told about: a row of the query `submissions` with the gates and attempts of its call."""

    row: Row
    gates: tuple[GateReplay, ...]
    attempts: tuple[AttemptReplay, ...]


def settle_command(call: str) -> str:
    """What a person types who found out whether a call took effect; FINDING stands for one of the three words."""
    return f"toolwitness settle {call} FINDING --by NAME --reason TEXT"


def reconcile_command(call: str) -> str:
    """What asks the tool's own status query about a call, where the application registers one."""
    return f"toolwitness reconcile MODULE --call {call} --run"


def _bracketed(facts: Iterable[str | None]) -> str:
    told = [fact for fact in facts if fact]
    return f" ({', '.join(told)})" if told else ""


def gate_words(gate: GateReplay, proposed: str | None) -> str:
    """A gate's answer in a few words; `proposed` is the digest of the arguments of its call."""
    rule = f"rule {gate.rule_id}" if gate.rule_id else None
    places = [f"{keyword} at {pointer or 'the top'}" for pointer, keyword in zip(gate.pointers, gate.keywords, strict=False)]
    by = f"by {gate.approver}" if gate.approver else None
    observed = "observed only" if gate.mode == "observed" else None
    told = (gate.reason_code, rule, by, *approval_words(gate, proposed), *places, observed)
    return f"{gate.kind}: {gate.verdict}{_bracketed(told)}"


def attempt_words(attempt: AttemptReplay) -> str:
    """An attempt in a few words."""
    status = None if attempt.remote_status is None else f"status {attempt.remote_status}"
    took = None if attempt.duration_ms is None else f"{attempt.duration_ms:,.0f} ms"
    reference = f"reference {attempt.remote_reference}" if attempt.remote_reference else None
    proven = "no effect proven" if attempt.effect_ruled_out else None
    why = f"again because of {attempt.retry_reason}" if attempt.retry_reason else None
    facts = (attempt.error_class, attempt.error_type, attempt.vendor_code, status, reference, took, proven, why)
    return f"{attempt.ordinal}: {_ENDED[attempt.status]}, {_SENT[attempt.sent]}{_bracketed(facts)}"


def _what_ran(account: Account) -> str:
    row = account.row
    if not row["attempts"]:
        if row["gate_state"] != "clear":
            return _NOTHING_RAN[row["gate_state"]].format(gate=row["rejected_by"])
        return (
            "No attempt was recorded."
            if row["observation"] == "none"
            else "No attempt was recorded, yet something came back: it ran out of sight."
        )
    times = "once" if row["attempts"] == 1 else f"{row['attempts']} times"
    sent = {attempt.sent for attempt in account.attempts}
    left = (
        " A request left the process." if "yes" in sent else " None of its requests left the process." if sent == {"no"} else ""
    )
    return f"It was attempted {times}.{left}"


def _known(account: Account) -> Iterator[str]:
    row = account.row
    yield _what_ran(account)
    if row["attempts"] and row["gate_state"] == "rejected":
        yield f"It ran although gate {row['rejected_by']} denied it."
    if row["observation"] == "cut_by_recording" and not row["has_call_span"]:
        yield "What came back, if anything did, was not recorded: the process was gone before it could tell."
    elif row["observation"] in _CAME_BACK:
        yield _CAME_BACK[row["observation"]].format(why=_bracketed((row["error_class"], row["vendor_code"])))
    if row["cancellation"] is not None:
        yield f"It was {CALLED_OFF[row['cancellation']]}."
    if row["items_total"] is not None:
        yield f"Of {row['items_total']} items {row['items_failed'] or 0} failed."
    if row["commit_level"] != "unknown":
        yield f"The service said how far it got: {row['commit_level']}."
    yield from (f"Warning: {FLAGS.get(flag, flag)}." for flag in row["flags"] or ())
    yield from _found(row)
    if row["repeated_by"]:
        took = _REPEAT_TOOK[row["repeat_took"]]
        yield f"The same was asked for again in call {row['repeated_by']}, which {took}."
    elif not row["repeat_unknown"] and row["run"]:
        yield "The same was not asked for again in this run, or nothing came of it."
    if row["retried_in_doubt"]:
        yield "It was tried again after an attempt that may have taken effect."


def _found(row: Row) -> Iterator[str]:
    """What a reconciliation said of it, and that it does not settle it where it does not."""
    if row["finding"] is None:
        return
    by = row["found_by"] or "somebody whose name is not recorded"
    said = f"{by} said on {iso_time(row['found_ns'])}: {row['finding']}"
    yield f"{said}." if row["settled"] == row["finding"] else f"{said}; that does not settle what was attempted."


def committed(row: Row) -> str:
    """Whether it took effect: `yes`, `no`, `says_no` (the tool itself, without further proof), `partly`, `not_yet`, `unknown`.

    `twice` says that it did, and perhaps more than once; `accepted` that the service took it in, and no more is known.
    """
    if row["state"] == "twice":
        return "twice"
    if is_accepted(row):
        return "accepted"
    if row["outcome"] == "failed" and not is_proven(row):
        return "says_no"
    if row["outcome"] == "pending" and not row["attempts"]:
        return "not_yet"
    return _COMMITTED[row["outcome"]]


def is_accepted(row: Row) -> bool:
    """Whether a good answer says no more than that the service took it in (202), and nobody found out since."""
    if row["outcome"] == "indeterminate":
        return row.get("observation") == "accepted"
    # The application itself says that it got no further.
    return row["outcome"] in _GOOD and row["commit_level"] == "accepted" and row["settled"] != "committed"


def is_proven(row: Row) -> bool:
    """Whether it is proven that a call that failed took no effect: never sent, ruled out by a code, or found out since."""
    never = row["attempts"] > 0 and "possible" not in {row["last_effect"], row["earlier_effect"]}
    return never or row["settled"] == "not_committed"


def _by_requests(account: Account) -> bool:
    """Whether the proof that nothing happened is what was seen of HTTP requests."""
    row = account.row
    return row["outcome"] == "failed" and is_proven(row) and any(attempt.transport == "http" for attempt in account.attempts)


def known(account: Account) -> tuple[str, ...]:
    """What is known of a call, a sentence each."""
    return tuple(_known(account))


def unknown(account: Account) -> tuple[str, ...]:
    """What is not known of a call, a sentence each."""
    row = account.row
    unsent = [str(attempt.ordinal) for attempt in account.attempts if attempt.sent == "unknown"]
    indeterminate, came = row["outcome"] == "indeterminate", row["observation"]
    told = {
        "Whether it took effect.": row["outcome"] == "unknown_commit",
        "Whether it was done: the service said only that it took it in.": is_accepted(row),
        "What it did by other means than HTTP requests, as in a file or a database: that is not seen.": _by_requests(account),
        "Whether it ran at all.": indeterminate and came == "none" and not row["attempts"],
        "What its answer was, and so whether it took effect.": indeterminate and came == "none" and row["attempts"] > 0,
        "How its answer ended, and so whether it took effect.": indeterminate and came not in {"none", "accepted"},
        "Whether its attempt still goes on, and what it comes to.": row["outcome"] == "pending" and row["attempts"] > 0,
        "Whether it was done once or more often.": row["state"] == "twice",
        f"What became of {row['items_unknown']} of its items.": bool(row["items_unknown"]),
        f"Whether attempt {', '.join(unsent)} left the process.": bool(unsent),
        "What was asked: its arguments are not recorded.": row["arguments"] is None,
        "What the model proposed: the call's own record never came.": not row["has_call_span"],
        "What the tool may change: no side effect is declared.": row["side_effect"] == "unknown",
        "Whether a later call of the tool asked for the same.": row["repeat_unknown"],
        "Whether another run asked for the same: no action id was given.": row["action_id"] is None,
        "Who must act: the tool declares no owner.": owner(row) is None,
        "Whether it names the same owner as other calls of the tool: its own word is lost.": row["owner"] != owner(row),
        "When it was.": row["started_ns"] is None,
    }
    return tuple(sentence for sentence, holds in told.items() if holds)


_NOT_YET = {
    NotYet.NO_SETTLE_AFTER: "the tool does not declare after how long it would (settle_after)",
    NotYet.ATTEMPT_STILL_OPEN: "it is not known when its attempts ended",
    NotYet.TIME_UNKNOWN: "it is not known when it was",
}


def not_found(row: Row) -> tuple[str | None, str | None]:
    """Of a doubtful call, what "not found" would prove, in a sentence, and from when on (ISO 8601, None for never)."""
    if row["outcome"] not in _DOUBTFUL:
        return None, None
    attempted = Attempted(row["last_ended_ns"], row["settle_after_s"], time_known=row["started_ns"] is not None)
    begins = attempted.absence_counts_from_ns
    if begins is None:
        return f'"Not found" settles nothing: {_NOT_YET[attempted.not_yet(0) or NotYet.ATTEMPT_STILL_OPEN]}.', None
    moment = iso_time(begins)
    return f'"Not found" settles it where it was asked for at {moment} or later.', moment


def owner(row: Row) -> str | None:
    """Who must act: whom the call names, else whom the latest call of the tool does that names anybody."""
    named: str | None = row["owner"] or row["tool_owner"]
    return named


def _who(row: Row) -> str:
    return owner(row) or f"Somebody who knows {row['tool']} (it declares no owner)"


def _settle(row: Row) -> str:
    return (
        f"{_who(row)} finds out whether it took effect, with `toolwitness reconcile` where a status query is registered, else "
        "by hand, and then `toolwitness settle`."
    )


def _recover(row: Row, advice: Advice) -> str:
    """The recovery of the error's class; what is not known to have failed for good has to be looked up first."""
    if advice.retry is not Retry.SAFE:
        return f"{_who(row)} looks up whether it took effect before anything is tried again."
    error = ErrorClass(row["error_class"] or ErrorClass.UNKNOWN_COMMIT)
    if error is ErrorClass.UNKNOWN_COMMIT:
        return "Try it again if it is still wanted."
    if error is ErrorClass.PERMANENT:
        return "Do without it: the same fails again."
    if error in {ErrorClass.TEMPORARY, ErrorClass.RATE_LIMIT}:
        return f"{RECOVERY[error].value.capitalize()} if it is still wanted."
    return f"{RECOVERY[error].value.capitalize()}, then try it again if it is still wanted."


def _answer_gate(account: Account) -> str:
    denied = [gate for gate in account.gates if gate.kind == account.row["rejected_by"] and gate.verdict == "deny"]
    words = gate_words(denied[-1], account.row["arguments_digest"]) if denied else str(account.row["rejected_by"])
    return f"Change what stopped it, {words}, then let the agent ask again."


def next_step(account: Account, advice: Advice) -> str:
    """What to do next, in a sentence that names the command or the person."""
    row, step = account.row, advice.step
    told = {
        Step.SETTLE: _settle(row),
        Step.SETTLE_REPEAT: f"Settle call {row['repeated_by']} first: `toolwitness triage {row['repeated_by']}`.",
        Step.RETRY_SAME_KEY: "Let the same run try again with the key that it used, or find out and `toolwitness settle` it.",
        Step.WAIT: "Wait for its end; without one it becomes an unknown commit, to be settled with `toolwitness settle`.",
        Step.APPROVE: "Approve or deny it where its agent waits for the answer.",
        Step.SEE_REPEAT: f"Look at call {row['repeated_by']} instead: `toolwitness triage {row['repeated_by']}`.",
        Step.CHECK_TWICE: f"{_who(row)} looks up how often it took effect, and takes back what is too much.",
        Step.CONFIRM: f"{_who(row)} asks the service whether it was done.",
        Step.RETRY_ITEMS: f"{_who(row)} has only the items tried again that failed.",
        Step.ANSWER_GATE: _answer_gate(account),
        Step.RUN_DEPENDENCY: "See why it was skipped and mend that, then let the agent ask again.",
        Step.CORRECT: "Correct the arguments, then let the agent ask again.",
        Step.RECOVER: _recover(row, advice),
        Step.START_AGAIN: "Let the agent ask again if it is still wanted.",
        Step.NOTHING: "Nothing.",
    }
    return told[step]
