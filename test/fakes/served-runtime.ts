import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach } from "vitest";
import type { PosternClient } from "../../packages/core/src/contract/client.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { createMcpGateway, type McpGatewayOptions } from "../../packages/postern/src/mcp/server/mcp-server.ts";
import { createClient } from "../../packages/postern/src/server/client/client.ts";
import { openCredentials, readToken } from "../../packages/postern/src/server/credentials.ts";
import { createHttpServer } from "../../packages/postern/src/server/http/http-server.ts";
import { loopbackHosts } from "../../packages/postern/src/server/http/own-hosts.ts";
import { listen } from "../../packages/postern/src/server/http/serve.ts";
import { ownFolder } from "./own-folder.ts";

/** A runtime behind a listening HTTP and MCP server, with clients that show its tools on every interface. */
export interface ServedRuntime {
  readonly runtime: Runtime;
  readonly url: string;
  readonly agent: PosternClient;
  readonly operator: PosternClient;
  readonly token: string;
  /** @param path `/mcp` or `/mcp/<server>` */
  connect(path?: string, era?: "2025-11-25" | "2026-07-28"): Promise<Client>;
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Disposes of it after the test. */
export function closeAfterTest<Thing extends Disposable>(thing: Thing): Thing {
  cleanups.push(() => thing[Symbol.dispose]());
  return thing;
}

export async function serveRuntime(
  options: RuntimeOptions,
  gateway: Partial<McpGatewayOptions> = {},
): Promise<ServedRuntime> {
  const runtime = await createRuntime({ autonomy: "A4", approvals: { patience: "suspend" }, ...options });
  const folder = ownFolder();
  const credentials = await openCredentials(folder, { agentScopes: [] });
  const mcp = createMcpGateway({ runtime, version: "1", approvalWaitMs: 20, ...gateway });
  let hosts: readonly string[] = [];
  const server = createHttpServer({
    ...{ runtime, credentials, accounts: runtime.accounts, hosts: () => hosts },
    mcp: (exchange, by, path) => mcp.handle(exchange, by, path),
  });
  const { url, port, close } = await listen({ handler: server, port: 0 });
  hosts = loopbackHosts(port);
  cleanups.push(
    () => runtime.close(0),
    () => mcp.close(),
    () => close(0),
  );
  const tokenOf = async (role: "agent" | "operator"): Promise<string> => (await readToken(folder, role)) ?? "";
  const token = await tokenOf("agent");
  const connect: ServedRuntime["connect"] = async (path = "/mcp", era = "2026-07-28") => {
    const mode = era === "2025-11-25" ? "legacy" : { pin: era };
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(path, url), { requestInit }));
    cleanups.push(() => client.close());
    return client;
  };
  const agent = createClient({ url, token });
  const operator = createClient({ url, token: await tokenOf("operator") });
  return { runtime, url, agent, operator, token, connect };
}
