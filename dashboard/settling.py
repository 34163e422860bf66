"""Settling a call from a page: what was found out, read back in words, and recorded only then (A13).

A word is recorded by one click on one button. The draft that it would record is taken away before it is written, so that a
second click, a rerun of the page or a reader who comes back records nothing again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from toolwitness.dashboard.callview import shown_name
from toolwitness.dashboard.markup import Child, Markup, join, tag
from toolwitness.dashboard.wording import pill, plain
from toolwitness.model.enums import AttemptStatus, Finding
from toolwitness.model.exceptions import CollectorAnswerError, ToolwitnessError
from toolwitness.model.outcome import Settled
from toolwitness.replay.load import Source
from toolwitness.replay.reconcile import Settlement, settle
from toolwitness.replay.submissions import Submission, submission

_DRAFT, _ENTERED, _TOLD = "settling_draft", "settling_entered", "settling_told"
_MEANINGS = {
    Finding.COMMITTED: "it took effect",
    Finding.NOT_COMMITTED: "it took no effect, whatever had been attempted until now",
    Finding.STILL_UNKNOWN: "somebody looked and could not find out",
}
_SETTLED = {Settled.COMMITTED, Settled.NOT_COMMITTED}
_FOR_GOOD = "This is append-only: it cannot be undone, only followed by another word."
_MAY_STILL_RUN = (
    "An attempt is not known to have ended: if its process still runs, it may yet take effect, and a later word is due."
)
_MEANWHILE = "Nothing was recorded: something became known of this call meanwhile. Look at it again before you record a word."
_NOTHING = "Nothing was recorded: {}."
_UNANSWERED = "It is not known whether this was recorded: {}. Look at the call before you say it again."
_NOTHING_TO_SETTLE = "There is nothing to settle: what became of it is known."
_TWICE = "A word settles whether it took effect, which is known here; how often it did is for whoever must act to find out."
_NAME_LENGTH, _REASON_LENGTH = 80, 2_000


class Draft(NamedTuple):
    """A word that is not recorded yet; `seen` is the state of the call that whoever wrote it looked at."""

    call: str
    finding: str
    by: str
    reason: str
    seen: tuple[str, ...]


class _Told(NamedTuple):
    """What became of a reader's word about a call."""

    call: str
    said: Markup
    is_good: bool


def draw(source: Source, one: Submission) -> None:
    """What was just recorded, and the form, or what is to be confirmed."""
    heading = "Settled" if one.settled in _SETTLED and one.state != "unsettled" else "Settle it"
    st.html(tag("div", tag("h3", heading), class_="tw heading"))
    told: _Told | None = st.session_state.get(_TOLD)
    if told is not None and told.call == one.call:
        shape, role = ("done", "status") if told.is_good else ("alarm", "alert")
        st.html(tag("div", told.said, class_=f"tw {shape}", role=role))
    if one.not_found:
        st.html(tag("p", one.not_found, class_="tw note"))
    draft: Draft | None = st.session_state.get(_DRAFT)
    if draft is not None and draft.call == one.call:
        _confirm(source, one, draft)
    elif one.state == "unsettled":
        _ask(one)
    elif one.settled != Settled.NO_FINDING:
        with st.expander("Say something else"):
            _ask(one)
    else:
        st.html(tag("p", _TWICE if one.state == "twice" else _NOTHING_TO_SETTLE, class_="tw note"))


def _state_of(one: Submission) -> tuple[str, ...]:
    """Changes when anything is found out about the call or attempted again."""
    found = () if one.replay is None else tuple(f"{each.finding} {each.found_by}" for each in one.replay.reconciliations)
    return (one.outcome, one.settled, *one.attempts, *found)


def _ask(one: Submission) -> None:
    """The form. What was entered stays while the same call is shown."""
    entered: Draft | None = st.session_state.get(_ENTERED)
    if entered is None or entered.call != one.call:
        entered = Draft(one.call, "", entered.by if entered else "", "", ())
    words = list(Finding)
    with st.form("settle", border=True):
        finding = st.radio(
            "What was found out",
            words,
            index=words.index(Finding(entered.finding)) if entered.finding else None,
            format_func=lambda word: f"{plain(word).capitalize()}: {_MEANINGS[word]}",
        )
        by = st.text_input("Your name", entered.by, max_chars=_NAME_LENGTH)
        reason = st.text_area(
            "How you know",
            entered.reason,
            max_chars=_REASON_LENGTH,
            placeholder="For example: it stands in the ledger of the service, under this reference",
            help="Stored beside the word, redacted as everything else.",
        )
        reviewed = st.form_submit_button("Review", type="primary")
    if reviewed:
        _review(Draft(one.call, finding or "", by.strip(), reason.strip(), _state_of(one)))


def _review(draft: Draft) -> None:
    """Go on to the confirmation where nothing is missing."""
    st.session_state[_ENTERED] = draft
    wanted = (("what was found out", draft.finding), ("your name", draft.by), ("how you know", draft.reason))
    missing = [name for name, given in wanted if not given]
    if missing:
        st.html(tag("div", f"Still needed: {', '.join(missing)}.", class_="tw alarm", role="alert"))
        return
    st.session_state[_DRAFT] = draft
    st.session_state.pop(_TOLD, None)
    st.rerun()


def _read_back(one: Submission, draft: Draft) -> Markup:
    rows: Sequence[tuple[str, Child]] = (
        ("Call", join([shown_name(one.server, one.tool), " ", tag("code", one.call)])),
        ("Word", join([pill(draft.finding), f" {_MEANINGS[Finding(draft.finding)]}"])),
        ("Said by", draft.by),
        ("Because", draft.reason),
    )
    told = (tag("div", tag("div", key, class_="k"), tag("div", value, class_="v"), class_="row") for key, value in rows)
    head = tag("p", tag("strong", "This will be recorded:"))
    notes = [tag("p", note) for note in (_MAY_STILL_RUN if _is_open(one, draft) else None, _FOR_GOOD) if note]
    return tag("div", head, *told, *notes, class_="tw confirm", role="group", aria_label="What will be recorded")


def _is_open(one: Submission, draft: Draft) -> bool:
    """Whether a word that nothing happened is about an attempt that may still go on."""
    attempts = () if one.replay is None else one.replay.attempts
    return draft.finding == Finding.NOT_COMMITTED and any(attempt.status == AttemptStatus.OPEN for attempt in attempts)


def _confirm(source: Source, one: Submission, draft: Draft) -> None:
    st.html(_read_back(one, draft))
    with st.container(horizontal=True):
        st.button("Record it", type="primary", on_click=_record, args=(source,))
        st.button("Go back", on_click=_go_back)


def _go_back() -> None:
    """Leave the confirmation; what was entered stays in the form."""
    st.session_state.pop(_DRAFT, None)


def _record(source: Source) -> None:
    """Record the draft, once: it is gone from the session before anything is written."""
    draft: Draft | None = st.session_state.pop(_DRAFT, None)
    if draft is None:
        return
    try:
        seen = _state_of(submission(source, draft.call))
    except ToolwitnessError as unread:
        _tell(draft, _NOTHING.format(unread))
        return
    if seen != draft.seen:
        _tell(draft, _MEANWHILE)
        return
    _tell(draft, *_written(source, draft))


def _written(source: Source, draft: Draft) -> tuple[Child, bool]:
    """Write the word; what became of it, and whether it is stored for sure."""
    try:
        settled = settle(source, draft.call, draft.finding, by=draft.by, reason=draft.reason)
    except CollectorAnswerError as unanswered:
        # What holds for the agent's calls holds for ours: without an answer nobody knows.
        return _UNANSWERED.format(unanswered), False
    except ToolwitnessError as refused:
        return _NOTHING.format(refused), False
    st.session_state[_ENTERED] = Draft("", "", draft.by, "", ())
    return _recorded(settled), True


def _recorded(settled: Settlement) -> Markup:
    now = join(["Recorded: ", plain(settled.finding), ", said by ", settled.found_by, ". "])
    if settled.is_heard:
        caution = f" {_MAY_STILL_RUN}" if settled.is_open and settled.finding is Finding.NOT_COMMITTED else None
        return join([now, "The call counts as ", pill(settled.outcome), " now.", caution])
    return join([now, "That does not settle the call, which stays ", pill(settled.outcome), "."])


def _tell(draft: Draft, said: Child, is_good: bool = False) -> None:
    st.session_state[_TOLD] = _Told(draft.call, join([said]), is_good)
