"""An MCP server over stdin and stdout, by hand, so that a test decides what goes over the wire. What a tool does is its name.

`die` ends the process after it read the request, `silent` never answers, `echo` gives back what was asked.
"""

import json
import sys

TEXT = [{"type": "text", "text": "7 degrees in Berlin"}]
RESULTS = {
    "search_orders": {"content": [{"type": "text", "text": "{}"}], "structuredContent": {"orders": [{"id": "A-17"}]}},
    "get_weather": {"content": TEXT},
    "submit_refund": {"content": [{"type": "text", "text": "the payment gateway said no"}], "isError": True},
    "cancel_order": {"content": [{"type": "text", "text": "Error executing tool cancel_order: denied"}], "isError": True},
    "picture": {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}, *TEXT]},
}
HINTS = {"search_orders": {"readOnlyHint": True}, "submit_refund": {"destructiveHint": True}, "silent": {"readOnlyHint": True}}
OBJECT = {"type": "object", "properties": {"query": {"type": "string"}}}
TOOLS = [
    {"name": name, "description": f"Do {name}.", "inputSchema": OBJECT, "annotations": HINTS.get(name, {})}
    for name in (*RESULTS, "die", "silent", "echo")
]
INFO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "desk", "version": "1"}}


def answer(method, params):
    """What the answer to a request holds; None for none."""
    if method == "initialize":
        return {"result": INFO}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    name = params.get("name")
    if name == "die":
        sys.exit()
    if name == "silent":
        return None
    if name == "echo":
        return {"result": {"content": [{"type": "text", "text": json.dumps(params, sort_keys=True)}]}}
    if method == "tools/call" and name in RESULTS:
        return {"result": RESULTS[name]}
    return {"error": {"code": -32602, "message": f"Unknown tool: {name}"}}


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        answered = answer(request["method"], request.get("params", {})) if "id" in request else None
        if answered is not None:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answered}) + "\n")
            sys.stdout.flush()
