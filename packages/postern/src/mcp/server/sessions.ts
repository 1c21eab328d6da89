import { randomUUID } from "node:crypto";
import { type Clock, isJsonObject, type JsonObject } from "@postern/core";
import type { HttpExchange } from "../protocol/http-exchange.ts";
import { isMessageId, type MessageKind, Peer } from "../protocol/peer.ts";
import { answering, type DispatchParts } from "./dispatcher.ts";
import { idUnderWay, rpcError } from "./message.ts";
import { type AcceptedForms, acceptedBy, answerJson, EventStream, HttpReply } from "./reply.ts";
import { type ClientSession, callerKey, ofLargestOwner, ownerOf, type RequestSource } from "./request-source.ts";
import { checkSessionRevision } from "./revision.ts";

const idleMs = 3_600_000;
const atMost = 1_000;
/** Sessions of one agent. One more closes its own oldest one. */
const atMostOfOne = 100;

interface McpSession {
  readonly id: string;
  readonly peer: Peer<RequestSource>;
  readonly sourceKey: string;
  readonly owner: string;
  readonly client: ClientSession;
  readonly replies: Set<HttpReply>;
  /** What belongs to no request is told here. */
  stream: EventStream | undefined;
  /** Monotonic milliseconds. */
  lastSeen: number;
}

export interface SessionMessage {
  readonly message: JsonObject;
  readonly kind: MessageKind;
  readonly source: RequestSource;
  readonly accepted: AcceptedForms;
}

/**
 * Revision 2025-11-25 over HTTP: one protocol session a client. A session grants nothing: it answers only the caller that
 * opened it, at the endpoint where it was opened. Calls of one agent never end because of sessions of another.
 */
export class McpSessions {
  readonly #clock: Clock;
  readonly #parts: DispatchParts;
  readonly #sessions = new Map<string, McpSession>();

  constructor(parts: DispatchParts) {
    this.#clock = parts.clock;
    this.#parts = parts;
  }

  /** A message by POST. */
  receive(exchange: HttpExchange, given: SessionMessage): void {
    const { message, kind, source, accepted } = given;
    const begins = kind === "request" && message["method"] === "initialize";
    const id = exchange.header("mcp-session-id");
    const session = id === undefined ? undefined : this.#own(id, source);
    if (session === undefined && begins) return void this.#open(exchange, given); // some clients keep the header of an ended session
    if (session === undefined)
      return void refuse(exchange, id === undefined ? [400, needsInitialize] : [404, noSession]);
    session.lastSeen = this.#clock.monotonic();
    if (begins) return void refuse(exchange, [400, "The session has begun already; `initialize` is sent once."]);
    checkSessionRevision(exchange.header);
    const sent = { ...source, session: session.client };
    if (kind !== "request") {
      session.peer.receive(message, sent);
      exchange.answer(202, {});
      return;
    }
    const requestId = message["id"];
    if (isMessageId(requestId) && session.peer.isRunning(requestId))
      return void answerJson(exchange, 400, idUnderWay(requestId));
    session.peer.receive(message, sent, this.#replyOf(session, exchange, accepted).send);
  }

  /** Any method but POST. */
  handle(exchange: HttpExchange, source: RequestSource): void {
    const id = exchange.header("mcp-session-id");
    if (id === undefined) return void exchange.answer(405, { allow: "POST" });
    const session = this.#own(id, source);
    if (session === undefined) return void refuse(exchange, [404, noSession]);
    session.lastSeen = this.#clock.monotonic();
    if (exchange.method === "DELETE") {
      this.#end(session);
      exchange.answer(200, {});
    } else if (exchange.method === "GET") this.#listen(session, exchange);
    else exchange.answer(405, { allow: "POST, GET, DELETE" });
  }

  /** Postern stops. */
  close(): void {
    for (const session of this.#sessions.values()) this.#end(session, "Postern stops.");
  }

  #own(id: string, source: RequestSource): McpSession | undefined {
    const session = this.#sessions.get(id);
    return session?.sourceKey === keyOf(source) ? session : undefined;
  }

  #listen(session: McpSession, exchange: HttpExchange): void {
    if (acceptedBy(exchange)?.stream !== true)
      return void refuse(exchange, [406, "A stream of events is answered; send `Accept: text/event-stream`."]);
    if (session.stream !== undefined) return void refuse(exchange, [409, "This session has an open stream already."]);
    const stream = new EventStream(exchange, this.#clock, { "mcp-session-id": session.id });
    session.stream = stream;
    exchange.onGone(() => {
      session.stream = undefined;
    });
  }

  #open(exchange: HttpExchange, { message, source, accepted }: SessionMessage): void {
    const problem = openingProblem(message["params"]);
    if (problem !== undefined) return void answerJson(exchange, 400, rpcError(-32_602, problem, idOf(message)));
    const owner = ownerOf(source);
    if (!this.#makeRoom(owner))
      return void refuse(exchange, [503, `${atMost} sessions are open, each with a call under way; try again later.`]);
    const capabilities = (message["params"] as JsonObject)["capabilities"] as JsonObject; // checked
    const session: McpSession = {
      client: this.#parts.subscriptions.begin(source, capabilities, (...told) => session.peer.tell(...told)),
      ...{ id: randomUUID(), sourceKey: keyOf(source), owner, replies: new Set(), stream: undefined },
      lastSeen: this.#clock.monotonic(),
      peer: new Peer({
        send: (told) => session.stream?.send(told),
        answer: answering(true, this.#parts),
      }),
    };
    this.#sessions.set(session.id, session);
    session.peer.receive(message, source, this.#replyOf(session, exchange, accepted).send);
  }

  #replyOf(session: McpSession, exchange: HttpExchange, accepted: AcceptedForms): HttpReply {
    const reply: HttpReply = new HttpReply(exchange, {
      ...{ accepted, clock: this.#clock, headers: { "mcp-session-id": session.id } },
      onOver: () => session.replies.delete(reply),
    });
    session.replies.add(reply);
    return reply;
  }

  /**
   * Closes idle sessions, then the oldest session of an agent with too many, then the oldest of the agent with the most. A
   * client whose session is closed receives a 404 and opens another. Returns false when every session has an open call.
   */
  #makeRoom(owner: string): boolean {
    const since = this.#clock.monotonic() - idleMs;
    for (const session of this.#sessions.values()) if (session.lastSeen <= since) this.#end(session); // no call takes so long
    const own = byAge([...this.#sessions.values()].filter((session) => session.owner === owner));
    if (own.length >= atMostOfOne) this.#end(own.find(isQuiet) ?? own[0]);
    if (this.#sessions.size < atMost) return true;
    const last = oldestOfLargestOwner([...this.#sessions.values()].filter(isQuiet));
    this.#end(last);
    return last !== undefined;
  }

  #end(session: McpSession | undefined, why = "The session was closed."): void {
    if (session === undefined || !this.#sessions.delete(session.id)) return;
    this.#parts.subscriptions.end(session.client);
    session.peer.close(new Error(why));
    session.stream?.end(why);
    for (const reply of session.replies) reply.breakOff(rpcError(-32_000, why));
  }
}

const noSession = "This session does not exist; send `initialize` again.";
const needsInitialize =
  "Without a session only `initialize` is answered; send its answer's `Mcp-Session-Id` with every request.";

/** What is wrong with the parameters of `initialize`, in a sentence. */
function openingProblem(params: unknown): string | undefined {
  const { protocolVersion, capabilities, clientInfo } = isJsonObject(params) ? params : ({} as JsonObject);
  if (typeof protocolVersion !== "string") return "`initialize` needs `protocolVersion`, a text.";
  if (!isJsonObject(capabilities)) return "`initialize` needs `capabilities`, an object.";
  const { name, version } = isJsonObject(clientInfo) ? clientInfo : ({} as JsonObject);
  if (typeof name === "string" && typeof version === "string") return undefined;
  return "`initialize` needs `clientInfo` with `name` and `version`, texts.";
}

function idOf({ id }: JsonObject): string | number | null {
  return isMessageId(id) ? id : null;
}

function refuse(exchange: HttpExchange, [status, message]: readonly [number, string]): void {
  answerJson(exchange, status, rpcError(status === 404 ? -32_001 : -32_000, message));
}

function isQuiet({ peer }: McpSession): boolean {
  return !peer.isBusy;
}

function byAge(sessions: readonly McpSession[]): readonly McpSession[] {
  return sessions.toSorted((one, other) => one.lastSeen - other.lastSeen);
}

function oldestOfLargestOwner(sessions: readonly McpSession[]): McpSession | undefined {
  return byAge(ofLargestOwner(sessions))[0];
}

/** The caller's rights may change during a session; the caller and the endpoint may not. */
function keyOf({ caller: { principal }, server, mode }: RequestSource): string {
  return `${server ?? ""}\n${mode ?? ""}\n${callerKey({ principal, scopes: [] })}`;
}
