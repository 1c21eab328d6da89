/**
 * The public API of a runtime, for servers, adapters and scripts. `createRuntime` (create.ts) makes one.
 *
 * Invariant: every verb that runs a tool ends in `invoke()`.
 */

import type {
  Actor,
  AgentRuns,
  ApprovalRecord,
  Autonomy,
  CallEvent,
  CallRecord,
  ChainEngine,
  ChainScript,
  ChainSummary,
  Json,
  JsonObject,
  Principal,
  ProgressSink,
  ToolOutcome,
} from "@postern/core";
import type {
  BatchDecisionAnswer,
  BatchRequest,
  Decider,
  DecisionAnswer,
  DecisionRequest,
  Eligible,
} from "../../approvals/decision.ts";
import type { Grants } from "../../approvals/grants.ts";
import type { ApprovalPage } from "../../approvals/repository.ts";
import type { AuditLog } from "../../audit/log.ts";
import type { Skills } from "../../builtin/skills/skills.ts";
import type { ClientOfCall } from "../../call/client-of-call.ts";
import type { Limits, Patience, TraceLine } from "../../call/session.ts";
import type { Connections } from "../../connections/connections.ts";
import type { Accounts } from "../../identity/accounts.ts";
import type { ToolPins } from "../../mcp/client/pins.ts";
import type { Alarms } from "../../observe/alarms/alarms.ts";
import type { Feed } from "../../observe/feed.ts";
import type { Metrics } from "../../observe/metrics/metrics.ts";
import type { OpenChannels } from "../../observe/notify/open-channels.ts";
import type { Runs } from "../../observe/runs/runs.ts";
import type { Explanation, RecordedVerdict } from "../../pipeline/explain.ts";
import type { Controls } from "../../policy/controls.ts";
import type { ArtifactStore, ArtifactStream } from "../../results/artifact-store.ts";
import type { ApprovalFilter, CallFilter, GroupFilter, RequestCounts, WaitingGroup } from "../../store/store.ts";
import type { Registry } from "../../tools/registry.ts";
import type { Statistics, StatisticsRange } from "../../tools/statistics.ts";
import type { Offer } from "../../tools/tool.ts";
import type { RemoteWorkers } from "../../workers/options.ts";
import type { Storage } from "../services/storage.ts";
import type { PolicyApi } from "./policy-api.ts";

export interface CallRequest {
  readonly tool: string;
  /** Default: `default`. */
  readonly action?: string;
  readonly arguments?: JsonObject;
  /** Arguments that a person typed. Each stays text if that fits the tool's schema; else it is read as JSON, if that fits. */
  readonly textArguments?: Readonly<Record<string, string>>;
}

/** Who calls, and how long the caller waits. Each member can only narrow what the runtime grants. */
export interface CallContext {
  readonly principal?: Principal;
  /** `[A-Za-z0-9_-]{1,64}`. Default: one run per principal and UTC day. */
  readonly runId?: string;
  readonly traceId?: string;
  readonly taskId?: string;
  readonly stepId?: string;
  /** Default: none. */
  readonly scopes?: readonly string[];
  readonly autonomy?: Autonomy;
  /** Names of the only tools that can be called; others are `tool_unknown`. Default: every tool. */
  readonly tools?: readonly string[];
  readonly idempotencyKey?: string;
  /** The id from the model's provider. It names the call within its turn: the same id in the same turn is the same call. */
  readonly toolCallId?: string;
  /**
   * Names the response of the model that holds the call, such as the id of its message. Two equal calls of one turn are two
   * calls; in a later turn, an equal call joins an open or approved request. Default: `toolCallId` is a turn of its own.
   */
  readonly turn?: string;
  /** The provider's own item for the call. Its type, ids and status are recorded. */
  readonly providerItem?: JsonObject;
  readonly patience?: Patience;
  readonly approvalWaitMs?: number;
  readonly signal?: AbortSignal;
  /** Wall clock, milliseconds. */
  readonly deadline?: number;
  readonly onProgress?: ProgressSink;
  /** The agent's own reason for the call. Approvers see it, marked as unverified; it decides nothing. */
  readonly reason?: string;
  /** What an MCP client sent beside the arguments: upstream servers receive it. It decides nothing and is not recorded. */
  readonly requestMeta?: JsonObject;
  /** The MCP client that waits for this call: upstream servers may ask it, where `servers.NAME.may_ask` allows. */
  readonly client?: ClientOfCall;
}

/** Options of one call of a session. `runId` names another run of the same caller, on the session's budget. */
export type SessionCall = Omit<CallContext, "principal">;

/** One call of `invokeAll`, with its own key. */
export type BatchedCall = CallRequest & Pick<CallContext, "idempotencyKey" | "toolCallId">;

/** A session of a script, a client or an agent: a budget and a trace for its calls. */
export interface RuntimeSession extends AsyncDisposable {
  readonly runId: string;
  readonly traceId: string;
  readonly limits: Limits;
  readonly callCount: number;
  readonly trace: readonly TraceLine[];
  /** @param context options of this call; they can only narrow those of the session */
  invoke(request: CallRequest, context?: SessionCall): Promise<ToolOutcome>;
  /**
   * All calls of one turn of a model. Neighbours whose tools are `concurrencySafe` run together, each other call runs
   * alone, in order. Returns one outcome for each call, in order, refusals included. Rejects like `invoke`, after the
   * calls that ran together have ended.
   */
  invokeAll(
    requests: readonly BatchedCall[],
    context?: Omit<SessionCall, "idempotencyKey" | "toolCallId" | "providerItem">,
  ): Promise<readonly ToolOutcome[]>;
  /**
   * A session within this one, for a sub-agent: its calls count against both budgets, and limits and claims can only narrow
   * these. Closing this one closes it.
   */
  openSession(limits?: Partial<Limits>, context?: SessionCall): RuntimeSession;
  /** What would be decided about a call of this session; nothing is executed, counted or written. */
  explain(request: CallRequest, context?: SessionCall): Promise<Explanation>;
  /** Counts an act of the caller that is no call. Returns false if the budget is used up. */
  spend(): boolean;
  close(): Promise<void>;
}

/** Which pending requests are grouped, and by what. */
export type WaitingGroupFilter = Omit<GroupFilter, "audiences">;

export interface Approvals {
  list(where?: ApprovalFilter): Promise<readonly ApprovalRecord[]>;
  /**
   * One page (100 without a limit). Pending requests come in the order in which they need a person: those that end within
   * five minutes, then by risk, critical ones newest first, the others oldest first. Decided ones come newest first.
   *
   * @param decider only requests that this person may decide
   */
  page(where: ApprovalFilter, decider?: Decider): Promise<ApprovalPage>;
  /**
   * Groups of pending requests that are equal in some members, the largest first.
   *
   * @param decider only requests that this person may decide
   */
  groups(where: WaitingGroupFilter, decider?: Decider): Promise<readonly WaitingGroup[]>;
  /** How many requests of a tenant are in each state, and how many of its calls have an unknown end. */
  counts(tenant: string): Promise<RequestCounts>;
  get(id: string): Promise<ApprovalRecord | undefined>;
  /** Never runs anything, except a `detached` tool's call. Under a quorum it is one vote. */
  decide(id: string, request: DecisionRequest): Promise<DecisionAnswer>;
  /** Decides several similar requests of one run. Each is decided and recorded separately. */
  decideMany(ids: readonly string[], request: BatchRequest): Promise<BatchDecisionAnswer>;
  /** How this person may decide each of these now, and whose votes no longer count. */
  eligibility(approvals: readonly ApprovalRecord[], by: Decider): Promise<readonly Eligible[]>;
  /**
   * A person who may decide the request writes to its agent, without deciding. The agent reads it before the decision:
   * at the beginning of its next `pending` outcome, and as progress while its call waits.
   */
  comment(id: string, by: Decider, text: string): Promise<DecisionAnswer>;
  /** The requester withdraws the request. */
  withdraw(id: string, by: Decider, reason?: string): Promise<DecisionAnswer>;
  /** Revokes an approval that is not used yet: the call does not run. */
  revoke(id: string, by: Decider, reason?: string): Promise<DecisionAnswer>;
  /** Approvals that are remembered for later calls. */
  readonly grants: Pick<Grants, "list" | "get" | "revoke" | "stateOf" | "problem">;
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
  /** Settles an `unknown` call for an operator: it succeeded, it failed, or it may run again. */
  settle(id: string, word: "succeeded" | "failed" | "retry", reason: string, by?: Actor): Promise<SettledAnswer>;
  /** Asks the tool's own `reconcile` hook. */
  reconcile(id: string): Promise<SettledAnswer>;
}

export interface Health {
  readonly status: "ok" | "broken";
  readonly problem?: string;
  readonly tools: number;
  readonly servers: readonly UpstreamHealth[];
}

/** An upstream server, as this process is connected to it. */
export interface UpstreamHealth {
  readonly name: string;
  readonly status: "connected" | "connecting" | "disconnected" | "idle";
  /** Tools it lists that are not offered, and why. */
  readonly refused: readonly { readonly tool: string; readonly why: string }[];
  readonly problem?: string;
  /** Process id of a server that Postern started. */
  readonly processId?: number;
  /** It is started when a call needs it. */
  readonly onDemand?: true;
  /** It is connected when a person has signed in there. */
  readonly signInNeeded?: true;
  /** How often it was connected again after it was lost. */
  readonly restarts: number;
  /** The last changes of its connection, old to new. */
  readonly changes: readonly {
    readonly at: number;
    readonly status: "connected" | "disconnected" | "idle";
    readonly problem?: string;
  }[];
}

/**
 * Scripts that call tools: lists those that run or wait, and resumes them.
 *
 * @public
 */
export interface Chains {
  /** Starts engines ahead, after a short delay: for a server that expects scripts. */
  warm(): void;
  /** The engines in the order they are tried. May start a process of each, to see whether it runs. */
  engines(): Promise<readonly ChainEngine[]>;
  /** Newest first; 100 without a limit. */
  list(where?: {
    readonly tenant?: string;
    readonly runId?: string;
    /** Only scripts of this principal. */
    readonly principal?: Principal;
    /** Only scripts older than this call id. The next page begins at the last id of a page. */
    readonly before?: string;
    readonly limit?: number;
  }): Promise<readonly ChainSummary[]>;
  /** Continues a script that waits or was interrupted. It stays pending until the decision. Returns undefined if there is no such script. */
  resume(callId: string, context?: CallContext): Promise<ToolOutcome | undefined>;
}

export interface Runtime extends AsyncDisposable {
  /**
   * Calls a tool. Refusals and failures are outcomes. Throws the reason of the caller's signal, after the cancellation was
   * recorded, and RuntimeFault `request_invalid` or `context_invalid` for an invalid request or context. After `close`
   * each call is refused with `session_closed`; while it closes, with `draining`.
   *
   * @example
   * const outcome = await runtime.invoke({ tool: "mail", action: "send", arguments: { to: "ada@example.org" } });
   * if (outcome.status === "ok") console.log(outcome.text);
   */
  invoke(request: CallRequest, context?: CallContext): Promise<ToolOutcome>;
  /** Like `invoke`, but throws `CallRefused` for every outcome except `ok`. */
  call(tool: string, action: string, request: JsonObject, context?: CallContext): Promise<ToolOutcome>;
  /**
   * Runs the approved call once; each further resume replays its outcome. Returns undefined if there is no such approval,
   * or it belongs to another principal than the one in the context. Throws RuntimeFault `runtime_closed` after `close`.
   */
  resume(approvalId: string, context?: CallContext): Promise<ToolOutcome | undefined>;
  /** What would be decided; nothing is executed, counted or written. */
  explain(request: CallRequest, context?: CallContext): Promise<Explanation>;
  /** Runs a script that calls tools: a call of `tool_chain`. */
  runChain(script: ChainScript, context?: CallContext): Promise<ToolOutcome>;
  openSession(limits?: Partial<Limits>, context?: CallContext): RuntimeSession;
  /** The actions that this principal can see in this run (default: its run of the day), of these tools. Active skills may restrict them. */
  offered(principal?: Principal, runId?: string, tools?: readonly string[]): readonly Offer[];
  /** Calls `watcher` at each moment from now on, until disposed. */
  watch(watcher: (event: CallEvent) => void): Disposable;
  /** Records an event that belongs to no call: an act of an operator, a server that connected. */
  note(
    type: string,
    summary: string,
    more?: Partial<Actor> & {
      /** The agent it is about; without one it is an act of the operator (`by`) or of Postern. */
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
  /** The trusted definition of each upstream tool, and what changed. */
  readonly pins: ToolPins;
  readonly artifacts: ArtifactStore;
  /**
   * As `artifacts.openStream`, for an agent that reads by itself. What third parties wrote taints its run of the day, and
   * `notes` says what guardrails found in the bytes, or did not examine.
   */
  readArtifact(digest: string, reader: Principal): Promise<ArtifactStream & { readonly notes: readonly string[] }>;
  readonly controls: Controls;
  /** People, their sessions and their tokens. */
  readonly accounts: Accounts;
  readonly policy: PolicyApi;
  /** Undefined without folders for skills. */
  readonly skills: Skills | undefined;
  /** Undefined without a folder for runs. */
  readonly runs: Runs | undefined;
  /** Undefined if code mode is off. */
  readonly chains: Chains | undefined;
  /** Live events, for pages and terminals. */
  readonly feed: Feed;
  /** Stored conversations of agents (`@postern/agents/loop`). */
  readonly agentRuns: AgentRuns;
  /** Alarms for the operator. */
  readonly alarms: Alarms;
  /** Undefined without configured channels. */
  readonly channels: OpenChannels | undefined;
  /** Undefined if no server asks for a sign-in or a key of each person. */
  readonly connections: Connections | undefined;
  /** Undefined without the option `metrics`. */
  readonly metrics: Metrics | undefined;
  /** Undefined if no tool runs on workers. */
  readonly workers: RemoteWorkers | undefined;
  /**
   * Calls and decisions of a range of time, by tool, agent, decider, hour or day, over restarts and all processes that
   * share the store. Throws RuntimeFault `request_invalid` for a wrong range.
   *
   * @example
   * const { tools, decisions } = await runtime.statistics({ from: Date.now() - 7 * 86_400_000 });
   */
  statistics(range?: StatisticsRange): Promise<Statistics>;
  /** What is stored: how much, and a backup of it. */
  readonly storage: Storage;
  health(): Health;
  /** Like `health`, after a test write: `broken` if the store refuses it. */
  checkHealth(): Promise<Health>;
  /**
   * Closes the connection to an upstream server and connects at once. Returns its state after the attempt, "busy" if calls
   * of it run (nothing is closed then), undefined if there is no such server.
   */
  reconnectServer(name: string): Promise<UpstreamHealth | "busy" | undefined>;
  /** Whether new calls are refused because it stops. */
  readonly draining: boolean;
  /**
   * The first half of `close`, for a server that answers on meanwhile: refuses new calls with `draining`, answers callers
   * that wait for a person, and gives running calls `graceMs` milliseconds (default 10,000). A call that takes longer is
   * ended: it has timed out if it only reads, else it is `unknown`.
   */
  drain(graceMs?: number): Promise<void>;
  /** Drains, then closes servers and the store. */
  close(graceMs?: number): Promise<void>;
}

export { decisionProblems } from "../../approvals/decision.ts";
export type {
  BatchDecisionAnswer,
  BatchRequest,
  Decider,
  DecisionAnswer,
  DecisionRequest,
  Explanation,
  RecordedVerdict,
};
