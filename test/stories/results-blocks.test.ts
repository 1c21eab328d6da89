/** A tool's blocks: text readers see a line for each, and block readers get all that the server sent. */
import { expect, it, onTestFinished } from "vitest";
import { createRuntime, defineTool, type Runtime } from "../../packages/postern/src/index.ts";
import { contentOf } from "../../packages/postern/src/mcp/client/adapter.ts";
import { answerOf } from "../../packages/postern/src/mcp/server/answer.ts";
import { outcomeToWire } from "../../packages/postern/src/server/wire.ts";

const annotations = { audience: ["user"], priority: 0.5 };
const sent = [
  { type: "text", text: "Two files.", annotations, _meta: { "x/note": [1] } },
  {
    ...{
      type: "resource_link",
      uri: "file:///a.md",
      name: "a",
      title: "Notes",
      description: "What was\nsaid",
      size: 12,
    },
    ...{ mimeType: "text/markdown", annotations, icons: [{ src: "https://x.example/i.png" }], _meta: { k: 1 } },
  },
  {
    type: "resource",
    resource: { uri: "ui://b", text: "<b>", mimeType: "text/html", _meta: { ui: { csp: {} } } },
    annotations,
  },
  { type: "resource", resource: { uri: "file:///c.pdf", blob: "aGk=", mimeType: "application/pdf" } },
  { type: "image", data: "aGk=", mimeType: "image/png", annotations, _meta: { alt: "a dot" } },
];

async function opened(execute: () => unknown, more: object = {}): Promise<Runtime> {
  const tool = defineTool({ name: "get", description: "Gets.", risk: "safe", idempotent: true, execute });
  const runtime = await createRuntime({ tools: [tool], artifacts: false, ...more });
  onTestFinished(() => runtime.close());
  return runtime;
}

it("blocks of a server come back over MCP as they were sent", async () => {
  const runtime = await opened(() => ({ content: contentOf(sent) }));
  const { content } = answerOf(await runtime.invoke({ tool: "get" }), "get");
  expect(content).toEqual(sent);
});

it("a text reader sees a line for each link and each resource without text", async () => {
  const runtime = await opened(() => ({ content: contentOf(sent) }));
  const { text } = await runtime.invoke({ tool: "get" });
  expect(text.split("\n")).toEqual([
    "Two files.",
    "[resource link: Notes, file:///a.md, text/markdown, 12 bytes, What was said]",
    "<b>",
    "[embedded resource: file:///c.pdf, application/pdf]",
  ]);
});

it("over HTTP the blocks are in snake_case and complete", async () => {
  const runtime = await opened(() => ({ content: contentOf(sent) }));
  const { content } = outcomeToWire(await runtime.invoke({ tool: "get" }), "get");
  expect(content).toEqual([
    { type: "text", text: "Two files.", annotations, meta: { "x/note": [1] } },
    {
      ...{ type: "link", uri: "file:///a.md", name: "a", title: "Notes", description: "What was\nsaid", size: 12 },
      ...{ media_type: "text/markdown", annotations, icons: [{ src: "https://x.example/i.png" }], meta: { k: 1 } },
    },
    {
      type: "resource",
      uri: "ui://b",
      text: "<b>",
      media_type: "text/html",
      resource_meta: { ui: { csp: {} } },
      annotations,
    },
    { type: "resource", uri: "file:///c.pdf", data: "aGk=", media_type: "application/pdf" },
    { type: "image", data: "aGk=", media_type: "image/png", annotations, meta: { alt: "a dot" } },
  ]);
});

it.each([
  [
    { type: "image", source: { type: "url", url: "https://x.example/a.png" } },
    { url: "https://x.example/a.png" },
    "[image: https://x.example/a.png, image/png]",
  ],
  [
    { type: "image_url", image_url: { url: "https://x.example/b.png" } },
    { url: "https://x.example/b.png" },
    "[image: https://x.example/b.png, image/png]",
  ],
  [
    { type: "image", source: { type: "file", file_id: "file_7" } },
    { fileId: "file_7" },
    "[image: file file_7, image/png]",
  ],
  [
    { type: "file", file: { file_id: "file_8", filename: "a.pdf" } },
    { fileId: "file_8", name: "a.pdf" },
    "[file: a.pdf, file file_8, application/octet-stream]",
  ],
  [
    { type: "audio", url: "https://x.example/c.ogg", mimeType: "audio/ogg" },
    { url: "https://x.example/c.ogg", mediaType: "audio/ogg" },
    "[audio: https://x.example/c.ogg, audio/ogg]",
  ],
])("media at another address is a block and a line: %j", async (block, found, line) => {
  const runtime = await opened(() => ({ content: [block] }));
  const outcome = await runtime.invoke({ tool: "get" });
  expect(outcome.content).toMatchObject([found]);
  expect(outcome.text).toBe(line);
  expect(answerOf(outcome, "get").content).toMatchObject([
    "url" in found ? { type: "resource_link", uri: found.url } : { type: "text", text: line },
  ]);
});

it("a server's annotations of its blocks survive a restart, and are masked like the rest", async () => {
  const secrets = { get: async () => ({ reveal: () => "sesame-open-sesame" }) };
  const tool = defineTool({
    name: "get",
    description: "Gets.",
    risk: "safe",
    effects: "read",
    idempotent: true,
    execute: async (_input, context) => {
      await context.secrets.get("vault", "door");
      return { content: [{ type: "text", text: "a", annotations: { note: "sesame-open-sesame" }, _meta: { n: 1 } }] };
    },
  });
  const runtime = await createRuntime({ tools: [tool], secrets });
  onTestFinished(() => runtime.close());
  const key = { idempotencyKey: "once" };
  const first = await runtime.invoke({ tool: "get" }, key);
  expect(first.content).toEqual([{ type: "text", text: "a", annotations: { note: "[redacted]" }, meta: { n: 1 } }]);
  expect(await runtime.invoke({ tool: "get" }, key)).toMatchObject({ replayed: true, content: first.content });
});
