"""The script that Streamlit runs for every reader: navigation between the pages, and nothing else."""

from __future__ import annotations

import streamlit as st

from toolwitness.dashboard import brand, links, sitemap

st.set_page_config(page_title="toolwitness", page_icon=brand.ICON, layout="wide")
st.logo(brand.wordmark(), size="large")
site = sitemap.pages()
shown = st.navigation(list(site.values()), position="top")
shown.run()
links.follow(site, shown)
