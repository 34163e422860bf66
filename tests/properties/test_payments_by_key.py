"""An agent that pays, loses answers, dies and goes on, against a bank that knows what it booked under which key."""

import contextlib
import itertools

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

import toolwitness
from toolwitness.tests.fakes.bank import LostError

NUMBERS = itertools.count()
ENDS = st.sampled_from(["answered", "lost after booking", "lost before booking", "refused", "busy"])


class Bank:
    """Books once a key, and gives a key the same answer again, but for saying now and then that it is busy."""

    def __init__(self):
        self.booked, self.refused = set(), set()

    def answer(self, key, end):
        """What it says, or LostError; `end` is what happens to a request with a key that it does not know."""
        if end == "lost before booking":
            raise LostError
        if end == "busy":
            return {"success": False, "error": "try again"}
        if key not in self.booked | self.refused:
            (self.refused if end == "refused" else self.booked).add(key)
        if end == "lost after booking":
            raise LostError
        return {"ok": True} if key in self.booked else {"success": False, "error": "declined"}


class Payments(RuleBasedStateMachine):
    """Payments with the same arguments, in one run."""

    @initialize()
    def begin(self):
        """Begin a run that may go on in another process."""
        self.bank, self.waiting, self.confirmed = Bank(), [], set()
        self.id = f"run-{next(NUMBERS)}"
        self.run = toolwitness.run(id=self.id)

    @rule()
    def propose(self):
        """Ask for a key: never that of a payment that was confirmed, always that of one that may have been booked."""
        call = self.run.call("pay", {"amount": 5})
        key = call.idempotency_key
        assert key not in self.confirmed
        assert self.bank.booked - self.confirmed <= {key}
        self.waiting.append((call, key))

    @precondition(lambda self: self.waiting)
    @rule(end=ENDS, which=st.integers(0, 5))
    def send(self, end, which):
        """Let one of the payments that wait take place."""
        call, key = self.waiting.pop(which % len(self.waiting))
        with contextlib.suppress(LostError), call:
            with call.attempt():
                answer = self.bank.answer(key, end)
            call.result(answer)
            if "ok" in answer:
                self.confirmed.add(key)

    @rule(end=ENDS)
    def pay(self, end):
        """Ask for a key and use it at once."""
        self.propose()
        self.send(end, len(self.waiting) - 1)

    @rule(ends=st.lists(ENDS, min_size=2, max_size=3))
    def retry(self, ends):
        """Several attempts of one call, until one goes well."""
        call = self.run.call("pay", {"amount": 5})
        key = call.idempotency_key
        with call:
            for end in ends:
                with contextlib.suppress(LostError), call.attempt():
                    call.result(answer := self.bank.answer(key, end))
                    if "ok" in answer:
                        self.confirmed.add(key)
                        return

    @rule()
    def restart(self):
        """Go on in another process: what was waiting is gone."""
        self.waiting.clear()
        self.run = toolwitness.run(id=self.id)


def test_no_payment_is_made_twice_and_none_is_left_out():
    """Whatever is lost, refused, shared or forgotten, in any order."""
    run_state_machine_as_test(Payments, settings=settings(max_examples=150, stateful_step_count=30, deadline=None))
