import { isJsonObject, type Json, type Permission, rolesWith } from "@postern/core";
import {
  type BodyOf,
  fromSearch,
  type Input,
  noFields,
  type QueryOf,
  type RouteDefinition,
  type RouteGroup,
} from "@postern/core/contract";
import type { ZodType } from "zod";
import { z } from "zod";
import type { CandidateService } from "../../builtin/memory/candidate-service.ts";
import type { Accounts, OpenIdSignIn } from "../../identity/accounts.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import type { Windows } from "../../runtime/services/windows.ts";
import type { Who } from "../credentials.ts";
import type { PolicyReader } from "../policy-reader.ts";
import { answer, problem } from "./answers.ts";
import { endedMeanwhile } from "./caller.ts";
import type { RequestBody as ReadBody } from "./request-body.ts";

/** What a handler gets: the caller, and only what the schemas of its route let through. */
export interface RouteRequest<R extends RouteDefinition = RouteDefinition> extends RequestContext {
  readonly by: R extends { readonly probe: true } ? Who | undefined : R["needs"] extends "nothing" ? undefined : Who;
  readonly body: BodyOf<R>;
  readonly query: QueryOf<R>;
}

/** What the server was made with. */
export interface ServerContext {
  readonly runtime: Runtime;
  /** The budgets that calls come out of. */
  readonly windows: Windows;
  /** Where people decide what agents may remember, when memory is on. */
  readonly memory?: CandidateService | undefined;
  /** Tools that cannot be offered, and why. */
  readonly rejected?: readonly { readonly tool: string; readonly why: string }[] | undefined;
  /** Reads policies that are not in force. */
  readonly policies?: PolicyReader | undefined;
  /** People, their tokens and sessions. */
  readonly accounts?: Accounts | undefined;
  /** Signing in at a provider, when one is configured. */
  readonly openId?: OpenIdSignIn | undefined;
  /** Receives what is wrong with an answer that does not fit its schema. The answer is sent as it is. */
  readonly onWrongAnswer: (route: string, why: string) => void;
  /** Whose disk is looked at for `/readyz`. */
  readonly dataFolder?: string | undefined;
  /** How people reach it through a proxy. */
  readonly publicUrl?: string | undefined;
  /** Reads a secret that was set just now, so that it is masked before it is used. Never throws. */
  readonly learnSecret?: ((connector: string, key: string) => Promise<void>) | undefined;
  /** How commands are typed where it was started. Only people of the installation's own tenant read the full one, with its paths. */
  readonly command?: { readonly full: string; readonly withoutValues: string } | undefined;
  readonly version?: string | undefined;
  /** Wall clock, milliseconds. */
  readonly now: () => number;
}

interface RequestContext extends ServerContext {
  /** A part of the path, decoded. */
  readonly part: (name: string) => string;
  readonly headers: Headers;
  /** As the client wrote it: `http://127.0.0.1:7420`. Checked by the page guard. */
  readonly origin: string;
  /** The client's network address. */
  readonly address: string;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** Counts a refused decision of a batch like a refused request. */
  readonly refused: () => void;
  /** The body as it was sent, for a route with `rawBody`. */
  readonly readText: (maxBytes: number) => Promise<ReadBody<string>>;
}

/** A request after the page guard and the credential check. `by` is undefined at an open route. */
export interface ArrivedRequest extends RequestContext {
  readonly by: Who | undefined;
  /** Reads the body: at the first call only, and not at all for a caller without the permission. */
  readonly read: () => Promise<ReadBody<Json>>;
  readonly search: URLSearchParams;
}

/** A definition together with what serves it. */
export interface Route extends RouteDefinition {
  readonly handle: (arrived: ArrivedRequest) => Promise<Response> | Response;
}

/** A handler gives the answer of its route, or a response where it refuses or has a status of its own. */
type Handler<R extends RouteDefinition> = (request: RouteRequest<R>) => Handled<R> | Promise<Handled<R>>;
type Handled<R extends RouteDefinition> = Response | (R["answer"] extends string ? never : Input<R["answer"]>);

/** Binds each route of a group to its handler. */
export function serve<G extends RouteGroup>(
  group: G,
  handlers: { readonly [Name in keyof G]: Handler<G[Name]> },
): readonly Route[] {
  return Object.entries(group).map(([name, definition]) => {
    // The same key of both: the types of `handlers` say that they belong together.
    const handler = handlers[name] as unknown as Handler<RouteDefinition>;
    return { ...definition, handle: (arrived) => handle(definition, handler, arrived) };
  });
}

/** A caller without the permission is refused before the body is looked at, whatever the id. */
async function handle(
  definition: RouteDefinition,
  handler: Handler<RouteDefinition>,
  arrived: ArrivedRequest,
): Promise<Response> {
  const { needs } = definition;
  const by = needs === "nothing" && definition.probe !== true ? undefined : arrived.by;
  if (needs !== "nothing" && by?.permissions.has(needs) !== true) return refusePermission(needs, by);
  const read = await readRequest(definition, arrived, by);
  if (read instanceof Response) return read;
  const { read: _read, search: _search, by: _by, ...context } = arrived;
  const given = await handler({ ...context, ...read, by } as RouteRequest); // `by` is there unless the route is open
  if (given instanceof Response) return given;
  return answer(shaped(definition, given as object, arrived.onWrongAnswer), definition.status); // all answers are objects
}

/** The answer as its schema has it: without surplus fields, and with times as text. */
function shaped(
  { method, path, answer: schema }: RouteDefinition,
  given: object,
  onWrong: ServerContext["onWrongAnswer"],
): object {
  if (typeof schema === "string") return given;
  const read = schema.safeParse(given);
  if (read.success) return read.data as object; // all answers are objects
  onWrong(`${method.toUpperCase()} ${path}`, z.prettifyError(read.error));
  return given;
}

export function refusePermission(needed: Permission, by: Who | undefined): Response {
  const whose =
    by?.kind === "agent" ? "an agent's token can call and wait, never decide or administer" : "you have not";
  const who = rolesWith(needed);
  const roles = who.length === 0 ? "no role has it" : `roles with it: ${who.join(", ")}`;
  return problem("permission_missing", `This needs \`${needed}\`: ${whose}; ${roles}.`);
}

export async function readRequest(
  { query: querySchema = noFields, body: bodySchema = noFields, rawBody }: RouteDefinition,
  { search, read }: ArrivedRequest,
  by: Who | undefined,
): Promise<Response | { readonly query: object; readonly body: object }> {
  const twice = [...search.keys()].find((name) => search.getAll(name).length > 1);
  if (twice !== undefined) return problem("request_invalid", `The query names \`${twice}\` more than once.`);
  const query = querySchema.safeParse(fromSearch(querySchema, search));
  if (!query.success) return invalid("query", query.error);
  if (rawBody === true) return { query: query.data, body: {} };
  const ended = endedMeanwhile(by);
  const given = await read();
  const refused = ended();
  if (refused !== undefined) return refused;
  if ("refused" in given) return given.refused;
  const body = readBody(bodySchema, given.value);
  if (!body.success) return invalid("body", body.error);
  return { query: query.data, body: body.data as object }; // all bodies are objects
}

/** Null stands for an optional member that is not given, where the member itself cannot be null. */
function readBody(schema: ZodType, value: Json): z.ZodSafeParseResult<unknown> {
  const read = schema.safeParse(value);
  if (read.success || !isJsonObject(value)) return read;
  const nulls = new Set(
    read.error.issues.map(({ path: [name] }) => String(name)).filter((name) => value[name] === null),
  );
  if (nulls.size === 0) return read;
  return schema.safeParse(Object.fromEntries(Object.entries(value).filter(([name]) => !nulls.has(name))));
}

function invalid(where: "query" | "body", error: z.ZodError): Response {
  const issues = error.issues
    .slice(0, 10)
    .map((issue) => ({ path: issue.path.map(String).join("."), message: describe(issue) }));
  const [first] = issues;
  const at = first === undefined || first.path === "" ? "" : ` at \`${first.path}\``;
  return problem("request_invalid", `The ${where} does not fit${at}: ${first?.message ?? "see the details"}.`, {
    details: issues,
  });
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === "unrecognized_keys") return `unknown field \`${issue.keys.join("`, `").slice(0, 200)}\``;
  return issue.message.replace(/\.$/, "").slice(0, 500);
}
