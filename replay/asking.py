"""Which calls in doubt are due to be asked about, and what the registered status queries answer (A13)."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from toolwitness.model.enums import Method
from toolwitness.model.exceptions import SettlementError, ToolwitnessError
from toolwitness.model.reconciling import Attempted, NotYet, Told, UnknownCommit, judge, read_told
from toolwitness.replay.load import Source
from toolwitness.replay.reconcile import Making, Row, Settlement, Word, attempted, find_call, store_finding
from toolwitness.replay.tables import tool_name
from toolwitness.sdk import setup
from toolwitness.sdk.reconcilers import StatusQuery, reconciler_of, registered

_NS = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Due:
    """A call in doubt that nobody asked about lately; without a `query` it needs a person."""

    row: Row
    query: StatusQuery | None
    attempted: Attempted

    @property
    def call(self) -> str:
        """The call's id."""
        return str(self.row["call_id"])

    @property
    def tool(self) -> str:
        """The tool as people write it."""
        return tool_name(self.row["server"], self.row["tool"])

    def not_yet(self, now_ns: int) -> NotYet | None:
        """Why "not found" would settle nothing now; None where it would."""
        return self.attempted.not_yet(now_ns)


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of asking about a call: how it is settled, or what kept it from being recorded."""

    due: Due
    told: Told | None = None
    settlement: Settlement | None = None
    failure: str | None = None


def due_calls(
    source: Source, *, before_ns: int, call: str = "", tool: str | None = None, origin: str | None = None
) -> list[Due]:
    """Calls whose commit is in doubt and that no status query was made for at or after `before_ns`, oldest first.

    Only those whose id starts with `call`, of the tool `tool` (`server/tool`, or a name that any server may have), from
    `origin`. Calls that may still run are not due.
    """
    rows = source.query("ledger", prefix=call, before_ns=before_ns, source=origin).to_dicts()
    declared = {(each.server, each.name): each.settle_after_s for each in setup.declared()}
    return [
        Due(row, reconciler_of(*identity), attempted(row, declared.get(identity)))
        for row in rows
        if tool is None or tool in {row["tool"], tool_name(row["server"], row["tool"])}
        for identity in [(row["server"], row["tool"])]
    ]


def misnamed(due: Sequence[Due]) -> list[str]:
    """For each tool without a reconciler whose name alone one is registered under, a sentence: the server is a part of it."""
    bare = {name.rpartition("/")[2]: name for name in registered()}
    return [
        f"a reconciler is registered for {bare[tool]!r}, which is not {tool_name(server, tool)!r}; name the tool so"
        for server, tool in sorted({(one.row["server"], one.row["tool"]) for one in due if one.query is None})
        if tool in bare
    ]


def why_not_due(source: Source, call: str, *, before_ns: int) -> str:
    """Why a call that somebody named is not due. Raises CallNotFoundError where there is no such call or several."""
    row = find_call(source, call)
    if row["asked_ns"] is not None and row["asked_ns"] >= before_ns:
        return f"call {row['call_id']} was asked about at {_moment(row['asked_ns'])}; --again-after 0m asks again"
    return f"call {row['call_id']} is not in doubt: it is {row['outcome']}"


def ask(source: Source, due: Sequence[Due], making: Making, *, secret: bytes | None = None) -> Iterator[Asked]:
    """Ask about each call that has a status query, one after another, and store each finding as soon as it is known.

    Where a query raises or answers in another word, nothing is recorded about that call and the others go on. `secret` is
    the key of keyed digests that idempotency keys are compared under.
    """
    with asyncio.Runner() as runner:
        for one in due:
            if one.query is not None:
                yield _asked(source, one, making, runner, secret)


def _asked(source: Source, due: Due, making: Making, runner: asyncio.Runner, secret: bytes | None) -> Asked:
    asked_ns = making.clock()
    try:
        told = read_told(_answer(due, runner, secret))
    except ToolwitnessError as error:
        return Asked(due, failure=str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- the application's code may raise anything; it is told, not swallowed
        return Asked(due, failure=f"its reconciler raised {type(error).__name__}: {error}")
    word = Word(Method.STATUS_QUERY, _named(due.query), told.reason, told.remote_reference, told.commit_level)
    try:
        judged = judge(told.answer, due.attempted, asked_ns=asked_ns)
        settlement = store_finding(source, due.row, judged, word, asked_ns=asked_ns, making=making)
    except SettlementError as error:
        return Asked(due, told, failure=str(error))
    return Asked(due, told, settlement)


def _answer(due: Due, runner: asyncio.Runner, secret: bytes | None) -> Any:
    """What the query answers; one that is async runs on the one loop of the command."""
    if due.query is None:
        raise SettlementError(f"no reconciler is registered for {due.tool}")
    with redirect_stdout(sys.stderr):  # what the application prints is no answer of ours
        given = due.query(unknown_commit(due.row, secret=secret))
        return runner.run(_awaited(given)) if inspect.isawaitable(given) else given


async def _awaited(given: Any) -> Any:
    return await given


def _named(query: StatusQuery | None) -> str:
    """How a query is called where it says who found it out."""
    return f"{getattr(query, '__module__', '')}.{getattr(query, '__qualname__', type(query).__name__)}"


def unknown_commit(row: Row, *, secret: bytes | None = None) -> UnknownCommit:
    """A call of the ledger as its status query is given it."""
    known = row["time_known"]
    return UnknownCommit(
        **{name: row[name] for name in ("call_id", "run_id", "server", "tool", "task", "session", "action_id", "node")},
        started=_time(row["started_ns"], known=known),
        last_begun=_time(row["last_begun_ns"], known=known),
        last_ended=_time(row["last_ended_ns"], known=known),
        attempts=row["attempts"],
        remote_references=tuple(sorted(row["remote_references"] or ())),
        arguments=None if row["arguments"] is None else json.loads(row["arguments"]),
        key_digest=row["key_digest"],
        secret=secret,
    )


def _time(ns: int | None, *, known: bool) -> datetime | None:
    """A time to the microsecond; what was never seen stands as 0."""
    return _EPOCH + timedelta(microseconds=ns // 1000) if ns and known else None


def _moment(ns: int) -> str:
    return (_EPOCH + timedelta(seconds=ns // _NS)).strftime("%Y-%m-%dT%H:%M:%SZ")
