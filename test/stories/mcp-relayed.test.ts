/** What passes between an MCP client and a server behind Postern beside arguments and results. */
import { expect, it } from "vitest";
import { rawHttp } from "../fakes/raw-http.ts";
import { serveRuntime } from "../fakes/served-runtime.ts";

const eras = ["2025-11-25", "2026-07-28"] as const;

interface Sent {
  readonly params?: { readonly _meta?: Readonly<Record<string, unknown>> };
}

/** A server that reports these steps before it answers, and what it received as `_meta`. */
async function reporting(...steps: readonly object[]) {
  const metas: unknown[] = [];
  const { url } = await rawHttp((request, response) => {
    if (request.method !== "tools/call") return false;
    const { _meta: meta = {} } = (request as Sent).params ?? {};
    metas.push(meta);
    const reports = steps.map((step) => {
      const params = { progressToken: meta["progressToken"], ...step };
      return { jsonrpc: "2.0", method: "notifications/progress", params };
    });
    const answer = {
      jsonrpc: "2.0",
      id: request.id,
      result: { content: [{ type: "text", text: "the whole result" }] },
    };
    const events = [...reports, answer].map((message) => `data: ${JSON.stringify(message)}\n\n`);
    response.writeHead(200, { "content-type": "text/event-stream" }).end(events.join(""));
    return true;
  });
  return { metas, servers: { s: { url, revision: "2025-11-25", risk: "safe" } } } as const;
}

it.each(eras)("a server's progress reaches a client of %s in the server's numbers", async (era) => {
  const { servers } = await reporting(
    { progress: 0, total: 8, message: "begins" },
    { progress: 3, total: 8, message: "three" },
    { progress: 2, total: 4, message: "another" },
    { progress: 8 },
  );
  const client = await (await serveRuntime({ servers })).connect("/mcp", era);
  const told: unknown[] = [];
  await client.callTool({ name: "s__t" }, { onprogress: (step) => void told.push(step) });
  expect(told).toEqual([
    { progress: 0, message: "s__t runs" },
    { progress: 0, total: 8, message: "begins" },
    { progress: 3, total: 8, message: "three" },
    { progress: 3.001, message: "another" },
    { progress: 8, message: "8" },
  ]);
});

it("a tool of this program that reports a fraction has its progress out of one", async () => {
  const half = {
    name: "half",
    description: "Works.",
    risk: "safe",
    idempotent: true,
    input: { type: "object" },
    execute: (_input: unknown, context: { progress(content: string, fraction?: number): void }) => {
      context.progress("half way", 0.5);
      return "done";
    },
  } as const;
  const client = await (await serveRuntime({ tools: [half] })).connect();
  const told: unknown[] = [];
  await client.callTool({ name: "half" }, { onprogress: (step) => void told.push(step) });
  expect(told).toContainEqual({ progress: 0.5, total: 1, message: "half way" });
});

it.each(eras)("the trace and the own keys of a client of %s reach the server, and no others", async (era) => {
  const { servers, metas } = await reporting();
  const client = await (await serveRuntime({ servers })).connect("/mcp", era);
  const own = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "example.org/shop": { id: 7 } };
  const _meta = { ...own, "postern/reason": "wanted", "postern/idempotency-key": "k1" };
  await client.callTool({ name: "s__t", _meta });
  const [{ progressToken: _, ...received }] = metas as [Record<string, unknown>];
  expect(received).toEqual({ ...own, "postern/idempotency-key": expect.any(String) });
});

it.each(eras)("a client of %s that sends a list as arguments reads a sentence", async (era) => {
  const { servers } = await reporting();
  const client = await (await serveRuntime({ servers })).connect("/mcp", era);
  const wrong = client.callTool({ name: "s__t", arguments: [1] as unknown as Record<string, unknown> });
  await expect(wrong).rejects.toMatchObject({
    code: -32_602,
    message: expect.stringContaining("`arguments` of `tools/call` is [1]; it must be an object."),
  });
});
