/**
 * The port of upstream MCP servers: one connection to one server. Each tool of a server becomes a tool of the runtime.
 *
 * Invariant: an error of `callTool` tells whether the call may have happened (`unknown`) or cannot have (`notExecuted`),
 * because a retry depends on it. What a server states about itself never widens what its tools may do.
 * Next: mcp-upstream.ts (the port over pipes and HTTP), connection.ts (keeps one connected), adapter.ts (an MCP tool as a
 * local one), terms.ts (risk, effects, scopes), pins.ts (trusted definitions), servers.ts (all servers).
 */
import type { Json, JsonObject, Principal, ProgressCount } from "@postern/core";
import type { ClientOfCall, LogLevel } from "../../call/client-of-call.ts";
import type { LargeJson } from "../../results/large-json.ts";
import type { LostAnswer } from "../../results/raw-result.ts";
import { type UpstreamRpcError, withRpcError } from "../../tools/rpc-error.ts";
import type { ToolAnnotations } from "../../tools/tool.ts";

export interface UpstreamTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly JsonObject[];
  readonly _meta?: JsonObject;
}

/** What a server lists: its tools, and entries that are no tools. */
export interface UpstreamList {
  readonly tools: readonly UpstreamTool[];
  readonly malformed: readonly RefusedTool[];
}

/** A tool that is not offered, by its name, or by its place if it has no name. */
export type RefusedTool = {
  readonly tool: string;
  readonly why: string;
}; // no interface, because it is stored as JSON

/** The server's answer; `content` is as it was sent, unchecked. */
export interface UpstreamAnswer {
  readonly content: readonly unknown[];
  readonly structured?: Json | LargeJson;
  /** Of the result, without what belongs to the connection. */
  readonly _meta?: JsonObject;
  readonly isError: boolean;
  /** Members in which a text replaces a number that a double cannot hold. */
  readonly asText?: readonly string[];
}

export interface UpstreamCall {
  readonly signal: AbortSignal;
  /** The same for every attempt of one logical call. */
  readonly idempotencyKey: string;
  /** Tenant, agent and user. Calls of different callers take turns. */
  readonly caller?: () => string;
  readonly onProgress: (content: string, fraction: number | undefined, count: ProgressCount) => void;
  /** For whom the call is made. */
  readonly principal?: Principal | undefined;
  /** The request that is sent instead of `tools/call`, with the arguments as its parameters. Its answer is its whole result. */
  readonly method?: string;
  /** What the caller sent beside the arguments, for the server. */
  readonly meta?: JsonObject | undefined;
  /** The client that waits for this call. The server may ask it what `servers.NAME.may_ask` allows. */
  readonly client?: ClientOfCall | undefined;
}

/** What a server tells by itself, and belongs to no call. */
export type ServerNotice =
  | { readonly kind: "list"; readonly list: "prompts" | "resources" }
  /** Without `params` any resource may have changed, because notifications were dropped. */
  | { readonly kind: "updated"; readonly params?: JsonObject }
  | { readonly kind: "message"; readonly params: JsonObject };

/** Takes what a server tells by itself. What it does not want is dropped unread. */
export interface NoticeReceiver {
  readonly wantsUpdates: boolean;
  readonly wantsMessages: boolean;
  receive(notice: ServerNotice): void;
}

export interface UpstreamEvents {
  readonly notices?: NoticeReceiver;
  /** Called once when the connection ends without a call of `close`. */
  readonly onClose: (why: string) => void;
  readonly onToolsChanged: () => void;
}

/** One connection, used once: `connect`, then the rest, then `close`. */
export interface Upstream {
  connect(): Promise<{
    readonly name: string;
    readonly version: string;
    readonly revision: string;
  }>;
  listTools(): Promise<UpstreamList>;
  /** @throws Error with `notExecuted: true` when the tool was not run, `unknown: true` when it may have run, neither when the server refused. */
  callTool(name: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer | LostAnswer>;
  /** What the server declares. Undefined for one that is no MCP server. */
  readonly capabilities?: JsonObject | undefined;
  /** The items of one of its lists, of all pages: `resources/list`, for example. */
  readonly list?: (method: string, member: string) => Promise<readonly JsonObject[]>;
  /** The contents of one resource. */
  readResource(uri: string): Promise<readonly JsonObject[]>;
  /** Resolves when the server tells of changes of this resource, until `signal` is aborted. `onMissed`: it may have missed some. */
  subscribe?(uri: string, signal: AbortSignal, onMissed: () => void): Promise<void>;
  /** Asks the server for log messages from this level on, beside what others asked for. Never rejects. */
  askForLogs?(from: LogLevel): Promise<void>;
  /** What it tells models about itself. */
  readonly instructions?: string | undefined;
  /** Rejects when the server does not answer; then `onClose` follows. */
  ping(): Promise<void>;
  /** Ends the child process or the session, and waits for it. Never rejects. */
  close(): Promise<void>;
  /** The child process, when there is one. */
  readonly processId: number | undefined;
  /** Until when the server asked to wait (`Retry-After`), in milliseconds of the wall clock. */
  readonly waitUntil?: number | undefined;
}

/** The tool was not run, so the approval is still unused and the call can be sent again. */
export function notSentError(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { retryable: true, notExecuted: true });
}

/** The tool was not run, because the server no longer knows the session. A new connection helps. */
export function sessionLostError(message: string, cause?: unknown): Error {
  return Object.assign(notSentError(message, cause), { sessionGone: true });
}

/** The tool was not run, because the server asks to wait. */
export function rateLimitedError(message: string, resetsAt: number | undefined, cause?: unknown): Error {
  return Object.assign(notSentError(message, cause), resetsAt !== undefined && { rateLimitResetsAt: resetsAt });
}

/**
 * The server's own refusal.
 *
 * @param error the JSON-RPC error, when it sent one
 * @param notExecuted the server refused it before the tool was run
 */
export function refusedCall(
  message: string,
  error: UpstreamRpcError | undefined,
  notExecuted: boolean,
  cause?: unknown,
): Error {
  const fault = Object.assign(new Error(message, { cause }), notExecuted && { notExecuted: true });
  return error === undefined ? fault : withRpcError(fault, error);
}

/** The call was sent and no answer tells how it ended, so it may have happened. */
export function lostCall(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { unknown: true });
}

/** Whether a new connection may help, and sending the call again cannot run it twice. */
export function isWorthResending(error: unknown): boolean {
  if (!(error instanceof Error) || !("notExecuted" in error)) return false;
  return "sessionGone" in error || ("retryable" in error && !("rateLimitResetsAt" in error));
}
