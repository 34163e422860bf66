"""The script that Streamlit runs for every reader: navigation between the pages, and nothing else."""

from __future__ import annotations

import streamlit as st

from toolwitness.dashboard import brand, furniture, links, sitemap

st.set_page_config(page_icon=brand.ICON, layout="wide")
st.logo(brand.wordmark(), size="large")
shown = st.navigation(list(sitemap.pages().values()), position="top")
furniture.name_tab(shown.title)
shown.run()
links.follow()
