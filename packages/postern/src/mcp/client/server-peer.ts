import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { type Clock, isJsonObject, type Json, type JsonObject } from "@postern/core";
import { pageType } from "../../tools/ui.ts";
import { encoded, type ParameterHeader } from "../protocol/parameter-headers.ts";
import { isMessageId, Peer, type PeerRequest, RpcFault, rpcCodes, type Send } from "../protocol/peer.ts";
import { metaKeys, newest, oldRevisions, type Revision } from "../protocol/revisions.ts";
import { Exchange, type PendingRequests } from "./exchange.ts";
import { type Askable, answersTo, capabilitiesFor, everyCapability } from "./questions.ts";
import { assumedOf, type KnownServer } from "./revision.ts";

const clientInfo = { name: "postern", version: "1" };
/** MCP Apps: a server lists the pages of its tools only to a client that declares this extension. */
const uiExtension = "io.modelcontextprotocol/ui";
const ownCapabilities: JsonObject = { extensions: { [uiExtension]: { mimeTypes: [pageType] } } };
/** Every answer to `initialize` may name it, because it was the first that servers spoke. */
const firstRevision = "2024-10-07";

export interface ServerPeerOptions {
  readonly pending: PendingRequests;
  readonly clock: Clock;
  /** What `initialize` offers. */
  readonly offered: Revision | undefined;
  readonly timeoutMs: number;
  /** The longest wait for the answer which revision a server speaks. */
  readonly probeTimeoutMs: number;
  readonly signal: AbortSignal;
  /** The server's name in the configuration. */
  readonly server: string;
  readonly mayAsk: readonly Askable[];
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly exchange?: Exchange;
  readonly headers?: readonly ParameterHeader[];
  readonly onProgress?: (params: JsonObject) => void;
}

/** A connected server: finds out the revision that both sides speak, then sends requests in its form. */
export class ServerPeer {
  readonly #transport: Transport;
  readonly #options: ServerPeerOptions;
  readonly #peer: Peer;
  /** `initialize` was sent: from then on the server counts as one of 2025. */
  beganOld = false;
  /** What the server stated about itself; undefined until it is connected. */
  facts: JsonObject | undefined;
  /** A late answer to the question which revision the server speaks. */
  discovered: JsonObject | undefined;
  #isOld = false;
  /** Streams of changes that the server has not confirmed yet, by the ids of their requests. */
  readonly #unconfirmed = new Map<unknown, (honored: JsonObject) => void>();
  onclose: (() => void) | undefined;

  constructor(transport: Transport, options: ServerPeerOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#peer = new Peer({
      send: this.#sender({}),
      answer: (asked) => this.#answer(asked),
      onNotification: (method, params) => {
        if (method === "notifications/subscriptions/acknowledged") this.#confirm(params);
      },
    });
    transport.onmessage = (message) => {
      const read = message as unknown as JsonObject; // it was read as one
      if (read["method"] === undefined && isMessageId(read["id"])) this.#settle(read);
      else this.#peer.receive(read, undefined);
    };
    transport.onclose = () => {
      this.#peer.close(new Error("Connection closed"));
      this.onclose?.();
    };
  }

  /** The server speaks a revision before 2026-07-28. */
  get isOld(): boolean {
    return this.#isOld;
  }

  get revision(): string {
    const { protocolVersion } = this.facts ?? {};
    return this.#isOld ? String(protocolVersion) : newest;
  }

  get capabilities(): JsonObject {
    const stated = this.facts?.["capabilities"];
    return isJsonObject(stated) ? stated : {};
  }

  get info(): JsonObject {
    const { serverInfo, _meta: meta } = this.facts ?? {};
    const stated = serverInfo ?? (isJsonObject(meta) ? meta[metaKeys.serverInfo] : undefined);
    return isJsonObject(stated) ? stated : {};
  }

  /** @param known what is known of it, so that it need not be asked */
  async connect(known: KnownServer | undefined): Promise<KnownServer> {
    await this.#transport.start();
    const found = known ?? (await this.#asked());
    if (!found.isOld) {
      this.facts = found.discovered;
      return found;
    }
    this.#isOld = true;
    this.beganOld = true;
    await this.#initialize();
    return found;
  }

  async request(method: string, params: JsonObject, options: RequestOptions = {}): Promise<JsonObject> {
    const { timeoutMs, onProgress } = options;
    if (timeoutMs !== undefined) return this.#within(timeoutMs, method, params, options);
    const { signal } = options;
    return this.#peer.ask(method, this.#isOld ? params : this.#withEnvelope(params, options.exchange), {
      send: this.#sender(options),
      ...(signal !== undefined && { signal }),
      ...(onProgress !== undefined && { onProgress }),
    });
  }

  /**
   * Resolves when the server ends the stream.
   *
   * @param onBegin called with what the server is going to tell
   */
  async listen(notifications: JsonObject, signal: AbortSignal, onBegin: (honored: JsonObject) => void): Promise<void> {
    const broken = new AbortController();
    const onBroken = (): void => broken.abort(new Error("the stream of its changes broke off"));
    // Over pipes the stream ends with the process.
    const exchange =
      this.#transport.hasPerRequestStream === true ? new Exchange(this.#options.clock, ignored, onBroken) : undefined;
    const ended = AbortSignal.any([signal, broken.signal]);
    const send = this.#sender({ signal: ended, ...(exchange !== undefined && { exchange }) });
    let id: unknown;
    try {
      await this.#peer.ask("subscriptions/listen", this.#withEnvelope({ notifications }, undefined), {
        signal: ended,
        send: (message) => {
          if (message["method"] === "subscriptions/listen") id = message["id"];
          this.#unconfirmed.set(id, onBegin);
          send(message);
        },
      });
    } finally {
      exchange?.end();
      this.#unconfirmed.delete(id);
    }
  }

  #confirm({ notifications, _meta: meta }: JsonObject): void {
    const id = isJsonObject(meta) ? meta[metaKeys.subscriptionId] : undefined;
    const confirm = this.#unconfirmed.get(id) ?? this.#unconfirmed.get(Number(id)); // a server may answer `"7"` to 7
    confirm?.(isJsonObject(notifications) ? notifications : {});
  }

  async #within(
    timeoutMs: number,
    method: string,
    params: JsonObject,
    { timeoutMs: _, signal, ...options }: RequestOptions,
  ): Promise<JsonObject> {
    const ending = new AbortController();
    const cancelWait = this.#options.clock.in(timeoutMs, () =>
      ending.abort(new Error(`Request timed out after ${timeoutMs} ms`)),
    );
    const leave = (): void => ending.abort(signal?.reason);
    if (signal?.aborted === true) leave();
    signal?.addEventListener("abort", leave, { once: true });
    try {
      return await this.request(method, params, { ...options, signal: ending.signal });
    } finally {
      cancelWait();
      signal?.removeEventListener("abort", leave);
    }
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }

  /** What the server asks while a call runs. */
  async #answer({ id, method, params }: PeerRequest<undefined>): Promise<JsonObject> {
    const { pending, server, mayAsk } = this.#options;
    const { client } = pending.askingCall(id) ?? {};
    if (method === "ping") return {};
    const { only } = await answersTo({ only: { method, params } }, { mayAsk, server, client, hasBegun: true });
    return only ?? {};
  }

  /** Since 2026-07-28 every request states its revision and what its client can do. */
  #withEnvelope(params: JsonObject, exchange: Exchange | undefined): JsonObject {
    const { _meta: meta } = params;
    const logs = this.capabilities["logging"] === undefined ? undefined : exchange?.client?.logs;
    return {
      ...params,
      _meta: {
        ...(isJsonObject(meta) && meta),
        [metaKeys.protocolVersion]: newest,
        [metaKeys.clientInfo]: clientInfo,
        [metaKeys.clientCapabilities]: {
          ...capabilitiesFor(this.#options.mayAsk, exchange?.client?.capabilities ?? {}),
          ...ownCapabilities,
        },
        ...(logs !== undefined && { [metaKeys.logLevel]: logs.from }),
      },
    };
  }

  /** A server may answer `"7"` to 7. */
  #settle(message: JsonObject): void {
    const { id } = message;
    const read = typeof id === "string" ? { ...message, id: Number(id) } : message;
    this.#options.pending.end(read["id"] as number); // a message id
    this.#peer.receive(read, undefined);
  }

  /** Sends what belongs to one request. An error of sending is the request's end. */
  #sender({ exchange, headers = [], signal }: RequestOptions): Send {
    const { pending } = this.#options;
    return (message) => {
      const { id, method } = message;
      const isRequest = method !== undefined && isMessageId(id);
      if (isRequest) pending.begin(id, exchange);
      if (method === "notifications/cancelled") {
        pending.end((message["params"] as JsonObject)["requestId"] as number); // of an own request
        if (!this.#isOld && this.#transport.hasPerRequestStream === true) return; // its connection ends instead
      }
      const options = {
        ...(headers.length > 0 && {
          headers: Object.fromEntries(headers.map(({ name, value }) => [name, encoded(value)])),
        }),
        ...(!this.#isOld && isRequest && signal !== undefined && { requestSignal: signal }),
      };
      this.#transport.send(message as unknown as JSONRPCMessage, options).catch((error: unknown) => {
        if (!isRequest) return;
        pending.end(id);
        this.#peer.fail(id, error);
      });
    };
  }

  /** @param isAgain a server of 2026 may refuse a request for its revision and name that revision: it is asked once more */
  async #asked(isAgain = false): Promise<KnownServer> {
    const { probeTimeoutMs, signal, offered } = this.#options;
    const answered = this.request("server/discover", {}, { signal });
    answered.then(
      (result) => {
        this.discovered = isNewest(result) ? result : undefined;
      },
      () => undefined, // handled below, if it was not too late
    );
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    const cancelWait = this.#options.clock.in(probeTimeoutMs, () => resolve(undefined));
    try {
      const result = await Promise.race([answered, late]);
      return result !== undefined && isNewest(result) ? { isOld: false, discovered: result } : assumedOf(offered);
    } catch (error) {
      if (!isAgain && error instanceof RpcFault && namesNewest(error)) return await this.#asked(true);
      if (error instanceof RpcFault || offered === newest) return assumedOf(offered);
      throw error;
    } finally {
      cancelWait();
    }
  }

  async #initialize(): Promise<void> {
    const { offered, timeoutMs, signal, mayAsk } = this.#options;
    const protocolVersion = offered === undefined || offered === newest ? String(oldRevisions[0]) : offered;
    const capabilities = { ...capabilitiesFor(mayAsk, everyCapability), ...ownCapabilities };
    const params = { protocolVersion, capabilities, clientInfo };
    const facts = await this.request("initialize", params, { signal, timeoutMs });
    const spoken = facts["protocolVersion"];
    if (spoken !== firstRevision && !oldRevisions.some((revision) => revision === spoken))
      throw new Error(
        `it speaks revision ${JSON.stringify(spoken ?? null).slice(0, 60)}, and Postern ${oldRevisions.join(", ")} or ${newest}`,
      );
    this.facts = facts;
    this.#transport.setProtocolVersion?.(String(spoken));
    this.#peer.tell("notifications/initialized");
  }
}

function namesNewest({ code, data }: RpcFault): boolean {
  const { supported } = isJsonObject(data) ? data : ({} as JsonObject);
  return code === rpcCodes.revisionUnsupported && Array.isArray(supported) && supported.includes(newest as Json);
}

function ignored(): void {}

function isNewest({ supportedVersions, capabilities: stated }: JsonObject): boolean {
  return Array.isArray(supportedVersions) && supportedVersions.includes(newest as Json) && isJsonObject(stated);
}
