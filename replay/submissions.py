"""Calls that may have changed the world and did not simply succeed: did it commit, may it be retried, who must act (U2).

    submissions(source, run="9f3c")        # what of a run is unsettled, may be done twice, failed or was stopped
    submission(source, "00f067aa0ba902b7")  # one call, with its whole replay

States: `unsettled` (nobody knows what became of it, or it is still going on), `twice` (it took effect, and may have done so
more than once), `failed`, `stopped` (by a gate) and `done`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolwitness.model.enums import ErrorClass, Known, Outcome
from toolwitness.model.exceptions import CallNotFoundError
from toolwitness.replay import accounts
from toolwitness.replay.accounts import Account
from toolwitness.replay.advice import Facts, Proof, Repeat, advise
from toolwitness.replay.doubts import Row
from toolwitness.replay.load import Source
from toolwitness.replay.metrics import iso_time
from toolwitness.replay.reconstruct import attempts_by_call, gates_by_call
from toolwitness.replay.runs import replay_run
from toolwitness.replay.steps import CallReplay

STATES = ("unsettled", "twice", "failed", "stopped", "done")
OPEN_STATES = STATES[:4]
"""All but what was simply done."""

_CALLS_AT_ONCE = 1000
_SHOWN_MATCHES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One call of a tool that is not known to be reading, with what a person needs to act on it.

    None means *not known*. `owner` is who must act, `unknown` where no call of the tool names anybody. `arguments` is a
    redacted copy, parsed. `gates`, `attempts`, `known` and `unknown` are in words. `committed` answers whether it took effect,
    in a word of `accounts.committed`. `duplicate_risk`: the same was asked for again before this was settled; `duplicate`:
    after it was found to be committed; both None where it is not known which arguments a later call of the tool had;
    `repeated_by` is the later call of the same.
    `retried_in_doubt`: it took effect after an attempt of its own that may have too. `retry` answers whether a retry is safe
    for the world (`safe`, `unsafe`, `unknown`, `not_needed`), `why` and `next_step` are a sentence each,
    `step` is a word of `advice.Step`. `not_found` says what "not found" proves, `not_found_settles_from` from when on. `total`
    counts what the search fits, however many were asked for. `replay` is there where one call was asked for.
    """

    call: str
    run: str | None
    task: str | None
    session: str | None
    agent: str | None
    source: str | None
    server: str
    tool: str
    owner: str
    side_effect: str
    outcome: str
    state: str
    committed: str
    action_id: str | None
    error_class: str | None
    vendor_code: str | None
    arguments: Any
    gates: tuple[str, ...]
    attempts: tuple[str, ...]
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    duplicate_risk: bool | None
    duplicate: bool | None
    followed_by_same_tool: bool
    retried_in_doubt: bool
    repeated_by: str | None
    retry: str
    why: str
    step: str
    next_step: str
    not_found: str | None
    not_found_settles_from: str | None
    settled: str
    found_by: str | None
    age_s: float | None
    started: str | None
    total: int
    replay: CallReplay | None = None


def submissions(
    source: Source,
    *,
    run: str | None = None,
    task: str | None = None,
    session: str | None = None,
    call: str | None = None,
    action: str | None = None,
    tool: str | None = None,
    search: str | None = None,
    since_ns: int | None = None,
    until_ns: int | None = None,
    states: Iterable[str] = OPEN_STATES,
    origin: str | None = None,
    limit: int | None = None,
    now_ns: int | None = None,
) -> list[Submission]:
    """The calls that fit, unsettled ones first, then those that may be done twice, each oldest first; the rest newest first.

    `run` and `call` are beginnings of ids, `tool` is a name or `server/name`, the others are meant exactly; `search` is found,
    in whatever case, in any of the six. With `since_ns` or `until_ns` (nanoseconds since 1970, UTC) calls whose time is not
    known are left out. `now_ns` replaces the clock that ages are taken by. `total` of each is how many there are without
    `limit`.
    """
    wanted = {"run": run, "task": task, "session": session, "call": call, "action": action, "tool": tool}
    now_ns = time.time_ns() if now_ns is None else now_ns
    times = {"since_ns": since_ns, "until_ns": until_ns, "now_ns": now_ns}
    rows = source.query(
        "submissions", states=",".join(states), limit=limit, search=search, source=origin, **wanted, **times
    ).to_dicts()
    return list(_built(source, rows))


def state_counts(source: Source, **filters: object) -> dict[str, int]:
    """How many calls there are in each of STATES; takes the filters of `submissions`, without states and limit."""
    renamed = {"source" if name == "origin" else name: value for name, value in filters.items()}
    found = source.query("submission_states", **renamed)
    counted = dict(zip(found["state"], found["calls"], strict=True))
    return {state: counted.get(state, 0) for state in STATES}


def submission(source: Source, prefix: str, *, now_ns: int | None = None) -> Submission:
    """The one call whose id is, or alone begins with, `prefix`, in whatever state, with its replay.

    Raises CallNotFoundError where there is none or more than one.
    """
    found = submissions(source, call=prefix, states=STATES, limit=_SHOWN_MATCHES + 1, now_ns=now_ns)
    exact = [one for one in found if one.call == prefix]
    if len(found) > 1 and not exact:
        some = ", ".join(one.call for one in found[:_SHOWN_MATCHES])
        more = ", ..." if len(found) > _SHOWN_MATCHES else ""
        raise CallNotFoundError(f"several calls start with {prefix!r}: {some}{more}; give more of the id")
    if not found:
        raise CallNotFoundError(
            f"no call that may have changed something has an id that starts with {prefix!r} in {source.where}; "
            "`toolwitness triage --all` lists them"
        )
    one = (exact or found)[0]
    return replace(one, replay=_replay_of(source, one))


def _replay_of(source: Source, one: Submission) -> CallReplay | None:
    if one.run is None:
        return None
    return next((call for call in replay_run(source, one.run).calls if call.call == one.call), None)


def _built(source: Source, rows: Sequence[Row]) -> Iterator[Submission]:
    """The submissions of rows, with gates and attempts asked for as many at once as a request may name."""
    for first in range(0, len(rows), _CALLS_AT_ONCE):
        part = rows[first : first + _CALLS_AT_ONCE]
        calls = ",".join(row["call"] for row in part)
        gates = gates_by_call(source.query("replay_gates", calls=calls).to_dicts())
        attempts = attempts_by_call(source.query("replay_attempts", calls=calls).to_dicts())
        for row in part:
            yield _submission(Account(row, tuple(gates.get(row["call"], ())), tuple(attempts.get(row["call"], ()))))


_AS_STORED = (
    "call",
    "run",
    "task",
    "session",
    "agent",
    "source",
    "server",
    "tool",
    "side_effect",
    "outcome",
    "state",
    "action_id",
    "error_class",
    "vendor_code",
    "followed_by_same_tool",
    "retried_in_doubt",
    "repeated_by",
    "settled",
    "found_by",
    "age_s",
    "total",
)


def _submission(account: Account) -> Submission:
    row, advice = account.row, advise(_facts(account.row))
    not_found, settles_from = accounts.not_found(row)
    return Submission(
        owner=accounts.owner(row) or "unknown",
        arguments=None if row["arguments"] is None else json.loads(row["arguments"]),
        gates=tuple(accounts.gate_words(gate, row["arguments_digest"]) for gate in account.gates),
        attempts=tuple(map(accounts.attempt_words, account.attempts)),
        committed=accounts.committed(row),
        known=accounts.known(account),
        unknown=accounts.unknown(account),
        duplicate_risk=_unless_lost(row, "duplicate_risk"),
        duplicate=_unless_lost(row, "duplicate"),
        retry=advice.retry.value,
        why=advice.why,
        step=advice.step.value,
        next_step=accounts.next_step(account, advice),
        not_found=not_found,
        not_found_settles_from=settles_from,
        started=iso_time(row["started_ns"]),
        **{name: row[name] for name in _AS_STORED},
    )


def _unless_lost(row: Row, name: str) -> bool | None:
    """Whether the same was asked for again; None where the arguments of a later call, or its own, are not known."""
    found: bool = row[name]
    return None if row["repeat_unknown"] and not found else found


def _repeat(row: Row) -> Repeat:
    found = Repeat(row["repeat_took"])
    return Repeat.UNKNOWN if found is Repeat.NO and row["repeat_unknown"] else found


def _facts(row: Row) -> Facts:
    return Facts(
        outcome=Outcome(row["outcome"]),
        twice=row["state"] == "twice",
        one_key=row["one_key"],
        idempotent=Known(row["idempotent"]),
        running=row["outcome"] == "pending" and row["attempts"] > 0,
        repeat=_repeat(row),
        proof=Proof.NO_EFFECT if accounts.is_proven(row) else Proof.ANSWER,
        error_class=None if row["error_class"] is None else ErrorClass(row["error_class"]),
        accepted=accounts.is_accepted(row),
    )
