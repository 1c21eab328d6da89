import { isJsonObject, type Json, type JsonObject, messageOf } from "@postern/core";
import { z } from "zod";
import type { UpstreamRpcError } from "../../tools/rpc-error.ts";
import { answerIn } from "./call-result.ts";
import { pagesOf } from "./pages.ts";
import { reportProgress } from "./progress.ts";
import { callFault } from "./sdk-faults.ts";
import { ToolList } from "./tool-list.ts";
import {
  notSentError,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  type UpstreamEvents,
  type UpstreamList,
} from "./upstream.ts";

/**
 * A connected `Client` of the official SDK, 1.x or 2.x, as far as it is used here.
 *
 * @public
 */
export interface McpClient {
  /** Undefined while it is not connected. */
  readonly transport?: unknown;
  onclose?: (() => void) | undefined;
  fallbackNotificationHandler?: ((notification: never) => Promise<void>) | undefined;
  request(...given: never[]): Promise<unknown>;
  getServerVersion(): object | undefined;
  getServerCapabilities(): object | undefined;
}

type SdkRequest = (
  asked: { readonly method: string; readonly params: JsonObject },
  schema: z.ZodType,
  options: { readonly signal?: AbortSignal; readonly timeout: number; readonly onprogress?: (at: JsonObject) => void },
) => Promise<unknown>;

const listTimeoutMs = 60_000;
/** The call has its own limit of time. */
const longestMs = 2 ** 31 - 1;
/** Any result: it is checked where it is used. Both generations of the SDK take such a schema. */
const anyResult = z.looseObject({});
/** Codes of errors that the SDK 1.x makes itself: the connection closed, and the time is over. */
const ownCodes: ReadonlySet<number> = new Set([-32_000, -32_001]);

/** The port over a client that a program connected. The program closes it, and may connect it again. */
export class ClientUpstream implements Upstream {
  readonly processId = undefined;
  readonly #client: McpClient;
  readonly #events: UpstreamEvents;
  /** Ends the calls under way: the client outlives this connection. */
  readonly #ended = new AbortController();
  #unhook: (() => void) | undefined;

  constructor(client: McpClient, events: UpstreamEvents) {
    this.#client = client;
    this.#events = events;
  }

  async connect(): Promise<{ readonly name: string; readonly version: string; readonly revision: string }> {
    this.#check();
    this.#hook();
    const { name = "", version = "" } = this.#client.getServerVersion() as { name?: string; version?: string }; // it is connected
    return { name, version, revision: "" };
  }

  async listTools(): Promise<UpstreamList> {
    const list = new ToolList();
    if (!("tools" in (this.#client.getServerCapabilities() ?? {}))) return list;
    const ask = (params: JsonObject): Promise<JsonObject> =>
      this.#ask("tools/list", params, { timeout: listTimeoutMs });
    for await (const page of pagesOf(ask, "tools/list", "tools")) list.add(page);
    return list;
  }

  async callTool(name: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer> {
    if (this.#client.transport === undefined || call.signal.aborted)
      throw notSentError(`Tool \`${name}\`: its client is not connected, or the call was cancelled; nothing was sent.`);
    const params = {
      ...{ name, arguments: given },
      _meta: { ...call.meta, "postern/idempotency-key": call.idempotencyKey },
    };
    const signal = AbortSignal.any([call.signal, this.#ended.signal]);
    const onprogress = (at: JsonObject): void => reportProgress(at, call);
    try {
      const result = await this.#ask("tools/call", params, { signal, timeout: longestMs, onprogress });
      return answerIn(name, { result, large: undefined, asText: [] }, true);
    } catch (error) {
      if (error instanceof Error && "unknown" in error) throw error;
      const refused = signal.aborted ? undefined : refusalIn(error); // the SDK 1.x makes an error of its own of an abort
      const facts = { refused, unreadable: undefined, resetsAt: undefined, asText: [] };
      throw callFault(name, error, { ...facts, sent: true, hasSession: false });
    }
  }

  async readResource(uri: string): Promise<readonly JsonObject[]> {
    const { contents } = await this.#ask("resources/read", { uri }, { timeout: listTimeoutMs });
    return Array.isArray(contents) ? contents.filter(isJsonObject) : [];
  }

  /** Its program sees to it that the connection lives. */
  async ping(): Promise<void> {
    if (this.#client.transport === undefined) this.#gone();
  }

  async close(): Promise<void> {
    this.#unhook?.();
    this.#unhook = undefined;
    this.#ended.abort(new Error("the connection was closed"));
  }

  #check(): void {
    if (this.#client.transport === undefined) throw new Error("its client is not connected; connect it");
  }

  async #ask(method: string, params: JsonObject, options: Parameters<SdkRequest>[2]): Promise<JsonObject> {
    const request = this.#client.request as unknown as SdkRequest; // of both generations
    const result = await request.call(this.#client, { method, params }, anyResult, options);
    return isJsonObject(result as Json) ? (result as JsonObject) : {}; // it was read from JSON
  }

  /** Follows the client beside what its program does with it. */
  #hook(): void {
    const client = this.#client;
    const { onclose, fallbackNotificationHandler: fallback } = client;
    const onOwnClose = (): void => {
      onclose?.call(client);
      this.#gone();
    };
    const onOther = async (notification: { readonly method?: string }): Promise<void> => {
      if (notification.method === "notifications/tools/list_changed") this.#events.onToolsChanged();
      await fallback?.call(client, notification as never); // as the SDK gave it
    };
    client.onclose = onOwnClose;
    client.fallbackNotificationHandler = onOther;
    this.#unhook = () => {
      if (client.onclose === onOwnClose) client.onclose = onclose;
      if (client.fallbackNotificationHandler === onOther) client.fallbackNotificationHandler = fallback;
    };
  }

  #gone(): void {
    if (this.#unhook !== undefined) this.#events.onClose("its client closed the connection");
  }
}

/** The JSON-RPC error that the server sent. Returns undefined for an error of the SDK's own, or of HTTP. */
function refusalIn(error: unknown): UpstreamRpcError | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const { code } = error;
  if (typeof code !== "number" || code >= 0) return undefined;
  const message = messageOf(error).replace(/^MCP error -?\d+: /, "");
  if (ownCodes.has(code) && /^(?:Connection closed|Request timed out|Maximum total timeout)/.test(message))
    return undefined;
  return { code, message, ...("data" in error && error.data !== undefined && { data: error.data as Json }) }; // it was read from JSON
}
