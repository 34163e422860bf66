"""What a call knows of its idempotency key."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, cast

from toolwitness.model.catalog import ToolDefinition
from toolwitness.model.digest import KeyedDigest
from toolwitness.model.enums import Contract, ErrorClass, GateKind, Verdict
from toolwitness.model.exceptions import IdempotencyConflictError
from toolwitness.redaction import Projection
from toolwitness.sdk.called_off import Dismissable
from toolwitness.sdk.guard import guard

if TYPE_CHECKING:
    from toolwitness.sdk.calls import CallScope
    from toolwitness.sdk.idempotency import CallKey

CONFLICT = "conflict"
"""The reason code of the gate of a call whose node or idempotency key was used with other arguments."""


class KeyedCall(Dismissable):
    """The part of a `CallScope` that is about its key."""

    __slots__ = ("conflicting", "given_key", "keyed", "ran")

    facts: dict[str, Any]

    def _begin(self, given_key: str | None, continues: KeyedCall | None) -> None:
        """Have the key that the application gave, or that of the call that goes on here."""
        self.given_key = given_key
        self.keyed: CallKey | None = None if continues is None else continues.keyed
        self.ran: tuple[ToolDefinition, Projection] | None = None
        """The decorated tool that runs, or ran last, and the arguments that count."""
        self.conflicting = False

    @property
    def _call(self) -> CallScope:
        return cast("CallScope", self)

    @property
    def node(self) -> Any:
        """The application's name of the call's place in its plan; None where it gave none."""
        return self.facts.get("node")

    @property
    def idempotency_key(self) -> str:
        """The key to send along, so that a retry of this call has no second effect (`docs/idempotency.md`).

        Raises IdempotencyKeyError where there is none of which it is certain that no other call gets it, and
        IdempotencyConflictError where the call's node or the application's own key was used with other arguments.
        """
        return self.recorder.keys.of(self._call)

    @property
    def key_digest(self) -> KeyedDigest | None:
        """What is recorded of the key, as far as there is one yet."""
        if self.keyed is not None:
            return self.keyed.digest
        return self.recorder.keys.digest(self.given_key) if type(self.given_key) is str else None

    @property
    def comparable(self) -> bool:
        """Whether there is anything by which other arguments would be a conflict."""
        return self.node is not None or self.given_key is not None or self.keyed is not None

    @property
    def is_paid(self) -> bool:
        """Whether it has a key that is used up, so that what runs now with the same arguments is another call."""
        if self.keyed is None:
            return False
        with contextlib.suppress(OSError):  # it is kept in mind, which will do for now
            self.keyed.look(self._call)
        return self.keyed.done

    def bind_arguments(self) -> None:
        """Before a decorated tool runs in this call: raise IdempotencyConflictError as `idempotency_key` does."""
        if self.comparable:
            self.recorder.keys.bind(self._call)
            with guard:
                if self.conflicting and self._call.stopped:
                    self._call.gate(GateKind.IDEMPOTENCY, Verdict.ALLOW, reason=CONFLICT, contract=Contract.POLICY)

    def watch_conflict(self) -> None:
        """As an attempt begins that is not ours to stop: record a conflict, where there is one."""
        if self.ran is None and self.comparable:
            with contextlib.suppress(IdempotencyConflictError):
                self.recorder.keys.bind(self._call)

    def conflict(self) -> None:
        """Record that the node or key was used with other arguments; where nothing runs yet, nothing will."""
        with guard:
            self.conflicting = True
            self._call.gate(GateKind.IDEMPOTENCY, Verdict.DENY, reason=CONFLICT, contract=Contract.POLICY, observed=self.begun)
            if not self.begun:
                self._call.tell({"error_class": ErrorClass.CONFLICT, "error_type": IdempotencyConflictError.__name__})
