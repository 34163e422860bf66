"""A bank's tools, which remember the idempotency keys that they asked for."""

import contextlib

import toolwitness

seen = []
"""Every key that a tool asked for, in order."""
outcomes = []
"""How the next calls of `send` end: an exception or an answer each."""
REFUSALS = [{"status": "error", "error": "no such account"}, {"success": False, "error": {"code": "declined"}}]
WAYS = [{"node": "n-1"}, {"idempotency_key": "k-1"}]
"""How a call can be told that it is one and the same payment."""


class LostError(Exception):
    """The connection broke after the request was sent."""


@toolwitness.tool(server="bank", side_effect="write")
def pay(amount, context=None):
    """Ask for the key of all arguments."""
    seen.append(toolwitness.current_call().idempotency_key)
    return {"ok": True, "amount": amount, "context": type(context).__name__}


@toolwitness.tool(server="bank", side_effect="write", key_arguments=["amount"])
def send(amount, context=None):
    """Ask for the key, and end as the next of `outcomes` says."""
    seen.append(toolwitness.current_call().idempotency_key)
    end = outcomes.pop(0) if outcomes else {"ok": True, "amount": amount, "context": type(context).__name__}
    if isinstance(end, BaseException):
        raise end
    return end


def losing(amount):
    """Pay, and lose the answer; the key that was sent along."""
    outcomes.append(LostError())
    with contextlib.suppress(LostError):
        send(amount)
    return seen[-1]


def paying(amount, answer=None):
    """Pay, and get an answer; the key that was sent along."""
    outcomes.append(answer or {"ok": True})
    send(amount)
    return seen[-1]


def fresh():
    """Forget what was seen."""
    seen.clear()
    outcomes.clear()
