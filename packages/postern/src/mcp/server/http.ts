import { isJsonObject, type Json, type JsonObject, refusals } from "@postern/core";
import type { HttpExchange } from "../protocol/http-exchange.ts";
import { kindOf, type MessageKind, Peer, RpcFault, rpcCodes } from "../protocol/peer.ts";
import { newest } from "../protocol/revisions.ts";
import { answering, type DispatchParts, hasMethod, noMethod } from "./dispatcher.ts";
import { invalidParams, type RpcError, readMessage, rpcError } from "./message.ts";
import { isServer, targetOf } from "./offer.ts";
import { type AcceptedForms, acceptedBy, answerJson, HttpReply } from "./reply.ts";
import type { EndpointMode, RequestSource } from "./request-source.ts";
import { checkHeaders, checkParameterHeaders, checkStated, headerIsNew, statesRevision } from "./revision.ts";
import { McpSessions } from "./sessions.ts";

/** MCP over Streamable HTTP: each POST holds one message. A request that states its revision needs no session. */
export class HttpEntry {
  readonly #parts: DispatchParts;
  readonly #sessions: McpSessions;
  readonly #answer: ReturnType<typeof answering>;
  readonly #open = new Set<HttpReply>();

  constructor(parts: DispatchParts) {
    this.#parts = parts;
    this.#sessions = new McpSessions(parts);
    this.#answer = answering(false, parts);
  }

  /** @param mode as the address states it */
  receive(exchange: HttpExchange, given: RequestSource, mode?: string): void {
    const { server } = given;
    if (server !== undefined && !isServer(this.#parts.runtime, server))
      return void answerJson(exchange, 404, rpcError(-32_001, noServer(server)));
    if (mode !== undefined && !isMode(mode)) return void answerJson(exchange, 400, rpcError(-32_000, noMode(mode)));
    const source = { ...given, mode };
    const { draining } = this.#parts.runtime;
    if (draining && exchange.method === "GET") return void refuseLate(exchange, null);
    if (exchange.method !== "POST") return void this.#sessions.handle(exchange, source);
    const read = readMessage(exchange.body);
    if ("refused" in read) return void refuse(exchange, read.refused);
    const { message } = read;
    const kind = kindOf(message);
    if (kind === undefined || !isJsonObject(message))
      return void refuse(exchange, rpcError(rpcCodes.invalidRequest, "The body is not a JSON-RPC 2.0 message."));
    if (draining && begins.has(String(message["method"]))) return void refuseLate(exchange, message["id"] ?? null);
    const accepted = acceptedBy(exchange);
    if (accepted === undefined) return void answerJson(exchange, 406, rpcError(-32_000, notAcceptable));
    if (!/^application\/json *(?:;|$)/i.test(exchange.header("content-type") ?? ""))
      return void answerJson(exchange, 415, rpcError(-32_000, "The body must be `application/json`."));
    try {
      if (isNew(message, kind, exchange)) this.#receiveNew(exchange, { message, kind, source, accepted });
      else this.#sessions.receive(exchange, { message, kind, source, accepted });
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      answerJson(exchange, statusOf(error.code), errorAnswer(message, error));
    }
  }

  close(): void {
    this.#sessions.close();
    for (const reply of this.#open) reply.breakOff(rpcError(-32_000, "Postern stops."));
  }

  #receiveNew(exchange: HttpExchange, { message, kind, source, accepted }: NewMessage): void {
    const { params, method } = message;
    // A request states its revision.
    if (kind === "request") checkStated((params as JsonObject)["_meta"] as JsonObject, exchange.header);
    checkHeaders(message, exchange.header);
    if (kind !== "request") return void exchange.answer(202, {}); // nothing here waits for one
    if (!hasMethod(String(method), false)) throw noMethod(String(method));
    if (method === "tools/call") this.#checkArguments(params as JsonObject, exchange, source);
    const reply: HttpReply = new HttpReply(exchange, {
      ...{ accepted, clock: this.#parts.clock, statusOf: statusOfAnswer },
      ...{ staysOpen: method === "subscriptions/listen", onOver: () => this.#open.delete(reply) },
    });
    this.#open.add(reply);
    const peer = new Peer({ send: reply.send, answer: this.#answer });
    exchange.onGone(() => {
      this.#open.delete(reply);
      peer.close(new Error("The client closed the connection."));
    });
    peer.receive(message, source);
  }

  #checkArguments({ name, arguments: given }: JsonObject, { header }: HttpExchange, source: RequestSource): void {
    const { runtime } = this.#parts;
    const target = targetOf(runtime, source, String(name));
    if (source.mode !== undefined) return; // the tools of a mode name no headers
    const schema = runtime.tools.offer(target.tool, target.action)?.inputSchema;
    if (schema !== undefined) checkParameterHeaders(schema, given, header);
  }
}

interface NewMessage {
  readonly message: JsonObject;
  readonly kind: MessageKind;
  readonly source: RequestSource;
  readonly accepted: AcceptedForms;
}

/**
 * Whether the message is of revision 2026-07-28.
 *
 * @throws RpcFault when its header says so, and its body does not
 */
function isNew({ method, params }: JsonObject, kind: MessageKind, { header }: HttpExchange): boolean {
  if (kind === "answer") return false;
  if (statesRevision(params)) return true;
  if (!headerIsNew(header)) return false;
  if (kind === "notification") return true;
  if (method === "initialize")
    throw new RpcFault(
      rpcCodes.headerMismatch,
      `\`initialize\` is of older revisions, and \`MCP-Protocol-Version\` states ${newest}.`,
      { mismatch: { header: newest, body: "initialize" } },
    );
  checkStated({});
  return true;
}

const notAcceptable =
  "Answers are `application/json` or `text/event-stream`, and `Accept` names neither; send `Accept: application/json, text/event-stream`.";

/** The status of a request that is refused before it is answered. */
function statusOf(code: number): number {
  return code === rpcCodes.methodNotFound ? 404 : 400;
}

/** An error of an answer is the payload, and its status 200, with the one exception that the protocol makes. */
function statusOfAnswer(code: unknown): number {
  return code === rpcCodes.capabilityMissing ? 400 : 200;
}

/** Requests that begin something. Others, such as the answers that a running call waits for, are taken until the end. */
const begins: ReadonlySet<string> = new Set(["tools/call", "initialize", "subscriptions/listen"]);

function refuseLate(exchange: HttpExchange, id: Json): void {
  const { message, retry } = refusals.draining;
  const error = { code: -32_000, message, data: { code: "draining", retry } };
  answerJson(exchange, 503, { jsonrpc: "2.0", id, error }, { "retry-after": "5" });
}

function refuse(exchange: HttpExchange, refused: RpcError): void {
  // A client of 2025-11-25 reads an error of a request as the answer, and a status as a broken session.
  const isAnswer = refused.error.code === invalidParams && exchange.header("mcp-session-id") !== undefined;
  answerJson(exchange, isAnswer ? 200 : 400, { ...refused });
}

function errorAnswer({ id = null }: JsonObject, { code, message, data }: RpcFault): JsonObject {
  return { jsonrpc: "2.0", id, error: { code, message, ...(data !== undefined && { data }) } };
}

function isMode(mode: string): mode is EndpointMode {
  return mode === "search" || mode === "code";
}

function noMode(mode: string): string {
  return `There is no mode \`${mode.slice(0, 60).toWellFormed()}\`; write \`?mode=search\` or \`?mode=code\`, or leave it out.`;
}

function noServer(name: string): string {
  return `No server is named \`${name.slice(0, 100).toWellFormed()}\`: \`/mcp/<server>\` takes a name of the configuration, and \`/mcp\` offers the tools of all.`;
}
