"""A made-up treasury agent: writing calls that end in doubt, in failure or at a gate, and some that went well."""

from __future__ import annotations

import json
import time
from typing import NamedTuple

from toolwitness.model.enums import (
    AttemptStatus,
    ErrorClass,
    Known,
    ObservationStatus,
    OutcomeSource,
    RunOutcome,
    SideEffect,
    Verdict,
)
from toolwitness.model.records import Json
from toolwitness.tests.factories import SECOND_NS, History

_MINUTE_NS = 60 * SECOND_NS
_HOUR_NS = 60 * _MINUTE_NS
LONG_SERVER = "enterprise-document-and-expense-approval-service-eu-central"
LONG_TOOL = "submit_purchase_requisition_for_cost_centre_approval_v2"
_SECRET_NAME = {"$tw:redacted": {"c": "personal", "t": "string", "len": "9-16", "why": "name:beneficiary"}}
_MEMO = {"$tw:redacted": {"c": "unknown", "t": "string", "len": "33-64", "why": "default"}}
PERSON = "maria"
PAYMENTS_TEAM = "payments on call"


class Told(NamedTuple):
    """The ids of the calls that tests ask for."""

    timed_out: str
    repeated: str
    crashed: str
    rejected: str
    waiting: str
    retried: str
    settled: str
    long: str
    running: str


class Treasury:
    """Tells the runs of the treasury agent up to a moment."""

    def __init__(self, now_ns: int) -> None:
        self.history = History(start_ns=now_ns - 50 * _HOUR_NS)
        self._now_ns = now_ns

    def rows(self) -> list[dict]:
        """What was told, as a store takes it."""
        return self.history.rows

    def at(self, ago_ns: int) -> None:
        """Go on at so long before the moment."""
        self.history.skip(self._now_ns - ago_ns - self.history.now_ns)

    def call(self, run: str, server: str, tool: str, arguments: dict, **fields) -> str:
        """A call of a tool that writes."""
        step = self.history.decision(run, model="gpt-test-1", provider="made up", finish="called")
        known = {"server": server, "decision_id": step, "registered": Known.YES, "visible": Known.YES}
        effect = {"side_effect": SideEffect.WRITE, "arguments": Json(json.dumps(arguments)), "tool_version": "4"}
        digests = {
            "arguments_digest": json.dumps([server, tool, arguments], sort_keys=True),
            "schema_digest": f"schema of {tool}",
        }
        return self.history.call(run, tool, **(known | effect | digests | fields))

    def pay(self, run: str, amount: float, order: str, **fields) -> str:
        """A call that pays."""
        arguments = {"amount": amount, "currency": "EUR", "invoice": order, "beneficiary": _SECRET_NAME, "memo": _MEMO}
        return self.call(run, "payments", "create_payment", arguments, **({"owner": PAYMENTS_TEAM} | fields))

    def end(self, run: str, task: str, outcome: RunOutcome, **fields) -> None:
        """The end of a run."""
        said = {"agent": "treasury agent", "task": task, "outcome_source": OutcomeSource.VERIFIER}
        self.history.run(run, outcome, **(said | fields))

    # -- what happens ------------------------------------------------------------------------------------------------

    def times_out(self) -> tuple[str, str]:
        """A payment that nobody answered for, and the same again an hour later, which went well."""
        tell, run = self.history, "pay-8831"
        first = self.pay(
            run, 1_249.0, "INV-8831", observation=ObservationStatus.TIMEOUT, error_class=ErrorClass.UNKNOWN_COMMIT,
            error_type="ReadTimeout", action_id="settle-INV-8831", settle_after_s=900.0,
        )  # fmt: skip
        tell.gate(run, first, "policy", Verdict.ALLOW, rule_id="payment-limit", rule_version="3")
        tell.gate(run, first, "confirmation", Verdict.NEEDS_APPROVAL, rule_id="four-eyes", rule_version="1")
        tell.gate(run, first, "confirmation", Verdict.ALLOW, rule_id="four-eyes", rule_version="1", approver=PERSON)
        lost = {"sent": Known.YES, "error_type": "ReadTimeout", "error_class": ErrorClass.UNKNOWN_COMMIT, "transport": "http"}
        tell.attempt(run, first, AttemptStatus.TIMEOUT, **lost)
        tell.attempt(run, first, AttemptStatus.TIMEOUT, retry_reason="timeout", backoff_ms=500.0, **lost)
        second = self.pay(run, 1_249.0, "INV-8831", action_id="settle-INV-8831")
        tell.attempt(run, second, sent=Known.YES, remote_status=201, remote_reference="PAY-20917", transport="http")
        self.end(run, "settle invoice INV-8831", RunOutcome.SUCCESS, session="chat-7f2a")
        return first, second

    def crashes(self) -> str:
        """The process ends while the payment service works."""
        tell, call = self.history, "c0ffee5500000001"
        tell.attempt_start("pay-8840", call, "create_payment", parent="c0ffee5500000002")
        tell.rows[-1] |= {"server": "payments", "side_effect": "write", "call_ordinal": 1}
        return call

    def runs(self) -> str:
        """The payment service works on it, as far as anybody knows."""
        tell, call = self.history, "c0ffee5500000003"
        tell.attempt_start("pay-8855", call, "create_payment", parent="c0ffee5500000004")
        tell.rows[-1] |= {"server": "payments", "side_effect": "write", "call_ordinal": 1}
        return call

    def refused(self) -> str:
        """A policy says no."""
        run = "pay-8842"
        call = self.pay(run, 48_000.0, "INV-8842", observation=ObservationStatus.NONE)
        self.history.gate(
            run, call, "policy", Verdict.DENY, reason_code="above_limit", rule_id="payment-limit", rule_version="3"
        )
        self.end(run, "settle invoice INV-8842", RunOutcome.HANDED_OFF, session="chat-7f2a")
        return call

    def waits(self) -> str:
        """Nobody has approved it yet."""
        run = "pay-8850"
        call = self.pay(run, 7_310.5, "INV-8850", observation=ObservationStatus.NONE)
        self.history.gate(run, call, "confirmation", Verdict.NEEDS_APPROVAL, reason_code="four_eyes", rule_id="four-eyes")
        self.end(run, "settle invoice INV-8850", RunOutcome.UNKNOWN, session="chat-81c0")
        return call

    def retried(self) -> str:
        """It went well at last, after a try that may have done it already."""
        run = "pay-8815"
        call = self.pay(run, 315.0, "INV-8815")
        self.history.attempt(run, call, AttemptStatus.TIMEOUT, sent=Known.YES, error_type="ReadTimeout", transport="http")
        self.history.attempt(run, call, sent=Known.YES, retry_reason="timeout", remote_reference="PAY-20890", transport="http")
        self.end(run, "settle invoice INV-8815", RunOutcome.SUCCESS, session="chat-5d11")
        return call

    def settled(self) -> str:
        """In doubt until somebody looked."""
        run = "pay-8801"
        call = self.pay(run, 99.0, "INV-8801", observation=ObservationStatus.TIMEOUT, error_class=ErrorClass.UNKNOWN_COMMIT)
        self.history.attempt(run, call, AttemptStatus.TIMEOUT, sent=Known.YES, error_type="ReadTimeout")
        self.end(run, "settle invoice INV-8801", RunOutcome.HANDED_OFF)
        self.history.reconciliation(run, call, "create_payment", "committed")
        return call

    def long(self) -> str:
        """Names, tasks and ids as long as they come."""
        run = "7d1f60c2-9f0e-4c55-9a9b-5a3a5b4f2c11-purchase-requisition-of-the-facilities-department"
        arguments = {"cost_centre": "FAC-0042-EU", "lines": [{"sku": f"SKU-{n}", "quantity": n} for n in range(1, 9)]}
        call = self.call(
            run, LONG_SERVER, LONG_TOOL, arguments, observation=ObservationStatus.CUT_ON_WIRE,
            error_class=ErrorClass.UNKNOWN_COMMIT, owner="procurement platform, second line support (EMEA)",
        )  # fmt: skip
        self.history.attempt(run, call, AttemptStatus.ERROR, sent=Known.YES, error_type="RemoteProtocolError", transport="http")
        task = (
            "replace the broken standing desks on the fourth floor of the Rotterdam office before the auditors come on Monday"
        )
        self.end(run, task, RunOutcome.FAILURE)
        return call

    def said_no(self) -> None:
        """The service answers, and the answer is no; a tool reports its own error; a batch works in part."""
        tell, run = self.history, "pay-8861"
        call = self.pay(run, 12.0, "INV-8861", observation=ObservationStatus.BUSINESS_ERROR, vendor_code="beneficiary_blocked")
        tell.attempt(run, call, sent=Known.YES, remote_status=200)
        failed = {"observation": ObservationStatus.ERROR, "error_class": ErrorClass.VALIDATION, "vendor_code": "invalid_slot"}
        call = self.call(run, "calendar", "create_event", {"title": _MEMO, "slot": "2026-11-31"}, **failed)
        tell.attempt(run, call, sent=Known.YES)
        partial = {"observation": ObservationStatus.PARTIAL, "items_total": 12, "items_failed": 3}
        call = self.call(run, "mail", "send_batch", {"template": "dunning-2", "recipients": [_SECRET_NAME] * 3}, **partial)
        tell.attempt(run, call, sent=Known.YES)
        self.call(run, "mail", "send_mail", {"to": _SECRET_NAME}, observation=ObservationStatus.NONE)
        never = {"observation": ObservationStatus.RAISED, "error_class": ErrorClass.TEMPORARY, "error_type": "ConnectError"}
        call = self.call(run, "mail", "send_mail", {"to": _SECRET_NAME, "subject": _MEMO}, owner="mail team", **never)
        tell.attempt(run, call, AttemptStatus.ERROR, sent=Known.NO, error_type="ConnectError", error_class=ErrorClass.TEMPORARY)
        self.end(run, "close the week", RunOutcome.FAILURE, session="chat-81c0")

    def goes_well(self, number: int) -> None:
        """A payment as it should be."""
        run = f"pay-ok-{number:03}"
        call = self.pay(run, 10.0 + number, f"INV-{7_000 + number}", commit_level="persisted")
        self.history.attempt(run, call, sent=Known.YES, remote_status=201, remote_reference=f"PAY-{19_000 + number}")
        self.end(run, f"settle invoice INV-{7_000 + number}", RunOutcome.SUCCESS)

    def is_busy(self, number: int) -> None:
        """Rooms that a slow service may or may not have booked."""
        run = f"room-{number:03}"
        arguments = {"room": f"R{number % 7}", "from": f"2026-12-{1 + number % 28:02}T09:00"}
        call = self.call(run, "rooms", "book_room", arguments, observation=ObservationStatus.TIMEOUT)
        self.history.attempt(run, call, AttemptStatus.TIMEOUT, sent=Known.YES, error_type="ReadTimeout", transport="http")
        self.end(run, f"book a room for team {number}", RunOutcome.FAILURE)


def tell(*, now_ns: int | None = None, busy: int = 0) -> tuple[list[dict], Told]:
    """The treasury's last two days, and the ids of what is asked for; `busy` adds so many rooms in doubt."""
    treasury = Treasury(time.time_ns() if now_ns is None else now_ns)
    treasury.at(49 * _HOUR_NS)
    settled = treasury.settled()
    for number in range(busy):
        treasury.is_busy(number)
    treasury.at(26 * _HOUR_NS)
    timed_out, repeated = treasury.times_out()
    for number in range(24):
        treasury.goes_well(number)
    treasury.at(20 * _HOUR_NS)
    retried = treasury.retried()
    long = treasury.long()
    treasury.at(5 * _HOUR_NS)
    crashed = treasury.crashes()
    rejected = treasury.refused()
    treasury.at(2 * _HOUR_NS)
    treasury.said_no()
    treasury.at(40 * _MINUTE_NS)
    waiting = treasury.waits()
    treasury.at(2 * _MINUTE_NS)
    running = treasury.runs()
    return treasury.rows(), Told(timed_out, repeated, crashed, rejected, waiting, retried, settled, long, running)
