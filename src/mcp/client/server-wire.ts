import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import type { UpstreamRpcError } from "../../tools/rpc-error.ts";
import { answeredIn } from "./answered-in.ts";
import type { Exchange } from "./exchange.ts";
import { Inflow } from "./inflow.ts";
import { type LargeMessage, largeBytes, readLargeMessage } from "./large-message.ts";
import { readServerMessage, type ServerMessage } from "./server-message.ts";

/** Who waits for answers on a connection. */
export interface AwaitedRequests {
  /** The one request whose answer is waited for, when there is one alone: an answer without an id is its answer. */
  readonly only: () => number | string | undefined;
  readonly isAwaited: (id: number | string) => boolean;
  /** The call that this request is; undefined for a request that is no call, or that nobody waits for. */
  readonly exchange: (id: number | string) => Exchange | undefined;
  /** Told of each answer that is passed on. */
  readonly answered?: (id: number | string) => void;
}

/** What the SDK is to read of one text. */
export interface ParsedMessages {
  readonly messages: readonly JsonObject[];
  /** They are what the text says, unchanged. */
  readonly asSent: boolean;
}

interface MessageBytes {
  readonly bytes: Buffer;
  readonly method: string | undefined;
  readonly asked: AwaitedRequests;
}

const nothing: ParsedMessages = { messages: [], asSent: false };

const probeId = /^server-discover-probe-/;
const toolsChanged = "notifications/tools/list_changed";
/** Of all notifications only these mean something to the SDK's client as it is used here. */
const used = new Set(["notifications/progress", "notifications/cancelled", "notifications/subscriptions/acknowledged"]);
const previewBytes = 512;
const edgeBytes = 4_096;
const scalar = String.raw`"[^"\\]*"\s*:\s*(?:"[^"\\]*"|-?[\d.eE+-]+|true|false|null)`;
const methodFirst = new RegExp(String.raw`^\s*\{(?:\s*${scalar}\s*,)*?\s*"method"\s*:\s*"([^"\\]*)"`);

/**
 * All that one server sends, before the SDK sees it: what cannot be read ends the call it answers, what nobody asked for is
 * dropped unread, and what the SDK would not hand on is noted on the call's exchange.
 */
export class ServerWire {
  /** False when the server did not say that it has tools; it may list some all the same. */
  declaresTools = true;
  /** A late answer to the question which revision the server speaks. */
  discovered: JsonObject | undefined;
  readonly inflow: Inflow;
  readonly #onToolsChanged: () => void;

  constructor(clock: Clock, onToolsChanged: () => void) {
    this.inflow = new Inflow(clock);
    this.#onToolsChanged = onToolsChanged;
  }

  /** @param bytes one JSON text, or noise */
  hear(bytes: Buffer, asked: AwaitedRequests): ParsedMessages {
    const method = methodIn(bytes);
    if (method !== undefined && !this.#isHeard(method, bytes.length)) return nothing;
    return this.#heard(readServerMessage(bytes.toString("utf8")), { bytes, method, asked });
  }

  /** As `hear`; a message of more than `largeBytes` is read on a worker thread. Never rejects. */
  async hearLarge(bytes: Buffer, asked: AwaitedRequests): Promise<ParsedMessages> {
    if (bytes.length <= largeBytes) return this.hear(bytes, asked);
    const method = methodIn(bytes);
    if (method !== undefined && !this.#isHeard(method, bytes.length)) return nothing;
    const read = await readLargeMessage(bytes).catch((error: unknown): readonly ServerMessage[] => {
      const edges = [bytes.subarray(0, edgeBytes), bytes.subarray(-edgeBytes)].map((edge) => edge.toString("latin1"));
      const why = `cannot be read: ${messageOf(error)}`;
      return [{ kind: "unreadable", id: answeredIn(edges[0] ?? "", edges[1] ?? ""), why }];
    });
    return { ...this.#heard(read, { bytes, method, asked }), asSent: false };
  }

  #heard(read: readonly LargeMessage[], { bytes, method, asked }: MessageBytes): ParsedMessages {
    if (read.length === 0) this.inflow.count(bytes.length);
    const messages = read
      .map((one) => this.#message(one, asked, method === undefined))
      .filter((message) => message !== undefined);
    if (messages.length === 0 && read.length > 0 && method === undefined) this.inflow.count(bytes.length);
    const [first] = read;
    const asSent = read.length === 1 && first?.kind === "message" && first.asSent && messages[0] === first.message;
    return { messages, asSent };
  }

  /** Before anything is parsed: most of a flood ends here. */
  #isHeard(method: string, bytes: number): boolean {
    this.inflow.count(bytes);
    if (method === toolsChanged) this.#onToolsChanged();
    if (method === noise || (method.startsWith("notifications/") && !used.has(method))) return false;
    return this.inflow.hears();
  }

  #message(read: LargeMessage, asked: AwaitedRequests, isUncounted: boolean): JsonObject | undefined {
    if (read.kind === "unreadable") return this.unreadable(read.id ?? asked.only(), read.why, asked);
    const { asText } = read;
    const { method, id = asked.only() } = read.message;
    if (typeof method === "string") return isUncounted && !this.#isHeard(method, 0) ? undefined : read.message;
    if ((typeof id !== "number" && typeof id !== "string") || !asked.isAwaited(id)) return undefined;
    const message = read.message["id"] === undefined ? { ...read.message, id } : read.message;
    const exchange = asked.exchange(id);
    if (exchange !== undefined) {
      exchange.large = read.large;
      exchange.asText = asText.map((place) => place.replace(/^result\./, ""));
      if (isJsonObject(message["error"])) exchange.refused = message["error"] as unknown as UpstreamRpcError; // read as one
    } else if (typeof id === "string" && probeId.test(id) && isJsonObject(message["result"]))
      this.discovered = message["result"];
    asked.answered?.(id);
    return this.#withTools(message);
  }

  /** Ends the request that an answer belongs to which cannot be read. Undefined: it is nobody's. */
  unreadable(id: number | string | undefined, why: string, asked: AwaitedRequests): JsonObject | undefined {
    if (id === undefined || !asked.isAwaited(id)) return undefined;
    const exchange = asked.exchange(id);
    if (exchange !== undefined) exchange.unreadable = why;
    asked.answered?.(id);
    // An answer, so that the SDK does not wait for one.
    return { jsonrpc: "2.0", id, error: { code: -32_603, message: `its answer ${why}` } };
  }

  /** The SDK asks no server for tools that did not declare any; some have them all the same. */
  #withTools(message: JsonObject): JsonObject {
    const result = message["result"] as Json; // an answer's result is an object, or there is none
    if (!isJsonObject(result)) return message;
    const { capabilities, protocolVersion, supportedVersions } = result;
    if (!isJsonObject(capabilities) || (protocolVersion ?? supportedVersions) === undefined) return message;
    this.declaresTools = isJsonObject(capabilities["tools"]);
    if (this.declaresTools) return message;
    return { ...message, result: { ...result, capabilities: { ...capabilities, tools: {} } } };
  }
}

const noise = "\n";

/** Of a message that begins with it, or of noise; undefined for an answer. */
function methodIn(bytes: Buffer): string | undefined {
  const begin = bytes.toString("latin1", 0, previewBytes);
  return /^\s*[[{]|^\xEF\xBB\xBF/.test(begin) ? methodFirst.exec(begin)?.[1] : noise;
}
