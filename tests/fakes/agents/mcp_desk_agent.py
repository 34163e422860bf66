"""A host of an MCP server in the same process."""

import asyncio

from toolwitness.tests.fakes.mcp_desk import connected, desk, low_level_desk
from toolwitness.tests.fakes.mcp_loop import loop

INSTRUMENTATION = "mcp"
MODES = ("functions", "low_level")


def run(url, script, orders, mode="functions"):
    """Ask about orders; gives the final text."""
    return asyncio.run(_arun(url, script, orders, mode))


async def _arun(url, script, orders, mode):
    async def handle(name, arguments):
        return str(getattr(orders, name)(**arguments))

    server = desk(orders) if mode == "functions" else low_level_desk(handle)
    async with connected(server) as session:

        async def call(name, arguments):
            return (await session.call_tool(name, arguments)).content

        return await loop(url, script, (await session.list_tools()).tools, call)
