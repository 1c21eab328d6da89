/**
 * A real MCP server over pipes, by the SDK. Its tools ask the client while they run: in revision 2026-07-28 by a result that
 * requires input, in 2025-11-25 by a request of their own. Each whole run adds a line to the file in its first argument.
 */
import { appendFileSync } from "node:fs";
import { acceptedContent, inputRequired, Server, type ServerContext } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [, , ran = ""] = process.argv;
const names = ["name", "model", "folders"] as const;
const schema = { type: "object" as const, properties: { name: { type: "string" as const } }, required: ["name"] };
const form = { message: "Who are you?", requestedSchema: schema };
const prompt = { messages: [{ role: "user" as const, content: { type: "text" as const, text: "Hi" } }], maxTokens: 10 };

function done(text: string) {
  appendFileSync(ran, `${text}\n`);
  return { content: [{ type: "text" as const, text }] };
}

/** Revision 2025-11-25: the call stays open while the client is asked. */
async function asked(tool: string, server: Server, { mcpReq }: ServerContext) {
  if (tool === "name") {
    const { action, content } = await mcpReq.elicitInput(form);
    return done(`${action} ${String(content?.["name"] ?? "")}`);
  }
  if (tool === "folders") return done((await server.listRoots()).roots.map(({ uri }) => uri).join());
  const { content } = await mcpReq.requestSampling(prompt);
  return done(JSON.stringify(content));
}

/** Revision 2026-07-28: the request ends, and the next one has the answers. */
function required(tool: string, { mcpReq: { inputResponses } }: ServerContext) {
  const given = (inputResponses as Record<string, Record<string, unknown>> | undefined)?.["q"];
  if (given !== undefined) {
    if (tool === "name")
      return done(
        `${String(given["action"])} ${String(acceptedContent<{ name: string }>(inputResponses, "q")?.name ?? "")}`,
      );
    return done(
      tool === "folders"
        ? (given["roots"] as { uri: string }[]).map(({ uri }) => uri).join()
        : JSON.stringify(given["content"]),
    );
  }
  const question =
    tool === "name"
      ? inputRequired.elicit(form)
      : tool === "folders"
        ? inputRequired.listRoots()
        : inputRequired.createMessage(prompt);
  return inputRequired({ inputRequests: { q: question }, requestState: "of the server alone" });
}

serveStdio(() => {
  const server = new Server({ name: "asking", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({
    tools: names.map((name) => ({ name, description: "Asks.", inputSchema: { type: "object" as const } })),
  }));
  server.setRequestHandler("tools/call", ({ params: { name } }, context) =>
    context.mcpReq.envelope === undefined ? asked(name, server, context) : required(name, context),
  );
  return server;
});
