import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { onTestFinished } from "vitest";
import { z } from "zod";

export interface SseServerOptions {
  /** The answer to a POST at the address of the stream. */
  readonly refuses?: number;
  /** Replaces the SDK's event that names the address for messages. */
  readonly endpoint?: string;
  /** The stream moved there. */
  readonly movedTo?: string;
  /** The status and headers of the next answers to `tools/call`; one is taken for each. */
  readonly statuses?: (readonly [status: number, headers?: Readonly<Record<string, string>>])[];
}

export interface SseServer {
  readonly origin: string;
  /** Headers of all requests, in order. */
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly headers: IncomingMessage["headers"];
  }[];
  /** The number of runs of the tool. */
  readonly ran: () => number;
  /** Breaks off every stream, as a dying server does. */
  readonly die: () => void;
  /** Resolves when a call of `hang` has arrived. */
  readonly hanging: Promise<void>;
}

/** A server of revision 2024-11-05 over HTTP+SSE, by the SDK of that time: streams at `/sse`, `/old` and `/moved`. */
export async function sseServer(options: SseServerOptions = {}): Promise<SseServer> {
  const { refuses = 404, endpoint, movedTo, statuses = [] } = options;
  const requests: SseServer["requests"][number][] = [];
  const open = new Map<string, SSEServerTransport>();
  const streams = new Set<ServerResponse>();
  const hanging = Promise.withResolvers<void>();
  let ran = 0;

  const made = (): McpServer => {
    const server = new McpServer({ name: "old", version: "1" });
    server.registerTool("echo", { inputSchema: { text: z.string() } }, ({ text: output }) => {
      ran += 1;
      return { content: [{ type: "text", text: output }] };
    });
    server.registerTool("large", { inputSchema: { bytes: z.number() } }, ({ bytes }) => {
      ran += 1;
      return { content: [{ type: "text", text: "x".repeat(bytes) }] };
    });
    server.registerTool("hang", {}, async () => {
      ran += 1;
      hanging.resolve();
      return new Promise<never>(() => undefined);
    });
    return server;
  };

  const listen = async (response: ServerResponse): Promise<void> => {
    streams.add(response);
    if (endpoint !== undefined) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
      return;
    }
    const transport = new SSEServerTransport("/messages", response);
    open.set(transport.sessionId, transport);
    response.once("close", () => open.delete(transport.sessionId));
    await made().connect(transport);
  };

  const posted = async (request: IncomingMessage, response: ServerResponse, session: string): Promise<void> => {
    const transport = open.get(session);
    if (transport === undefined) return void response.writeHead(404).end("no such session");
    const message: { readonly method?: string } = JSON.parse(await text(request));
    const [status, headers] = (message.method === "tools/call" && statuses.shift()) || [];
    if (status !== undefined) return void response.writeHead(status, headers).end("not taken");
    await transport.handlePostMessage(request, response, message);
  };

  const http = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    const { pathname, searchParams } = new URL(url, "http://localhost");
    requests.push({ method, path: pathname, headers });
    if (method === "POST" && pathname === "/messages")
      return void posted(request, response, searchParams.get("sessionId") ?? "");
    if (method !== "GET") return void response.writeHead(refuses).end();
    if (movedTo !== undefined && pathname !== "/moved")
      return void response.writeHead(307, { location: movedTo }).end();
    if (pathname === "/sse" || pathname === "/old" || pathname === "/moved") return void listen(response);
    return void response.writeHead(404).end();
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  http.listen(0, "127.0.0.1", resolve);
  await listening;
  const die = (): void => {
    for (const stream of streams) stream.destroy();
  };
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  const address = http.address();
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  return { origin, requests, ran: () => ran, die, hanging: hanging.promise };
}
