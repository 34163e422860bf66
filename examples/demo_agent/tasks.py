"""What the demo's agent is asked to do, and what its scripted model does then.

`number` counts how often a task came up, so that weeks differ.
"""

from __future__ import annotations

import json
import re
from typing import Any

from payments import Fault
from script import Script, Task, Turn, Use

SUPPORT = (
    "shop/search_orders",
    "shop/get_order",
    "shop/lookup_customer",
    "shop/quote_shipping",
    "shop/cancel_subscription",
    "payments/refund_payment",
    "payments/get_refunds",
    "mail/send_email",
    "tickets/update_ticket",
    "tickets/close_ticket",
    "desk/find_tools",
)
GIT = ("git/git_log", "git/git_show", "git/git_status", "git/git_diff_unstaged", "git/git_commit", "git/git_branch")
TIME = ("time/convert_time", "time/get_current_time")
NIGHT_SHIFT = tuple(tool for tool in SUPPORT if tool != "shop/cancel_subscription")
_AT_NIGHT = (("shop/cancel_subscription", "phase"),)
_RETURNED = ("W-1120", "W-1146")
_CUSTOMERS = ("C-204", "C-311", "C-377")


def _refund(order: str, amount: float, reason: str, **world: Any) -> Use:
    arguments = {"order_id": order, "amount": amount, "currency": "EUR", "reason": reason}
    return Use("payments/refund_payment", arguments, **world)


def refund_returned(number: int) -> Script:
    """Look the order up, pay back, say so; sometimes the ledger is locked at first."""
    order = _RETURNED[number % 2]
    (found,) = yield Turn(SUPPORT, (Use("shop/get_order", {"order_id": order}),))
    amount = found.value["total"]
    faults = (Fault.LOCKED,) if number % 3 == 1 else ()
    (paid,) = yield Turn(SUPPORT, (_refund(order, amount, "returned", faults=faults),))
    yield Turn(SUPPORT, say=f"Refund {paid.value['refund_id']} of {amount} EUR is booked.")
    return "success"


def refund_slow_payment(number: int) -> Script:
    """The service books and goes silent. The key of the call makes a retry harmless; without one nobody knows."""
    fault = (Fault.SILENT, Fault.DROP)[number % 2]
    (paid,) = yield Turn(SUPPORT, (_refund("W-1077", 24.50, "lost", faults=(fault,), keep_trying=number % 3 > 0),))
    if not paid.failed:
        yield Turn(SUPPORT, say=f"Refund {paid.value['refund_id']} of 24.5 EUR is booked.")
        return "success"
    yield Turn(SUPPORT, say="The payment service did not answer. A colleague will look whether the refund was booked.")
    return "handed_off"


def refund_twice(number: int) -> Script:
    """An impatient model: after the silence it proposes the same goodwill again, and both are booked."""
    amount = 20 + number % 30
    first = _refund("W-1103", amount, "goodwill", faults=(Fault.SILENT,), keep_trying=False)
    yield Turn(SUPPORT, (first,))
    (second,) = yield Turn(SUPPORT, (_refund("W-1103", amount, "goodwill"),))
    yield Turn(SUPPORT, say=f"Refund {second.value['refund_id']} is booked.")
    return "failure"


def refund_checked(number: int) -> Script:
    """A careful model: an answer that says nothing, then it asks what was booked before it says anything."""
    use = _refund("W-1146", 30.0 + number % 30, "damaged", faults=(Fault.BROKEN,), keep_trying=False)
    yield Turn(SUPPORT, (use,))
    (status,) = yield Turn(SUPPORT, (Use("payments/get_refunds", {"order_id": "W-1146"}),))
    booked = len(status.value["refunds"])
    yield Turn(SUPPORT, say=f"The payment service failed; {booked} refunds are booked for W-1146. I hand this over.")
    return "handed_off"


def refund_too_much(number: int) -> Script:
    """Above the agent's limit the policy says no; more than was paid, the service does."""
    if number % 2 == 0:
        yield Turn(SUPPORT, (Use("shop/get_order", {"order_id": "W-1103"}),))
        yield Turn(SUPPORT, (_refund("W-1103", 349.0, "damaged"),))
        yield Turn(SUPPORT, say="A refund of this size needs a colleague; I handed it over.")
        return "handed_off"
    yield Turn(SUPPORT, (_refund("W-1131", 40.0, "goodwill"),))
    yield Turn(SUPPORT, say="More than the price of the order cannot be refunded.", finish="refused")
    return "failure"


def notify_customer(number: int) -> Script:
    """A letter to a customer waits for a person, who grants it, refuses it, or has not looked yet."""
    customer = _CUSTOMERS[number % 3]
    (found,) = yield Turn(SUPPORT, (Use("shop/lookup_customer", {"customer_id": customer}),))
    letter = {"to": found.value["email"], "subject": "Your delivery", "body": "Your parcel comes on Thursday."}
    answer = ("granted", None, "refused")[number % 3]
    (sent,) = yield Turn(NIGHT_SHIFT, (Use("mail/send_email", letter, approval=answer),), removed=_AT_NIGHT)
    if sent.status == "pending":
        yield Turn(SUPPORT, say="The letter waits for approval.")
        return None
    yield Turn(SUPPORT, say="The letter was not approved." if sent.failed else "The customer was told.")
    return "failure" if sent.failed else "success"


def triage_ticket(number: int) -> Script:
    """Priority as a number is refused by the tool's schema; the model reads the refusal and corrects itself."""
    ticket = f"T-{500 + number}"
    priority: Any = 2 if number % 2 else "high"
    (changed,) = yield Turn(SUPPORT, (Use("tickets/update_ticket", {"ticket_id": ticket, "priority": priority}),))
    if changed.failed:
        yield Turn(SUPPORT, (Use("tickets/update_ticket", {"ticket_id": ticket, "priority": "normal", "queue": "delivery"}),))
    yield Turn(SUPPORT, (Use("tickets/close_ticket", {"ticket_id": ticket, "resolution": "solved"}),))
    yield Turn(SUPPORT, say=f"{ticket} is closed.")
    return "success"


def find_parcel(number: int) -> Script:
    """Two searches side by side; where both come back empty, the model asks."""
    customer = _CUSTOMERS[number % 3]
    uses = tuple(Use("shop/search_orders", {"customer_id": customer, "status": status}) for status in ("shipped", "lost"))
    found = yield Turn(SUPPORT, uses)
    orders = [order["order_id"] for result in found for order in result.value["orders"]]
    if orders:
        yield Turn(SUPPORT, say=f"Order {orders[0]} is on its way.")
        return "success"
    yield Turn(SUPPORT, say="I find no parcel on its way. Which order do you mean?", finish="asked_user")
    return "abandoned"


def quote_shipping(number: int) -> Script:
    """The tool's schema changed in between; the model goes on as it learned, and corrects itself every other time."""
    country = ("DE", "FR")[number % 2]
    (quote,) = yield Turn(SUPPORT, (Use("shop/quote_shipping", {"order_id": "W-1131", "country": country}),))
    if quote.failed and number % 2 == 0:
        destination = {"country": country, "service": "standard"}
        use = Use("shop/quote_shipping", {"order_id": "W-1131", "destination": destination})
        (quote,) = yield Turn(SUPPORT, (use,))
    if quote.failed:
        yield Turn(SUPPORT, say="I cannot tell the price of the shipment.")
        return "failure"
    yield Turn(SUPPORT, say=f"It costs {quote.value['price']} EUR with {quote.value['carrier']}.")
    return "success"


def apply_coupon(number: int) -> Script:
    """The tool is not offered until the model searches for it."""
    (found,) = yield Turn(SUPPORT, (Use("desk/find_tools", {"query": "apply a coupon to an order"}),))
    tools = (*SUPPORT, *found.value["tools"])
    use = Use("shop/apply_coupon", {"order_id": "W-1131", "coupon": f"SPRING{number}"})
    (applied,) = yield Turn(tools, (use,), exposure="tool_search")
    yield Turn(tools, say=f"The discount is {applied.value['discount']} EUR.", exposure="tool_search")
    return "success"


def release_notes(number: int) -> Script:
    """Read the log, then a commit that the log names; a branch that does not exist is the server's own error."""
    (log,) = yield Turn(GIT, (Use("git/git_log", {"repo_path": ".", "max_count": 2 + number % 3}),))
    commit = re.findall(r"Commit: (\w+)", log.value)[-1]
    uses = (Use("git/git_show", {"repo_path": ".", "revision": commit}),)
    if number % 2:
        uses = (*uses, Use("git/git_show", {"repo_path": ".", "revision": "release"}))
    shown = yield Turn(GIT, uses)
    yield Turn(GIT, say=f"The last change is {commit[:12]}: {shown[0].value.splitlines()[4].strip()}.")
    return "failure" if shown[-1].failed else "success"


def check_repository(number: int) -> Script:
    """The same question twice in one run: an identical repeat."""
    use = Use("git/git_status", {"repo_path": "."})
    yield Turn(GIT, (use, Use("git/git_diff_unstaged", {"repo_path": "."})))
    if number % 2:
        yield Turn(GIT, (use,))
    yield Turn(GIT, say="One file, returns.txt, is changed and not committed.")
    return "success"


def plan_call(number: int) -> Script:
    """A misspelt time zone is refused by the server; the model corrects it."""
    zone = "Asia/Tokio" if number % 2 else "Asia/Tokyo"
    arguments = {"source_timezone": "Europe/Berlin", "time": f"{9 + number % 8:02}:30"}
    (met,) = yield Turn(TIME, (Use("time/convert_time", {**arguments, "target_timezone": zone}),))
    if met.failed:
        (met,) = yield Turn(TIME, (Use("time/convert_time", {**arguments, "target_timezone": "Asia/Tokyo"}),))
    hour = json.loads(met.value)["target"]["datetime"][11:16]
    yield Turn(TIME, say=f"That is {hour} in Tokyo.")
    return "success"


def crash(number: int) -> Script:
    """The agent's process ends while the payment service works: the attempt stays open."""
    yield Turn(SUPPORT, (Use("shop/get_order", {"order_id": "W-1042"}),))
    yield Turn(SUPPORT, (_refund("W-1042", 10.0 + number % 30, "damaged", crashes=True),))
    return None


TASKS = (
    Task("refund-returned", "refunds", lambda n: f"I sent order {_RETURNED[n % 2]} back last week.", 2, refund_returned),
    Task("refund-lost", "refunds", lambda _: "Order W-1077 never arrived. I want my 24.50 EUR back.", 2, refund_slow_payment),
    Task("refund-goodwill", "refunds", lambda _: "The armchair of W-1103 squeaks. What will you do?", 1, refund_twice),
    Task("refund-damaged", "refunds", lambda _: "The rug of order W-1146 has a stain.", 1, refund_checked),
    Task(
        "refund-large",
        "refunds",
        lambda n: f"I want {('349 EUR back for W-1103', '40 EUR back for W-1131')[n % 2]}.",
        2,
        refund_too_much,
    ),
    Task("notify", "letters", lambda n: f"Tell {_CUSTOMERS[n % 3]} that the parcel comes on Thursday.", 3, notify_customer),
    Task("triage", "tickets", lambda n: f"Set the priority of T-{500 + n} and close it.", 2, triage_ticket),
    Task("find-parcel", "orders", lambda n: f"I am {_CUSTOMERS[n % 3]}. Where is my parcel?", 2, find_parcel),
    Task("quote", "orders", lambda n: f"What does it cost to send W-1131 to {('DE', 'FR')[n % 2]} again?", 4, quote_shipping),
    Task("coupon", "orders", lambda n: f"My coupon for W-1131 is SPRING{n}.", 1, apply_coupon),
    Task("release-notes", "repository", lambda _: "What changed last?", 2, release_notes),
    Task("repository-state", "repository", lambda _: "Is anything not committed?", 2, check_repository),
    Task("plan-call", "calendar", lambda n: f"I am free at {9 + n % 8:02}:30 in Berlin. When is that in Tokyo?", 2, plan_call),
    Task("refund-interrupted", "refunds", lambda _: "The lamp of order W-1042 is scratched.", 1, crash),
)
