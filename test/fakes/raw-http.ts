import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";

export interface RawRequest {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: Readonly<Record<string, unknown>>;
    readonly cursor?: string;
  };
  readonly headers: IncomingHttpHeaders;
}

/** Answers a request. Returns false to answer it as an ordinary server does. */
export type Answer = (
  request: RawRequest,
  response: ServerResponse,
) => boolean | undefined | Promise<boolean | undefined>;

export interface RawHttp {
  readonly url: string;
  /** The received methods, in order. */
  readonly asked: string[];
  close(): void;
}

/** A real HTTP server of 2025-11-25 with one tool `t`; a test's own answer comes first. */
export async function rawHttp(answer: Answer, port = 0): Promise<RawHttp> {
  const asked: string[] = [];
  const server = createServer(async (incoming, response) => {
    if (incoming.method !== "POST") {
      if (incoming.method === "GET" && incoming.headers["last-event-id"] !== undefined) {
        asked.push("resume");
        const request = { method: "resume", headers: incoming.headers };
        if ((await answer(request, response)) === true) return;
      }
      return void response.writeHead(405).end();
    }
    const request: RawRequest = { ...JSON.parse(await textOf(incoming)), headers: incoming.headers };
    asked.push(request.method);
    if ((await answer(request, response)) !== true) usual(request, response);
  });
  await new Promise<void>((resolve) => void server.listen(port, "127.0.0.1", resolve));
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  const address = server.address();
  const at = typeof address === "object" ? address?.port : undefined;
  return { url: `http://127.0.0.1:${at}/mcp`, asked, close };
}

export function reply(
  response: ServerResponse,
  text: string,
  status = 200,
  headers: Record<string, string> = {},
): true {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
  return true;
}

function usual({ id, method }: RawRequest, response: ServerResponse): void {
  if (id === undefined) return void response.writeHead(202).end();
  const result = resultOf(method);
  const body = result === undefined ? { error: { code: -32_601, message: "Method not found" } } : { result };
  const session: Record<string, string> = method === "initialize" ? { "mcp-session-id": crypto.randomUUID() } : {};
  reply(response, JSON.stringify({ jsonrpc: "2.0", id, ...body }), 200, session);
}

function resultOf(method: string): object | undefined {
  if (method === "initialize")
    return { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "raw", version: "1" } };
  if (method === "tools/list") return { tools: [{ name: "t", inputSchema: { type: "object" } }] };
  if (method === "tools/call") return { content: [{ type: "text", text: "done" }] };
  return method === "ping" ? {} : undefined;
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
