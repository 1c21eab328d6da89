import { type Clock, isJsonObject, type JsonObject, messageOf } from "@postern/core";
import type { UpstreamRpcError } from "../../tools/rpc-error.ts";
import type { Exchange } from "./exchange.ts";
import { Inflow } from "./inflow.ts";
import { type LargeMessage, largeBytes, readLargeMessage } from "./large-message.ts";
import { answeredIn, readServerMessage, type ServerMessage, scalarMember } from "./server-message.ts";

/** The requests of a connection that have no answer yet. */
export interface AwaitedRequests {
  /** The only request that waits, if there is exactly one: an answer without an id belongs to it. */
  readonly only: () => number | string | undefined;
  readonly isAwaited: (id: number | string) => boolean;
  /** The exchange of this request, if the request is a tool call that waits. */
  readonly exchange: (id: number | string) => Exchange | undefined;
}

/** The messages of one text. */
export interface ParsedMessages {
  readonly messages: readonly JsonObject[];
  /** The messages are what the text says, unchanged. */
  readonly asSent: boolean;
}

interface MessageBytes {
  readonly bytes: Buffer;
  readonly method: string | undefined;
  readonly awaited: AwaitedRequests;
}

const nothing: ParsedMessages = { messages: [], asSent: false };

const toolsChanged = "notifications/tools/list_changed";
/** The other notifications that are read here. */
const used = new Set(["notifications/progress", "notifications/cancelled"]);
const previewBytes = 512;
const edgeBytes = 4_096;
const methodFirst = new RegExp(String.raw`^\s*\{(?:\s*${scalarMember}\s*,)*?\s*"method"\s*:\s*"([^"\\]*)"`);

/**
 * Reads everything that one server sends. An answer that cannot be read ends its call, messages that nothing here uses are
 * dropped unread, and what belongs to an answer is stored in the call's exchange.
 */
export class IncomingMessages {
  readonly inflow: Inflow;
  readonly #onToolsChanged: () => void;

  constructor(clock: Clock, onToolsChanged: () => void) {
    this.inflow = new Inflow(clock);
    this.#onToolsChanged = onToolsChanged;
  }

  /** @param bytes one JSON text, or text that is no message */
  read(bytes: Buffer, awaited: AwaitedRequests): ParsedMessages {
    const method = methodIn(bytes);
    if (method !== undefined && !this.#isNeeded(method, bytes.length)) return nothing;
    return this.#messages(readServerMessage(bytes.toString("utf8")), { bytes, method, awaited });
  }

  /** As `read`, but a message of more than `largeBytes` is read on a worker thread. Never rejects. */
  async readLarge(bytes: Buffer, awaited: AwaitedRequests): Promise<ParsedMessages> {
    if (bytes.length <= largeBytes) return this.read(bytes, awaited);
    const method = methodIn(bytes);
    if (method !== undefined && !this.#isNeeded(method, bytes.length)) return nothing;
    const read = await readLargeMessage(bytes).catch((error: unknown): readonly ServerMessage[] => {
      const edges = [bytes.subarray(0, edgeBytes), bytes.subarray(-edgeBytes)].map((edge) => edge.toString("latin1"));
      const why = `cannot be read: ${messageOf(error)}`;
      return [{ kind: "unreadable", id: answeredIn(edges[0] ?? "", edges[1] ?? ""), why }];
    });
    return { ...this.#messages(read, { bytes, method, awaited }), asSent: false };
  }

  #messages(read: readonly LargeMessage[], { bytes, method, awaited }: MessageBytes): ParsedMessages {
    if (read.length === 0) this.inflow.count(bytes.length);
    const messages = read
      .map((one) => this.#message(one, awaited, method === undefined))
      .filter((message) => message !== undefined);
    if (messages.length === 0 && read.length > 0 && method === undefined) this.inflow.count(bytes.length);
    const [first] = read;
    const asSent = read.length === 1 && first?.kind === "message" && first.asSent && messages[0] === first.message;
    return { messages, asSent };
  }

  /** Decides before anything is parsed, because a server may send very many notifications. */
  #isNeeded(method: string, bytes: number): boolean {
    this.inflow.count(bytes);
    if (method === toolsChanged) this.#onToolsChanged();
    if (method === noise || (method.startsWith("notifications/") && !used.has(method))) return false;
    return this.inflow.admits();
  }

  #message(read: LargeMessage, awaited: AwaitedRequests, isUncounted: boolean): JsonObject | undefined {
    if (read.kind === "unreadable") return this.unreadable(read.id ?? awaited.only(), read.why, awaited);
    const { asText } = read;
    const { method, id = awaited.only() } = read.message;
    if (typeof method === "string") return isUncounted && !this.#isNeeded(method, 0) ? undefined : read.message;
    if ((typeof id !== "number" && typeof id !== "string") || !awaited.isAwaited(id)) return undefined;
    const message = read.message["id"] === undefined ? { ...read.message, id } : read.message;
    const exchange = awaited.exchange(id);
    if (exchange !== undefined) {
      exchange.large = read.large;
      exchange.asText = asText.map((place) => place.replace(/^result\./, ""));
      if (isJsonObject(message["error"]))
        exchange.refused = message["error"] as unknown as UpstreamRpcError; // read as one
      else exchange.result = message["result"] as JsonObject; // read as one
    }
    return exchange?.result === undefined ? message : { ...message, result: anyResult };
  }

  /** Ends the request whose answer cannot be read. Returns undefined if no request waits for it. */
  unreadable(id: number | string | undefined, why: string, awaited: AwaitedRequests): JsonObject | undefined {
    if (id === undefined || !awaited.isAwaited(id)) return undefined;
    const exchange = awaited.exchange(id);
    if (exchange !== undefined) exchange.unreadable = why;
    // An error answer, so that its request ends.
    return { jsonrpc: "2.0", id, error: { code: -32_603, message: `its answer ${why}` } };
  }
}

/** Stands for the result of a call, which its exchange has: the transports of the SDK parse what they are given again. */
const anyResult = {};

const noise = "\n";

/** The method of a message that begins with it, or `noise` for text that is no message. Returns undefined for an answer. */
function methodIn(bytes: Buffer): string | undefined {
  const begin = bytes.toString("latin1", 0, previewBytes);
  return /^\s*[[{]|^\xEF\xBB\xBF/.test(begin) ? methodFirst.exec(begin)?.[1] : noise;
}
