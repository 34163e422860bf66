"""MCP servers of the orders' tools, and a session with one in this process, by the names of the installed major version."""

from contextlib import asynccontextmanager
from importlib.metadata import version

from mcp import types
from mcp.server.lowlevel import Server
from mcp.types import ToolAnnotations

from toolwitness.tests.fakes.orders import SCHEMAS

NEW = int(version("mcp").partition(".")[0]) > 1
if NEW:
    from mcp import Client
    from mcp.server.mcpserver import MCPServer as Desk
else:
    from mcp.server.fastmcp import FastMCP as Desk
    from mcp.shared.memory import create_connected_server_and_client_session

READS = ToolAnnotations(readOnlyHint=True) if not NEW else ToolAnnotations(read_only_hint=True)


def desk(orders):
    """A server that calls functions."""
    server = Desk("desk")
    server.add_tool(orders.search_orders, annotations=READS)
    for tool in (orders.get_weather, orders.cancel_order, orders.submit_refund, orders.flaky_lookup):
        server.add_tool(tool)
    return server


def low_level_desk(handle):
    """A server that leaves each call to `handle(name, arguments)`, which gives texts."""
    listed = [types.Tool(name=name, inputSchema=schema) for name, schema in SCHEMAS.items()]
    if NEW:

        async def call(_, params):
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=await handle(params.name, params.arguments))]
            )

        async def tools(_, __):
            return types.ListToolsResult(tools=listed)

        return Server("desk", on_call_tool=call, on_list_tools=tools)
    server = Server("desk")

    @server.list_tools()
    async def tools():
        return listed

    @server.call_tool()
    async def call(name, arguments):
        return [types.TextContent(type="text", text=await handle(name, arguments))]

    return server


@asynccontextmanager
async def connected(server):
    """A session with a server of this process."""
    if NEW:
        async with Client(server) as client:
            yield client.session
    else:
        async with create_connected_server_and_client_session(server) as session:
            yield session


async def from_elsewhere(session, name, arguments):
    """Call a tool as a client in another process does: below what is instrumented of ours."""
    request = types.CallToolRequest(method="tools/call", params=types.CallToolRequestParams(name=name, arguments=arguments))
    return await session.send_request(request if NEW else types.ClientRequest(request), types.CallToolResult)
