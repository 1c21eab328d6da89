/** A runtime behind `/mcp` on a port of its own. Requests without a token are those of its agent: the suite sends none. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { createMcpGateway } from "../../packages/postern/src/mcp/server/mcp-server.ts";
import { openCredentials, readToken } from "../../packages/postern/src/server/credentials.ts";
import { createHttpServer } from "../../packages/postern/src/server/http/http-server.ts";
import { loopbackHosts } from "../../packages/postern/src/server/http/own-hosts.ts";
import { listen } from "../../packages/postern/src/server/http/serve.ts";

export interface OpenGateway extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly url: string;
}

export async function openGateway(options: RuntimeOptions): Promise<OpenGateway> {
  const folder = mkdtempSync(join(tmpdir(), "postern-conformance-"));
  const runtime = await createRuntime({ autonomy: "A4", ...options });
  const credentials = await openCredentials(folder, { agentScopes: [] });
  const mcp = createMcpGateway({ runtime });
  let hosts: readonly string[] = [];
  const server = createHttpServer({
    ...{ runtime, credentials, hosts: () => hosts },
    mcp: (exchange, by, path) => mcp.handle(exchange, by, path),
  });
  const authorization = `Bearer ${await readToken(folder, "agent")}`;
  const take: typeof server.take = (incoming, outgoing) => {
    incoming.headers.authorization ??= authorization;
    return server.take(incoming, outgoing);
  };
  const { url, port, close } = await listen({ handler: { ...server, take }, port: 0 });
  hosts = loopbackHosts(port);
  return {
    runtime,
    url,
    async [Symbol.asyncDispose]() {
      await close(0);
      await mcp.close();
      await runtime.close(0);
      rmSync(folder, { recursive: true });
    },
  };
}
