/**
 * Where strangers' tools come from: MCP servers, each behind one connection, each of their tools a native tool (SPEC 13).
 * This port is one opened connection to one server; whoever wants another one opens it anew.
 *
 * Invariant: whatever `callTool` throws says whether the call may have happened (`unknown`) or cannot have (`retryable`):
 * a retry hangs on it. Nothing of a server's own words about itself changes what its tools may do (SPEC 13.5).
 * Next: sdk-upstream.ts (the port through the official SDK), connection.ts (keeps one alive), adapter.ts (an MCP tool as
 * ours), terms.ts (risk, effects, scopes), names.ts, blocks.ts, servers.ts (all of them).
 */
import type { Json, JsonObject } from "../../calls/json.ts";
import type { LostAnswer } from "../../results/raw-result.ts";
import type { HeldJson } from "../json-in-slices.ts";
import type { ToolAnnotations } from "../tool.ts";

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
  readonly malformed: readonly Refused[];
}

/** A tool that is not offered, by its name or by its place where it has none. */
export type Refused = {
  readonly tool: string;
  readonly why: string;
}; // no interface: it is written down as JSON

/** What the server answered; `content` is as it came, unread. */
export interface UpstreamAnswer {
  readonly content: readonly unknown[];
  readonly structured?: Json | HeldJson;
  readonly isError: boolean;
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
  /** @throws Error with `retryable: true` when nothing was sent, `unknown: true` when it may have happened, neither when the server said no. */
  callTool(name: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer | LostAnswer>;
  /** Rejects when the server does not answer; then `onClose` follows. */
  ping(): Promise<void>;
  /** Ends the child process or the session, and waits for it. Never rejects. */
  close(): Promise<void>;
  /** The child process, when there is one. */
  readonly processId: number | undefined;
}

/** Nothing has left this process: sending it again is safe. */
export function notSent(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { retryable: true });
}

/** It left this process and no answer came that says how it ended: it may have happened (case 158). */
export function lost(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { unknown: true });
}
