/** A real MCP server over pipes, by the SDK, that has resources, prompts and completions beside its tool. */
import { ProtocolError, Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const notes: Readonly<Record<string, string>> = {
  "note://1": "first",
  "https://example.com/page": "page",
  "note://big": "x".repeat(300_000),
};

serveStdio(() => {
  const capabilities = { tools: {}, resources: {}, prompts: {}, completions: {} };
  const server = new Server({ name: "relayed", version: "1" }, { capabilities });
  server.setRequestHandler("tools/list", () => ({
    tools: [{ name: "link", description: "Links a note.", inputSchema: { type: "object" as const } }],
  }));
  server.setRequestHandler("tools/call", () => ({
    content: [
      { type: "resource_link" as const, uri: "note://1", name: "one" },
      { type: "resource" as const, resource: { uri: "note://1", text: "first" } },
      { type: "resource_link" as const, uri: "https://example.com/", name: "elsewhere" },
    ],
  }));
  server.setRequestHandler("resources/list", ({ params }) =>
    params?.cursor === undefined
      ? { resources: [{ uri: "note://1", name: "one" }], nextCursor: "2" }
      : {
          resources: [
            { uri: "note://big", name: "big" },
            { uri: "https://example.com/page", name: "page" },
          ],
        },
  );
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: "note://{id}", name: "note" }],
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    const text = notes[uri];
    if (text === undefined) throw new ProtocolError(-32_002, `There is no note ${uri}.`, { uri });
    return { contents: [{ uri, mimeType: "text/plain", text }] };
  });
  server.setRequestHandler("prompts/list", () => ({
    prompts: [{ name: "greet", description: "Greets.", arguments: [{ name: "name", required: true }] }],
  }));
  server.setRequestHandler("prompts/get", ({ params: { arguments: given } }) => ({
    messages: [
      { role: "user" as const, content: { type: "text" as const, text: `Greet ${given?.["name"]}.` } },
      { role: "user" as const, content: { type: "resource_link" as const, uri: "note://1", name: "one" } },
    ],
  }));
  server.setRequestHandler("completion/complete", ({ params: { ref, argument } }) => ({
    completion: { values: [`${argument.value}da`, "name" in ref ? ref.name : ref.uri] },
  }));
  return server;
});
