"""Addresses of pages, and links that open them without loading the whole application again.

Links are ordinary anchors (they open in a new tab, can be copied and need no script); a plain click is caught by one small
component, which hands the address to Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import streamlit as st
from streamlit import Page

from toolwitness.dashboard.markup import Child, Markup, tag

TOOL_HEALTH = "/"
FAILED_RUNS = "/failed-runs"
REPLAY = "/replay"
_CHOSEN = ("server", "tool", "run")
# What links choose within a page. The other parameters belong to widgets, which alone may change them and keep them.

# An element with `data-show` is scrolled to, once for every new value: what a click asked for may stand below the fold.
_FOLLOW = """
let shown = null;
export default function ({ setTriggerValue }) {
  const follow = (event) => {
    const link = event.target.closest ? event.target.closest("a.go") : null;
    const plain = !event.button && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || event.defaultPrevented) return;
    event.preventDefault();
    setTriggerValue("address", link.getAttribute("href"));
  };
  document.addEventListener("click", follow);
  const target = document.querySelector("[data-show]");
  const wanted = target ? target.dataset.show : null;
  if (target && wanted !== shown) target.scrollIntoView({ block: "start" });
  shown = wanted;
  return () => document.removeEventListener("click", follow);
}
"""


class Address(NamedTuple):
    """A page of ours and its query parameters."""

    page: str
    parameters: dict[str, str]


def address(page: str, **parameters: str | None) -> str:
    """The address of a page with its query parameters; those that are None are left out."""
    given = {key: value for key, value in parameters.items() if value is not None}
    return f"{page}?{urlencode(given)}" if given else page


def link(label: Child, to: str) -> Markup:
    """A link to a page of ours."""
    return tag("a", label, href=to, class_="go", target="_self")


def to_run(run: str, label: Child) -> Markup:
    """A link to a run's replay."""
    return link(label, address(REPLAY, run=run))


def split(to: str) -> Address:
    """The page and the query parameters of an address."""
    parts = urlsplit(to)
    return Address(parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)))


def _clicked() -> Address | None:
    """Mount the listener; where the link that was clicked leads, if one was."""
    component = st.components.v2.component("toolwitness_links", js=_FOLLOW)
    # The parameters are handed over so that the component runs anew when they change.
    result = component(key="links", data=st.query_params.to_dict(), on_address_change=lambda: None)
    return split(result.address) if result.address else None


def follow(site: Mapping[str, Page], shown: Page) -> None:
    """At the end of a page, go where a clicked link leads; `shown` is the page that is shown now."""
    to = _clicked()
    if to is None or to.page not in site:
        return
    if to.page != f"/{shown.url_path}":
        st.switch_page(site[to.page], query_params=to.parameters)
    for name in _CHOSEN:
        if name in to.parameters:
            st.query_params[name] = to.parameters[name]
        else:
            st.query_params.pop(name, None)
    st.rerun()
