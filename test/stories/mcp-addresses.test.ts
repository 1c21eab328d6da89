/** MCP over HTTP as real clients use it: with slashes, with one accepted type or none, and in search of a sign-in. */
import { expect, it } from "vitest";
import { Changing } from "../fakes/changing.ts";
import { closeAfterTest, type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

const call = { name: "s__announce", arguments: {} };
const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const modern = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": call.name };
const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };

async function scene(): Promise<ServedRuntime> {
  const server = closeAfterTest(new Changing());
  return serveRuntime({ servers: { s: server.config({ risk: "safe" }) } });
}

/** Sends the request without `fetch`, which would add its own `Accept`. */
async function post(
  { url, token }: ServedRuntime,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly type: string; readonly text: string; readonly session: string }> {
  const { request } = await import("node:http");
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof post>>>();
  const all = { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers };
  const sent = request(new URL(path, url), { method: "POST", headers: all }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    const { "content-type": type = "", "mcp-session-id": session = "" } = response.headers;
    response.on("end", () => resolve({ status: response.statusCode ?? 0, type, text, session: String(session) }));
  });
  sent.on("error", reject).end(JSON.stringify(body));
  return promise;
}

const json = /^application\/json/;
const stream = /^text\/event-stream/;
const legacyCall = { jsonrpc: "2.0", id: 2, method: "tools/call", params: call };
const modernCall = { ...legacyCall, params: { ...call, _meta: { ...meta, progressToken: 1 } } };

it.each([
  ["nothing", {}, json],
  ["anything", { accept: "*/*" }, json],
  ["any application type", { accept: "application/*;q=0.9" }, json],
  ["JSON alone", { accept: "application/json" }, json],
  ["streams alone", { accept: "text/event-stream" }, stream],
] as const)("answers a client that accepts %s, in both revisions", async (_, accept, type) => {
  const postern = await scene();
  const opened = await post(
    postern,
    "/mcp",
    { jsonrpc: "2.0", id: 1, method: "initialize", params: initialize },
    accept,
  );
  expect(opened).toMatchObject({ status: 200, type: expect.stringMatching(type) });
  const old = await post(postern, "/mcp", legacyCall, { ...accept, "mcp-session-id": opened.session });
  const young = await post(postern, "/mcp", modernCall, { ...accept, ...modern });
  for (const answer of [old, young]) {
    expect(answer).toMatchObject({ status: 200, type: expect.stringMatching(type) });
    expect(answer.text).toContain("ran announce");
    if (type === json) expect(JSON.parse(answer.text)).toMatchObject({ id: 2, result: { isError: false } });
  }
});

it("refuses a client that accepts neither form", async () => {
  const params = { jsonrpc: "2.0", id: 1, method: "initialize", params: initialize };
  expect(await post(await scene(), "/mcp", params, { accept: "text/html" })).toMatchObject({ status: 406 });
});

it.each(["2025-11-25", "2026-07-28"] as const)(
  "names itself after the server it stands for, over MCP %s",
  async (era) => {
    const { connect } = await scene();
    for (const [path, name] of [
      ["/mcp", "postern"],
      ["/mcp/", "postern"],
      ["/mcp/s", "s"],
      ["/mcp/s/", "s"],
    ] as const) {
      const client = await connect(path, era);
      expect(client.getServerVersion()?.name).toBe(name);
      expect((await client.listTools()).tools).toHaveLength(1);
    }
  },
);

it.each([
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-protected-resource/mcp",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
  "/mcp/.well-known/openid-configuration",
])("answers 404 at %s, with and without a token", async (path) => {
  const { url, token } = await scene();
  for (const authorization of [undefined, "Bearer wrong", `Bearer ${token}`]) {
    const response = await fetch(`${url}${path}`, authorization === undefined ? {} : { headers: { authorization } });
    expect(response.status).toBe(404);
    expect(response.headers.get("content-type")).toMatch(json);
  }
});
