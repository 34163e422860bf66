"""The local tools of the demo's support desk: what the model is told about them, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolwitness import ToolDefinition
from toolwitness.model.enums import SideEffect

_PRIVATE = {"type": "string", "x-privacy": "personal"}
_TEXT = {"type": "string"}
_OUTPUT = {"type": "object", "x-privacy": "internal"}
_BOOKED_AFTER_S = 900.0
"""So long after a request the payment service's books surely show what became of it."""

ORDERS: dict[str, dict[str, Any]] = {
    "W-1042": {"customer_id": "C-204", "status": "delivered", "total": 89.90, "items": ["lamp", "bulb"]},
    "W-1077": {"customer_id": "C-204", "status": "lost", "total": 24.50, "items": ["poster"]},
    "W-1103": {"customer_id": "C-311", "status": "delivered", "total": 349.00, "items": ["armchair"]},
    "W-1120": {"customer_id": "C-377", "status": "returned", "total": 61.20, "items": ["curtain", "rail"]},
    "W-1131": {"customer_id": "C-377", "status": "shipped", "total": 18.75, "items": ["vase"]},
    "W-1146": {"customer_id": "C-402", "status": "returned", "total": 132.40, "items": ["rug"]},
}
CUSTOMERS = {
    "C-204": {"customer_id": "C-204", "email": "ines.moreau@example.com", "tier": "gold"},
    "C-311": {"customer_id": "C-311", "email": "tom.okafor@example.com", "tier": "standard"},
    "C-377": {"customer_id": "C-377", "email": "lena.brandt@example.com", "tier": "standard"},
    "C-402": {"customer_id": "C-402", "email": "yuki.sato@example.com", "tier": "gold"},
}


class ToolError(Exception):
    """The tool's own complaint, told to the model as its answer; `code` is the tool's own."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class LocalTool:
    """A tool of this process: its definition and its function. None as a function: it is run by the payment service."""

    definition: ToolDefinition
    function: Callable[..., Any] | None = None


def _define(
    identity: str,
    description: str,
    properties: dict[str, Any],
    *,
    required: tuple[str, ...],
    effect: str,
    version: str = "1",
    **care: Any,
) -> ToolDefinition:
    """A definition; `care` says who must act where a call is in doubt, and when the service surely knows of it."""
    server, _, name = identity.partition("/")
    schema = {
        "type": "object",
        "x-privacy": "internal",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolDefinition(
        server=server,
        name=name,
        description=description,
        input_schema=schema,
        output_schema=_OUTPUT,
        version=version,
        side_effect=SideEffect(effect),
        **care,
    )


def _search_orders(customer_id: str, status: str | None = None) -> dict[str, Any]:
    found = [
        {"order_id": number, "status": order["status"], "total": order["total"]}
        for number, order in ORDERS.items()
        if order["customer_id"] == customer_id and status in {None, order["status"]}
    ]
    return {"orders": found}


def _get_order(order_id: str) -> dict[str, Any]:
    if order_id not in ORDERS:
        raise ToolError("unknown_order", f"There is no order {order_id}.")
    return {"order_id": order_id, "currency": "EUR", **ORDERS[order_id]}


def _lookup_customer(customer_id: str) -> dict[str, Any]:
    return CUSTOMERS[customer_id]


def _quote_old(order_id: str, country: str) -> dict[str, Any]:
    return {"order_id": order_id, "carrier": "Nordpost", "price": 6.90 if country == "DE" else 14.50, "days": 3}


def _quote_new(order_id: str, destination: Any = None, **old: Any) -> dict[str, Any]:
    if old or not isinstance(destination, dict):
        raise ToolError("invalid_destination", "destination must be an object with country and service; country alone is gone.")
    return {**_quote_old(order_id, destination["country"]), "service": destination["service"]}


def _send_email(to: str, subject: str, body: str) -> dict[str, Any]:
    return {"status": "queued", "message_id": f"M-{len(to) + len(subject) + len(body)}"}


def _update_ticket(ticket_id: str, **changes: Any) -> dict[str, Any]:
    return {"ticket_id": ticket_id, "changed": sorted(changes)}


def _close_ticket(ticket_id: str, resolution: str) -> dict[str, Any]:
    return {"ticket_id": ticket_id, "status": "closed", "resolution": resolution}


def _apply_coupon(order_id: str, coupon: str) -> dict[str, Any]:
    return {"order_id": order_id, "coupon": coupon, "discount": 5.00}


_ORDER = {"order_id": _TEXT}
_QUOTE = "shop/quote_shipping"
_QUOTE_OLD = _define(
    _QUOTE, "Price and days of a shipment.", {**_ORDER, "country": _TEXT}, required=("order_id", "country"), effect="read"
)
_QUOTE_NEW = _define(
    _QUOTE,
    "Price and days of a shipment.",
    {
        **_ORDER,
        "destination": {
            "type": "object",
            "properties": {"country": _TEXT, "service": {"type": "string", "enum": ["standard", "express"]}},
            "required": ["country", "service"],
        },
    },
    required=("order_id", "destination"),
    effect="read",
    version="2",
)

_TOOLS = (
    LocalTool(
        _define(
            "shop/search_orders",
            "Orders of a customer, by status where one is given.",
            {"customer_id": _TEXT, "status": {"type": "string", "enum": ["shipped", "delivered", "returned", "lost"]}},
            required=("customer_id",),
            effect="read",
        ),
        _search_orders,
    ),
    LocalTool(_define("shop/get_order", "One order.", _ORDER, required=("order_id",), effect="read"), _get_order),
    LocalTool(
        _define(
            "shop/lookup_customer", "A customer's contact.", {"customer_id": _TEXT}, required=("customer_id",), effect="read"
        ),
        _lookup_customer,
    ),
    LocalTool(
        _define(
            "shop/apply_coupon",
            "Apply a coupon to an order that is not shipped yet.",
            {**_ORDER, "coupon": _TEXT},
            required=("order_id", "coupon"),
            effect="write",
        ),
        _apply_coupon,
    ),
    LocalTool(
        _define(
            "shop/cancel_subscription",
            "End a customer's subscription for good.",
            {"customer_id": _TEXT},
            required=("customer_id",),
            effect="destructive",
        )
    ),
    LocalTool(
        _define(
            "payments/refund_payment",
            "Give money back for an order.",
            {
                **_ORDER,
                "amount": {"type": "number", "exclusiveMinimum": 0},
                "currency": {"type": "string", "enum": ["EUR"]},
                "reason": {"type": "string", "enum": ["lost", "returned", "damaged", "goodwill"]},
            },
            required=("order_id", "amount", "currency", "reason"),
            effect="write",
            owner="payments team",
            settle_after_s=_BOOKED_AFTER_S,
        )
    ),
    LocalTool(_define("payments/get_refunds", "Refunds booked for an order.", _ORDER, required=("order_id",), effect="read")),
    LocalTool(
        _define(
            "mail/send_email",
            "Write to a customer; a person approves first.",
            {"to": _PRIVATE, "subject": _TEXT, "body": _PRIVATE},
            required=("to", "subject", "body"),
            effect="write",
            owner="support desk",
        ),
        _send_email,
    ),
    LocalTool(
        _define(
            "tickets/update_ticket",
            "Change a ticket.",
            {
                "ticket_id": _TEXT,
                "priority": {"type": "string", "enum": ["low", "normal", "high"]},
                "queue": {"type": "string", "enum": ["billing", "delivery", "product"]},
            },
            required=("ticket_id",),
            effect="write",
            owner="support desk",
        ),
        _update_ticket,
    ),
    LocalTool(
        _define(
            "tickets/close_ticket",
            "Close a ticket.",
            {"ticket_id": _TEXT, "resolution": {"type": "string", "enum": ["solved", "duplicate", "no_answer"]}},
            required=("ticket_id", "resolution"),
            effect="write",
        ),
        _close_ticket,
    ),
    LocalTool(
        _define("desk/find_tools", "Search the catalog for a tool.", {"query": _TEXT}, required=("query",), effect="read"),
    ),
)


def tools(*, quote_changed: bool) -> dict[str, LocalTool]:
    """The tools by `server/tool`, with the schema of `quote_shipping` before or after its change."""
    quote = LocalTool(_QUOTE_NEW, _quote_new) if quote_changed else LocalTool(_QUOTE_OLD, _quote_old)
    return {f"{tool.definition.server}/{tool.definition.name}": tool for tool in (*_TOOLS, quote)}
