/**
 * `fetch` for the SDK's transports: without limits of time, with a limit on each message, and with each message read as
 * `IncomingMessages` reads it.
 */

import { isJsonObject, type Json, type JsonObject } from "@postern/core";
import { Agent, type Dispatcher, EnvHttpProxyAgent, fetch as undiciFetch } from "undici";
import type { UpstreamRpcError } from "../../tools/rpc-error.ts";
import { isMessageId } from "../protocol/peer.ts";
import { boundedBody } from "./bounded-body.ts";
import type { Exchange, PendingRequests } from "./exchange.ts";
import type { AwaitedRequests, IncomingMessages } from "./incoming-messages.ts";
import { errorOf } from "./server-message.ts";

/** A call may take as long as its own limit allows, so the library's five minutes do not apply. */
const noLimit = { headersTimeout: 0, bodyTimeout: 0 };
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

const agents = new Map<string, Dispatcher>();

/** `fetch` without a limit of time, through `HTTPS_PROXY` or `HTTP_PROXY` unless `NO_PROXY` excludes the host. */
export const httpFetch: typeof fetch = (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const dispatcher = loopback.test(url.hostname)
    ? agentFor("direct", () => new Agent(noLimit))
    : agentFor("environment", () => new EnvHttpProxyAgent(noLimit));
  const send = undiciFetch as unknown as (url: URL, init: object) => Promise<Response>; // the same standard, with types of its own
  return send(url, { ...init, dispatcher });
};

/** One agent for the process, because it keeps connections open. */
function agentFor(name: string, make: () => Dispatcher): Dispatcher {
  const agent = agents.get(name) ?? make();
  agents.set(name, agent);
  return agent;
}

export interface BoundedFetchOptions {
  readonly incoming: IncomingMessages;
  readonly pending: PendingRequests;
  /** The most bytes of one message. */
  readonly limitBytes: number;
  /** Called with when the server takes requests again, in milliseconds of the wall clock, unless a tool call was refused. */
  readonly onWait?: (until: number) => void;
  readonly clock: { now(): number; in(ms: number, then: () => void): () => void };
}

/** `fetch` for Streamable HTTP, where each response answers the request it belongs to. */
export function boundedFetch(options: BoundedFetchOptions): typeof fetch {
  return async (url, init) => {
    const request = requestIn(init?.body);
    const isResumed = init?.method === "GET";
    const exchange = isResumed
      ? options.pending.resumed(new Headers(init.headers).get("last-event-id") ?? "")
      : request && options.pending.exchange(request.id);
    if (isResumed) exchange?.resuming();
    else exchange?.sending();
    const response = await httpFetch(url, init);
    if (response.status >= 300 && response.status < 400) return response; // the SDK reads the redirect itself
    const resetsAt = response.ok ? undefined : retryAfterOf(response, options.clock);
    if (exchange !== undefined) exchange.resetsAt = resetsAt ?? exchange.resetsAt;
    else if (resetsAt !== undefined) options.onWait?.(resetsAt);
    const { incoming, pending } = options;
    const awaited: AwaitedRequests = {
      only: () => request?.id,
      isAwaited: () => true, // a body that answers another request is unreadable
      exchange: () => exchange,
      call: () => exchange ?? (request === undefined ? pending.call() : undefined), // the stream that belongs to no request
    };
    return boundedResponse(response, { incoming, pending, awaited, exchange }, options);
  };
}

function boundedResponse(response: Response, reader: HttpReader, options: BoundedFetchOptions): Response {
  const { body, headers, status, statusText, ok } = response;
  const { exchange, awaited, incoming } = reader;
  if (body === null || status === 202 || status === 204) {
    const id = ok ? awaited.only() : undefined;
    return id === undefined ? response : Response.json(incoming.unreadable(id, `is empty (HTTP ${status})`, awaited));
  }
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
  const bounded = boundedBody(body, {
    limitBytes: options.limitBytes,
    isStream,
    request: awaited.only,
    pause: () => pauseOf(options),
    onTooLarge: () => {
      if (exchange !== undefined && ok) exchange.tooLarge = true;
    },
    read: ok ? bodyReader(headers, reader) : refusalReader(status, reader),
  });
  const followed = exchange === undefined || !isStream ? bounded : exchange.follow(bounded);
  return new Response(followed, { headers, status, statusText });
}

function bodyReader(headers: Headers, reader: HttpReader): (messages: Buffer) => Promise<Buffer> {
  const type = headers.get("content-type") ?? "";
  if (type.startsWith("text/event-stream")) {
    const id = reader.awaited.only();
    const isAwaited = (other: RequestId): boolean => id === undefined || String(other) === String(id);
    return (events) => readEvents(events, { ...reader, awaited: { ...reader.awaited, isAwaited } });
  }
  const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(type);
  return async (body) => (isJson && reader.awaited.only() !== undefined ? readJson(body, reader) : body);
}

function refusalReader(status: number, { exchange, awaited }: HttpReader): (body: Buffer) => Promise<Buffer> {
  return async (body) => {
    if (exchange !== undefined)
      exchange.refused = refusalIn(body.toString("utf8"), status, awaited.only()) ?? exchange.refused;
    return body;
  };
}

/** A proxy in front of the server answers with these; they do not tell whether the tool ran. */
const ofProxies: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * The JSON-RPC error in the body of a status that refuses a call: JSON, or events. Returns undefined for the error of another
 * request, and of a status from 500 on unless it names this request.
 */
export function refusalIn(body: string, status: number, id: RequestId | undefined): UpstreamRpcError | undefined {
  const lines = body.split(/\r\n|\n|\r/).filter((line) => line.startsWith("data:"));
  const message = parsed(lines.length === 0 ? body : lines.map((line) => line.slice(5)).join("\n"));
  if (!isJsonObject(message) || (message["error"] ?? null) === null || ofProxies.has(status)) return undefined;
  const { jsonrpc, error = null, id: own = null } = message;
  if (own === null ? status >= 500 : id !== undefined && String(own) !== String(id)) return undefined;
  const isPlain = isJsonObject(error) && typeof error["code"] === "number" && typeof error["message"] === "string";
  return jsonrpc === "2.0" || isPlain ? (errorOf(error) as unknown as UpstreamRpcError) : undefined; // it has that form
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json; // JSON.parse returns only JSON
  } catch {
    return null; // it is a page for people
  }
}

/** How long nothing more is read from a server that sent too much. */
export function pauseOf({ incoming, clock }: BoundedFetchOptions): Promise<void> | undefined {
  const { pauseMs } = incoming.inflow;
  return pauseMs === 0 ? undefined : new Promise((resolve) => void clock.in(pauseMs, resolve));
}

/** `Retry-After` of a status that says that nothing was done: seconds, or a date. */
export function retryAfterOf(
  { status, headers }: Pick<Response, "status" | "headers">,
  clock: { now(): number },
): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || (status !== 429 && status !== 503)) return undefined;
  const at = /^\d+(?:\.\d+)?$/.test(value) ? clock.now() + Number(value) * 1_000 : Date.parse(value);
  return Number.isFinite(at) ? Math.round(at) : undefined;
}

/** The body is the SDK's own JSON. A request without a body only listens. */
export function requestIn(body: unknown): { readonly id: RequestId; readonly method: string } | undefined {
  if (typeof body !== "string") return undefined;
  const message = JSON.parse(body) as Json; // JSON.parse returns only JSON
  const { id, method } = isJsonObject(message) ? message : ({} as JsonObject);
  return typeof method === "string" && (typeof id === "number" || typeof id === "string") ? { id, method } : undefined;
}

type RequestId = number | string;

interface HttpReader {
  readonly incoming: IncomingMessages;
  readonly pending: PendingRequests;
  readonly awaited: AwaitedRequests;
  readonly exchange: Exchange | undefined;
}

/** The body of a JSON answer, as the SDK can read it. */
async function readJson(body: Buffer, { incoming, awaited }: HttpReader): Promise<Buffer> {
  const { messages, asSent } = await incoming.readLarge(body, awaited);
  const [first] = messages;
  const id = awaited.only();
  if (messages.length === 1 && Number(first?.["id"]) !== Number(id) && typeof id === "number") {
    const other = JSON.stringify(first?.["id"] ?? null);
    const why = `has the \`id\` ${other}, the request has ${id}`;
    return Buffer.from(JSON.stringify(incoming.unreadable(id, why, awaited)));
  }
  if (asSent) return body;
  if (first !== undefined) return Buffer.from(JSON.stringify(messages.length === 1 ? first : messages));
  const what = body.length === 0 ? "is empty" : `is not a JSON-RPC message: \`${body.toString("utf8", 0, 60)}\``;
  const error = incoming.unreadable(awaited.only(), what, awaited);
  return error === undefined ? body : Buffer.from(JSON.stringify(error));
}

const division = /(\r\n\r\n|\n\n|\r\r)/;

/** Whole server-sent events, without those that nothing here reads. */
export async function readEvents(events: Buffer, reader: HttpReader): Promise<Buffer> {
  const pieces = events.toString("utf8").split(division);
  let isSame = true;
  let text = "";
  for (let at = 0; at < pieces.length; at += 2) {
    const event = pieces[at] ?? "";
    const end = pieces[at + 1] ?? "";
    const read = await readEvent(event, reader);
    isSame &&= read === event;
    if (read !== "") text += read + end;
  }
  return isSame ? events : Buffer.from(text);
}

const field = /^(id|retry|event|data)(?::[ ]?(.*))?$/;

async function readEvent(event: string, { incoming, pending, awaited, exchange }: HttpReader): Promise<string> {
  const others: string[] = [];
  const data: string[] = [];
  let type = "message";
  for (const line of event.split(/\r\n|\n|\r/)) {
    const [, name, value = ""] = field.exec(line) ?? [];
    if (name === "data") data.push(value);
    else others.push(line);
    if (name === "event" && value !== "") type = value;
    if (name === "id" && value !== "" && exchange !== undefined) pending.resumable(exchange, value);
    if (name === "retry" && /^\d+$/.test(value)) exchange?.retryAfter(Number(value));
  }
  if (data.join("") === "" || type !== "message") return event;
  const { messages, asSent } = await incoming.readLarge(Buffer.from(data.join("\n")), awaited);
  for (const { id, method } of messages)
    if (method !== undefined && isMessageId(id) && exchange !== undefined) pending.asks(id, exchange);
  if (asSent) return event;
  const kept = others.filter((line) => line !== "").join("\n");
  const head = kept === "" ? "" : `${kept}\n`;
  if (messages.length === 0) return kept === "" ? "" : `${head}data: `; // its id is where the stream is resumed
  return messages.map((message) => `${head}data: ${JSON.stringify(message)}`).join("\n\n");
}
