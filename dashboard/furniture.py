"""What every page has: its head, the filters kept in the address, the demo banner and the way to some data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

import streamlit as st

from toolwitness.dashboard.look import STYLE
from toolwitness.dashboard.markup import Child, Markup, tag
from toolwitness.dashboard.wording import DEMO, EVERY

_SNIPPET = "import toolwitness\ntoolwitness.instrument()"


def name_tab(title: str) -> None:
    """Name the browser's tab; a later name takes the place of an earlier one."""
    st.set_page_config(page_title=f"{title} - toolwitness")


def head(title: str, about: str) -> None:
    """The page's title, one sentence on what it answers, and the style sheet."""
    st.html(STYLE)
    st.title(title, anchor=False)
    st.html(tag("p", about, class_="tw note"))


def note(*content: Child) -> None:
    """A line beside the figures, such as whether a list was cut."""
    st.html(tag("p", *content, class_="tw note"))


def _filter(label: str, key: str, values: Sequence[str], every: str) -> str | None:
    def shown(value: str) -> str:
        return every if value == EVERY else value

    chosen = st.selectbox(label, [EVERY, *values], key=key, bind="query-params", format_func=shown)
    return None if chosen == EVERY else chosen


def source_filter(sources: Sequence[str]) -> str | None:
    """The source to show, kept in the address as `source`; None for all."""
    return _filter("Source", "source", sources, "All sources")


def week_filter(weeks: Sequence[str]) -> str | None:
    """The week to show, kept in the address as `week`; None for all. Calls without known time are week *unknown*."""
    return _filter("Week", "week", weeks, "All weeks")


def day_filter(label: str, key: str) -> date | None:
    """A day in UTC, kept in the address as `key`; None for none."""
    return st.date_input(label, value=None, key=key, bind="query-params", format="YYYY-MM-DD")


def sentence(text: str) -> str:
    """An error's text as a sentence."""
    return text[:1].upper() + text[1:]


def demo_banner(shown: Iterable[str]) -> None:
    """Says so where demo data is among what is shown; `shown` are the sources of that."""
    sources = set(shown)
    if DEMO not in sources:
        return
    if sources == {DEMO}:
        said = "The runs shown were made by the scripted agent that comes with toolwitness, not by an agent of yours."
    else:
        said = "Runs of the scripted demo agent are among those shown."
    st.html(tag("div", tag("strong", "Demo data. "), said, class_="tw banner", role="note"))


def no_data(where: str) -> None:
    """What to do on an empty database; `where` is the file that is being read."""
    ways: list[tuple[str, str]] = [
        ("See it with demo data:", "make demo"),
        ("Import runs that were recorded elsewhere:", f"toolwitness import PATH --db {where}"),
        ("Record an agent of yours, in two lines at its start:", _SNIPPET),
    ]
    blocks: list[Markup] = [part for why, how in ways for part in (tag("div", why), tag("pre", tag("code", how)))]
    head_ = tag("h2", "Nothing has been recorded here yet")
    st.html(
        tag(
            "div",
            head_,
            tag("p", "The database ", tag("code", where), " holds no run.", class_="soft"),
            *blocks,
            class_="tw empty",
        )
    )


def cards(figures: Sequence[tuple[str, Child, Child]]) -> None:
    """Headline figures: label, value, and what the value is of."""
    boxes = (
        tag(
            "div",
            tag("div", label, class_="label"),
            tag("div", value, class_="value"),
            tag("div", under, class_="under"),
            class_="card",
        )
        for label, value, under in figures
    )
    st.html(tag("div", *boxes, class_="tw cards"))
