"""A made-up office agent over five weeks: every kind of gate, attempt and outcome that the pages have to show."""

from __future__ import annotations

import json
import random

from toolwitness.model.digest import digest
from toolwitness.model.enums import (
    AttemptStatus,
    DecisionFinish,
    ErrorClass,
    Exposure,
    Known,
    ObservationStatus,
    Origin,
    OutcomeSource,
    RunOutcome,
    SideEffect,
    Verdict,
)
from toolwitness.model.records import Hit, Json, LeafOrigin, Removal
from toolwitness.tests.factories import MONDAY_NS, SECOND_NS, WEEK_NS, History

TOOLS = (
    ("mail", "send_mail"),
    ("mail", "search_mail"),
    ("calendar", "list_events"),
    ("calendar", "create_event"),
    ("git", "git_log"),
    ("rooms", "book_room"),
    ("", "calculator"),
    ("files", "delete_everything"),
)
HOSTILE = "<img src=x onerror=alert(1)>"
"""A tool name that a model made up."""

_HOUR_NS = 3_600 * SECOND_NS
_ADDRESS = {"$tw:redacted": {"c": "personal", "t": "string", "len": "9-16", "fmt": ["email"], "why": "name:email"}}
_SUBJECT = {"$tw:redacted": {"c": "unknown", "t": "string", "len": "17-32", "why": "default"}}
_MAIL = Json(json.dumps({"to": [_ADDRESS], "subject": _SUBJECT, "urgent": True}))
_MAIL_ORIGINS = (LeafOrigin("/to/0", Origin.USER), LeafOrigin("/subject", Origin.MODEL), LeafOrigin("/urgent", Origin.TRIVIAL))


class Office:
    """Tells the runs of the office agent, all from one source."""

    def __init__(self, source: str, history: History, first_run: str, *, time_known: bool = True):
        self._tell = history
        self._common = {"source": source}
        told = len(history.rows)
        self._toolset = history.toolset(first_run, digest({"tools of": source}), TOOLS)
        for server, tool in TOOLS:
            history.schema(first_run, tool, server=server, tool_version="1.2", definition=Json("{}"))
        for row in history.rows[told:]:
            row |= {"source": source, "time_known": time_known}

    def _step(self, run: str, **fields) -> str:
        known = {"toolset_digest": self._toolset, "visibility": Known.YES, "exposure": Exposure.EXPLICIT}
        model = {"model": "gpt-test-1", "provider": "made up", "finish": DecisionFinish.CALLED}
        return self._tell.decision(run, **(known | model | self._common | fields))

    def _call(self, run: str, step: str, server: str, tool: str, **fields) -> str:
        digests = {"schema_digest": f"schema of {tool}", "definition_digest": f"definition of {tool}", "tool_version": "1.2"}
        known = {"decision_id": step, "server": server, "registered": Known.YES, "visible": Known.YES}
        return self._tell.call(run, tool, **(known | digests | self._common | fields))

    def quiet(self, run: str, task: str, *, calls: int = 2, errors: int = 0) -> None:
        """Tell of a run that looks something up and answers; the first `errors` look-ups fail."""
        first = None
        for number in range(calls):
            step = self._step(run)
            status = ObservationStatus.ERROR if number < errors else ObservationStatus.OK
            query = Json(json.dumps({"query": f"minutes {number}", "limit": 20}))
            fields = {"error_class": ErrorClass.TEMPORARY} if number < errors else {"novel_values": 3}
            sources = (first,) if first else ()
            call = self._call(
                run, step, "mail", "search_mail", observation=status, arguments=query, argument_sources=sources,
                side_effect=SideEffect.READ, result=Json('{"found":12,"newest":"2026-11-02"}'), result_size=34, **fields,
            )  # fmt: skip
            ended = AttemptStatus.ERROR if number < errors else AttemptStatus.OK
            self._tell.attempt(run, call, ended, sent=Known.YES, **self._common)
            first = first or (None if number < errors else call)
        self._step(run, finish=DecisionFinish.ANSWERED, answer_sources=(first,) if first else ())
        well = RunOutcome.FAILURE if errors else RunOutcome.SUCCESS
        self._end(run, task, well)

    def eventful(self, run: str, task: str) -> None:
        """Tell of a run in which all sorts of things happen and that fails."""
        tell, common = self._tell, self._common
        removed = (Removal("files", "delete_everything", "permission"),)
        step = self._step(run, removals=removed)
        booked = self._call(
            run, step, "rooms", "book_room", observation=ObservationStatus.TIMEOUT, side_effect=SideEffect.WRITE,
            arguments=Json('{"room":"R4","from":"2026-11-05T09:00"}'), error_class=ErrorClass.UNKNOWN_COMMIT,
        )  # fmt: skip
        tell.gate(run, booked, "input_validation", Verdict.ALLOW, rule_id="schema", **common)
        tell.attempt(run, booked, AttemptStatus.TIMEOUT, sent=Known.YES, error_type="ReadTimeout", transport="http", **common)
        tell.attempt(run, booked, AttemptStatus.TIMEOUT, sent=Known.YES, retry_reason="timeout", backoff_ms=500.0, **common)
        step = self._step(run)
        mailed = self._call(run, step, "mail", "send_mail", observation=ObservationStatus.NONE, arguments=_MAIL,
                            side_effect=SideEffect.WRITE, provenance=_MAIL_ORIGINS)  # fmt: skip
        rule = {"reason_code": "outside_company", "rule_id": "mail-7", "rule_version": "3"}
        tell.gate(run, mailed, "policy", Verdict.DENY, **rule, **common)
        waiting = self._call(run, step, "calendar", "create_event", observation=ObservationStatus.NONE, arguments=_MAIL)
        tell.gate(run, waiting, "confirmation", Verdict.NEEDS_APPROVAL, **common)
        step = self._step(run, visibility=Known.UNKNOWN, toolset_digest=None, exposure=Exposure.TOOL_SEARCH)
        self._call(
            run, step, "", HOSTILE, observation=ObservationStatus.RAISED, registered=Known.NO, visible=Known.NO,
            error_type="ToolNotFound", schema_digest=None, definition_digest=None, tool_version=None,
            discovery_hits=(Hit("git", "git_log"), Hit("mail", "search_mail")),
        )  # fmt: skip
        self._step(run, finish=DecisionFinish.REFUSED)
        self._end(run, task, RunOutcome.FAILURE)

    def _end(self, run: str, task: str, outcome: RunOutcome) -> None:
        said = {"agent": "office agent", "task": task, "trial": 0, "outcome_source": OutcomeSource.VERIFIER}
        self._tell.run(run, outcome, **said, **self._common)


def rows() -> list[dict]:
    """Five weeks of a live and a demo agent, and some imported runs without times."""
    chance = random.Random(7)  # noqa: S311 -- a reproducible history, not a secret
    history = History()
    live, demo = Office("live", history, "live-w0-n1"), Office("demo", history, "demo-w0-n0")
    for week in (0, 1, 3, 4):
        history.skip(MONDAY_NS + week * WEEK_NS + 9 * _HOUR_NS - history.now_ns)
        for number in range(chance.randint(4, 9)):
            office, source = (demo, "demo") if number % 3 == 0 else (live, "live")
            calls = chance.randint(1, 4)
            office.quiet(f"{source}-w{week}-n{number}", str(number), calls=calls, errors=chance.choice((0, 0, 1)))
            history.skip(_HOUR_NS)
        live.eventful(f"live-w{week}-trouble", f"book {week}")
    undated = History(time_known=False)
    Office("tau-bench", undated, "imported-1", time_known=False).quiet("imported-1", "41", calls=3)
    for row in undated.rows:
        row["trace_id"] = f"{2:032x}"
    return history.rows + undated.rows
