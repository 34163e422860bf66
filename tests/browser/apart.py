"""The pages in a process of their own, over the toolwitness at a URL: `python -m toolwitness.tests.browser.apart URL`."""

import socket
import sys
from pathlib import Path

import streamlit as st
import uvicorn

from toolwitness import dashboard
from toolwitness.collector.store.remote import RemoteStore
from toolwitness.dashboard.server import configure
from toolwitness.replay import load


def main():
    """Serve the pages on a free port, and say on which."""
    url = sys.argv[1]
    load.use(load.Source(RemoteStore(url), url))
    configure()
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"serves {url} at http://127.0.0.1:{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    app = st.App(Path(dashboard.__file__).parent / "app.py")
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    main()
