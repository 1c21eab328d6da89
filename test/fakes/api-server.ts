import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface ApiServerRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Reply = (request: ApiServerRequest, response: ServerResponse) => void;

export interface ApiServer {
  readonly origin: string;
  /** In the order in which they came. */
  readonly requests: readonly ApiServerRequest[];
  reply: Reply;
}

/** Answers each request with what it was. */
export const echo: Reply = (request, response) =>
  void response.setHeader("content-type", "application/json").end(JSON.stringify(request));

/** An HTTP API on this machine, for one test. */
export async function apiServer(reply: Reply = echo): Promise<ApiServer> {
  const requests: ApiServerRequest[] = [];
  const state: { reply: Reply } = { reply };
  const server = createServer((incoming, response) => {
    void read(incoming).then((request) => {
      requests.push(request);
      state.reply(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    get reply() {
      return state.reply;
    },
    set reply(next) {
      state.reply = next;
    },
  };
}

async function read(incoming: IncomingMessage): Promise<ApiServerRequest> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer); // no encoding is set
  const { method = "", url = "", headers } = incoming;
  return { method, url, headers, body: Buffer.concat(parts).toString("utf8") };
}
