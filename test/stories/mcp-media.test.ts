/** MCP clients get media blocks of a server as it sent them. */
import { expect, it } from "vitest";
import { Changing } from "../fakes/changing.ts";
import { closeAfterTest, serveRuntime } from "../fakes/served-runtime.ts";

const annotations = { audience: ["user"], priority: 0.5 };
const bytes = Buffer.alloc(200_000, 7).toString("base64");
const sent = [
  { type: "text", text: "See below.", annotations },
  { type: "image", data: "aGk=", mimeType: "image/png", annotations, _meta: { alt: "a dot" } },
  { type: "audio", data: bytes, mimeType: "audio/wav" },
  {
    ...{ type: "resource_link", uri: "file:///a.md", name: "a", title: "Notes", mimeType: "text/markdown", size: 12 },
    ...{ description: "What was said", icons: [{ src: "https://x.example/i.png" }], annotations, _meta: { k: 1 } },
  },
  { type: "resource", resource: { uri: "file:///b.txt", text: "b", mimeType: "text/plain", _meta: { from: "b" } } },
  { type: "resource", resource: { uri: "file:///c.pdf", blob: "aGk=", mimeType: "application/pdf" }, annotations },
  { type: "resource", resource: { uri: "file:///d.bin", blob: bytes, mimeType: "application/octet-stream" } },
];

/** Shortens the long data, so that a failure message is readable. */
function shortened(content: unknown): unknown {
  return JSON.parse(JSON.stringify(content).replaceAll(bytes, "long"));
}

it.each([
  ["/mcp", "s__show", "2025-11-25"],
  ["/mcp", "s__show", "2026-07-28"],
  ["/mcp/s", "show", "2025-11-25"],
  ["/mcp/s", "show", "2026-07-28"],
] as const)("links, resources, images and sounds pass at %s as %s in %s", async (path, name, era) => {
  const server = closeAfterTest(new Changing({ name: "show", inputSchema: { type: "object" } }));
  server.answers({ show: { content: sent, structuredContent: { n: 1 } }, fail: { content: sent, isError: true } });
  const { connect } = await serveRuntime({ servers: { s: server.config({ risk: "safe" }) } });
  const result = await (await connect(path, era)).callTool({ name });
  expect(shortened(result.content)).toEqual(shortened(sent));
  expect(result.structuredContent).toEqual({ n: 1 });
});
