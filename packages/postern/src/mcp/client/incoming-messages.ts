import { type Clock, isJsonObject, type JsonObject, messageOf } from "@postern/core";
import { reaches } from "../../call/client-of-call.ts";
import type { UpstreamRpcError } from "../../tools/rpc-error.ts";
import { withOwnMeta } from "../protocol/revisions.ts";
import type { Exchange } from "./exchange.ts";
import { Inflow } from "./inflow.ts";
import { type LargeMessage, largeBytes, readLargeMessage } from "./large-message.ts";
import { answeredIn, readServerMessage, type ServerMessage, scalarMember } from "./server-message.ts";
import type { UpstreamEvents } from "./upstream.ts";

/** The requests of a connection that have no answer yet. */
export interface AwaitedRequests {
  /** The only request that waits, if there is exactly one: an answer without an id belongs to it. */
  readonly only: () => number | string | undefined;
  readonly isAwaited: (id: number | string) => boolean;
  /** The exchange of this request, if the request is a tool call that waits. */
  readonly exchange: (id: number | string) => Exchange | undefined;
  /** The call that a notification belongs to: over HTTP that of the stream, over pipes the only one that runs. */
  readonly call: () => Exchange | undefined;
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
/** Notifications that the connection itself needs. */
const used = new Set(["notifications/progress", "notifications/cancelled", "notifications/subscriptions/acknowledged"]);
/** Only clients send them. */
const ofClients = new Set(["notifications/initialized", "notifications/roots/list_changed"]);
const listsChanged = new Map([
  ["notifications/prompts/list_changed", "prompts"],
  ["notifications/resources/list_changed", "resources"],
] as const);
const updated = "notifications/resources/updated";
const logged = "notifications/message";
/** A larger log message, update or unknown notification is dropped. */
const mostNoticeBytes = 64 * 1024;
const previewBytes = 512;
const edgeBytes = 4_096;
const methodFirst = new RegExp(String.raw`^\s*\{(?:\s*${scalarMember}\s*,)*?\s*"method"\s*:\s*"([^"\\]*)"`);

/**
 * Reads everything that one server sends. An answer that cannot be read ends its call, messages that nothing here uses are
 * dropped unread, and what belongs to an answer is stored in the call's exchange.
 */
export class IncomingMessages {
  readonly inflow: Inflow;
  readonly #events: Pick<UpstreamEvents, "onToolsChanged" | "notices">;

  constructor(clock: Clock, events: Pick<UpstreamEvents, "onToolsChanged" | "notices">) {
    this.inflow = new Inflow(clock);
    this.#events = events;
  }

  /** @param bytes one JSON text, or text that is no message */
  read(bytes: Buffer, awaited: AwaitedRequests): ParsedMessages {
    const method = methodIn(bytes);
    if (method !== undefined && !this.#isNeeded(method, bytes, awaited)) return nothing;
    return this.#messages(readServerMessage(bytes.toString("utf8")), { bytes, method, awaited });
  }

  /** As `read`, but a message of more than `largeBytes` is read on a worker thread. Never rejects. */
  async readLarge(bytes: Buffer, awaited: AwaitedRequests): Promise<ParsedMessages> {
    if (bytes.length <= largeBytes) return this.read(bytes, awaited);
    const method = methodIn(bytes);
    if (method !== undefined && !this.#isNeeded(method, bytes, awaited)) return nothing;
    const read = await readLargeMessage(bytes).catch((error: unknown): readonly ServerMessage[] => {
      const edges = [bytes.subarray(0, edgeBytes), bytes.subarray(-edgeBytes)].map((edge) => edge.toString("latin1"));
      const why = `cannot be read: ${messageOf(error)}`;
      return [{ kind: "unreadable", id: answeredIn(edges[0] ?? "", edges[1] ?? ""), why }];
    });
    return { ...this.#messages(read, { bytes, method, awaited }), asSent: false };
  }

  #messages(read: readonly LargeMessage[], given: MessageBytes): ParsedMessages {
    const { bytes, method } = given;
    if (read.length === 0) this.inflow.count(bytes.length);
    const messages = read.map((one) => this.#message(one, given)).filter((message) => message !== undefined);
    if (messages.length === 0 && read.length > 0 && method === undefined) this.inflow.count(bytes.length);
    const [first] = read;
    const asSent = read.length === 1 && first?.kind === "message" && first.asSent && messages[0] === first.message;
    return { messages, asSent };
  }

  /** Decides before anything is parsed, because a server may send very many notifications. */
  #isNeeded(method: string, bytes: Buffer, awaited: AwaitedRequests): boolean {
    this.inflow.count(bytes.length);
    return method !== noise && this.#isWanted(method, bytes, awaited);
  }

  #isWanted(method: string, { length }: Buffer, awaited: AwaitedRequests): boolean {
    if (used.has(method) || !method.startsWith("notifications/")) return this.inflow.admits();
    return this.#isTold(method, length <= mostNoticeBytes, awaited);
  }

  /** Whether a notification is for someone who wants it now. */
  #isTold(method: string, isSmall: boolean, awaited: AwaitedRequests): boolean {
    const { onToolsChanged, notices } = this.#events;
    const list = listsChanged.get(method as "notifications/prompts/list_changed"); // any other name is not found
    if (method === toolsChanged) onToolsChanged();
    else if (list !== undefined) notices?.receive({ kind: "list", list });
    if (method === toolsChanged || list !== undefined || ofClients.has(method)) return false;
    if (method === updated) {
      if (notices?.wantsUpdates !== true) return false;
      if (isSmall && this.inflow.admitsNotice()) return true;
      notices.receive({ kind: "updated" });
      return false;
    }
    if (!isSmall) return false;
    const call = awaited.call();
    const isWanted =
      method !== logged
        ? call?.client !== undefined
        : call === undefined
          ? notices?.wantsMessages === true
          : call.client?.logs !== undefined;
    return isWanted && this.inflow.admitsNotice();
  }

  /** Passes a notification on that the connection itself does not need. */
  #tell(method: string, given: JsonObject, awaited: AwaitedRequests): void {
    const params = withOwnMeta(given);
    const call = awaited.call();
    if (method === updated) this.#events.notices?.receive({ kind: "updated", params });
    else if (method !== logged) call?.client?.tell(method, params);
    else if (call === undefined) this.#events.notices?.receive({ kind: "message", params });
    else if (reaches(params["level"], call.client?.logs?.from ?? "emergency")) call.client?.tell(method, params);
  }

  #message(read: LargeMessage, { bytes, method: seen, awaited }: MessageBytes): JsonObject | undefined {
    if (read.kind === "unreadable") return this.unreadable(read.id ?? awaited.only(), read.why, awaited);
    const { asText } = read;
    const { method, id = awaited.only() } = read.message;
    if (typeof method === "string") {
      if (seen === undefined && !this.#isWanted(method, bytes, awaited)) return undefined;
      const { id: asked, params } = read.message;
      if (asked !== undefined || used.has(method)) return read.message;
      if (bytes.length <= mostNoticeBytes) this.#tell(method, isJsonObject(params) ? params : {}, awaited);
      return undefined;
    }
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
