"""From a proposed call to what the model reads: gates first, then at most two attempts, each recorded by hand."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import jsonschema
from desk import LocalTool, ToolError
from payments import BEFORE_COMMIT, Reply, Service
from script import Result, Use
from servers import Servers
from timeline import Timeline

from toolwitness import ToolDefinition
from toolwitness.model.enums import AttemptStatus, ErrorClass, Known, ObservationStatus
from toolwitness.sdk.calls import AttemptScope, CallScope

REFUND = "payments/refund_payment"
REFUND_LIMIT = 200.0
APPROVER = "maria"
_TOOL_MS, _TIMEOUT_MS, _BACKOFF_MS, _PERSON_MS = 120, 10_000, 500, 47 * 60_000
_REJECTED = "rejected"


class Crashed(Exception):  # noqa: N818 -- the agent's process is gone; nothing that was open will be closed
    """Stands for the end of the agent's process."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """An attempt that ended without an answer that could be trusted."""

    status: ObservationStatus
    error_class: ErrorClass
    reason: str


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Runs calls against the local tools, the payment service and the MCP servers."""

    time: Timeline
    service: Service
    servers: Servers
    tools: dict[str, LocalTool]

    def definition(self, identity: str) -> ToolDefinition:
        """A tool's definition by `server/tool`."""
        return self.tools[identity].definition if identity in self.tools else self.servers.definitions[identity]

    async def execute(self, call: CallScope, use: Use) -> Result:
        """Take one proposed call to its end."""
        if use.crashes:
            self._crash(call, use)
        with call:
            return self._stopped(call, use) or await self._run(call, use)

    # -- gates -----------------------------------------------------------------------------------------------------

    def _stopped(self, call: CallScope, use: Use) -> Result | None:
        """What the first gate that does not let the call through says; None where all do."""
        gates = (
            ("tickets/update_ticket", self._valid),
            (REFUND, self._within_policy),
            ("mail/send_email", self._approved),
        )
        return next((result for tool, gate in gates if tool == use.tool and (result := gate(call, use))), None)

    def _valid(self, call: CallScope, use: Use) -> Result | None:
        """Against the schema that the model was shown; the places and keywords are recorded, never the values."""
        validator = jsonschema.Draft202012Validator(self.definition(use.tool).input_schema)
        errors = list(validator.iter_errors(use.arguments))
        call.gate(
            "input_validation",
            "deny" if errors else "allow",
            reason="schema" if errors else None,
            contract="structure",
            pointers=["/" + "/".join(map(str, error.absolute_path)) for error in errors],
            keywords=[str(error.validator) for error in errors],
        )
        return Result(_REJECTED, "; ".join(error.message for error in errors), failed=True) if errors else None

    def _within_policy(self, call: CallScope, use: Use) -> Result | None:
        """A refund above the agent's limit is a colleague's."""
        allowed = use.arguments["amount"] <= REFUND_LIMIT
        verdict, reason = ("allow", None) if allowed else ("deny", "above_limit")
        call.gate("policy", verdict, reason=reason, rule="refund-limit", rule_version="3", contract="policy")
        return (
            None if allowed else Result(_REJECTED, f"Refunds above {REFUND_LIMIT:.0f} EUR are not yours to give.", failed=True)
        )

    def _approved(self, call: CallScope, use: Use) -> Result | None:
        """A letter waits for a person; approval comes, is refused, or has not come yet."""
        facts = {"rule": "letters", "rule_version": "1", "contract": "policy"}
        call.gate("confirmation", "needs_approval", reason="outgoing_letter", **facts)
        if use.approval is None:
            return Result("pending")
        self.time.pass_ms(_PERSON_MS)
        granted = use.approval == "granted"
        call.gate("confirmation", "allow" if granted else "deny", reason=use.approval, approver=APPROVER, **facts)
        return None if granted else Result(_REJECTED, "The letter was not approved.", failed=True)

    # -- attempts --------------------------------------------------------------------------------------------------

    async def _run(self, call: CallScope, use: Use) -> Result:
        if use.tool == REFUND:
            return self._refund(call, use)
        with call.attempt(transport="stdio" if use.tool not in self.tools else "in_process") as attempt:
            attempt.sent(Known.YES)
            self.time.pass_ms(_TOOL_MS)
            if use.tool not in self.tools:
                return await self._ask_server(call, use)
            try:
                value = self._ask_local(call, use)
            except ToolError as error:
                call.result(
                    {"error": str(error)},
                    status=ObservationStatus.ERROR,
                    transport_status=ObservationStatus.OK,
                    error_class=ErrorClass.VALIDATION,
                    vendor_code=error.code,
                )
                return Result("error", str(error), failed=True)
        empty = value.get("orders") == []
        call.result(value, status=ObservationStatus.EMPTY if empty else ObservationStatus.OK)
        return Result("empty" if empty else "ok", value)

    async def _ask_server(self, call: CallScope, use: Use) -> Result:
        """An MCP server's answer; an error that it reports is a complete answer all the same."""
        server, _, tool = use.tool.partition("/")
        text, failed = await self.servers.call(server, tool, use.arguments)
        call.result(
            text,
            status=ObservationStatus.ERROR if failed else ObservationStatus.OK,
            transport_status=ObservationStatus.OK,
            error_class=ErrorClass.UNCLASSIFIED if failed else None,
        )
        return Result("error" if failed else "ok", text, failed=failed)

    def _ask_local(self, call: CallScope, use: Use) -> dict[str, Any]:
        if use.tool == "desk/find_tools":
            call.discovered([("shop", "apply_coupon")], query=use.arguments["query"], catalog=self._catalog())
            return {"tools": ["shop/apply_coupon"]}
        if use.tool == "payments/get_refunds":
            return self.service.ask_status(use.arguments["order_id"]).body
        function = self.tools[use.tool].function
        if function is None:
            raise ToolError("not_running", f"{use.tool} is offered in this demo, but nothing answers for it.")
        return function(**use.arguments)

    def _catalog(self) -> list[ToolDefinition]:
        return [*(tool.definition for tool in self.tools.values()), *self.servers.definitions.values()]

    # -- refunds ---------------------------------------------------------------------------------------------------

    def _refund(self, call: CallScope, use: Use) -> Result:
        """At most two attempts under one key: a service that booked before the silence answers with the same refund."""
        self.service.faults.extend(use.faults)
        reply = self._try_refund(call, call.attempt(transport="http"), use)
        if isinstance(reply, NoAnswer) and use.keep_trying:
            self.time.pass_ms(_BACKOFF_MS)
            again = call.attempt(transport="http", retry_reason=reply.reason, backoff_ms=_BACKOFF_MS)
            reply = self._try_refund(call, again, use)
        if isinstance(reply, NoAnswer):
            call.result(None, status=reply.status, error_class=reply.error_class, error_type=reply.reason)
            return Result("no_answer", failed=True)
        if reply.status == HTTPStatus.OK:
            call.result(reply.body)
            return Result("ok", reply.body)
        call.result(reply.body, status=ObservationStatus.BUSINESS_ERROR, vendor_code=reply.body["code"])
        return Result("refused", reply.body["message"], failed=True)

    def _try_refund(self, call: CallScope, scope: AttemptScope, use: Use) -> Reply | NoAnswer:
        """One attempt; a reply that can be trusted, or why there is none."""
        with scope as attempt:
            attempt.sent(Known.YES)
            try:
                reply = self.service.ask_refund(call.id, use.arguments)
            except (TimeoutError, ConnectionError) as error:
                timed_out = isinstance(error, TimeoutError)
                self.time.pass_ms(_TIMEOUT_MS if timed_out else _TOOL_MS)
                none = NoAnswer(
                    ObservationStatus.TIMEOUT if timed_out else ObservationStatus.RAISED,
                    ErrorClass.UNKNOWN_COMMIT,
                    type(error).__name__,
                )
                status = AttemptStatus.TIMEOUT if timed_out else AttemptStatus.ERROR
                attempt.end(status, error_class=none.error_class, error_type=none.reason)
                return none
            self.time.pass_ms(_TOOL_MS)
            if reply.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                attempt.end(AttemptStatus.OK, remote_status=reply.status, remote_reference=reply.body.get("refund_id"))
                return reply
            return _server_error(attempt, reply)

    def _crash(self, call: CallScope, use: Use) -> None:
        """The request leaves, and then there is nobody any more who could close the attempt, the call or the run."""
        call.attempt(transport="http")
        self.service.ask_refund(call.id, use.arguments)
        raise Crashed


def _server_error(attempt: AttemptScope, reply: Reply) -> NoAnswer:
    """A 5xx says nothing about the effect, but for a code that the service declares to come before any commit."""
    code = reply.body.get("code")
    before = code in BEFORE_COMMIT
    error_class = ErrorClass.TEMPORARY if before else ErrorClass.UNKNOWN_COMMIT
    attempt.end(
        AttemptStatus.ERROR, error_class=error_class, vendor_code=code, remote_status=reply.status, effect_ruled_out=before
    )
    return NoAnswer(ObservationStatus.RAISED, error_class, code or f"http_{reply.status}")
