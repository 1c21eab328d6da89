/**
 * The moments of a call: one stream, many watchers.
 *
 * `held`, `decided`, `attempted` and `ended` are durable: written in the transaction that makes them true, and announced
 * after it. If the claim of a call is only queued, `attempted` may come after the first `progressed`. `arrived`,
 * `progressed`, `emitted` and `left` are only announced. `noted` is every durable event that belongs to no call: an act of
 * an operator, a server that connected or disconnected.
 * Next: `words` below (the name of each moment in the audit log, run folders, hooks and the progress stream).
 */
import type { Principal, Risk, ToolCall, Verdict } from "./call.ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import type { ToolOutcome } from "./outcome.ts";
import type { RefusalCode } from "./refusals.ts";

/** How an arrival ended, in one word. */
export type EndName =
  | "succeeded"
  | "failed"
  | "unknown"
  | "deduped"
  | "refused"
  | "blocked"
  | "antiflap_blocked"
  | "storm_blocked"
  | "previewed"
  | "cancelled"
  | "suspended"
  | "settled";

export type ApprovalEndName = "approved" | "denied" | "skipped" | "modified" | "expired" | "withdrawn" | "revoked";

/** The recorded part of a policy decision. */
export interface Weighing {
  readonly verdict: Verdict | "DENY";
  readonly risk: Risk;
  readonly reasons: readonly Reason[];
  readonly policyVersion: string;
  /** In mode `observe`: the verdict of mode `enforce`. */
  readonly observed?: Verdict | "DENY";
  /** The server of the tool; undefined for a tool of this process. */
  readonly connector?: string;
  /** The grant that answered for a person (approvals/grants.ts). */
  readonly grant?: string;
}

/** One rule that took part. `where` is its place in a file. */
export interface Reason {
  readonly rule: string;
  readonly effect: Verdict | "DENY" | "RAISE";
  readonly where?: string;
}

export type CallEvent =
  | { readonly moment: "arrived"; readonly call: ToolCall }
  | {
      readonly moment: "held";
      readonly at: number;
      readonly call: ToolCall;
      readonly weighing: Weighing;
      readonly approvalId: string;
      readonly expiresAt: number;
    }
  | {
      readonly moment: "decided";
      readonly at: number;
      readonly call: ToolCall;
      readonly approvalId: string;
      readonly as: ApprovalEndName;
      readonly by: string;
      /** The credential of the decider: `session:ann`, `token:tok_…`, `channel:ops`, `approver:terminal`; `postern` without a decider. */
      readonly via: string;
      readonly reason?: string;
      readonly risk: Risk;
      readonly policyVersion?: string;
      /** SHA-256 of the approved arguments, if a person edited them. */
      readonly approved?: string;
    }
  | {
      readonly moment: "attempted";
      readonly at: number;
      readonly call: ToolCall;
      readonly key: string;
      readonly weighing: Weighing;
      readonly approvalId?: string;
    }
  | {
      readonly moment: "progressed";
      readonly call: ToolCall;
      readonly content: string;
      /** Done part of the work, from 0 to 1, if the tool knows it. */
      readonly fraction?: number;
      readonly count?: ProgressCount;
      /** Id of the recorded call, if this is a later arrival of it. */
      readonly recordedAs?: string;
    }
  | {
      /** An event of the tool itself: `file.read`, `skill.loaded`, `memory.recall.started`. */
      readonly moment: "emitted";
      readonly call: ToolCall;
      readonly type: string;
      readonly summary: string;
      readonly data?: JsonObject;
    }
  | {
      readonly moment: "ended";
      readonly at: number;
      readonly call: ToolCall;
      readonly as: EndName;
      readonly outcome: ToolOutcome;
      /** Milliseconds of the execution, or of the whole arrival if the tool did not run. */
      readonly latencyMs: number;
      /** Present if the arrival reached the policy. */
      readonly weighing?: Weighing;
      /** Present if it did not. */
      readonly policyVersion?: string;
      readonly code?: RefusalCode;
      readonly approvalId?: string;
      /** Key of the recorded call that answered it. */
      readonly key?: string;
      /** The operator who settled it, if the call did not settle itself. */
      readonly by?: string;
      readonly via?: string;
      /** Why it was settled so, or that the tool did not run. */
      readonly reason?: string;
    }
  | { readonly moment: "left"; readonly call: ToolCall; readonly outcome: ToolOutcome; readonly durationMs: number }
  | NotedEvent;

/** A durable event without a call: `operator.action.pause`, `mcp.connected`, `runtime.recovered`, … */
export interface NotedEvent {
  readonly moment: "noted";
  readonly at: number;
  readonly type: string;
  readonly summary: string;
  readonly traceId: string;
  readonly tenant?: string;
  /** The operator who acted. */
  readonly by?: string;
  /** The credential it was done with. */
  readonly via?: string;
  /** The agent that it is about; undefined for an act of the operator or of Postern. */
  readonly principal?: Principal;
  /** The policy at that time. */
  readonly policyVersion: string;
  readonly outcome: "success" | "failure" | "suppressed" | "info";
  readonly data?: Json;
}

/** An event that a transaction writes beside its rows. */
export type DurableEvent = Extract<CallEvent, { readonly at: number }>;

/**
 * Reads the stored text of an event, `{ "call", "context" }`: what it says alone, and what it has in common with others.
 * Returns undefined if it is no such text.
 */
export function storedEventIn(body: string): JsonObject | undefined {
  try {
    const { call, context }: { readonly call?: Json; readonly context?: Json } = Object(JSON.parse(body));
    if (!isJsonObject(call) || !isJsonObject(context) || !isJsonObject(call["refs"])) return undefined;
    const shared = isJsonObject(context["refs"]) ? context["refs"] : {};
    return { ...context, ...call, refs: { ...shared, ...call["refs"] } };
  } catch {
    return undefined; // it is no JSON
  }
}

/** The event of a comment on a request (`noted`). */
export const commentedType = "gate.commented";

/** The name of each moment in hooks, the audit log, run folders and progress. */
export const momentNames = {
  arrived: { hook: "TOOL_START" },
  held: { audit: "gate.required", archive: "tool.waiting" },
  decided: { audit: "gate" },
  attempted: { audit: "tool_call.attempted", archive: "tool.started", progress: "TOOL_CALL" },
  progressed: { progress: "TOOL_PROGRESS" },
  emitted: {},
  ended: { progress: "TOOL_RESULT" },
  left: { hook: "TOOL_END" },
  noted: {},
} as const;
momentNames satisfies Record<
  CallEvent["moment"],
  { audit?: string; archive?: string; progress?: string; hook?: string }
>;

/** The name of each end in the audit log and run folders, and its audit outcome. */
export const endEvents = {
  succeeded: { audit: "tool_call.succeeded", archive: "tool.completed", record: "completed", outcome: "success" },
  failed: { audit: "tool_call.failed", archive: "tool.failed", record: "failed", outcome: "failure" },
  unknown: { audit: "tool_call.unknown", archive: "tool.failed", record: "failed", outcome: "failure" },
  deduped: { audit: "tool_call.deduped", archive: "tool.completed", record: "completed", outcome: "suppressed" },
  refused: { audit: "tool_call.refused", archive: "tool.blocked", record: "blocked", outcome: "info" },
  blocked: { audit: "gate.blocked", archive: "tool.blocked", record: "blocked", outcome: "info" },
  antiflap_blocked: { audit: "gate.antiflap_block", archive: "tool.blocked", record: "blocked", outcome: "suppressed" },
  storm_blocked: { audit: "gate.storm_block", archive: "tool.blocked", record: "blocked", outcome: "suppressed" },
  previewed: { audit: "gate.preview", archive: "tool.blocked", record: "blocked", outcome: "info" },
  cancelled: { audit: "tool_call.cancelled", archive: "tool.failed", record: "failed", outcome: "info" },
  suspended: { audit: "tool_call.suspended", archive: "tool.waiting", record: "started", outcome: "info" },
  settled: { audit: "operator.call_settled", archive: "tool.completed", record: "completed", outcome: "success" },
} as const;
endEvents satisfies Record<EndName, { audit: string; archive: string; record: string; outcome: NotedEvent["outcome"] }>;

/**
 * Progress of calls that are really attempted, for the display of a run or for the caller.
 *
 * @public
 */
export interface AgentProgress {
  readonly agentId: string;
  /** `TOOL_COMMENT`: a person wrote to the agent about the request that the call waits for. */
  readonly step: "TOOL_CALL" | "TOOL_PROGRESS" | "TOOL_RESULT" | "TOOL_COMMENT";
  /** The name of the tool, the text of its progress, the text of the outcome, or who wrote and what. */
  readonly content: string;
  readonly runId: string;
  /** How far the tool is, if it says so. */
  readonly count?: ProgressCount;
  /** Number of the call among those of its run that have progress, from 1; the same for all steps of one call. 0 for a comment. */
  readonly seq: number;
}

/**
 * How far a tool is, in its own numbers.
 *
 * @public
 */
export interface ProgressCount {
  readonly progress: number;
  readonly total?: number;
}

/**
 * Receives progress. An error that it throws is logged and changes nothing.
 *
 * @public
 */
export type ProgressSink = (progress: AgentProgress) => void | Promise<void>;

/** Announces an event to the watchers, after it happened. A watcher that throws is logged; it cannot stop a call. */
export type Announce = (event: CallEvent) => void;

/**
 * Sees every moment of every call, after the moment, and cannot stop a call: an error that it throws is logged and changes
 * nothing.
 *
 * @public
 */
export type Watcher = (event: CallEvent) => void;
