import { randomUUID } from "node:crypto";
import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { type Clock, canonical, isJsonObject } from "@postern/core";
import { idUnderWay, rpcError } from "./message.ts";
import { callerKey, type RequestSource } from "./request-source.ts";

const idleMs = 3_600_000;
const atMost = 1_000;
/** Sessions of one agent. One more closes its own oldest one. */
const atMostOfOne = 100;

interface McpSession {
  readonly id: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: Server;
  readonly sourceKey: string;
  readonly owner: string;
  /** Ids of requests that are not answered yet. */
  readonly underWay: Set<unknown>;
  /** Monotonic milliseconds. */
  lastSeen: number;
}

/**
 * Revision 2025-11-25 over HTTP: one protocol session a client. A session grants nothing: it answers only the caller that
 * opened it, at the endpoint where it was opened. Calls of one agent never end because of sessions of another.
 */
export class McpSessions {
  readonly #clock: Clock;
  readonly #makeServer: (source: RequestSource) => Server;
  readonly #sessions = new Map<string, McpSession>();

  constructor(clock: Clock, makeServer: (source: RequestSource) => Server) {
    this.#clock = clock;
    this.#makeServer = makeServer;
  }

  async handle(request: Request, body: unknown, source: RequestSource): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const begins = request.method === "POST" && isInitializeRequest(body);
    if (id !== null) {
      const session = this.#sessions.get(id);
      const isOwn = session?.sourceKey === keyOf(source);
      if (!isOwn && begins) return this.#open(request, body, source); // some clients keep the header of an ended session
      if (session === undefined || !isOwn)
        return rpcProblem(404, -32_001, "This session does not exist; send `initialize` again.");
      session.lastSeen = this.#clock.monotonic();
      return request.method === "POST" ? receive(session, request, body) : session.transport.handleRequest(request);
    }
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    if (!begins)
      return rpcProblem(
        400,
        -32_000,
        "Without a session only `initialize` is answered; send its answer's `Mcp-Session-Id` with every request.",
      );
    return this.#open(request, body, source);
  }

  toolsChanged(): void {
    for (const { server } of this.#sessions.values()) server.sendToolListChanged().catch(ignored);
  }

  async close(): Promise<void> {
    const open = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(open.map(({ server }) => server.close().catch(ignored)));
  }

  async #open(request: Request, body: unknown, source: RequestSource): Promise<Response> {
    const owner = ownerOf(source);
    if (!(await this.#makeRoom(owner)))
      return rpcProblem(503, -32_000, `${atMost} sessions are open, each with a call under way; try again later.`);
    const server = this.#makeServer(source);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        const underWay = new Set<unknown>();
        noteAnswers(transport, underWay);
        const lastSeen = this.#clock.monotonic();
        this.#sessions.set(id, { id, transport, server, sourceKey: keyOf(source), owner, underWay, lastSeen });
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

  /**
   * Closes idle sessions, then the oldest session of an agent with too many, then the oldest of the agent with the most. A
   * client whose session is closed receives a 404 and opens another. Returns false when every session has an open call.
   */
  async #makeRoom(owner: string): Promise<boolean> {
    const since = this.#clock.monotonic() - idleMs;
    for (const session of this.#sessions.values()) if (session.lastSeen <= since) await this.#end(session); // no call takes so long
    const own = byAge([...this.#sessions.values()].filter((session) => session.owner === owner));
    if (own.length >= atMostOfOne) await this.#end(own.find(isQuiet) ?? own[0]);
    if (this.#sessions.size < atMost) return true;
    const last = oldestOfLargestOwner([...this.#sessions.values()].filter(isQuiet));
    await this.#end(last);
    return last !== undefined;
  }

  async #end(session: McpSession | undefined): Promise<void> {
    if (session === undefined || !this.#sessions.delete(session.id)) return;
    await session.server.close().catch(ignored);
  }
}

async function receive({ transport, underWay }: McpSession, request: Request, body: unknown): Promise<Response> {
  const { id, method, params } = isJsonObject(body) ? body : {};
  if (method === "notifications/cancelled" && isJsonObject(params)) underWay.delete(params["requestId"]); // it gets no answer
  const isRequest = method !== undefined && (typeof id === "string" || typeof id === "number");
  if (!isRequest) return transport.handleRequest(request, { parsedBody: body });
  if (underWay.has(id)) return Response.json(idUnderWay(id), { status: 400 });
  underWay.add(id);
  const response = await transport.handleRequest(request, { parsedBody: body });
  if (!response.ok) underWay.delete(id);
  return response;
}

function noteAnswers(transport: WebStandardStreamableHTTPServerTransport, underWay: Set<unknown>): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (!("method" in message)) underWay.delete(message.id);
    return send(message, options);
  };
}

function isQuiet({ underWay }: McpSession): boolean {
  return underWay.size === 0;
}

function byAge(sessions: readonly McpSession[]): readonly McpSession[] {
  return sessions.toSorted((one, other) => one.lastSeen - other.lastSeen);
}

function oldestOfLargestOwner(sessions: readonly McpSession[]): McpSession | undefined {
  const owners = [...Map.groupBy(sessions, ({ owner }) => owner).values()];
  const [most = []] = owners.toSorted((one, other) => other.length - one.length);
  return byAge(most)[0];
}

/** The caller's rights may change during a session; the caller and the endpoint may not. */
function keyOf({ caller: { principal }, server }: RequestSource): string {
  return `${server ?? ""}\n${callerKey({ principal, scopes: [] })}`;
}

/** The agent, whichever of its credentials it sends. */
function ownerOf({ caller: { principal } }: RequestSource): string {
  const { tenant, agent, user } = principal;
  return canonical([tenant, agent, user ?? null]);
}

export function rpcProblem(http: number, code: number, message: string): Response {
  return Response.json(rpcError(code, message), { status: http });
}

function ignored(): void {}
