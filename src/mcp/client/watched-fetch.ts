import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { boundedBody } from "./bounded-body.ts";
import { currentExchange } from "./exchange.ts";
import { httpFetch } from "./http-client.ts";
import { type HttpReader, heardEvents, heardJson } from "./http-messages.ts";
import type { AwaitedRequests, ServerWire } from "./server-wire.ts";

export interface WatchedFetchParts {
  readonly wire: ServerWire;
  /** What one message may have. */
  readonly limitBytes: number;
  /** Told when the server takes requests again, in milliseconds of the wall clock, of what is no tool call. */
  readonly onWait?: (until: number) => void;
  readonly clock: { now(): number; in(ms: number, then: () => void): () => void };
}

/** `fetch` for the SDK's transport: bounded, without limits of time, and with each message read as `ServerWire` reads it. */
export function watchedFetch(parts: WatchedFetchParts): typeof fetch {
  return async (url, init) => {
    const exchange = currentExchange();
    if (exchange !== undefined) {
      if (init?.method === "GET") exchange.resuming();
      exchange.sent = true;
    }
    const response = await httpFetch(url, init);
    if (response.status >= 300 && response.status < 400) return response; // where a redirect leads, the SDK asks the response itself
    const resetsAt = response.ok ? undefined : retryAfterOf(response, parts.clock);
    if (exchange !== undefined) exchange.resetsAt = resetsAt ?? exchange.resetsAt;
    else if (resetsAt !== undefined) parts.onWait?.(resetsAt);
    const asked: AwaitedRequests = {
      only: () => requestIn(init?.body),
      isAwaited: () => true,
      exchange: () => exchange,
    };
    return heard(response, { wire: parts.wire, asked, exchange }, parts);
  };
}

function heard(response: Response, hearing: HttpReader, parts: WatchedFetchParts): Response {
  const { body, headers, status, statusText, ok } = response;
  const { exchange, asked, wire } = hearing;
  if (body === null || status === 202 || status === 204) {
    const id = ok ? asked.only() : undefined;
    return id === undefined ? response : Response.json(wire.unreadable(id, `is empty (HTTP ${status})`, asked));
  }
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
  const bounded = boundedBody(body, {
    limitBytes: parts.limitBytes,
    isStream,
    request: asked.only,
    pause: () => pauseOf(parts),
    onTooLarge: () => {
      if (exchange !== undefined && ok) exchange.tooLarge = true;
    },
    ...(ok && { read: readerOf(headers, hearing) }),
  });
  const followed = exchange === undefined || !isStream ? bounded : exchange.follow(bounded);
  return new Response(followed, { headers, status, statusText });
}

function readerOf(headers: Headers, hearing: HttpReader): (messages: Buffer) => Promise<Buffer> {
  const type = headers.get("content-type") ?? "";
  if (type.startsWith("text/event-stream")) return (events) => heardEvents(events, hearing);
  const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(type);
  return async (body) => (isJson && hearing.asked.only() !== undefined ? heardJson(body, hearing) : body);
}

/** How long nothing more is read of a server that sent too much. */
export function pauseOf({ wire, clock }: WatchedFetchParts): Promise<void> | undefined {
  const { pauseMs } = wire.inflow;
  return pauseMs === 0 ? undefined : new Promise((resolve) => void clock.in(pauseMs, resolve));
}

/** `Retry-After`, of a status that says that nothing was done: seconds, or a date. */
export function retryAfterOf({ status, headers }: Response, clock: { now(): number }): number | undefined {
  const said = headers.get("retry-after")?.trim();
  if (said === undefined || (status !== 429 && status !== 503)) return undefined;
  const at = /^\d+(?:\.\d+)?$/.test(said) ? clock.now() + Number(said) * 1_000 : Date.parse(said);
  return Number.isFinite(at) ? Math.round(at) : undefined;
}

/** The body is the SDK's own JSON; a request without one only listens. */
function requestIn(body: unknown): number | string | undefined {
  if (typeof body !== "string") return undefined;
  const message = JSON.parse(body) as Json; // it makes nothing but JSON
  const { id, method } = isJsonObject(message) ? message : ({} as JsonObject);
  return method !== undefined && (typeof id === "number" || typeof id === "string") ? id : undefined;
}
