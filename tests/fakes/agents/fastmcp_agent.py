"""A host of a fastmcp server in the same process."""

import asyncio

from fastmcp import Client, FastMCP
from fastmcp.tools import Tool

from toolwitness.tests.fakes.mcp_loop import loop

INSTRUMENTATION = "fastmcp"
MODES = ("async",)


def run(url, script, orders, mode="async"):
    """Ask about orders; gives the final text."""
    del mode
    return asyncio.run(_arun(url, script, orders))


async def _arun(url, script, orders):
    server = FastMCP("desk")
    for tool in (orders.search_orders, orders.get_weather, orders.cancel_order, orders.submit_refund, orders.flaky_lookup):
        server.add_tool(Tool.from_function(tool))
    async with Client(server) as client:

        async def call(name, arguments):
            return (await client.call_tool(name, arguments)).content

        return await loop(url, script, await client.list_tools(), call)
