"""Addresses of pages, and links that open them without loading the whole application again.

Links are ordinary anchors (they open in a new tab, can be copied and need no script); a plain click is caught by one small
component, which has Streamlit run the page of that address.
"""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from toolwitness.dashboard.markup import Child, Markup, tag

TOOL_HEALTH = "/"
FAILED_RUNS = "/failed-runs"
SUBMISSIONS = "/submissions"
REPLAY = "/replay"
INGEST = "/ingest"

# A plain click makes one entry in the browser's history, with the whole address, and Streamlit is told as if the reader had
# gone there by Back or Forward: it then runs the page of that path with those parameters and adds no entry of its own.
# An element with `data-show` is scrolled to, once for every new value: what a click asked for may stand below the fold.
_FOLLOW = """
let shown = null;
export default function () {
  const follow = (event) => {
    const link = event.target.closest ? event.target.closest("a.go") : null;
    const plain = !event.button && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || event.defaultPrevented) return;
    event.preventDefault();
    history.pushState({}, "", link.getAttribute("href"));
    window.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
  };
  document.addEventListener("click", follow);
  const target = document.querySelector("[data-show]");
  const wanted = target ? target.dataset.show : null;
  if (target && wanted !== shown) target.scrollIntoView({ block: "start" });
  shown = wanted;
  return () => document.removeEventListener("click", follow);
}
"""


def address(page: str, **parameters: str | None) -> str:
    """The address of a page with its query parameters; those that are None are left out."""
    given = {key: value for key, value in parameters.items() if value is not None}
    return f"{page}?{urlencode(given)}" if given else page


def link(label: Child, to: str, *, title: str | None = None) -> Markup:
    """A link to a page of ours."""
    return tag("a", label, href=to, class_="go", target="_self", title=title)


def to_run(run: str, label: Child) -> Markup:
    """A link to a run's replay, the run's id in its tooltip."""
    return link(label, address(REPLAY, run=run), title=run)


def follow() -> None:
    """At the end of a page, mount the listener that opens clicked links."""
    component = st.components.v2.component("toolwitness_links", js=_FOLLOW)
    # The parameters are handed over so that the component runs anew when they change.
    component(key="links", data=st.query_params.to_dict())
