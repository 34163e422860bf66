"""Submissions: writing calls that failed or are in doubt; whether each took effect, may be sent again, and who must act."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from toolwitness.dashboard import furniture, links, reading, settling
from toolwitness.dashboard import submissionview as view
from toolwitness.dashboard.callview import call_card
from toolwitness.dashboard.markup import Markup, join, tag
from toolwitness.dashboard.stepview import names_of
from toolwitness.dashboard.wording import cut, tool_name, unknown
from toolwitness.model.exceptions import CallNotFoundError
from toolwitness.replay import load
from toolwitness.replay.runs import replay_run
from toolwitness.replay.submissions import OPEN_STATES, STATES, Submission, submission

MOST_ROWS = 50
"""So many rows are shown unless the reader asks for all."""
_SEARCH_PX, _FILTER_PX, _DAY_PX = 350, 200, 150
_RECORD_PX = 740
_STATES = {
    "All but done": OPEN_STATES,
    **{words: (state,) for state, words in view.STATE_WORDS.items()},
    "Every writing call": STATES,
}
"""What can be chosen, in the words that stand in the address too."""


class _Choice(NamedTuple):
    """What the reader chose to see, kept in the address."""

    filters: reading.Sought
    states: tuple[str, ...]
    whole: bool


def draw() -> None:
    """Draw the page."""
    source = load.current()
    furniture.head(
        "Submissions",
        "Calls that may have changed something and did not simply succeed: whether they took effect, whether they may be sent "
        "again, and who must act.",
    )
    sources = reading.sources(source)
    if not sources:
        furniture.no_data(source.where)
        return
    call = st.query_params.get("call")
    if call is None:
        _list(source, _choose(sources))
    else:
        _account(source, call)


def _choose(sources: list[str]) -> _Choice:
    # In a row where there is room, else below one another.
    with st.container(horizontal=True):
        with st.container(width=_SEARCH_PX):
            search = st.text_input(
                "Find", key="q", bind="query-params", type="search", placeholder="run, task, session, call, action or tool"
            )
        with st.container(width=_FILTER_PX):
            state = st.selectbox("State", list(_STATES), key="state", bind="query-params")
        with st.container(width=_FILTER_PX):
            origin = furniture.source_filter(sources)
        with st.container(width=_DAY_PX):
            since = furniture.day_filter("From", "from")
        with st.container(width=_DAY_PX):
            until = furniture.day_filter("Until", "until")
    return _Choice(reading.Sought(search.strip() or None, origin, since, until), _STATES[state], "all" in st.query_params)


def _list(source: load.Source, choice: _Choice) -> None:
    counts = reading.submission_counts(source, choice.filters)
    listed = reading.submissions(source, choice.filters, states=choice.states, most=None if choice.whole else MOST_ROWS)
    furniture.demo_banner(one.source for one in listed if one.source)
    furniture.cards(view.headline(counts, _oldest(source, choice, listed)))
    if not listed:
        furniture.note(_nothing(counts))
        return
    total = listed[0].total
    more = _show_all() if len(listed) < total else None
    furniture.note(cut(len(listed), total, "calls" if total != 1 else "call"), more, "; ", view.order(choice.states))
    st.html(view.list_table(listed, _address_of))


def _oldest(source: load.Source, choice: _Choice, listed: list[Submission]) -> Submission | None:
    """The oldest call in doubt, which comes first where such calls are listed; None where there is none."""
    if listed and listed[0].state == "unsettled":
        return listed[0]
    found = reading.submissions(source, choice.filters, states=("unsettled",), most=1)
    return found[0] if found else None


def _nothing(counts: dict[str, int]) -> str:
    if not sum(counts.values()):
        return "No writing call fits; the search looks in ids of runs, calls, sessions and actions, in tasks and in tools."
    return "No writing call is in this state."


def _address_of(call: str) -> str:
    return links.address(links.SUBMISSIONS, call=call)


def _show_all() -> Markup:
    """A link that shows the list whole, with the filters as they are."""
    kept = {key: st.query_params[key] for key in ("q", "state", "source", "from", "until") if key in st.query_params}
    return join([" (", links.link("show all", links.address(links.SUBMISSIONS, **kept, all="calls")), ")"])


def _account(source: load.Source, call: str) -> None:
    every = links.link("All submissions", links.SUBMISSIONS)
    try:
        one = submission(source, call)
    except CallNotFoundError as missing:
        st.html(tag("div", furniture.sentence(str(missing)), class_="tw banner", role="alert"))
        furniture.note(every)
        return
    furniture.demo_banner([one.source] if one.source else [])
    furniture.name_tab(f"{tool_name(one.server, one.tool)} - Submissions")
    st.html(tag("div", tag("h2", view.title(one), title=one.call), every, class_="tw heading"))
    st.html(join([view.answers(one), view.next_step(one)]))
    # Side by side where there is room, else one below the other.
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=_RECORD_PX):
            _record(source, one)
        with st.container(width="stretch"):
            settling.draw(source, one)


def _record(source: load.Source, one: Submission) -> None:
    st.html(view.known_and_not(one))
    st.html(tag("div", view.facts(one, _address_of), class_="tw"))
    if one.run is None or one.replay is None:
        furniture.note(unknown("the record of this call cannot be shown, as its run is not known"))
        return
    st.html(tag("div", call_card(one.replay, names_of(replay_run(source, one.run)), is_account=True), class_="tw"))
