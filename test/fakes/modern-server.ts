/** A real MCP server over pipes that speaks both revisions, by the SDK. `rows` answers with so many rows of structured content, as a `list` or within an object. */
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const rowsTool = { name: "rows", description: "Answers with rows.", inputSchema: { type: "object" as const } };

serveStdio(() => {
  const server = new Server({ name: "modern", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: [rowsTool] }));
  server.setRequestHandler("tools/call", ({ params: { arguments: asked = {} } }) => {
    const rows = Array.from({ length: Number(asked["rows"]) }, (_, at) => ({ at, name: "somebody" }));
    return { content: [], structuredContent: asked["list"] === true ? rows : { rows } };
  });
  return server;
});
