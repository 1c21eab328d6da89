/**
 * JSON-RPC 2.0 between two sides that both may ask: requests and their answers in both directions, notifications,
 * cancellation and progress. Servers and clients of MCP use it, over every transport.
 *
 * Invariant: each request gets at most one answer, and none after it was cancelled. A transport gives whole messages to
 * `receive`, and sends what it is given.
 * Next: ../server/dispatcher.ts (who answers), ../server/http.ts and ../server/lines.ts (transports).
 */
import { isJsonObject, type Json, type JsonObject, messageOf } from "@postern/core";

export type MessageId = string | number;

/** Sends one message. It does not throw: a connection that is gone loses the message. */
export type Send = (message: JsonObject) => void;

export const rpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  headerMismatch: -32_020,
  capabilityMissing: -32_021,
  revisionUnsupported: -32_022,
} as const;

/** A JSON-RPC error. A handler throws it to answer with it; `ask` rejects with the one that was received. */
export class RpcFault extends Error {
  readonly code: number;
  readonly data: Json | undefined;

  constructor(code: number, message: string, data?: Json) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** A request of the other side. */
export interface PeerRequest<Context> {
  readonly id: MessageId;
  readonly method: string;
  readonly params: JsonObject;
  readonly context: Context;
  /** Aborted when the other side cancels the request, or is gone. */
  readonly signal: AbortSignal;
  /** Sends a notification on the way that the answer will take. */
  tell(method: string, params: JsonObject): void;
  /** Asks the other side on the way that the answer will take. Rejects with `RpcFault`, or when the request is over. */
  ask(method: string, params: JsonObject): Promise<JsonObject>;
}

export interface PeerOptions<Context> {
  /** For messages that belong to no request of the other side. */
  readonly send: Send;
  /** @throws RpcFault the error to answer with */
  readonly answer: (request: PeerRequest<Context>) => Promise<JsonObject> | JsonObject;
  readonly onNotification?: (method: string, params: JsonObject) => void;
}

export interface AskOptions {
  readonly send?: Send;
  readonly signal?: AbortSignal;
  readonly onProgress?: (params: JsonObject) => void;
}

interface AwaitedAnswer {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: unknown) => void;
  readonly onProgress: ((params: JsonObject) => void) | undefined;
}

export class Peer<Context = undefined> {
  readonly #options: PeerOptions<Context>;
  /** Own requests that have no answer yet. */
  readonly #open = new Map<MessageId, AwaitedAnswer>();
  /** Requests of the other side that are not answered yet. */
  readonly #running = new Map<MessageId, AbortController>();
  #lastId = 0;

  constructor(options: PeerOptions<Context>) {
    this.#options = options;
  }

  /** Whether a request of the other side is not answered yet. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  isRunning(id: MessageId): boolean {
    return this.#running.has(id);
  }

  /**
   * @param message a JSON-RPC message, see `kindOf`
   * @param send the way of the answer, and of what belongs to this request
   */
  receive(message: JsonObject, context: Context, send: Send = this.#options.send): void {
    const { id, method, params } = message;
    if (typeof method !== "string") this.#settle(message);
    else if (id === undefined) this.#hear(method, isJsonObject(params) ? params : {});
    else void this.#answer({ id: id as MessageId, method, params: isJsonObject(params) ? params : {} }, context, send); // of this kind
  }

  ask(method: string, params: JsonObject, options: AskOptions = {}): Promise<JsonObject> {
    const { send = this.#options.send, signal, onProgress } = options;
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    this.#open.set(id, { resolve, reject, onProgress });
    const cancel = (): void => {
      if (!this.#open.delete(id)) return;
      send(notification("notifications/cancelled", { requestId: id, reason: messageOf(signal?.reason) }));
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", cancel, { once: true });
    const meta = onProgress && { _meta: { ...(isJsonObject(params["_meta"]) && params["_meta"]), progressToken: id } };
    send({ jsonrpc: "2.0", id, method, params: { ...params, ...meta } });
    return signal === undefined ? promise : promise.finally(() => signal.removeEventListener("abort", cancel));
  }

  tell(method: string, params?: JsonObject): void {
    this.#options.send(notification(method, params));
  }

  /** An own request could not be sent, or its answer cannot come. */
  fail(id: MessageId, error: unknown): void {
    this.#open.get(id)?.reject(error);
    this.#open.delete(id);
  }

  /** The other side is gone: its requests are aborted, and own ones fail. */
  close(reason: unknown): void {
    for (const running of this.#running.values()) running.abort(reason);
    this.#running.clear();
    for (const { reject } of this.#open.values()) reject(reason);
    this.#open.clear();
  }

  async #answer(
    { id, method, params }: { readonly id: MessageId; readonly method: string; readonly params: JsonObject },
    context: Context,
    send: Send,
  ): Promise<void> {
    const running = new AbortController();
    this.#running.set(id, running);
    let over: AbortController | undefined;
    let message: JsonObject;
    try {
      const result = await this.#options.answer({
        ...{ id, method, params, context, signal: running.signal },
        tell: (told, given) => {
          if (this.#running.get(id) === running) send(notification(told, given));
        },
        ask: (asked, given) => {
          over ??= new AbortController();
          return this.ask(asked, given, { send, signal: AbortSignal.any([running.signal, over.signal]) });
        },
      });
      message = { jsonrpc: "2.0", id, result };
    } catch (error) {
      message = { jsonrpc: "2.0", id, error: errorOf(error) };
    }
    if (this.#running.get(id) !== running) return; // it was cancelled
    this.#running.delete(id);
    over?.abort(new Error("The request was answered.")); // a question without an answer ends with it
    send(message);
  }

  #hear(method: string, params: JsonObject): void {
    const { requestId, progressToken } = params;
    if (method === "notifications/cancelled" && isMessageId(requestId)) {
      const running = this.#running.get(requestId);
      this.#running.delete(requestId);
      running?.abort(new Error("The client cancelled the request."));
    } else if (method === "notifications/progress" && isMessageId(progressToken))
      this.#open.get(progressToken)?.onProgress?.(params);
    this.#options.onNotification?.(method, params);
  }

  #settle({ id, result, error }: JsonObject): void {
    const open = this.#open.get(id as MessageId); // an id that was never sent is not found
    if (open === undefined) return;
    this.#open.delete(id as MessageId);
    if (isJsonObject(error)) open.reject(faultIn(error));
    else open.resolve(result as JsonObject); // an answer without an error has a result
  }
}

/** The error of an answer. */
export function errorOf(error: unknown): JsonObject {
  const { code, data } = error instanceof Error ? (error as Partial<RpcFault>) : {};
  return {
    code: Number.isSafeInteger(code) ? (code as number) : rpcCodes.internal, // checked
    message: messageOf(error),
    ...(data !== undefined && { data }),
  };
}

function faultIn({ code, message, data }: JsonObject): RpcFault {
  return new RpcFault(Number(code), String(message), data);
}

export function notification(method: string, params?: JsonObject): JsonObject {
  return { jsonrpc: "2.0", method, ...(params !== undefined && { params }) };
}

export type MessageKind = "request" | "notification" | "answer";

/** What kind of JSON-RPC 2.0 message a value is. Returns undefined for any other value. */
export function kindOf(message: Json): MessageKind | undefined {
  if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") return undefined;
  const { id, method, params, result, error } = message;
  if (method !== undefined) {
    if (typeof method !== "string" || (params !== undefined && !isJsonObject(params))) return undefined;
    if (id === undefined) return "notification";
    return isMessageId(id) ? "request" : undefined;
  }
  if (isJsonObject(error) && Number.isSafeInteger(error["code"]))
    return id === undefined || isMessageId(id) ? "answer" : undefined;
  return isMessageId(id) && isJsonObject(result) ? "answer" : undefined;
}

export function isMessageId(value: unknown): value is MessageId {
  return typeof value === "string" || Number.isSafeInteger(value);
}
