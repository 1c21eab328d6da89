import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { type Clock, isJsonObject, type Json, SystemClock } from "@postern/core";
import type { Runtime } from "../../runtime/api/api.ts";
import { Windows } from "../../runtime/services/windows.ts";
import { acceptBothForms, acceptedBy, inAcceptedForm } from "./accepted.ts";
import { type CallParts, callTool } from "./call.ts";
import { LineTransport, type Pipes } from "./line-transport.ts";
import { invalidParams, readMessage } from "./message.ts";
import { isServer, toolList } from "./offer.ts";
import { isOld, type McpCaller, type RequestSource } from "./request-source.ts";
import { serveResources } from "./resources.ts";
import { McpSessions, rpcProblem } from "./sessions.ts";

export interface McpGatewayOptions {
  readonly runtime: Runtime;
  readonly name?: string;
  readonly version?: string;
  /** How long a call waits for a person before its client receives `approval_pending`. Default: 20 s; clients give up after 60. */
  readonly approvalWaitMs?: number;
  readonly clock?: Clock;
  /** The address of the console, when it listens. Agents pass it on to people. */
  readonly console?: () => string | undefined;
}

export interface McpGateway extends AsyncDisposable {
  /** One HTTP request by an authenticated caller, at `/mcp` or at `/mcp/<server>`. The HTTP server limits size, host and origin. */
  handle(request: Request, caller: McpCaller, path?: { readonly server?: string }): Promise<Response>;
  /** Serves one client over pipes (default: those of this process) until it closes them. */
  serveStdio(caller: McpCaller, pipes?: Pipes): Promise<void>;
  close(): Promise<void>;
}

const instructions =
  "Every tool call passes Postern. A call may need a person's approval: then the result says `approval_pending`; tell the user, and later send the same call again.";

/** Tools over MCP, revisions 2025-11-25 and 2026-07-28, for any number of clients. */
export function createMcpGateway(options: McpGatewayOptions): McpGateway {
  return new GatewayEndpoint(options);
}

class GatewayEndpoint implements McpGateway {
  readonly #identity: { readonly name: string; readonly version: string };
  readonly #parts: CallParts;
  readonly #sources = new WeakMap<Request, RequestSource>();
  readonly #modern: McpHttpHandler;
  readonly #sessions: McpSessions;
  readonly #piped = new Set<Server>();
  readonly #closing: (() => void | Promise<void>)[] = [];

  constructor({
    runtime,
    name = "postern",
    version = "0",
    approvalWaitMs = 20_000,
    clock = new SystemClock(),
    console,
  }: McpGatewayOptions) {
    this.#identity = { name, version };
    this.#parts = {
      runtime,
      windows: new Windows(runtime, clock),
      clock,
      approvalWaitMs,
      console,
    };
    const sourceOf = ({ http }: ServerContext): RequestSource | undefined =>
      http?.req === undefined ? undefined : this.#sources.get(http.req);
    const serverAt = (request: Request | undefined): string | undefined =>
      request && this.#sources.get(request)?.server;
    this.#modern = createMcpHandler(({ requestInfo }) => this.#makeServer(sourceOf, serverAt(requestInfo)), {
      legacy: "reject",
    });
    this.#sessions = new McpSessions(clock, ({ server }) => this.#makeServer(sourceOf, server));
    const changed = soon(() => this.#toolsChanged());
    const watching = runtime.watch((event) => {
      if (event.moment === "noted" && changesTools.test(event.type)) changed();
    });
    this.#closing.push(runtime.tools.follow(changed), () => watching[Symbol.dispose]());
  }

  async handle(request: Request, caller: McpCaller, path: { readonly server?: string } = {}): Promise<Response> {
    const { server } = path;
    if (server !== undefined && !isServer(this.#parts.runtime, server))
      return rpcProblem(404, -32_001, noServer(server));
    const source: RequestSource = { caller, server };
    this.#sources.set(request, source);
    const accepted = acceptedBy(request);
    if (accepted?.stream === true || (accepted !== undefined && request.method === "POST")) acceptBothForms(request);
    if (request.method !== "POST") return this.#sessions.handle(request, undefined, source);
    const read = readMessage(await request.text());
    if ("refused" in read) {
      // A client of 2025-11-25 reads an error of a request as the answer, and a status as a broken session.
      const isAnswer = read.refused.error.code === invalidParams && request.headers.has("mcp-session-id");
      return Response.json(read.refused, { status: isAnswer ? 200 : 400 });
    }
    const { message } = read;
    const answered = await this.#respond(request, message, source);
    const staysOpen = isJsonObject(message) && message["method"] === "subscriptions/listen";
    return accepted === undefined ? answered : inAcceptedForm(answered, accepted, staysOpen);
  }

  async #respond(request: Request, message: Json, source: RequestSource): Promise<Response> {
    if (await isLegacyRequest(request, message)) return this.#sessions.handle(request, message, source);
    return this.#modern.fetch(request, { parsedBody: message });
  }

  async serveStdio(caller: McpCaller, pipes: Pipes = { input: process.stdin, output: process.stdout }): Promise<void> {
    const source: RequestSource = { caller, server: undefined };
    const transport = new LineTransport(pipes, { clock: this.#parts.clock });
    const serving = serveStdio(() => this.#pipedServer(source), { transport });
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
    this.#closing.push(() => serving.close());
    await ended;
  }

  async close(): Promise<void> {
    await Promise.all([this.#modern.close(), this.#sessions.close(), ...this.#closing.splice(0).map((end) => end())]);
    await this.#parts.windows.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * @param sourceOf returns who sends this request, and to which endpoint
   * @param at the upstream server whose tools are served; undefined: the tools of all
   */
  #makeServer(sourceOf: (context: ServerContext) => RequestSource | undefined, at?: string): Server {
    const { name, version } = this.#identity;
    const identity = at === undefined ? this.#identity : { name: at, title: `${at} (${name})`, version };
    const server = new Server(identity, {
      capabilities: { tools: { listChanged: true }, resources: {} },
      instructions,
      // Nothing is elicited, and the default validator would be built for every request.
      jsonSchemaValidator: {
        getValidator: () => () => ({ valid: false, data: undefined, errorMessage: "not used" }),
      },
    });
    server.setRequestHandler("tools/list", (_request, context) => ({
      tools: toolList(this.#parts.runtime, known(sourceOf(context)), isOld(context)),
    }));
    server.setRequestHandler("tools/call", (request, context) =>
      callTool({ request, context, source: known(sourceOf(context)) }, this.#parts),
    );
    serveResources(server, this.#parts.runtime, (context: ServerContext) => known(sourceOf(context)));
    return server;
  }

  #pipedServer(source: RequestSource): Server {
    const server = this.#makeServer(() => source);
    this.#piped.add(server);
    server.onclose = () => void this.#piped.delete(server);
    return server;
  }

  #toolsChanged(): void {
    this.#modern.notify.toolsChanged();
    this.#sessions.toolsChanged();
    for (const server of this.#piped) server.sendToolListChanged().catch(ignored);
  }
}

/** Events that change which tools are offered. */
const changesTools = /^(operator\.action\.|skill\.(de)?activated$)/;

/** Announces several changes of one moment once. */
function soon(then: () => void): () => void {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    setImmediate(() => {
      waits = false;
      then();
    });
  };
}

function noServer(name: string): string {
  return `No server is named \`${name.slice(0, 100).toWellFormed()}\`: \`/mcp/<server>\` takes a name of the configuration, and \`/mcp\` offers the tools of all.`;
}

function known(source: RequestSource | undefined): RequestSource {
  if (source === undefined) throw new Error("A request without a caller."); // a bug: the client reads an internal error
  return source;
}

function ignored(): void {}
