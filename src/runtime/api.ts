/**
 * The public face: what doors, adapters and scripts may ask of a runtime. `createRuntime` (runtime.ts) makes one.
 *
 * Invariant: every way to run a tool here ends in `invoke()`; nothing here runs a tool by itself.
 */

import type { BatchDecided, BatchRequest, Decided, Decider, DecisionRequest, Eligible } from "../approvals/decision.ts";
import type { Delegations } from "../approvals/delegations.ts";
import type { Grants } from "../approvals/grants.ts";
import type { ApprovalPage } from "../approvals/repository.ts";
import type { AuditLog } from "../audit/log.ts";
import type { Skills } from "../builtin/skills/skills.ts";
import type { Actor } from "../core/actor.ts";
import type { AgentRuns } from "../core/agent-runs.ts";
import type { Autonomy, Principal } from "../core/call.ts";
import type { CallEvent, ProgressSink } from "../core/event.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import type { ApprovalRecord, CallRecord } from "../core/records.ts";
import type { ChainEngine, ChainScript, ChainSummary } from "../core/scripts.ts";
import type { Limits, Patience, TraceLine } from "../core/session.ts";
import type { Accounts } from "../identity/accounts.ts";
import type { ToolPins } from "../mcp/client/pins.ts";
import type { Alarms } from "../observe/alarms/alarms.ts";
import type { Feed } from "../observe/feed.ts";
import type { OpenChannels } from "../observe/notify/open-channels.ts";
import type { Runs } from "../observe/runs/runs.ts";
import type { Explanation, RecordedVerdict } from "../pipeline/explain.ts";
import type { Controls } from "../policy/controls.ts";
import type { ArtifactStore } from "../results/artifact-store.ts";
import type { ApprovalFilter, CallFilter } from "../store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { Offer } from "../tools/tool.ts";
import type { PolicyApi } from "./policy-api.ts";

export interface CallRequest {
  readonly tool: string;
  /** Default: `default`. */
  readonly action?: string;
  readonly arguments?: JsonObject;
}

/** Who calls, for what, and how long they wait. Everything here can only narrow what the runtime grants. */
export interface CallContext {
  readonly principal?: Principal;
  /** `[A-Za-z0-9_-]{1,64}`; without one, one per principal and UTC day. */
  readonly runId?: string;
  readonly traceId?: string;
  readonly taskId?: string;
  readonly stepId?: string;
  /** None are granted when omitted. */
  readonly scopes?: readonly string[];
  readonly autonomy?: Autonomy;
  readonly idempotencyKey?: string;
  /**
   * The id that a model's provider gave the call. The same id in the same run, with the same arguments, is the same call:
   * it runs once. A call with a new id joins an open or approved request for the same arguments, as a call without a key does.
   */
  readonly toolCallId?: string;
  /** The item with which a model's provider asked for the call. Its type, ids and status are recorded. */
  readonly providerItem?: JsonObject;
  readonly patience?: Patience;
  readonly approvalWaitMs?: number;
  readonly signal?: AbortSignal;
  /** Wall clock, milliseconds. */
  readonly deadline?: number;
  readonly onProgress?: ProgressSink;
  /** The agent's own word on why it calls: shown to whoever is asked, marked as unverified, and decides nothing. */
  readonly reason?: string;
}

/** What may differ from call to call of one session. `runId`: another run of the same caller, on the session's budget. */
export type SessionCall = Omit<CallContext, "principal">;

/** One of several calls at once, with a key of its own. */
export type BatchedCall = CallRequest & Pick<CallContext, "idempotencyKey" | "toolCallId">;

/** A chain's, a client's or an agent's budget, trace and pins. */
export interface RuntimeSession extends AsyncDisposable {
  readonly runId: string;
  readonly traceId: string;
  readonly limits: Limits;
  readonly callCount: number;
  readonly trace: readonly TraceLine[];
  /** @param context what is this call's own; claims can only narrow what the session was opened with */
  invoke(request: CallRequest, context?: SessionCall): Promise<ToolOutcome>;
  /**
   * All calls a model asked for in one turn: neighbours whose tools are `concurrencySafe` run together, every other call
   * alone, none before its turn. One outcome a call, in their order; refusals among them. Rejects as `invoke` does, when
   * the calls that ran beside have ended.
   */
  invokeAll(
    requests: readonly BatchedCall[],
    context?: Omit<SessionCall, "idempotencyKey" | "toolCallId" | "providerItem">,
  ): Promise<readonly ToolOutcome[]>;
  /** What would be decided about a call of this session; nothing is executed, counted or written. */
  explain(request: CallRequest, context?: SessionCall): Promise<Explanation>;
  close(): Promise<void>;
}

export interface Approvals {
  list(where?: ApprovalFilter): Promise<readonly ApprovalRecord[]>;
  /**
   * A page at a time (100 when no limit is given): what is pending by urgency, that is what ends first, and of what ends
   * in the same minute the riskiest; all else old to new.
   *
   * @param mine only what this person may decide
   */
  page(where: ApprovalFilter, mine?: Decider): Promise<ApprovalPage>;
  get(id: string): Promise<ApprovalRecord | undefined>;
  /** Never runs anything (D24), except a `detached` tool's call. Under a quorum it is one vote. */
  decide(id: string, request: DecisionRequest): Promise<Decided>;
  /** Many alike requests of one run: each is decided, and recorded, by itself. */
  decideMany(ids: readonly string[], request: BatchRequest): Promise<BatchDecided>;
  /** What this person may say to each of these as things stand, and whose votes count no more. */
  eligibility(approvals: readonly ApprovalRecord[], by: Decider): Promise<readonly Eligible[]>;
  /** By the requester: the request is taken back. */
  withdraw(id: string, by: Decider, reason?: string): Promise<Decided>;
  /** Of an approval that nobody has used yet: the call does not run. */
  revoke(id: string, by: Decider, reason?: string): Promise<Decided>;
  /** Remembered yeses. */
  readonly grants: Pick<Grants, "list" | "get" | "revoke" | "stateOf" | "silence">;
  /** Who decides in whose place. */
  readonly delegations: Pick<Delegations, "list" | "make" | "revoke" | "isLive">;
}

export interface Calls {
  list(where?: CallFilter): Promise<readonly CallRecord[]>;
  /** By call id or key. */
  get(id: string): Promise<CallRecord | undefined>;
}

export type SettledAnswer =
  | { readonly settled: true; readonly call: CallRecord }
  | {
      readonly settled: false;
      readonly why: "call_unknown" | "not_unknown" | "still_unknown";
      readonly message: string;
      readonly call?: CallRecord;
    };

export interface LedgerApi {
  /** An operator's word on an `unknown` call: it happened, it did not, or run it again when asked (D20). */
  settle(id: string, word: "succeeded" | "failed" | "retry", reason: string, by?: Actor): Promise<SettledAnswer>;
  /** Asks the tool's own `reconcile` hook. */
  reconcile(id: string): Promise<SettledAnswer>;
}

export interface Health {
  readonly status: "ok" | "broken";
  readonly problem?: string;
  readonly tools: number;
  readonly servers: readonly {
    readonly name: string;
    readonly status: "connected" | "connecting" | "disconnected";
    /** Tools it lists that are not offered, and why. */
    readonly refused: readonly { readonly tool: string; readonly why: string }[];
    readonly problem?: string;
    /** Of a server that runs as a child of ours. */
    readonly processId?: number;
  }[];
}

/**
 * Scripts that call tools: what runs, what waits, and going on with it.
 *
 * @public
 */
export interface Chains {
  /** Starts engines ahead, when everything else has: for a server that expects scripts. */
  warm(): void;
  /** In the order they are tried. Asking may start a process of each, to see whether it can run. */
  engines(): Promise<readonly ChainEngine[]>;
  /** New to old, as they were called; 100 when no limit is given. */
  list(where?: {
    readonly tenant?: string;
    readonly runId?: string;
    /** Only this one's own. */
    readonly principal?: Principal;
    /** The id of a call: only older ones. The id of a page's last call is where the next page begins. */
    readonly before?: string;
    readonly limit?: number;
  }): Promise<readonly ChainSummary[]>;
  /** Lets a script go on that waits or was cut short; while its person has not decided it is pending still. Undefined: none of this id does. */
  resume(callId: string, context?: CallContext): Promise<ToolOutcome | undefined>;
}

export interface Runtime extends AsyncDisposable {
  /**
   * The one way to a tool. Throws what the caller's own signal says, after it was recorded; and RuntimeFault
   * `request_invalid` or `context_invalid` for a caller that cannot be understood at all. After `close` every call is
   * refused as `session_closed`.
   */
  invoke(request: CallRequest, context?: CallContext): Promise<ToolOutcome>;
  /** For callers that want exceptions: throws `CallRefused` for every outcome but `ok`. */
  call(tool: string, action: string, request: JsonObject, context?: CallContext): Promise<ToolOutcome>;
  /**
   * Runs the approved call once; every further resume replays its outcome. Undefined: there is no such approval, or, with
   * a principal in the context, none of theirs. Throws RuntimeFault `runtime_closed` after `close`.
   */
  resume(approvalId: string, context?: CallContext): Promise<ToolOutcome | undefined>;
  /** What would be decided; nothing is executed, counted or written. */
  explain(request: CallRequest, context?: CallContext): Promise<Explanation>;
  /** Runs a script that calls tools: a call of `tool_chain`, as every door makes it. */
  runChain(script: ChainScript, context?: CallContext): Promise<ToolOutcome>;
  openSession(limits?: Partial<Limits>, context?: CallContext): RuntimeSession;
  /** The actions this principal may be shown, in this run (none: its run of the day): those of the active skills, where they restrict. */
  offered(principal?: Principal, runId?: string): readonly Offer[];
  /** Every moment from now on, until disposed. */
  watch(watcher: (event: CallEvent) => void): Disposable;
  /** Records something that is nobody's call: an operator's act, a server that came or went. */
  note(
    type: string,
    summary: string,
    more?: Partial<Actor> & {
      /** The agent it is about; without one it is the operator's act (`by`), or Postern's own. */
      readonly principal?: Principal;
      readonly outcome?: "success" | "failure" | "info";
      readonly data?: Json;
    },
  ): Promise<void>;
  readonly approvals: Approvals;
  readonly calls: Calls;
  readonly ledger: LedgerApi;
  readonly audit: AuditLog;
  readonly tools: Registry;
  /** Which definition of each upstream tool is trusted, and what changed (D22). */
  readonly pins: ToolPins;
  readonly artifacts: ArtifactStore;
  readonly controls: Controls;
  /** People, their sessions and their tokens. */
  readonly accounts: Accounts;
  readonly policy: PolicyApi;
  /** Undefined: no folders were given for skills. */
  readonly skills: Skills | undefined;
  /** Undefined: no folder was given for runs. */
  readonly runs: Runs | undefined;
  /** Undefined: code mode is off. */
  readonly chains: Chains | undefined;
  /** What happens, live, for pages and terminals that look on. */
  readonly feed: Feed;
  /** Where conversations of agents are kept (`postern/agents/loop`). */
  readonly agentRuns: AgentRuns;
  /** What somebody should look at. */
  readonly alarms: Alarms;
  /** Undefined: none are configured. */
  readonly channels: OpenChannels | undefined;
  health(): Health;
  /** The same, after a write to the store: `broken` when it refuses writes. */
  checkHealth(): Promise<Health>;
  /** Refuses new calls and resumes, waits for those in flight (`graceMs`; then they are `unknown`), closes servers and the store. */
  close(graceMs?: number): Promise<void>;
}

export { decisionProblems } from "../approvals/decision.ts";
export type { BatchDecided, BatchRequest, Decided, Decider, DecisionRequest, Explanation, RecordedVerdict };
