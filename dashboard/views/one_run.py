"""Replay: one run step by step, or the runs to choose from."""

from __future__ import annotations

import streamlit as st

from toolwitness.dashboard import furniture, links, reading
from toolwitness.dashboard.listing import order_of, runs_table
from toolwitness.dashboard.markup import tag
from toolwitness.dashboard.stepview import facts, steps_view
from toolwitness.dashboard.wording import cut, plain, unknown
from toolwitness.model.exceptions import RunNotFoundError
from toolwitness.replay import load
from toolwitness.replay.runs import replay_run

MOST_RUNS = 100


def draw() -> None:
    """Draw the page."""
    source = load.current()
    furniture.head("Replay", "What the model saw and chose at each step, what stopped or ran each call, and what became of it.")
    sources = reading.sources(source)
    if not sources:
        furniture.no_data(source.where)
        return
    left, right, _ = st.columns([4, 2, 3])
    with left:
        search = st.text_input(
            "Find a run", key="q", bind="query-params", type="search", placeholder="id, task or agent", on_change=_leave
        )
    with right:
        origin = furniture.source_filter(sources)
    run = st.query_params.get("run")
    if run is None:
        _choose(source, origin, search)
    else:
        _replay(source, run)


def _leave() -> None:
    """A new search leaves the run that is shown."""
    st.query_params.pop("run", None)


def _choose(source: load.Source, origin: str | None, search: str) -> None:
    listed = reading.runs(source, origin=origin, search=search, most=MOST_RUNS)
    furniture.demo_banner(listed.frame["source"])
    if not listed.total:
        furniture.note("No run matches; the search looks in run ids, tasks and agents.")
        return
    furniture.note(cut(listed.frame.height, listed.total, "runs"), f"; {order_of(listed.frame)}.")
    st.html(runs_table(listed.frame))


def _replay(source: load.Source, run: str) -> None:
    every = links.link("All runs", links.REPLAY)
    try:
        replay = replay_run(source, run)
    except RunNotFoundError as missing:
        st.html(tag("div", furniture.sentence(str(missing)), class_="tw banner", role="alert"))
        furniture.note(every)
        return
    furniture.demo_banner([replay.source])
    title = f"Task {replay.task}" if replay.task else f"Run {replay.run}"
    furniture.name_tab(f"{title} - Replay")
    st.html(tag("div", tag("h2", title, title=replay.run), every, class_="tw heading"))
    st.html(tag("div", facts(replay), class_="tw"))
    if replay.unknown:
        furniture.note("Not known: ", unknown("; ".join(plain(item) for item in replay.unknown)))
    st.html(steps_view(replay))
