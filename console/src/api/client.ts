/**
 * The one way to the server: same origin, with the session's cookie and its proof. Routes are named as the contract has
 * them, and their types come from it.
 *
 * Invariant: an answer that is not a success is a thrown `Problem`. A 401 ends the session here too; the page stays as
 * it is behind the sign-in.
 */
import type { AnswerOf, Contract, SentTo } from "@postern/core/contract";
import { refusalText } from "./command-name.ts";
import { proof, proofRefused } from "./proof.ts";
import { noteServerTime } from "./server-time.ts";

/** What the server refused: `code` is stable, `message` is a sentence for a person, `body` may hold more. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: string;
  readonly status: number;
  readonly body: unknown;

  constructor(code: string, message: string, status: number, body?: unknown) {
    super(message);
    this.code = code;
    this.status = status;
    this.body = body;
  }
}

type AnyRoute = { [Group in keyof Contract]: Contract[Group][keyof Contract[Group]] }[keyof Contract];
/** Method and path, as in `GET /v1/approvals/{id}`. */
type Routes = { readonly [Route in AnyRoute as `${Uppercase<Route["method"]>} ${Route["path"]}`]: Route };

export type RouteName = keyof Routes;
export type Sent<Name extends RouteName> = SentTo<Routes[Name]>;
export type Answer<Name extends RouteName> = AnswerOf<Routes[Name]>;

type Asked<Name extends RouteName> =
  object extends Sent<Name>
    ? readonly [sent?: Sent<Name>, signal?: AbortSignal]
    : readonly [sent: Sent<Name>, signal?: AbortSignal];

/** Asks a route. `sent` holds the parts of the path, the query and the body, beside each other. @throws Problem */
export async function ask<Name extends RouteName>(name: Name, ...asked: Asked<Name>): Promise<Answer<Name>> {
  const [sent, signal] = asked as readonly [sent?: object, signal?: AbortSignal];
  return (await askRoute(name, sent, signal)) as Answer<Name>; // the server's tests hold every answer to its schema
}

/** `ask` for a caller that has checked the types by itself. */
export async function askRoute(name: string, sent: object = {}, signal?: AbortSignal): Promise<unknown> {
  const [method = "", pattern = ""] = name.split(" ");
  const rest = new Map<string, unknown>(Object.entries(sent));
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, part: string) => {
    const value = String(rest.get(part));
    rest.delete(part);
    return encodeURIComponent(value);
  });
  const inAddress = method === "GET" || method === "DELETE";
  const response = inAddress
    ? await request(method, `${path}${searchOf(rest)}`, { signal })
    : await request(method, path, { signal, body: JSON.stringify(Object.fromEntries(rest)) });
  return response.status === 204 ? undefined : response.json();
}

function searchOf(query: ReadonlyMap<string, unknown>): string {
  const search = new URLSearchParams();
  for (const [name, value] of query) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? "" : `?${search}`;
}

interface RequestOptions {
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The answer, when it is a success. @throws Problem */
export async function request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const response = await send(method, path, options);
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.code === "csrf_refused") proofRefused();
  // A wrong password does not end a session.
  if (response.status === 401 && problem.code !== "sign_in_refused" && path !== "/v1/session") onSignedOut?.();
  throw problem;
}

/** The answer, whatever its status. @throws Problem when the server does not answer */
export async function send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const { body, signal, headers } = options;
  const csrf = proof();
  const sentMs = Date.now();
  try {
    const response = await fetch(path, {
      method,
      credentials: "same-origin",
      redirect: "error",
      ...(signal !== undefined && { signal }),
      headers: {
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(csrf !== undefined && { "x-postern-csrf": csrf }),
        ...headers,
      },
      ...(body !== undefined && { body }),
    });
    noteServerTime(response.headers.get("date"), sentMs, Date.now());
    return response;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Problem("unreachable", "Postern does not answer. Is it running?", 0);
  }
}

let onSignedOut: (() => void) | undefined;

export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

export async function problemOf(response: Response): Promise<Problem> {
  const { status } = response;
  const body: unknown = await response.json().catch(() => undefined); // without JSON, the status says it
  // A refused call has an outcome.
  const { code, message } = { ...memberOf(body, "refusal"), ...memberOf(body, "error") } as {
    readonly code?: unknown;
    readonly message?: unknown;
  };
  const known = typeof code === "string" ? code : undefined;
  const text = typeof message === "string" ? refusalText(known, message) : `The server answered ${status}.`;
  return new Problem(known ?? `http_${status}`, text, status, body);
}

/** A member that is an object; an empty object when there is none. */
function memberOf(value: unknown, name: string): object {
  const member: unknown = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  return typeof member === "object" && member !== null ? member : {};
}

/** What to show a person. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
