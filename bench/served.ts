/** A runtime behind the HTTP door, on a port of its own, with a token that may call. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Runtime } from "../packages/postern/src/index.ts";
import { createMcpGateway } from "../packages/postern/src/mcp/server/mcp-server.ts";
import { openCredentials, readToken } from "../packages/postern/src/server/credentials.ts";
import { createHttpServer } from "../packages/postern/src/server/http/http-server.ts";
import { loopbackHosts } from "../packages/postern/src/server/http/own-hosts.ts";
import { listen } from "../packages/postern/src/server/http/serve.ts";

export interface Served {
  readonly url: string;
  readonly token: string;
  /** The runtime stays open. */
  close(): Promise<unknown>;
}

export async function served(runtime: Runtime): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), "postern-bench-http-"));
  const credentials = await openCredentials(folder);
  let hosts: readonly string[] = [];
  const gateway = createMcpGateway({ runtime });
  const http = createHttpServer({
    ...{ runtime, credentials, hosts: () => hosts },
    mcp: (exchange, caller, path) => gateway.handle(exchange, caller, path),
  });
  const { url, port, close } = await listen({ handler: http, port: 0 });
  hosts = loopbackHosts(port);
  return {
    url,
    token: (await readToken(folder, "agent")) ?? "",
    close: async () => {
      await close(0);
      await http.close();
      await gateway.close();
      rmSync(folder, { recursive: true });
    },
  };
}
