/**
 * The one way to the server: same origin, the session's cookie, and its proof with every request, reading or not.
 *
 * Invariant: an answer that is no success is a thrown `Problem`; a 401 anywhere ends the session here too, and the page
 * stays as it is behind the sign-in.
 */
import { Problem, problemOf } from "./problem.ts";
import { hearTime } from "./server-time.ts";

/** Where the proof is kept (proof.ts). */
interface Proving {
  readonly proof: () => string | undefined;
  /** The server saw the cookie without it. */
  readonly refused: () => void;
}

let proving: Proving | undefined;
let onSignedOut: (() => void) | undefined;

export function proveWith(where: Proving): void {
  proving = where;
}

export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export type Method = "GET" | "POST" | "PUT" | "DELETE" | "PATCH";

/** @throws Problem */
export async function request<Answer>(method: Method, path: string, options: RequestOptions = {}): Promise<Answer> {
  const response = await good(method, path, options);
  // The caller names the answer's type; the server's own tests hold it to its schema.
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

/** The answer, when it is a success. @throws Problem */
export async function good(method: Method, path: string, options: RequestOptions = {}): Promise<Response> {
  const response = await send(method, path, options);
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.code === "csrf_refused") proving?.refused();
  // A wrong password is no end of a session.
  if (response.status === 401 && problem.code !== "sign_in_refused" && path !== "/v1/session") onSignedOut?.();
  throw problem;
}

export function get<Answer>(path: string, options?: RequestOptions): Promise<Answer> {
  return request<Answer>("GET", path, options);
}

export function post<Answer>(path: string, body?: unknown, options?: RequestOptions): Promise<Answer> {
  return request<Answer>("POST", path, { ...options, body: body ?? {} });
}

/** The raw answer, for what is no JSON. @throws Problem when nobody answers */
export async function send(method: Method, path: string, options: RequestOptions = {}): Promise<Response> {
  const { query = {}, body, signal, headers } = options;
  const search = new URLSearchParams();
  const csrf = proving?.proof();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const target = search.size === 0 ? path : `${path}?${search}`;
  const sentMs = Date.now();
  try {
    const response = await fetch(target, {
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
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    hearTime(response.headers.get("date"), sentMs, Date.now());
    return response;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Problem("unreachable", "Postern does not answer. Is it running?", 0);
  }
}
