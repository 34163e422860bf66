"""Look whether toolwitness can be started on a port, before anything is made for it.

    python examples/demo_agent/check_port.py --db var/demo.duckdb --port 4318

Where it serves the file already, on whatever port, that is told and is no error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from urllib.parse import urlsplit

from toolwitness.collector.receive.serve import Collector, bind
from toolwitness.collector.store.remote import running
from toolwitness.model.exceptions import SettingsError


def check(db: Path, port: int) -> str | None:
    """What a person should know about the port; raises SettingsError where it cannot be had."""
    remote = running(db)
    if remote is None:
        bind(Collector(db), "127.0.0.1", port).close()
        return None
    if port in {0, urlsplit(remote.url).port}:
        return None
    return (
        f"it runs already, at {remote.url}, and PORT={port} is ignored; to move it: make demo-stop, then make demo PORT={port}"
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Look whether toolwitness can be started on a port.")
    parser.add_argument("--db", type=Path, required=True, help="DuckDB file that it is to serve")
    parser.add_argument("--port", type=int, required=True, help="where it is to listen on this machine")
    given = parser.parse_args()
    try:
        note = check(given.db, given.port)
    except (SettingsError, OverflowError) as error:
        sys.exit(f"toolwitness: {error}; nothing was made yet. With another port: make demo PORT=4320")
    if note is not None:
        print(f"toolwitness: {note}")


if __name__ == "__main__":
    main()
