import { createServer, type Server } from "node:net";
import { RuntimeFault } from "@postern/core";

/** @throws RuntimeFault `port_taken`, `config_invalid` */
export function bound(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(listenFault(error, host, port)));
    server.listen({ host, port }, resolve);
  });
}

/**
 * Asked before anything is started for it: servers take seconds, and what was started would have to be undone.
 *
 * @throws RuntimeFault `port_taken`, `config_invalid`
 */
export async function checkFree(host: string, port: number): Promise<void> {
  const server = createServer();
  await bound(server, host, port);
  await new Promise((closed) => server.close(closed));
}

function listenFault(error: NodeJS.ErrnoException, host: string, port: number): RuntimeFault {
  if (error.code === "EADDRINUSE") {
    return new RuntimeFault(
      "port_taken",
      `Port ${port} on ${host} is taken; stop what uses it or choose another with \`--port\` (0: a free one).`,
      { cause: error },
    );
  }
  return new RuntimeFault("config_invalid", `Cannot listen on ${host}:${port} (${error.code ?? error.message}).`, {
    cause: error,
  });
}
