import { serve } from "@hono/node-server";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { handled } from "../../../../../test/fakes/mcp-exchange.ts";
import { rawHttp, reply } from "../../../../../test/fakes/raw-http.ts";
import { createRuntime } from "../../runtime/create.ts";
import { createMcpGateway } from "./mcp-server.ts";

/** A client of Postern, whose upstream server answers each call with this error. */
async function clientOf(error: object, mode: "auto" | "legacy"): Promise<Client> {
  const { url } = await rawHttp(
    ({ method, id }, response) =>
      method === "tools/call" && reply(response, JSON.stringify({ jsonrpc: "2.0", id, error })),
  );
  const runtime = await createRuntime({ servers: { one: { url, risk: "safe", mayAsk: ["sampling"] } } });
  const door = createMcpGateway({ runtime });
  const { promise, resolve } = Promise.withResolvers<number>();
  const caller = { principal: { tenant: "t", agent: "ada" }, scopes: [] };
  const fetch = (request: Request): Promise<Response> => handled(door, request, caller);
  const listener = serve({ fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port));
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${await promise}/mcp`)));
  onTestFinished(async () => {
    await client.close();
    listener.close();
    await door.close();
    await runtime.close(0);
  });
  return client;
}

const elicitations = [{ mode: "url", elicitationId: "e1", url: "https://example.com/sign-in", message: "Sign in" }];
const signIn = { code: -32_042, message: "Sign in first", data: { elicitations } };
const capability = { code: -32_021, message: "Needs sampling", data: { requiredCapabilities: { sampling: {} } } };

it.each([
  ["auto", signIn],
  ["legacy", signIn],
  ["auto", capability],
  ["legacy", capability],
] as const)("to a client (%s) an upstream's error that it can act on stays that error: %o", async (mode, error) => {
  const client = await clientOf(error, mode);
  const failure = await client.callTool({ name: "one__t", arguments: {} }).catch((reason: unknown) => reason);
  expect(failure).toMatchObject({ code: error.code, data: error.data });
});

it("any other error of an upstream is a result that the model reads, with the code and the data", async () => {
  const client = await clientOf({ code: -32_000, message: "row is locked", data: { row: 7 } }, "auto");
  expect(await client.callTool({ name: "one__t", arguments: {} })).toMatchObject({
    isError: true,
    structuredContent: { code: "tool_failed", details: { rpc_error: { code: -32_000, data: { row: 7 } } } },
  });
});
