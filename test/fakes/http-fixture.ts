import { once } from "node:events";
import { rm } from "node:fs/promises";
import { type IncomingMessage, request as sendRequest } from "node:http";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeEach } from "vitest";
import type { SignedIn } from "../../packages/postern/src/identity/accounts.ts";
import type { Runtime } from "../../packages/postern/src/runtime/api/api.ts";
import { openCredentials, readToken, type TokenRole } from "../../packages/postern/src/server/credentials.ts";
import {
  createHttpServer,
  type HttpServer,
  type HttpServerOptions,
} from "../../packages/postern/src/server/http/http-server.ts";
import { listen } from "../../packages/postern/src/server/http/serve.ts";
import { ownFolder } from "./own-folder.ts";
import { type StubCall, type StubOptions, stubRuntime } from "./stub-runtime.ts";

export const host = "127.0.0.1:7420";

export interface Ask {
  readonly as?: TokenRole | undefined;
  readonly method?: string;
  readonly body?: unknown;
  /** Sent unchanged instead of `body`. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpFixture extends AsyncDisposable {
  readonly server: HttpServer;
  readonly tokens: Readonly<Record<TokenRole, string>>;
  ask(path: string, ask?: Ask): Promise<Response>;
}

function onWrongAnswer(route: string, why: string): never {
  throw new Error(`The answer of ${route} does not fit its schema. ${why}`);
}

/** An HTTP server over a runtime, without a socket, with fresh tokens in its own folder. */
export async function httpFixture(
  runtime: Runtime,
  more: Partial<HttpServerOptions> & { readonly agentScopes?: readonly string[] } = {},
): Promise<HttpFixture> {
  const folder = ownFolder();
  const { agentScopes = ["mail:read"], ...options } = more;
  const credentials = await openCredentials(folder, { agentScopes });
  const server = createHttpServer({ runtime, credentials, hosts: [host], onWrongAnswer, ...options });
  const tokens = {
    agent: (await readToken(folder, "agent")) ?? "",
    operator: (await readToken(folder, "operator")) ?? "",
  };
  const ask = (path: string, { as, method, body, raw, headers = {} }: Ask = {}): Promise<Response> => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    return answerOf(
      server,
      new Request(`http://${host}${path}`, {
        method: method ?? (sent === undefined ? "GET" : "POST"),
        headers: {
          ...(as !== undefined && { authorization: `Bearer ${tokens[as]}` }),
          ...(sent !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(sent !== undefined && { body: sent }),
      }),
    );
  };
  return { server, tokens, ask, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

/** Requests to MCP need a socket. */
async function answerOf(server: HttpServer, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (!/^\/mcp(?:\/|$)/.test(pathname)) return server.fetch(request);
  const { port, close } = await listen({ handler: server, port: 0 });
  try {
    const options = {
      port,
      path: pathname,
      method: request.method,
      headers: { ...Object.fromEntries(request.headers), host },
    };
    const sent = sendRequest({ host: "127.0.0.1", ...options });
    sent.end(Buffer.from(await request.arrayBuffer()));
    const [answer]: [IncomingMessage] = (await once(sent, "response")) as [IncomingMessage];
    const headers = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
    return new Response(await buffer(answer), { status: answer.statusCode ?? 0, headers });
  } finally {
    await close(0);
  }
}

/** An HTTP server over a stub runtime, a new one for each test of a file. */
export interface StubFixture extends Pick<HttpFixture, "ask" | "server" | "tokens"> {
  readonly requests: readonly StubCall[];
  /** Replaces the server that each test starts with. */
  open(options?: StubOptions): Promise<void>;
}

export function stubFixture(): StubFixture {
  let http: HttpFixture | undefined;
  let calls: readonly StubCall[] = [];
  const now = (): HttpFixture => {
    if (http === undefined) throw new Error("no test has begun");
    return http;
  };
  const close = async (): Promise<void> => http?.[Symbol.asyncDispose]();
  const open = async (options: StubOptions = {}): Promise<void> => {
    await close();
    const stub = stubRuntime(options);
    calls = stub.requests;
    http = await httpFixture(stub.runtime);
  };
  beforeEach(() => open());
  afterAll(close);
  return {
    ask: (path, ask) => now().ask(path, ask),
    get server() {
      return now().server;
    },
    get tokens() {
      return now().tokens;
    },
    get requests() {
      return calls;
    },
    open,
  };
}

/** Returns the headers that the page of a signed-in person sends with each request. */
export function inSession({ cookie, csrf }: Pick<SignedIn, "cookie" | "csrf">): Readonly<Record<string, string>> {
  return { cookie: `postern_session=${cookie}`, origin: `http://${host}`, "x-postern-csrf": csrf };
}

export async function bodyOf(response: Response): Promise<Readonly<Record<string, unknown>>> {
  return (await response.json()) as Readonly<Record<string, unknown>>; // every answer of the door is an object
}
