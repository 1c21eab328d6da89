import { name } from "@postern/core/contract";
import type { Context } from "hono";
import type { Tries } from "../../identity/tries.ts";
import type { Who } from "../credentials.ts";
import { problem } from "./answers.ts";
import { readJson, readText } from "./request-body.ts";
import type { Route, ServerContext } from "./route.ts";

/** What is known of a request when it reaches its route. */
export interface Env {
  readonly Bindings: { readonly by: Who | undefined; readonly origin: string; readonly address: string };
}

export interface DispatchOptions {
  readonly context: ServerContext;
  readonly maxBodyBytes: number;
  /** Counts refused decisions by credential, or by address if there is none. */
  readonly guesses: Tries;
}

/** One request at its route. */
export async function dispatch(
  route: Route,
  { req, env: { by, origin, address } }: Context<Env>,
  { context, maxBodyBytes, guesses }: DispatchOptions,
): Promise<Response> {
  const named = new Map(Object.entries<string>(req.param()));
  const odd = [...named].find(([, part]) => !name.safeParse(part).success);
  if (odd !== undefined) {
    return problem(
      "request_invalid",
      `The \`${odd[0]}\` in the path is longer than 256 characters or holds a control character.`,
    );
  }
  const guesser = guesserOf(route, by, address);
  if (guesser !== undefined && guesses.isOver(guesser))
    return problem("too_many_attempts", "Too many decisions were refused; wait a second.", {
      headers: { "retry-after": "1" },
    });
  const refused = (): void => {
    if (guesser !== undefined) guesses.count(guesser);
  };
  const { signal, leave } = untilEnded(req.raw, by);
  const answered = await route.handle({
    ...context,
    by,
    origin,
    address,
    read: () => readJson(req.raw, maxBodyBytes),
    readText: (maxBytes) => readText(req.raw, maxBytes),
    search: new URL(req.url).searchParams,
    part: (name) => named.get(name) ?? "",
    headers: req.raw.headers,
    signal,
    refused,
  });
  if (isRefusal(route, answered.status)) refused();
  if (answered.headers.get("content-type")?.startsWith("text/event-stream") !== true) leave();
  return answered;
}

/** For a known caller each client error counts; at an open route only missing rights and unknown names do. */
function isRefusal({ needs }: Route, status: number): boolean {
  return needs === "approvals:decide"
    ? status >= 400 && status < 500
    : status === 401 || status === 403 || status === 404;
}

/** The name under which refusals are counted. Returns undefined where nothing is decided. */
function guesserOf({ needs, countsRefusals }: Route, by: Who | undefined, address: string): string | undefined {
  if (needs === "approvals:decide") return by?.decider.via ?? address;
  return countsRefusals === true ? address : undefined;
}

/**
 * A read ends with its credential. A call or a decision that started under a valid credential goes on: an effect cut in
 * half would be worse than a finished one.
 */
function untilEnded(
  { method, signal }: Request,
  by: Who | undefined,
): { readonly signal: AbortSignal; readonly leave: () => void } {
  if (method !== "GET" || by?.whenEnded === undefined) return { signal, leave: () => {} };
  const controller = new AbortController();
  const leave = by.whenEnded(() => controller.abort());
  signal.addEventListener("abort", leave, { once: true });
  return { signal: AbortSignal.any([signal, controller.signal]), leave };
}
