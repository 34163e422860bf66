"""Reads what failed, on the worker's thread: the class of an attempt's error and of a call's, and the failure in an answer.

What the application or an instrumentation said stands; `unclassified` is what they say who do not know.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from toolwitness.model.enums import AttemptStatus, CommitLevel, ErrorClass, Known, ObservationStatus, SideEffect
from toolwitness.model.envelope import read_envelope
from toolwitness.model.error_table import HTTP_WITHOUT_EFFECT
from toolwitness.model.errors import TIMED_OUT, Errors, Reading, Thrown
from toolwitness.model.outcome import Access, access_of
from toolwitness.sdk.raised import Raised, Seen

if TYPE_CHECKING:
    from toolwitness.sdk.calls import CallScope

_FAILED = frozenset({AttemptStatus.ERROR, AttemptStatus.TIMEOUT})
_TIMEOUTS = frozenset({AttemptStatus.TIMEOUT, ObservationStatus.TIMEOUT})
_ACCEPTED = 202
"""RFC 9110, 15.3.3: taken in, but perhaps never acted on."""
_ANSWERED = frozenset({ObservationStatus.ERROR, ObservationStatus.BUSINESS_ERROR})
_DONE = frozenset({ObservationStatus.OK, ObservationStatus.EMPTY})
_CUT_OFF = frozenset({ObservationStatus.RAISED, ObservationStatus.TIMEOUT, ObservationStatus.INVALID})


Witness = Callable[[BaseException | None], dict[str, Any]]
"""Saw what an attempt did, and tells what it means for it that it ended by this exception, or by none, as facts to learn.

`only_request`: nothing else of the attempt left the process but the one request whose answer is `remote_status`. Of one that
ended by no exception, `only_accepted`: what it asked for last was taken in and not done yet; `broke_off`: something that it
asked for, and that may have been done, got no answer that can be trusted.
"""


class ErrorReader:
    """Adds to the facts of attempts and calls what the table of errors tells."""

    def __init__(self, errors: Errors) -> None:
        self._errors = errors

    def of_attempt(self, call: CallScope, facts: dict[str, Any]) -> dict[str, Any]:
        """The facts of an attempt with the class and codes of its error, and with the proof, if any, that nothing happened."""
        facts = dict(facts)
        alone, broke_off = facts.pop("only_request", False), facts.pop("broke_off", False)
        only_accepted = facts.pop("only_accepted", facts.get("remote_status") == _ACCEPTED)
        failed = facts["attempt_status"] in _FAILED
        if failed:
            self._read(call, facts, alone=alone)
        if call.noted is not None:
            call.noted.failed = facts if failed else None
            call.noted.only_accepted = only_accepted
            call.noted.broke_off = call.noted.broke_off or broke_off
        return facts

    def _read(self, call: CallScope, facts: dict[str, Any], *, alone: bool) -> None:
        """Add to the facts of a failed attempt."""
        raised: Raised = facts.get("raised", Raised((), ()))
        thrown = tuple(map(_thrown, raised.chain))
        status = None if thrown else facts.get("remote_status")
        reading = self._errors.read(call.tool, thrown, vendor_code=facts.get("vendor_code"), status=status)
        reading = _of_time(reading, facts["attempt_status"])
        if _without_effect(reading, facts, thrown, alone=alone):
            facts["effect_ruled_out"] = True
        facts |= _classified(reading, facts, access_of(side_effect(call)), proven=_is_proven(facts))
        facts["remote_status"] = facts.get("remote_status") or reading.status

    def of_answer(self, call: CallScope, value: Any, facts: dict[str, Any]) -> dict[str, Any]:
        """The facts of what came back, with the failure that the answer tells itself, and its class."""
        if facts.get("observation", ObservationStatus.OK) is None:
            facts = {**facts, **_own_word(value, broke_off=call.noted.broke_off)}
        observation, last = facts.get("observation"), call.noted.failed
        if observation in _DONE and call.noted.only_accepted and side_effect(call) is not SideEffect.READ:
            # The application may know better how far it got.
            known = facts.get("commit_level", CommitLevel.UNKNOWN) is not CommitLevel.UNKNOWN
            accepted = {"observation": ObservationStatus.ACCEPTED, "commit_level": CommitLevel.ACCEPTED}
            return facts if known else {**facts, **accepted}
        if observation in _CUT_OFF and last is not None and facts.get("error_type") in {None, last.get("error_type")}:
            kept = {name: last.get(name) for name in ("error_class", "vendor_code") if _is_open(facts.get(name))}
            return {**facts, **kept}
        if observation not in _ANSWERED | _CUT_OFF:
            return facts
        reading = _of_time(self._errors.read(call.tool, vendor_code=facts.get("vendor_code")), observation)
        if observation is ObservationStatus.ERROR and reading.own is not None and reading.own.business:
            facts = {**facts, "observation": ObservationStatus.BUSINESS_ERROR}
        return {**facts, **_classified(reading, facts, access_of(side_effect(call)), proven=observation in _ANSWERED)}


def side_effect(call: CallScope) -> SideEffect:
    """What the model was shown tells, else who ran the tool: a server's hints reach no model."""
    definition = None if call.noted is None else call.noted.definition
    shown = SideEffect.UNKNOWN if definition is None else definition.side_effect
    return call.side_effect if shown is SideEffect.UNKNOWN else shown


def _thrown(seen: Seen) -> Thrown:
    types = (f"{module}.{name}" for module, name in seen.types if type(module) is str and type(name) is str)
    return Thrown(tuple(types), dict(seen.values))


def _own_word(value: Any, *, broke_off: bool) -> dict[str, Any]:
    """What an answer says of itself; an error in the place of an answer that never came is none of the tool's."""
    found = read_envelope(value)
    if found is None:
        return {"observation": ObservationStatus.OK}
    in_its_place = broke_off and found.status is ObservationStatus.ERROR
    status = ObservationStatus.RAISED if in_its_place else found.status
    return {"observation": status, "error_class": ErrorClass.UNCLASSIFIED, "vendor_code": found.vendor_code}


def _is_proven(facts: dict[str, Any]) -> bool:
    return facts.get("sent") is Known.NO or facts.get("effect_ruled_out", False)


def _without_effect(reading: Reading, facts: dict[str, Any], thrown: tuple[Thrown, ...], *, alone: bool) -> bool:
    """Whether it is proven that the attempt did nothing: the application declares it, or the only request was refused."""
    if reading.own is not None and reading.own.no_effect:
        return True
    answer = facts.get("remote_status")
    told = any(("http", answer) in each.codes() for each in thrown)
    return alone and told and answer in HTTP_WITHOUT_EFFECT


def _of_time(reading: Reading, status: StrEnum) -> Reading:
    """Time that ran out is a word of its own where nothing else is known."""
    unsure = reading.own is None and reading.rule.error_class is ErrorClass.UNCLASSIFIED
    return reading._replace(rule=TIMED_OUT) if unsure and status in _TIMEOUTS else reading


def _is_open(said: Any) -> bool:
    return said is None or said is ErrorClass.UNCLASSIFIED


def _classified(reading: Reading, facts: dict[str, Any], access: Access, *, proven: bool) -> dict[str, Any]:
    """Class and code where they were not said."""
    known = reading.error_class(access, proven=proven)
    return {
        "error_class": known if _is_open(facts.get("error_class")) else facts["error_class"],
        "vendor_code": reading.vendor_code,
    }
