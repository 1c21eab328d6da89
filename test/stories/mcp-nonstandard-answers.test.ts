/** A server that answers has run the tool: its answer reaches the caller, also in forms that the protocol does not have. */
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, it } from "vitest";
import { createRuntime, type RuntimeOptions, type ToolOutcome } from "../../packages/postern/src/index.ts";
import { Changing } from "../fakes/changing.ts";
import { rawHttp, reply } from "../fakes/raw-http.ts";
import { closeAfterTest, serveRuntime } from "../fakes/served-runtime.ts";

interface Odd {
  /** What the server answers. */
  readonly result: object;
  /** The outcome. */
  readonly outcome: object;
  /** What an MCP client reads, if it is not what the outcome says. */
  readonly read?: object;
}

const text = (...texts: readonly string[]) => ({ content: texts.map((one) => ({ type: "text", text: one })) });
const hologram = '{"type":"hologram","depth":3}';

const odd: Readonly<Record<string, Odd>> = {
  "image, resource with text, resource without text, unknown block (case 245)": {
    result: {
      content: [
        { type: "image", data: "aGk=" },
        { type: "resource", resource: { uri: "file:///a", text: "hello" } },
        { type: "resource", resource: { uri: "file:///b" } },
        { type: "hologram", depth: 3 },
      ],
    },
    outcome: {
      content: [
        { type: "image", mediaType: "image/png" },
        { type: "resource", uri: "file:///a", text: "hello" },
        { type: "link", uri: "file:///b" },
        { type: "text", text: hologram },
      ],
    },
    read: {
      content: [
        { type: "image", mimeType: "image/png", data: "aGk=" },
        { type: "resource", resource: { uri: "file:///a", text: "hello" } },
        { type: "resource_link", uri: "file:///b", name: "file:///b" },
        { type: "text", text: hologram },
      ],
    },
  },
  "a text that is a number, null, and a list as blocks": {
    result: { content: [{ type: "text", text: 5 }, null, [1]] },
    outcome: text('{"type":"text","text":5}', "null", "[1]"),
  },
  "bytes as a data URL, and unreadable bytes": {
    result: {
      content: [
        { type: "image", data: "data:image/gif;base64,aGk=" },
        { type: "audio", data: "a_-\n_", mimeType: "audio/ogg" },
        { type: "image", data: "no base64!", mimeType: "image/png" },
      ],
    },
    outcome: {
      content: [
        { type: "image", mediaType: "image/gif" },
        { type: "audio", mediaType: "audio/ogg" },
        { type: "text", text: '{"type":"image","data":"no base64!","mimeType":"image/png"}' },
      ],
    },
    read: {
      content: [
        { type: "image", mimeType: "image/gif", data: "aGk=" },
        { type: "audio", mimeType: "audio/ogg", data: "a/+/" },
        { type: "text" },
      ],
    },
  },
  "annotations and icons outside the protocol": {
    result: {
      content: [
        { type: "text", text: "x", annotations: { priority: "high", audience: ["user"], lastModified: "today" } },
        { type: "resource_link", uri: "x:1", name: "one", icons: [5], size: "big" },
      ],
    },
    outcome: { content: [{ text: "x" }, { type: "link", uri: "x:1" }] },
    read: {
      content: [
        { text: "x", annotations: { audience: ["user"] } },
        { type: "resource_link", uri: "x:1" },
      ],
    },
  },
  "a list as structured content": {
    result: { content: [], structuredContent: [1, 2] },
    outcome: { structured: [1, 2], ...text("[1,2]") },
    read: text("[1,2]"),
  },
  "content that is a text": { result: { content: "done" }, outcome: text("done") },
  "content that is one block": { result: { content: { type: "text", text: "done" } }, outcome: text("done") },
  "a text as `toolResult`": { result: { toolResult: "5 rows" }, outcome: text("5 rows") },
  "an object as `toolResult`": {
    result: { toolResult: { rows: 5 } },
    outcome: { structured: { rows: 5 }, ...text('{"rows":5}') },
    read: { structuredContent: { rows: 5 } },
  },
  "members of its own": {
    result: { rows: [1], _meta: { took: 3 } },
    outcome: { structured: { rows: [1] } },
    read: { structuredContent: { rows: [1] } },
  },
  "`_meta` and `isError` that are texts": {
    result: { content: [{ type: "text", text: "no such row" }], isError: "true", _meta: "x" },
    outcome: { status: "error", text: "no such row" },
    read: { isError: true, ...text("no such row") },
  },
};

const ways = ["pipes", "2025-11-25", "2026-07-28"] as const;
type Way = (typeof ways)[number];

/** A server whose tool `t` answers this. */
async function serverOf(result: object, way: Way): Promise<RuntimeOptions> {
  const inputSchema = { type: "object" };
  if (way === "pipes") {
    const server = closeAfterTest(new Changing({ name: "t", inputSchema }));
    server.answers({ t: result });
    return { servers: { s: server.config({ risk: "medium" }) } };
  }
  const more = way === "2026-07-28" ? { resultType: "complete" } : {};
  const list = { ttlMs: 0, cacheScope: "private", tools: [{ name: "t", inputSchema }] };
  const { url } = await rawHttp(({ method, id }, response) => {
    if (method === "tools/list")
      return reply(response, JSON.stringify({ jsonrpc: "2.0", id, result: { ...list, ...more } }));
    return (
      method === "tools/call" && reply(response, JSON.stringify({ jsonrpc: "2.0", id, result: { ...result, ...more } }))
    );
  });
  return { servers: { s: { url, revision: way, risk: "medium" } } };
}

const everyWay = Object.keys(odd).flatMap((what) => ways.map((way) => [way, what] as const));

it.each(everyWay)("an answer over %s with %s is the outcome, each time", async (way, what) => {
  const { result, outcome } = odd[what] as Odd;
  await using runtime = await createRuntime({ ...(await serverOf(result, way)), autonomy: "A4" });
  const call = (): Promise<ToolOutcome> => runtime.invoke({ tool: "s__t", arguments: { n: 1 } });
  expect(await call()).toMatchObject({ status: "ok", ...outcome });
  expect(await call()).toMatchObject({ status: "ok", ...outcome }); // it is not blocked
});

it.each(Object.keys(odd))("clients of each revision take the answer with %s", async (what) => {
  const { result, outcome, read = outcome } = odd[what] as Odd;
  const { connect, url, token } = await serveRuntime(await serverOf(result, "pipes"));
  for (const era of ["2025-11-25", "2026-07-28"] as const)
    expect(await (await connect("/mcp", era)).callTool({ name: "s__t" })).toMatchObject(read);
  const old = new OldClient({ name: "old", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await old.connect(new OldTransport(new URL("/mcp", url), { requestInit }));
  expect(await old.callTool({ name: "s__t" })).toMatchObject(read);
  await old.close();
});

it("a server of 2026-07-28 that leaves out the type of its result has answered", async () => {
  const { url } = await rawHttp(({ method, id }, response) => {
    const list = { resultType: "complete", ttlMs: 0, cacheScope: "private", tools: [{ name: "t", inputSchema: {} }] };
    const result = method === "tools/list" ? list : { content: [{ type: "text", text: "done" }] };
    return reply(response, JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  await using runtime = await createRuntime({
    servers: { s: { url, revision: "2026-07-28", risk: "safe" } },
    autonomy: "A4",
  });
  expect(await runtime.invoke({ tool: "s__t" })).toMatchObject({ status: "ok", text: "done" });
});

it.each([
  ["asks for input", { resultType: "input_required", requestState: "x" }, "tool_failed", "asks for input"],
  ["asks for input without saying what", { resultType: "input_required" }, "tool_failed", "asks for input"],
  ["starts a task", { resultType: "task", task: { taskId: "1" } }, "outcome_unknown", "answered with a `task`"],
])("a server of 2026-07-28 that %s is told as that", async (_what, result, code, words) => {
  const { url } = await rawHttp(({ method, id }, response) => {
    const list = { resultType: "complete", ttlMs: 0, cacheScope: "private", tools: [{ name: "t", inputSchema: {} }] };
    return reply(response, JSON.stringify({ jsonrpc: "2.0", id, result: method === "tools/list" ? list : result }));
  });
  await using runtime = await createRuntime({
    servers: { s: { url, revision: "2026-07-28", risk: "medium" } },
    autonomy: "A4",
  });
  const outcome = await runtime.invoke({ tool: "s__t" });
  expect(outcome).toMatchObject({ refusal: { code } });
  expect(outcome.text).toContain(words);
});
