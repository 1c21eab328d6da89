/**
 * HTTP: `/v1/*` for programs and the command line, `/mcp` for MCP clients, `/healthz` and `/readyz` for supervisors,
 * `/metrics` for Prometheus.
 *
 * Invariant: nothing is answered before the page guard and the token have passed (a probe needs neither), and
 * this server decides nothing: it translates, and passes every call to the runtime.
 * Next: page-guard.ts, ../credentials.ts, route.ts (what a row of the table is), the *-routes.ts (the rows),
 * request-body.ts (what a body may be), serve.ts (the socket), client.ts (the other end).
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Clock, SystemClock } from "@postern/core";
import { connections, openId } from "@postern/core/contract";
import { Hono } from "hono";
import type { ResourceServer } from "../../identity/resource-server.ts";
import { Tries } from "../../identity/tries.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { Windows } from "../../runtime/services/windows.ts";
import { type Credentials, identify, type Who } from "../credentials.ts";
import { accountRoutes, tokenRoutes } from "./account-routes.ts";
import { answer, failed, isGuess, pageHeaders, problem, refuseCaller, secured } from "./answers.ts";
import { approvalRoutes } from "./approval-routes.ts";
import { auditRoutes } from "./audit-routes.ts";
import { callRoutes, chainRoutes } from "./call-routes.ts";
import { connectionRoutes } from "./connection-routes.ts";
import { type CookieOptions, cookieHeader, readCookie, sessionCookie } from "./cookies.ts";
import { dispatch, type Env } from "./dispatch.ts";
import { eventRoutes } from "./event-routes.ts";
import { grantRoutes } from "./grant-routes.ts";
import { headOf, type McpArrival, type McpHandler, mcpPath, passToMcp, send } from "./mcp-entry.ts";
import { challengeAt, resourceMetadata } from "./mcp-sign-in.ts";
import { memoryRoutes } from "./memory-routes.ts";
import { metricsRoutes } from "./metrics-routes.ts";
import { needsRoutes } from "./needs-routes.ts";
import { alarmRoutes, channelRoutes, controlRoutes, secretRoutes, skillRoutes } from "./operator-routes.ts";
import { originOf, type RequestHead, refusePage } from "./page-guard.ts";
import { policyRoutes } from "./policy-routes.ts";
import { probeRoutes } from "./probe-routes.ts";
import type { Route, ServerContext } from "./route.ts";
import { agentRunRoutes, runRoutes } from "./run-routes.ts";
import { openIdRoutes, sessionRoutes } from "./session-routes.ts";
import { backupRoutes, storageRoutes } from "./storage-routes.ts";
import { artifactRoutes, healthRoutes, serverRoutes, toolRoutes } from "./tool-routes.ts";
import { arrivalReader, type ForwardedArrival } from "./trusted-proxies.ts";

export interface HttpServerOptions extends Partial<Omit<ServerContext, "runtime" | "windows" | "now">> {
  readonly runtime: Runtime;
  readonly credentials: Credentials;
  /** Every `Host` that it answers to, as clients write it: `127.0.0.1:7420`. A function if the port is known later. */
  readonly hosts: readonly string[] | (() => readonly string[]);
  /** Addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed. Default: none. */
  readonly trustedProxies?: readonly string[];
  /** Default: 10 MiB. */
  readonly maxBodyBytes?: number;
  readonly mcp?: McpHandler;
  /** Whose tokens MCP clients may send beside those of Postern. */
  readonly oauth?: ResourceServer | undefined;
  /** The console's files, the same for every caller. Returns undefined for a path that is not the console's. */
  readonly page?: ((request: Request) => Promise<Response | undefined> | Response | undefined) | undefined;
  readonly clock?: Clock;
  /** Receives what failed inside; never secrets, tokens or arguments. */
  readonly log?: (message: string, fields: Readonly<Record<string, string>>) => void;
}

export interface HttpServer {
  /** @param connection who is at the other end, for counting wrong tokens */
  fetch(request: Request, connection?: { readonly address?: string | undefined }): Promise<Response>;
  /** Takes a request to `/mcp` as Node gives it, because it is the hottest of all. Returns false for any other path. */
  take(incoming: IncomingMessage, outgoing: ServerResponse): boolean;
  /** Ends the sessions of its callers. */
  close(): Promise<void>;
}

/** The route table: everything under `/v1`, and the probes. */
export const routes: readonly Route[] = [
  ...probeRoutes,
  ...callRoutes,
  ...chainRoutes,
  ...toolRoutes,
  ...healthRoutes,
  ...serverRoutes,
  ...needsRoutes,
  ...artifactRoutes,
  ...approvalRoutes,
  ...grantRoutes,
  ...auditRoutes,
  ...controlRoutes,
  ...runRoutes,
  ...agentRunRoutes,
  ...skillRoutes,
  ...policyRoutes,
  ...memoryRoutes,
  ...sessionRoutes,
  ...openIdRoutes,
  ...accountRoutes,
  ...tokenRoutes,
  ...eventRoutes,
  ...alarmRoutes,
  ...metricsRoutes,
  ...channelRoutes,
  ...secretRoutes,
  ...connectionRoutes,
  ...storageRoutes,
  ...backupRoutes,
];

const usualMaxBodyBytes = 10 * 1024 * 1024;

/** Open without a credential, or with one of the route's own. */
const openRoutes: readonly (readonly [method: string, path: RegExp])[] = routes
  .filter(({ needs }) => needs === "nothing")
  .map(({ method, path }) => [method.toUpperCase(), new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`)]);

const probePaths: ReadonlySet<string> = new Set(probeRoutes.map(({ path }) => path));

function isOpen(asked: string, pathname: string): boolean {
  return openRoutes.some(([method, path]) => method === asked && path.test(pathname));
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { runtime, hosts, log, page, clock = new SystemClock() } = options;
  const names = typeof hosts === "function" ? hosts : () => hosts;
  const windows = new Windows(runtime, clock);
  const app = routed(options, contextOf(options, windows, clock), clock);
  const arrivalOf = arrivalReader(options.trustedProxies ?? []);
  const admit = admission(options, { names, clock });
  /** The console's files: the same for every caller, also behind a link from another site. */
  const shown = async (request: Request, { isSecure }: ForwardedArrival): Promise<Response | undefined> =>
    page === undefined || isOwn(new URL(request.url).pathname)
      ? undefined
      : (refusePage(request, names(), { isPage: true, isSecure }) ?? (await page(request)));
  const answered = async (request: Request, arrival: ForwardedArrival): Promise<Response> => {
    const { address } = arrival;
    const admitted = await admit(request, arrival);
    if ("refused" in admitted) return admitted.refused;
    const { by, origin, cookie } = admitted;
    const response = await app.fetch(request, { by, origin, address });
    if (cookie === undefined) return response;
    const now = clock.now();
    return withCookie(response, cookie, { origin, maxAgeSeconds: ((by?.session?.expiresAt ?? now) - now) / 1000 });
  };
  const { mcp, maxBodyBytes = usualMaxBodyBytes } = options;
  const toMcp = async (arrival: McpArrival): Promise<void> => {
    const { incoming, outgoing } = arrival;
    const head = headOf(incoming);
    try {
      const admitted = await admit(head, arrivalOf(incoming.socket.remoteAddress ?? "unknown", head.headers));
      if ("refused" in admitted) await send(outgoing, admitted.refused);
      else if (admitted.by !== undefined) await passToMcp(mcp, arrival, { by: admitted.by, maxBodyBytes });
    } catch (error) {
      await send(outgoing, failed(head, error, log));
    }
  };
  return {
    async fetch(request, connection = {}) {
      try {
        const arrival = arrivalOf(connection.address ?? "unknown", request.headers);
        const same = await shown(request, arrival);
        if (same !== undefined) return secured(same, pageHeaders);
        return secured(await answered(request, arrival));
      } catch (error) {
        return secured(failed(request, error, log));
      }
    },
    take(incoming, outgoing) {
      const path = mcpPath(incoming.url ?? "");
      if (path !== undefined) void toMcp({ incoming, outgoing, path });
      return path !== undefined;
    },
    close: () => windows.close(),
  };
}

function contextOf(options: HttpServerOptions, windows: Windows, clock: Clock): ServerContext {
  const { log, onWrongAnswer = (route, why) => log?.("An answer does not fit its schema.", { route, why }) } = options;
  return { ...options, windows, onWrongAnswer, now: () => clock.now() };
}

interface ServerParts {
  readonly names: () => readonly string[];
  readonly clock: Clock;
}

type Admitted =
  | {
      /** Undefined at an open route. */
      readonly by: Who | undefined;
      readonly origin: string;
      /** A new value of the session's cookie. */
      readonly cookie?: string | undefined;
    }
  | { readonly refused: Response };

/** Checks the page guard, then the credential. */
function admission(
  { runtime, credentials, accounts, oauth }: HttpServerOptions,
  { names, clock }: ServerParts,
): (request: RequestHead, arrival: ForwardedArrival) => Promise<Admitted> {
  /** By address. A right one always passes: on one machine all share an address. */
  const wrongTokens = new Tries(clock);
  const identities = { credentials, accounts, clock, oauth, workers: runtime.workers };
  return async (request, { address, isSecure }) => {
    const { pathname } = new URL(request.url);
    const isProbe = probePaths.has(pathname);
    const foreign = isProbe ? undefined : refusePage(request, names(), { isPage: isWayBack(pathname), isSecure });
    if (foreign !== undefined) return { refused: foreign };
    // Clients look here for a way to sign in before they have a token. This does not count as a wrong token.
    const origin = originOf(request, names(), isSecure) ?? "";
    if (pathname.includes("/.well-known/")) {
      const metadata = oauth && resourceMetadata(request, pathname, { server: oauth, origin });
      return { refused: metadata ?? noRoute(pathname) };
    }
    const isAsked = isProbe && request.headers.get("authorization") !== null;
    if (!isAsked && (isProbe || isOpen(request.method, pathname))) return { by: undefined, origin };
    const endpoint = mcpPath(pathname);
    const found = await identify(shownBy(request, origin), identities, endpoint);
    if (!("refused" in found)) return { ...found, origin };
    const isTooMany = isGuess(found) && wrongTokens.isOver(address);
    if (isGuess(found)) wrongTokens.count(address);
    return { refused: refuseCaller(found, isTooMany, oauth && endpoint && challengeAt(oauth, origin, endpoint)) };
  };
}

/** A browser comes here from another site. */
function isWayBack(pathname: string): boolean {
  return pathname === openId.finish.path || pathname === connections.finish.path;
}

/** Paths of the API, known or not: the console has no page there. */
function isOwn(pathname: string): boolean {
  return (
    pathname.includes("/.well-known/") || /^\/(?:v1|mcp|healthz|readyz|metrics|openapi\.json)(?:\/|$)/.test(pathname)
  );
}

function shownBy(request: RequestHead, origin: string): Parameters<typeof identify>[0] {
  const { headers, method } = request;
  return {
    authorization: headers.get("authorization"),
    cookie: readCookie(headers, sessionCookie, origin),
    csrf: headers.get("x-postern-csrf"),
    changesSomething: method !== "GET" && method !== "HEAD",
    hasOrigin: headers.get("origin") !== null,
  };
}

/** The session's cookie gets a new value. */
function withCookie(answered: Response, value: string, options: CookieOptions): Response {
  const headers = new Headers(answered.headers);
  // A sign-out in the same request has set the cookie already.
  if (headers.has("set-cookie")) return answered;
  headers.append("set-cookie", cookieHeader(sessionCookie, value, options));
  return new Response(answered.body, { status: answered.status, headers });
}

function routed(
  { maxBodyBytes = usualMaxBodyBytes }: HttpServerOptions,
  context: ServerContext,
  clock: Clock,
): Hono<Env> {
  const toRoute = { context, maxBodyBytes, guesses: new Tries(clock) };
  const app = new Hono<Env>();
  app.onError((error) => {
    throw error; // one place answers what went wrong: `fetch`
  });
  app.notFound(({ req }) => noRoute(req.path));
  let document: Promise<object> | undefined;
  app.get("/openapi.json", async () => {
    document ??= import("./openapi.ts").then(({ describeRoutes }) => describeRoutes(routes)); // most servers are not asked
    return answer(await document);
  });
  for (const route of routes) {
    app.on(route.method, patternOf(route.path), (context) => dispatch(route, context, toRoute));
  }
  refuseOtherMethods(app);
  return app;
}

function noRoute(path: string): Response {
  return problem(
    "route_unknown",
    `There is nothing at \`${path.slice(0, 200)}\`; \`/openapi.json\` lists what there is.`,
  );
}

/** After all routes: a path that is known, with a method that is not. */
function refuseOtherMethods(app: Hono<Env>): void {
  const allowed = new Map<string, string[]>([["/openapi.json", ["GET"]]]);
  for (const { method, path } of routes) allowed.set(path, [...(allowed.get(path) ?? []), method.toUpperCase()]);
  for (const [path, methods] of allowed) {
    const allow = methods.join(", ");
    app.all(patternOf(path), (context) =>
      problem("method_not_allowed", `\`${context.req.method}\` does nothing here; it takes ${allow}.`, {
        headers: { allow },
      }),
    );
  }
}

/** `/v1/calls/{id}` as Hono writes it: `/v1/calls/:id`. */
function patternOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}
