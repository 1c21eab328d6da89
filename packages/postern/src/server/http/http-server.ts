/**
 * HTTP: `/v1/*` for programs and the command line, `/mcp` for MCP clients, `/healthz` for supervisors.
 *
 * Invariant: nothing is answered before the page guard and the token have passed (`/healthz` needs no token), and
 * this server decides nothing: it translates, and passes every call to the runtime.
 * Next: page-guard.ts, ../credentials.ts, route.ts (what a row of the table is), the *-routes.ts (the rows),
 * request-body.ts (what a body may be), serve.ts (the socket), client.ts (the other end).
 */
import { OpenAPIHono } from "@hono/zod-openapi";
import { type Clock, SystemClock } from "@postern/core";
import { connections, openId } from "@postern/core/contract";
import type { Context } from "hono";
import { Tries } from "../../identity/tries.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { Windows } from "../../runtime/services/windows.ts";
import { type Credentials, identify } from "../credentials.ts";
import { accountRoutes, tokenRoutes } from "./account-routes.ts";
import { answer, failed, healthz, pageHeaders, problem, refuseCaller, secured } from "./answers.ts";
import { approvalRoutes } from "./approval-routes.ts";
import { auditRoutes } from "./audit-routes.ts";
import { callRoutes, chainRoutes } from "./call-routes.ts";
import { connectionRoutes } from "./connection-routes.ts";
import { type CookieOptions, cookieHeader, readCookie, sessionCookie } from "./cookies.ts";
import { dispatch, type Env, whileGood } from "./dispatch.ts";
import { eventRoutes } from "./event-routes.ts";
import { grantRoutes } from "./grant-routes.ts";
import { forwardToMcp, type McpHandler } from "./mcp-forward.ts";
import { memoryRoutes } from "./memory-routes.ts";
import { describeRoutes } from "./openapi.ts";
import { alarmRoutes, channelRoutes, controlRoutes, secretRoutes, skillRoutes } from "./operator-routes.ts";
import { originOf, refusePage } from "./page-guard.ts";
import { policyRoutes } from "./policy-routes.ts";
import { type Route, refusePermission, type ServerContext } from "./route.ts";
import { agentRunRoutes, runRoutes } from "./run-routes.ts";
import { openIdRoutes, sessionRoutes } from "./session-routes.ts";
import { artifactRoutes, healthRoutes, toolRoutes } from "./tool-routes.ts";

export interface HttpServerOptions extends Partial<Omit<ServerContext, "runtime" | "windows" | "now">> {
  readonly runtime: Runtime;
  readonly credentials: Credentials;
  /** Every `Host` that it answers to, as clients write it: `127.0.0.1:7420`. A function if the port is known later. */
  readonly hosts: readonly string[] | (() => readonly string[]);
  /** Default: 10 MiB. */
  readonly maxBodyBytes?: number;
  readonly mcp?: McpHandler;
  /** The console's files, the same for every caller. Returns undefined for a path that is not the console's. */
  readonly page?: ((request: Request) => Promise<Response | undefined> | Response | undefined) | undefined;
  readonly clock?: Clock;
  /** Receives what failed inside; never secrets, tokens or arguments. */
  readonly log?: (message: string, fields: Readonly<Record<string, string>>) => void;
}

export interface HttpServer {
  /** @param connection who is at the other end, for counting wrong tokens */
  fetch(request: Request, connection?: { readonly address?: string | undefined }): Promise<Response>;
  /** Ends the sessions of its callers. */
  close(): Promise<void>;
}

/** The route table: everything under `/v1`. */
export const routes: readonly Route[] = [
  ...callRoutes,
  ...chainRoutes,
  ...toolRoutes,
  ...healthRoutes,
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
  ...channelRoutes,
  ...secretRoutes,
  ...connectionRoutes,
];

const usualMaxBodyBytes = 10 * 1024 * 1024;

/** Open without a credential, or with one of the route's own. */
const openRoutes: readonly (readonly [method: string, path: RegExp])[] = routes
  .filter(({ needs }) => needs === "nothing")
  .map(({ method, path }) => [method.toUpperCase(), new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`)]);

function isOpen(asked: string, pathname: string): boolean {
  return openRoutes.some(([method, path]) => method === asked && path.test(pathname));
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { runtime, hosts, log, page, clock = new SystemClock() } = options;
  const names = typeof hosts === "function" ? hosts : () => hosts;
  const windows = new Windows(runtime, clock);
  const app = routed(options, contextOf(options, windows, clock), clock);
  const admit = admission(options, { app, names, clock });
  /** The console's files: the same for every caller, also behind a link from another site. */
  const shown = async (request: Request): Promise<Response | undefined> =>
    page === undefined || isOwn(new URL(request.url).pathname)
      ? undefined
      : (refusePage(request, names(), true) ?? (await page(request)));
  return {
    async fetch(request, connection = {}) {
      try {
        const same = await shown(request);
        return same === undefined
          ? secured(await admit(request, connection.address ?? "unknown"))
          : secured(same, pageHeaders);
      } catch (error) {
        return secured(failed(request, error, log));
      }
    },
    close: () => windows.close(),
  };
}

function contextOf(options: HttpServerOptions, windows: Windows, clock: Clock): ServerContext {
  const { log, onWrongAnswer = (route, why) => log?.("An answer does not fit its schema.", { route, why }) } = options;
  return { ...options, windows, onWrongAnswer, now: () => clock.now() };
}

interface ServerParts {
  readonly app: OpenAPIHono<Env>;
  readonly names: () => readonly string[];
  readonly clock: Clock;
}

/** Checks the page guard, then the credential, then calls the route. */
function admission(
  { runtime, credentials, accounts }: HttpServerOptions,
  { app, names, clock }: ServerParts,
): (request: Request, address: string) => Promise<Response> {
  /** By address. A right one always passes: on one machine all share an address. */
  const wrongTokens = new Tries(clock);
  return async (request, address) => {
    const { pathname } = new URL(request.url);
    const foreign = refusePage(request, names(), isWayBack(pathname));
    if (foreign !== undefined) return foreign;
    if (pathname === "/healthz") return healthz(request, runtime);
    // Clients look here for a way to sign in before they have a token. This does not count as a wrong token.
    if (pathname.includes("/.well-known/")) return noRoute(pathname);
    const origin = originOf(request, names()) ?? "";
    if (isOpen(request.method, pathname)) return app.fetch(request, { by: undefined, origin, address });
    const found = await identify(shownBy(request, origin), credentials, accounts);
    if ("refused" in found) {
      const isTooMany = found.refused === "wrong_token" && wrongTokens.isOver(address);
      if (found.refused === "wrong_token") wrongTokens.count(address);
      return refuseCaller(found, isTooMany);
    }
    const { by, cookie } = found;
    const answered = await app.fetch(request, { by, origin, address });
    if (cookie === undefined) return answered;
    const now = clock.now();
    return withCookie(answered, cookie, { origin, maxAgeSeconds: ((by.session?.expiresAt ?? now) - now) / 1000 });
  };
}

/** A browser comes here from another site. */
function isWayBack(pathname: string): boolean {
  return pathname === openId.finish.path || pathname === connections.finish.path;
}

/** Paths of the API, known or not: the console has no page there. */
function isOwn(pathname: string): boolean {
  return pathname.includes("/.well-known/") || /^\/(?:v1|mcp|healthz|metrics|openapi\.json)(?:\/|$)/.test(pathname);
}

function shownBy(request: Request, origin: string): Parameters<typeof identify>[0] {
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
  { mcp, maxBodyBytes = usualMaxBodyBytes }: HttpServerOptions,
  context: ServerContext,
  clock: Clock,
): OpenAPIHono<Env> {
  const toRoute = { context, maxBodyBytes, guesses: new Tries(clock) };
  const app = new OpenAPIHono<Env>();
  app.onError((error) => {
    throw error; // one place answers what went wrong: `fetch`
  });
  app.notFound(({ req }) => noRoute(req.path));
  let document: object | undefined;
  app.get("/openapi.json", () => {
    document ??= describeRoutes(app, routes);
    return answer(document);
  });
  for (const route of routes) {
    app.on(route.method, patternOf(route.path), (context) => dispatch(route, context, toRoute));
  }
  const toMcp = async ({ req, env: { by } }: Context<Env>): Promise<Response> => {
    if (by?.permissions.has("calls:make") !== true || by.credential === "session")
      return refusePermission("calls:make", by);
    const answered = await forwardToMcp(mcp, req.raw, { by, server: req.param("server"), maxBodyBytes });
    return whileGood(req.raw, by, answered);
  };
  for (const path of ["/mcp", "/mcp/", "/mcp/:server", "/mcp/:server/"]) app.all(path, toMcp);
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
function refuseOtherMethods(app: OpenAPIHono<Env>): void {
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
