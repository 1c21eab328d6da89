"""A real MCP server of 2025-11-25 over pipes, with the standard library only."""

import json
import sys

TOOLS = [
    {
        "name": "count_words",
        "description": "Counts the words of a text.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "annotations": {"readOnlyHint": True},
    }
]


def result_of(method, params):
    if method == "initialize":
        info = {"name": "python", "version": sys.version.split()[0]}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        count = len(params["arguments"]["text"].split())
        return {"content": [{"type": "text", "text": str(count)}], "structuredContent": {"words": count}}
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = result_of(message["method"], message.get("params"))
    answer = {"error": {"code": -32601, "message": "Method not found"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
