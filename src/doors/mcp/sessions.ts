import { randomUUID } from "node:crypto";
import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../calls/clock.ts";
import { rpcError } from "./message.ts";
import { callerKey, type Visit } from "./visit.ts";

const idleMs = 3_600_000;
const atMost = 1_000;

interface McpSession {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: Server;
  readonly visitKey: string;
  /** Monotonic milliseconds. */
  lastSeen: number;
}

/**
 * 2025-11-25 over HTTP: one protocol session a client. A session is a convenience and no authority: it answers only
 * the caller who opened it, at the address it was opened at.
 */
export class McpSessions {
  readonly #clock: Clock;
  readonly #makeServer: () => Server;
  readonly #sessions = new Map<string, McpSession>();

  constructor(clock: Clock, makeServer: () => Server) {
    this.#clock = clock;
    this.#makeServer = makeServer;
  }

  async handle(request: Request, body: unknown, visit: Visit): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id !== null) {
      const session = this.#sessions.get(id);
      if (session === undefined || session.visitKey !== keyOf(visit))
        return rpcProblem(404, -32_001, "There is no such session; send `initialize` again.");
      session.lastSeen = this.#clock.monotonic();
      return session.transport.handleRequest(request, { parsedBody: body });
    }
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    if (!isInitializeRequest(body))
      return rpcProblem(
        400,
        -32_000,
        "Without a session only `initialize` is answered; send its answer's `Mcp-Session-Id` with every request.",
      );
    return this.#open(request, body, visit);
  }

  toolsChanged(): void {
    for (const { server } of this.#sessions.values()) server.sendToolListChanged().catch(ignored);
  }

  async close(): Promise<void> {
    const open = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(open.map(({ server }) => server.close().catch(ignored)));
  }

  async #open(request: Request, body: unknown, visit: Visit): Promise<Response> {
    await this.#makeRoom();
    const server = this.#makeServer();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, {
          transport,
          server,
          visitKey: keyOf(visit),
          lastSeen: this.#clock.monotonic(),
        });
      },
      onsessionclosed: (id) => {
        this.#sessions.delete(id);
      },
    });
    await server.connect(transport);
    const response = await transport.handleRequest(request, { parsedBody: body });
    if (transport.sessionId === undefined) await server.close(); // it was no `initialize` this server can answer
    return response;
  }

  /** The idle go first; a client whose session is gone is told so, and opens another. */
  async #makeRoom(): Promise<void> {
    const since = this.#clock.monotonic() - idleMs;
    const byAge = [...this.#sessions].sort(([, one], [, other]) => one.lastSeen - other.lastSeen);
    for (const [index, [id, { server, lastSeen }]] of byAge.entries()) {
      if (lastSeen > since && index >= byAge.length - atMost + 1) continue;
      this.#sessions.delete(id);
      await server.close().catch(ignored);
    }
  }
}

/** The rights may change while a session lasts; who it is and where may not. */
function keyOf({ caller: { principal }, server }: Visit): string {
  return `${server ?? ""}\n${callerKey({ principal, scopes: [] })}`;
}

export function rpcProblem(http: number, code: number, message: string): Response {
  return Response.json(rpcError(code, message), { status: http });
}

function ignored(): void {}
