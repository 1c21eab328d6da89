/** Many MCP servers of 2025-11-25 in one process, at `/N/mcp`. Arguments: tools of each. Prints its port. */
import { createServer } from "node:http";

const tools = Number(process.argv[2] ?? 50);

function resultOf(method, params, server) {
  if (method === "initialize")
    return { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: server, version: "1" } };
  if (method === "tools/call") return { content: [{ type: "text", text: params.arguments.text }] };
  if (method !== "tools/list") return undefined;
  const properties = { text: { type: "string", description: "The text that comes back." }, count: { type: "integer" } };
  const inputSchema = { type: "object", properties, required: ["text"] };
  const list = Array.from({ length: tools }, (_, i) => {
    const name = `tool_${i}`;
    return {
      name,
      description: `Returns the text of number ${i}. Of ${server}.`,
      inputSchema,
      annotations: { readOnlyHint: true },
    };
  });
  return { tools: list };
}

const server = createServer((request, response) => {
  if (request.method !== "POST") return response.writeHead(405).end();
  let text = "";
  request.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  request.on("end", () => {
    const { id, method, params } = JSON.parse(text);
    if (id === undefined) return response.writeHead(202).end();
    const result = resultOf(method, params, request.url.split("/")[1]);
    const body = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
