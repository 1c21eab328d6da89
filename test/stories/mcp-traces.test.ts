/** The trace of a client goes through the gateway to the server, and the span of the call is in it. */
import { expect, it } from "vitest";
import { rawHttp } from "../fakes/raw-http.ts";
import { serveRuntime } from "../fakes/served-runtime.ts";
import { recordedSpans } from "../fakes/spans.ts";

const spans = recordedSpans();

/** A server that keeps what it receives as `_meta`. */
async function keepingMeta() {
  const metas: unknown[] = [];
  const { url } = await rawHttp((request, response) => {
    if (request.method !== "tools/call") return false;
    metas.push((request as { readonly params?: { readonly _meta?: unknown } }).params?._meta);
    const result = { content: [{ type: "text", text: "done" }] };
    const answer = JSON.stringify({ jsonrpc: "2.0", id: request.id, result });
    response.writeHead(200, { "content-type": "application/json" }).end(answer);
    return true;
  });
  return { metas, servers: { s: { url, revision: "2025-11-25", risk: "safe" } } } as const;
}

it.each(["2025-11-25", "2026-07-28"] as const)("a client of %s is the parent, the server the child", async (era) => {
  const { servers, metas } = await keepingMeta();
  const client = await (await serveRuntime({ servers })).connect("/mcp", era);
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await client.callTool({ name: "s__t", _meta: { traceparent, tracestate: "vendor=1" } });
  await client.callTool({ name: "s__t", arguments: { n: 2 }, _meta: { traceparent: 7, tracestate: [] } });
  const [span, root] = spans.getFinishedSpans();
  const { traceId, spanId } = span?.spanContext() ?? {};
  expect(span).toMatchObject({ name: "execute_tool s__t", attributes: { "postern.server": "s" } });
  expect(span?.parentSpanContext).toMatchObject({ traceId, spanId: "b7ad6b7169203331", isRemote: true });
  expect(root?.parentSpanContext).toBeUndefined();
  expect(metas).toMatchObject([
    { traceparent: `00-${traceId}-${spanId}-01`, tracestate: "vendor=1" },
    { traceparent: expect.stringContaining(root?.spanContext().spanId ?? "none") },
  ]);
});
