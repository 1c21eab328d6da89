/**
 * Where strangers' tools come from: MCP servers, each behind one connection, each of their tools a native tool (SPEC 13).
 * This port is one opened connection to one server; whoever wants another one opens it anew.
 *
 * Invariant: whatever `callTool` throws says whether the call may have happened (`unknown`) or cannot have (`notExecuted`):
 * a retry hangs on it. Nothing of a server's own words about itself changes what its tools may do (SPEC 13.5).
 * Next: sdk-upstream.ts (the port through the official SDK), connection.ts (keeps one alive), adapter.ts (an MCP tool as
 * ours), terms.ts (risk, effects, scopes), names.ts, blocks.ts, servers.ts (all of them).
 */
import type { Json, JsonObject } from "../../core/json.ts";
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

/** What a server lists: what is a tool, and what is none. */
export interface UpstreamList {
  readonly tools: readonly UpstreamTool[];
  readonly malformed: readonly RefusedTool[];
}

/** A tool that is not offered, by its name or by its place where it has none. */
export type RefusedTool = {
  readonly tool: string;
  readonly why: string;
}; // no interface: it is written down as JSON

/** What the server answered; `content` is as it came, unread. */
export interface UpstreamAnswer {
  readonly content: readonly unknown[];
  readonly structured?: Json | LargeJson;
  readonly isError: boolean;
  /** Members where a text stands for a number that a double cannot hold. */
  readonly asText?: readonly string[];
}

export interface UpstreamCall {
  readonly signal: AbortSignal;
  /** The same for every attempt of one logical call. */
  readonly idempotencyKey: string;
  readonly onProgress: (content: string, fraction?: number) => void;
}

export interface UpstreamEvents {
  /** Once, when the connection is gone without `close` having been called. */
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
  /** @throws Error with `notExecuted: true` when the tool was not run, `unknown: true` when it may have happened, neither when the server refused. */
  callTool(name: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer | LostAnswer>;
  /** The contents of one resource. */
  readResource(uri: string): Promise<readonly JsonObject[]>;
  /** Rejects when the server does not answer; then `onClose` follows. */
  ping(): Promise<void>;
  /** Ends the child process or the session, and waits for it. Never rejects. */
  close(): Promise<void>;
  /** The child process, when there is one. */
  readonly processId: number | undefined;
  /** The server asked to be left alone until then (`Retry-After`), in milliseconds of the wall clock. */
  readonly waitUntil?: number | undefined;
}

/** Provably not run: what was approved is still to be run, and nothing is lost when it is sent again. */
export function notSent(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { retryable: true, notExecuted: true });
}

/** Not run: the server does not know the session any more. A new connection helps. */
export function sessionGone(message: string, cause?: unknown): Error {
  return Object.assign(notSent(message, cause), { sessionGone: true });
}

/** Not run: the server asks to wait. */
export function takesNoCalls(message: string, resetsAt: number | undefined, cause?: unknown): Error {
  return Object.assign(notSent(message, cause), resetsAt !== undefined && { rateLimitResetsAt: resetsAt });
}

/**
 * The server's own refusal.
 *
 * @param error the JSON-RPC error, when it sent one
 * @param notExecuted it was turned away before the tool was run
 */
// biome-ignore lint/complexity/useMaxParams: as an error is made
export function refusedCall(
  message: string,
  error: UpstreamRpcError | undefined,
  notExecuted: boolean,
  cause?: unknown,
): Error {
  const fault = Object.assign(new Error(message, { cause }), notExecuted && { notExecuted: true });
  return error === undefined ? fault : withRpcError(fault, error);
}

/** It left this process and no answer came that says how it ended: it may have happened (case 158). */
export function lost(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { unknown: true });
}

/** A new connection may help, and sending the call on it does nothing twice. */
export function isWorthResending(error: unknown): boolean {
  if (!(error instanceof Error) || !("notExecuted" in error)) return false;
  return "sessionGone" in error || ("retryable" in error && !("rateLimitResetsAt" in error));
}
