/**
 * HTTP: `/v1/*` for programs and the command line, `/mcp` for MCP clients, `/healthz` for supervisors.
 *
 * Invariant: nothing is answered before the page guard and the token have passed (`/healthz` needs no token), and
 * this door decides nothing: it translates, and hands every call to the runtime.
 * Next: page-guard.ts, ../credentials.ts, route.ts (what a row of the table is), the *-routes.ts (the rows),
 * request-body.ts (what a body may be), serve.ts (the socket), client.ts (the other end).
 */
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { type Clock, SystemClock } from "../../calls/clock.ts";
import { messageOf } from "../../calls/fault.ts";
import { newTraceId } from "../../calls/ids.ts";
import type { Runtime } from "../../face.ts";
import type { CandidateDesk } from "../../tools/builtin/memory/candidate-desk.ts";
import type { Credentials, Who } from "../credentials.ts";
import type { PolicyReader } from "../policy-reader.ts";
import { Windows } from "../windows.ts";
import { answer, problem } from "./answers.ts";
import { approvalRoutes } from "./approval-routes.ts";
import { auditRoutes } from "./audit-routes.ts";
import { callRoutes } from "./call-routes.ts";
import { controlRoutes } from "./control-routes.ts";
import { FailedAttempts } from "./failed-attempts.ts";
import { name } from "./fields.ts";
import { forwardToMcp, type McpHandler } from "./mcp-forward.ts";
import { memoryRoutes } from "./memory-routes.ts";
import { describeRoutes } from "./openapi.ts";
import { refusePage } from "./page-guard.ts";
import { pinRoutes } from "./pin-routes.ts";
import { policyRoutes } from "./policy-routes.ts";
import { readJson } from "./request-body.ts";
import type { Arrived, Route } from "./route.ts";
import { runRoutes } from "./run-routes.ts";
import { skillRoutes } from "./skill-routes.ts";
import { toolRoutes } from "./tool-routes.ts";

export interface HttpDoorOptions {
  readonly runtime: Runtime;
  readonly credentials: Credentials;
  /** Every `Host` this door answers to, as clients write it: `127.0.0.1:7420`. A function when the port is known later. */
  readonly hosts: readonly string[] | (() => readonly string[]);
  /** Default: 10 MiB. */
  readonly maxBodyBytes?: number;
  readonly mcp?: McpHandler;
  /** Where people decide on what agents proposed to remember. */
  readonly memory?: CandidateDesk | undefined;
  /** Reads policies that are not in force, for `simulate` and `test`. */
  readonly policies?: PolicyReader | undefined;
  readonly clock?: Clock;
  /** Told of what went wrong inside; never of secrets, tokens or arguments. */
  readonly log?: (message: string, fields: Readonly<Record<string, string>>) => void;
}

export interface HttpDoor {
  /** @param connection who is at the other end, for counting wrong tokens */
  fetch(request: Request, connection?: { readonly address?: string | undefined }): Promise<Response>;
  /** Ends the sessions of its callers. */
  close(): Promise<void>;
}

/** The route table: everything under `/v1`. */
export const routes: readonly Route[] = [
  ...callRoutes,
  ...toolRoutes,
  ...pinRoutes,
  ...approvalRoutes,
  ...auditRoutes,
  ...controlRoutes,
  ...runRoutes,
  ...skillRoutes,
  ...policyRoutes,
  ...memoryRoutes,
];

const tenMebibytes = 10 * 1024 * 1024;

interface Env {
  Bindings: { readonly by: Who };
}

export function createHttpDoor(options: HttpDoorOptions): HttpDoor {
  const { runtime, credentials, hosts, log, clock = new SystemClock() } = options;
  const attempts = new FailedAttempts(clock);
  const windows = new Windows(runtime, clock);
  const app = routed(options, windows);

  const admit = (request: Request, address: string): Promise<Response> | Response => {
    const foreign = refusePage(request, typeof hosts === "function" ? hosts() : hosts);
    if (foreign !== undefined) return foreign;
    if (new URL(request.url).pathname === "/healthz") return healthz(request, runtime);
    const header = request.headers.get("authorization");
    const by = credentials.authenticate(header);
    return by === undefined ? refuseStranger(header, attempts.isTooMany(address)) : app.fetch(request, { by });
  };

  return {
    async fetch(request, connection = {}) {
      try {
        return secured(await admit(request, connection.address ?? "unknown"));
      } catch (error) {
        return secured(failed(request, error, log));
      }
    },
    close: () => windows.close(),
  };
}

function routed(
  { runtime, mcp, memory, policies, maxBodyBytes = tenMebibytes }: HttpDoorOptions,
  windows: Windows,
): OpenAPIHono<Env> {
  const app = new OpenAPIHono<Env>();
  app.onError((error) => {
    throw error; // one place answers what went wrong: the door's `fetch`
  });
  app.notFound(({ req }) =>
    problem(
      "route_unknown",
      `There is nothing at \`${req.path.slice(0, 200)}\`; \`/openapi.json\` lists what there is.`,
    ),
  );
  let document: object | undefined;
  app.get("/openapi.json", () => {
    document ??= describeRoutes(app, routes);
    return answer(document);
  });
  for (const route of routes) {
    app.on(route.method, patternOf(route.path), (context) =>
      handle(route, context, { runtime, windows, memory, policies, maxBodyBytes }),
    );
  }
  const toMcp = ({ req, env }: Context<Env>): Promise<Response> =>
    forwardToMcp(mcp, req.raw, env.by, req.param("server"), maxBodyBytes);
  app.all("/mcp", toMcp).all("/mcp/:server", toMcp);
  refuseOtherMethods(app);
  return app;
}

function handle(
  route: Route,
  { req, env }: Context<Env>,
  {
    maxBodyBytes,
    ...parts
  }: Pick<Arrived, "runtime" | "windows" | "memory" | "policies"> & { readonly maxBodyBytes: number },
): Promise<Response> | Response {
  const named = new Map(Object.entries<string>(req.param()));
  const odd = [...named].find(([, part]) => !name.safeParse(part).success);
  if (odd !== undefined) {
    return problem(
      "request_invalid",
      `The \`${odd[0]}\` in the path is longer than 256 characters or holds a control character.`,
    );
  }
  return route.handle({
    ...parts,
    by: env.by,
    read: () => readJson(req.raw, maxBodyBytes),
    search: new URL(req.url).searchParams,
    part: (name) => named.get(name) ?? "",
    headers: req.raw.headers,
    signal: req.raw.signal,
  });
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

function healthz(request: Request, runtime: Runtime): Response {
  if (request.method !== "GET" && request.method !== "HEAD") {
    return problem("method_not_allowed", "`/healthz` takes GET.", { headers: { allow: "GET" } });
  }
  const { status } = runtime.health();
  return answer({ status }, status === "ok" ? 200 : 503);
}

function refuseStranger(header: string | null, isTooMany: boolean): Response {
  if (isTooMany)
    return problem("too_many_attempts", "Too many wrong tokens; wait a second.", {
      headers: { "retry-after": "1" },
    });
  const headers = { "www-authenticate": "Bearer" };
  if (header === null)
    return problem("token_missing", "Send `Authorization: Bearer TOKEN`; the tokens are in the data folder.", {
      headers,
    });
  return problem("token_invalid", "This token is not known here; the tokens are in the data folder.", { headers });
}

function failed(request: Request, error: unknown, log: HttpDoorOptions["log"]): Response {
  if (request.signal.aborted) return new Response(null, { status: 499 }); // nobody is there to read it
  const traceId = newTraceId();
  log?.("A request failed inside.", {
    trace_id: traceId,
    path: new URL(request.url).pathname,
    error: messageOf(error),
  });
  return problem("internal", "Something went wrong inside; the log has more under this trace id.", {
    traceId,
  });
}

/** For every answer, whoever made it: nothing is kept by caches, guessed at, run, framed or read by other sites. */
const securityHeaders: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

function secured(response: Response): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(securityHeaders)) headers.set(name, value);
  for (const name of [...headers.keys()]) if (name.startsWith("access-control-")) headers.delete(name);
  return new Response(response.body, { status: response.status, headers });
}
