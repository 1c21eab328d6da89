import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import type { Json } from "../../calls/json.ts";
import type { Runtime } from "../../face.ts";
import type { CandidateDesk } from "../../tools/builtin/memory/candidate-desk.ts";
import type { Who } from "../credentials.ts";
import type { PolicyReader } from "../policy-reader.ts";
import type { Windows } from "../windows.ts";
import { problem } from "./answers.ts";
import type { Body } from "./request-body.ts";

type Operator = Extract<Who, { role: "operator" }>;

/** What a route gets: who asks, and only what its schemas let through. */
export interface Asked<Fields, Query, By extends Who = Who> {
  readonly runtime: Runtime;
  /** The budgets that calls come out of. */
  readonly windows: Windows;
  /** Where people decide on what agents proposed to remember, when memory is on. */
  readonly memory?: CandidateDesk | undefined;
  /** Reads policies that are not in force. */
  readonly policies?: PolicyReader | undefined;
  readonly by: By;
  readonly body: Fields;
  readonly query: Query;
  /** A part of the path, decoded. */
  readonly part: (name: string) => string;
  readonly headers: Headers;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
}

interface Spec<Fields, Query, By extends Who> {
  readonly method: "get" | "post";
  /** With its parts in braces: `/v1/calls/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly body: ZodType<Fields>;
  readonly query: ZodType<Query>;
  /** What a good answer looks like, for the OpenAPI document; or its media type, when it is no JSON. */
  readonly answers: ZodType | string;
  readonly run: (asked: Asked<Fields, Query, By>) => Promise<Response> | Response;
}

/** A raw request after the page guard and the token. */
export interface Arrived {
  readonly runtime: Runtime;
  readonly windows: Windows;
  readonly memory?: CandidateDesk | undefined;
  readonly policies?: PolicyReader | undefined;
  readonly by: Who;
  /** Reads the body: at the first call only, and not at all for who may not be here. */
  readonly read: () => Promise<Body<Json>>;
  readonly search: URLSearchParams;
  readonly part: (name: string) => string;
  readonly headers: Headers;
  readonly signal: AbortSignal;
}

/** One row of the route table: the door, the OpenAPI document and the role matrix are made from it. */
export interface Route {
  readonly method: "get" | "post";
  readonly path: string;
  readonly summary: string;
  readonly may: "both" | "operator";
  readonly body: ZodType;
  readonly query: ZodType;
  readonly answers: ZodType | string;
  readonly handle: (arrived: Arrived) => Promise<Response> | Response;
}

/** No fields at all: any is refused by its name. */
export const nothing: ZodType<Record<string, never>> = z.strictObject({});

export function route<Fields, Query>(spec: Spec<Fields, Query, Who>): Route {
  return { ...spec, may: "both", handle: (arrived) => checked(spec, arrived, arrived.by) };
}

/** A route for the operator's token only; the agent's is refused before the body is looked at, whatever the id. */
export function operatorRoute<Fields, Query>(spec: Spec<Fields, Query, Operator>): Route {
  return {
    ...spec,
    may: "operator",
    handle: (arrived) => (arrived.by.role === "operator" ? checked(spec, arrived, arrived.by) : refuseAgent()),
  };
}

export function refuseAgent(): Response {
  return problem(
    "operator_only",
    "This needs the operator's token; an agent's token can call and wait, never decide or administer.",
  );
}

async function checked<Fields, Query, By extends Who>(
  spec: Spec<Fields, Query, By>,
  arrived: Arrived,
  by: By,
): Promise<Response> {
  const twice = [...arrived.search.keys()].find((name) => arrived.search.getAll(name).length > 1);
  if (twice !== undefined) return problem("request_invalid", `The query names \`${twice}\` more than once.`);
  const query = spec.query.safeParse(Object.fromEntries(arrived.search));
  if (!query.success) return invalid("query", query.error);
  const given = await arrived.read();
  if ("refused" in given) return given.refused;
  const body = spec.body.safeParse(given.value);
  if (!body.success) return invalid("body", body.error);
  const { runtime, windows, memory, policies, part, headers, signal } = arrived;
  return spec.run({
    runtime,
    windows,
    memory,
    policies,
    by,
    part,
    headers,
    signal,
    body: body.data,
    query: query.data,
  });
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
