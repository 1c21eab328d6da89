import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import type { Accounts, OpenIdSignIn } from "../../accounts/accounts.ts";
import { type Permission, rolesWith } from "../../accounts/roles.ts";
import { isJsonObject, type Json } from "../../calls/json.ts";
import type { Runtime } from "../../face.ts";
import type { CandidateDesk } from "../../tools/builtin/memory/candidate-desk.ts";
import type { Who } from "../credentials.ts";
import type { PolicyReader } from "../policy-reader.ts";
import type { Windows } from "../windows.ts";
import { problem } from "./answers.ts";
import { endedMeanwhile } from "./ended.ts";
import type { Body } from "./request-body.ts";

/** What a route gets: who asks, and only what its schemas let through. */
export interface Asked<Fields, Query, By extends Who | undefined = Who> extends Room {
  readonly by: By;
  readonly body: Fields;
  readonly query: Query;
}

/** What every route finds around it: what the door was made with. */
export interface House {
  readonly runtime: Runtime;
  /** The budgets that calls come out of. */
  readonly windows: Windows;
  /** Where people decide on what agents proposed to remember, when memory is on. */
  readonly memory?: CandidateDesk | undefined;
  /** Tools that were found and cannot be offered, and why. */
  readonly rejected?: readonly { readonly tool: string; readonly why: string }[] | undefined;
  /** Reads policies that are not in force. */
  readonly policies?: PolicyReader | undefined;
  /** People, their tokens and sessions; none where a door was made without. */
  readonly accounts?: Accounts | undefined;
  /** Signing in at a provider, when one is configured. */
  readonly openId?: OpenIdSignIn | undefined;
  /** How people reach it through a proxy. */
  readonly publicUrl?: string | undefined;
  /** Reads a secret that was set just now, so that it is masked before anybody borrows it. Never throws. */
  readonly learnSecret?: ((connector: string, key: string) => Promise<void>) | undefined;
  /** How commands are typed where it was started: for people of the house; others learn no paths. */
  readonly command?: { readonly ofTheHouse: string; readonly ofAnybody: string } | undefined;
  /** Wall clock, milliseconds. */
  readonly now: () => number;
}

/** And what this request brings. */
interface Room extends House {
  /** A part of the path, decoded. */
  readonly part: (name: string) => string;
  readonly headers: Headers;
  /** As the client wrote it: `http://127.0.0.1:7420`. Checked by the page guard. */
  readonly origin: string;
  /** Who is at the other end of the line. */
  readonly address: string;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** Counts one of several decisions that was refused, as a request is that was. */
  readonly refused: () => void;
}

interface Spec<Fields, Query, By extends Who | undefined> {
  readonly method: Method;
  /** With its parts in braces: `/v1/calls/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly body: ZodType<Fields>;
  readonly query: ZodType<Query>;
  /** What a good answer looks like, for the OpenAPI document; or its media type, when it is no JSON. */
  readonly answers: ZodType | string;
  readonly run: (asked: Asked<Fields, Query, By>) => Promise<Response> | Response;
}

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** A raw request after the page guard and the credential. `by`: nobody, at an open route. */
export interface Arrived extends Room {
  readonly by: Who | undefined;
  /** Reads the body: at the first call only, and not at all for who may not be here. */
  readonly read: () => Promise<Body<Json>>;
  /** Instead of `read`: the body as it was sent, for what is signed over its bytes. */
  readonly readText: (maxBytes: number) => Promise<Body<string>>;
  readonly search: URLSearchParams;
}

/** One row of the route table: the door, the OpenAPI document and the role matrix are made from it. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  /** `nothing`: anybody may ask, signed in or not. */
  readonly needs: Permission | "nothing";
  readonly body: ZodType;
  readonly query: ZodType;
  readonly answers: ZodType | string;
  /** An open route where somebody may try what is not theirs: refusals are counted, by address. */
  readonly countsRefusals?: true;
  readonly handle: (arrived: Arrived) => Promise<Response> | Response;
}

/** No fields at all: any is refused by its name. */
export const nothing: ZodType<Record<string, never>> = z.strictObject({});

/** A route for whoever has the permission it needs; others are refused before the body is looked at, whatever the id. */
export function route<Fields, Query>(spec: Spec<Fields, Query, Who> & { readonly needs: Permission }): Route {
  return {
    ...spec,
    handle: (arrived) => {
      const { by } = arrived;
      if (by === undefined || !by.permissions.has(spec.needs)) return refusePermission(spec.needs, by);
      return checked(spec, arrived, by);
    },
  };
}

/** For who is nobody yet: signing in. Whatever credential comes along is not looked at. */
export function openRoute<Fields, Query>(spec: Spec<Fields, Query, undefined>): Route {
  return { ...spec, needs: "nothing", handle: (arrived) => checked(spec, arrived, undefined) };
}

export function refusePermission(needed: Permission, by: Who | undefined): Response {
  const whose =
    by?.kind === "agent" ? "an agent's token can call and wait, never decide or administer" : "you have not";
  const who = rolesWith(needed);
  const roles = who.length === 0 ? "no role has it" : `roles with it: ${who.join(", ")}`;
  return problem("permission_missing", `This needs \`${needed}\`: ${whose}; ${roles}.`);
}

async function checked<Fields, Query, By extends Who | undefined>(
  spec: Spec<Fields, Query, By>,
  arrived: Arrived,
  by: By,
): Promise<Response> {
  const twice = [...arrived.search.keys()].find((name) => arrived.search.getAll(name).length > 1);
  if (twice !== undefined) return problem("request_invalid", `The query names \`${twice}\` more than once.`);
  const query = spec.query.safeParse(Object.fromEntries(arrived.search));
  if (!query.success) return invalid("query", query.error);
  const ended = endedMeanwhile(by);
  const given = await arrived.read();
  const refused = ended();
  if (refused !== undefined) return refused;
  if ("refused" in given) return given.refused;
  const body = readBody(spec.body, given.value);
  if (!body.success) return invalid("body", body.error);
  const { read: _read, readText: _text, search: _search, by: _by, ...room } = arrived;
  return spec.run({ ...room, by, body: body.data, query: query.data });
}

/** Null stands for an optional member that is not given, where the member itself cannot be null. */
function readBody<Fields>(schema: ZodType<Fields>, value: Json): z.ZodSafeParseResult<Fields> {
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
