"""Produce the demo data: a scripted agent with real MCP servers and a misbehaving payment service, over the past weeks.

    python examples/demo_agent/run.py --db var/demo.duckdb

No model and no key is needed. Everything is marked with the source `demo`. Ids and times depend on week and task alone, so a
second time on the same day changes nothing. Where `toolwitness up` holds the file, the records go through it.
"""

from __future__ import annotations

import argparse
import asyncio
from datetime import UTC, date, datetime
from pathlib import Path

from agent import Agent
from desk import tools
from dispatch import Dispatcher
from payments import Service
from plan import cases
from servers import connect
from timeline import Timeline

from toolwitness.collector.embedded import open_sink
from toolwitness.sdk import Recorder

KEY = b"no secret: demo data is the same on every machine"


async def record(db: Path, today: date) -> str:
    """Run all cases and store them; returns what became of their spans, in words."""
    sink, time = open_sink(db), Timeline()
    recorder = Recorder(
        exporter=sink, clock=time.clock, ids=time, key=KEY, source="demo", inline=True, service="demo-support-desk"
    )
    planned = cases(today)
    try:
        with Service() as service:
            async with connect() as servers:
                for case in planned:
                    local = tools(quote_changed=case.quote_changed)
                    await Agent(recorder, Dispatcher(time, service, servers, local)).work(case)
        recorder.close()
        receipt = sink.receipt
    finally:
        sink.shutdown()
    return f"{len(planned)} demo runs; {receipt.stored} new spans" + ("" if receipt.stored else " (all were there already)")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Produce toolwitness demo data.")
    parser.add_argument("--db", type=Path, required=True, help="DuckDB file to write to; made where there is none")
    parser.add_argument(
        "--today", type=date.fromisoformat, default=datetime.now(UTC).date(), help="runs end on the day before (default: today)"
    )
    given = parser.parse_args()
    given.db.parent.mkdir(parents=True, exist_ok=True)
    print(asyncio.run(record(given.db, given.today)))


if __name__ == "__main__":
    main()
