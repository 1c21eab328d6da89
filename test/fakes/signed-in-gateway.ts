import { afterEach } from "vitest";
import { z } from "zod";
import type { PosternClient } from "../../packages/core/src/contract/client.ts";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import type { ResourceServerSettings } from "../../packages/postern/src/identity/resource-server.ts";
import { ResourceServer } from "../../packages/postern/src/identity/resource-server.ts";
import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { createMcpGateway } from "../../packages/postern/src/mcp/server/mcp-server.ts";
import { createClient } from "../../packages/postern/src/server/client/client.ts";
import { openCredentials, readToken } from "../../packages/postern/src/server/credentials.ts";
import { createHttpServer, type HttpServer } from "../../packages/postern/src/server/http/http-server.ts";
import { loopbackHosts } from "../../packages/postern/src/server/http/own-hosts.ts";
import { listen } from "../../packages/postern/src/server/http/serve.ts";
import { ownFolder } from "./own-folder.ts";

export interface SignedInGateway {
  readonly runtime: Runtime;
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** The address of `/mcp`. */
  readonly url: URL;
  readonly clock: FakeClock;
  readonly operator: PosternClient;
  /** Of the data folder. */
  readonly agentToken: string;
  readonly problems: readonly string[];
  /** Lists the tools over MCP with this token; another path for another endpoint. */
  ask(token: string | undefined, path?: string): Promise<Response>;
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Says who calls it, as the tool sees it. */
const whoami = defineTool({
  name: "whoami",
  description: "Says who calls.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  input: z.strictObject({}),
  execute: (_, { principal }) => ({ ...principal }),
});
const readMail = defineTool({
  name: "read_mail",
  description: "Reads.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  scopes: ["mail:write"],
  input: z.strictObject({}),
  execute: () => ({ read: true }),
});
const send = defineTool({
  name: "send",
  description: "Sends.",
  risk: "high",
  effects: "write",
  idempotent: false,
  input: z.strictObject({}),
  execute: () => ({ sent: true }),
});

/** A gateway that takes the tokens of an authorization server; its audience is the address of `/mcp` unless it is given. */
export async function signedInGateway(
  oauth: Partial<ResourceServerSettings> & { readonly issuer: string },
  options: RuntimeOptions = {},
): Promise<SignedInGateway> {
  const clock = new FakeClock(Date.now());
  const folder = ownFolder();
  const runtime = await createRuntime({
    autonomy: "A2",
    approvals: { patience: "suspend" },
    tools: [whoami, readMail, send],
    ...options,
  });
  const credentials = await openCredentials(folder, { agentScopes: [] });
  const mcp = createMcpGateway({ runtime, version: "1", approvalWaitMs: 20 });
  let server: HttpServer | undefined;
  const handler: HttpServer = {
    fetch: (request, connection) => (server ?? handler).fetch(request, connection),
    take: (incoming, outgoing) => server?.take(incoming, outgoing) === true,
    close: async () => server?.close(),
  };
  const { url: origin, port, close } = await listen({ handler, port: 0 });
  const problems: string[] = [];
  const settings: ResourceServerSettings = {
    ...{ audience: `${origin}/mcp`, claims: { user: "sub", scopes: "scope" }, requiredScopes: [] },
    scopes: ["mcp"],
    ...oauth,
  };
  server = createHttpServer({
    ...{ runtime, credentials, clock, accounts: runtime.accounts, hosts: loopbackHosts(port) },
    mcp: (exchange, by, path) => mcp.handle(exchange, by, path),
    oauth: new ResourceServer(settings, { clock, onProblem: (problem) => problems.push(problem) }),
  });
  cleanups.push(
    () => runtime.close(0),
    () => mcp.close(),
    () => close(0),
  );
  const ask = (token: string | undefined, path = "/mcp"): Promise<Response> =>
    fetch(`${origin}${path}`, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize }),
    });
  const tokenOf = async (role: "agent" | "operator"): Promise<string> => (await readToken(folder, role)) ?? "";
  const operator = createClient({ url: origin, token: await tokenOf("operator") });
  const agentToken = await tokenOf("agent");
  return { runtime, origin, url: new URL("/mcp", origin), clock, operator, agentToken, problems, ask };
}

const initialize = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};
