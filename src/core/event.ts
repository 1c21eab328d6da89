/**
 * The moments of a call: one stream, many watchers.
 *
 * `held`, `decided`, `attempted` and `ended` are durable: they are written in the transaction that makes them true and
 * announced after it; in memory they are true, and announced, when the store took them (docs/decisions/0002). Of a call whose
 * claim is only queued, `attempted` may come after the first `progressed`. `arrived`, `progressed`, `emitted` and `left` are
 * only announced. `noted` is everything durable that is not a call's: an operator's act, a server that came or went.
 * Next: words below (what the audit log, the archive, the hooks and the progress stream call each moment).
 */
import type { Principal, Risk, ToolCall, Verdict } from "./call.ts";
import type { Json, JsonObject } from "./json.ts";
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

export type ApprovalWord = "approved" | "denied" | "skipped" | "modified" | "expired" | "withdrawn" | "revoked";

/** What policy decided, as far as a record tells it: the same object for every call it was decided for. */
export interface Weighing {
  readonly verdict: Verdict | "DENY";
  readonly risk: Risk;
  readonly reasons: readonly Reason[];
  readonly policyVersion: string;
  /** The server the tool comes from; none: this process. */
  readonly connector?: string;
  /** The grant that answered for a person (approvals/grants.ts). */
  readonly grant?: string;
}

/** One rule that took part. `where` is its place in a file, when it has one. */
export interface Reason {
  readonly rule: string;
  readonly says: Verdict | "DENY" | "RAISE";
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
      readonly as: ApprovalWord;
      readonly by: string;
      /** The credential it was said with: `session:ann`, `token:tok_…`, `channel:ops`, `approver:terminal`; `postern` when nobody said it. */
      readonly via: string;
      /** The person who delegated the decision to `by`. */
      readonly onBehalfOf?: string;
      readonly reason?: string;
      readonly risk: Risk;
      readonly policyVersion?: string;
      /** SHA-256 of the arguments that were approved, where a person has changed the ones that were asked for. */
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
      /** Of the work, from 0 to 1, when the tool knows. */
      readonly fraction?: number;
      /** The call's id, when this is a later arrival of a recorded one. */
      readonly recordedAs?: string;
    }
  | {
      /** A tool's own word on what it does: `file.read`, `skill.loaded`, `memory.recall.started` (SPEC 14.3). */
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
      /** Milliseconds: of the execution when there was one, else of the whole way of this arrival. */
      readonly latencyMs: number;
      /** Of an arrival that came so far. */
      readonly weighing?: Weighing;
      /** Of one that did not. */
      readonly policyVersion?: string;
      readonly code?: RefusalCode;
      readonly approvalId?: string;
      /** Of the recorded call that answered it. */
      readonly key?: string;
      /** Who settled it, when it was not the call itself. */
      readonly by?: string;
      readonly via?: string;
      /** Why somebody settled it so; or that the tool did not run. */
      readonly reason?: string;
    }
  | { readonly moment: "left"; readonly call: ToolCall; readonly outcome: ToolOutcome; readonly durationMs: number }
  | NotedEvent;

/** Durable, and nobody's call: `operator.action.pause`, `mcp.connected`, `runtime.recovered`, … */
export interface NotedEvent {
  readonly moment: "noted";
  readonly at: number;
  readonly type: string;
  readonly summary: string;
  readonly traceId: string;
  readonly tenant?: string;
  /** The operator whose act it is. */
  readonly by?: string;
  /** The credential it was done with. */
  readonly via?: string;
  /** Whom it is about, when it is an agent; without one it is the operator's act, or Postern's own. */
  readonly principal?: Principal;
  /** What held when it happened (D25). */
  readonly policyVersion: string;
  readonly outcome: "success" | "failure" | "suppressed" | "info";
  readonly data?: Json;
}

/** What a transaction writes beside its rows. */
export type DurableEvent = Extract<CallEvent, { readonly at: number }>;

/** What each moment is called where it is told: by hooks, in the audit log, in the archive of runs (SPEC 7.5). */
export const words = {
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
words satisfies Record<CallEvent["moment"], { audit?: string; archive?: string; progress?: string; hook?: string }>;

/** What each end is called in the audit log, the run archive, and as an audit outcome (SPEC 7.5, 14.8, D25). */
export const endWords = {
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
endWords satisfies Record<EndName, { audit: string; archive: string; record: string; outcome: NotedEvent["outcome"] }>;

/**
 * SPEC 14.2: what a run's own display, or the caller itself, is told of calls that are really attempted.
 *
 * @public
 */
export interface AgentProgress {
  readonly agentId: string;
  readonly step: "TOOL_CALL" | "TOOL_PROGRESS" | "TOOL_RESULT";
  /** The tool's name, its own words, or the outcome's text. */
  readonly content: string;
  readonly runId: string;
  /** Which call of its run it is, of those that are told, from 1; the same for all steps of one call. */
  readonly seq: number;
}

/**
 * Hears of progress. What it throws, or rejects with, is logged and changes nothing.
 *
 * @public
 */
export type ProgressSink = (progress: AgentProgress) => void | Promise<void>;

/** A watcher observes: it is called after the moment, its throw is logged, and it cannot stop a call (D14). */
export type Announce = (event: CallEvent) => void;
