import { Readable } from "node:stream";
import type { ToolOutcome } from "../../packages/core/src/outcome.ts";
import { type ApprovalRecord, approvalStates, type CallRecord } from "../../packages/core/src/records.ts";
import { isForeign } from "../../packages/postern/src/call/authority.ts";
import type { Limits } from "../../packages/postern/src/call/session.ts";
import type { ToolChanges } from "../../packages/postern/src/mcp/client/pins.ts";
import type { Alarm } from "../../packages/postern/src/observe/alarms/alarms.ts";
import type { RunName, RunSummary } from "../../packages/postern/src/observe/runs/runs.ts";
import type { ControlState } from "../../packages/postern/src/policy/controls.ts";
import type {
  CallContext,
  CallRequest,
  DecisionAnswer,
  Runtime,
  SettledAnswer,
} from "../../packages/postern/src/runtime/api/api.ts";
import type { ApprovalFilter } from "../../packages/postern/src/store/store.ts";
import { aCall } from "./call.ts";

export const aDigest: string = "a".repeat(64);
const controls: ControlState = { paused: false, autonomy: "A2", offTools: [], offServers: [] };

export function anOutcome(more: Partial<ToolOutcome> = {}): ToolOutcome {
  return {
    status: "ok",
    callId: "call_1",
    content: [{ type: "text", text: "done" }],
    text: "done",
    ...more,
  } as ToolOutcome; // whoever asks for a status says what belongs to it
}

export function aRecord(agent = "local-agent", tenant = "default"): CallRecord {
  const call = aCall();
  const principal = { tenant, agent };
  return {
    key: call.id,
    match: undefined,
    call: { ...call, authority: { ...call.authority, principal } },
    state: "unknown",
    risk: "high",
    definition: aDigest,
    idempotent: false,
    fence: undefined,
    approvalId: undefined,
    aliveUntil: undefined,
    startedAt: call.arrivedAt,
    endedAt: undefined,
    outcome: undefined,
    retryable: false,
    image: undefined,
  };
}

export function anApproval(agent = "local-agent", tenant = "default"): ApprovalRecord {
  return {
    id: "apr_1",
    key: "call_1",
    state: "pending",
    tool: "mail",
    action: "default",
    principal: { tenant, agent },
    runId: "run_1",
    traceId: "0".repeat(31).concat("1"),
    asked: { to: "a" },
    arguments: { to: "a" },
    binding: aDigest,
    definition: aDigest,
    risk: "high",
    autonomy: "A2",
    why: [{ rule: "matrix A2/high", effect: "CONFIRM" }],
    policyVersion: "p1",
    requestedAt: Date.UTC(2026, 10, 20),
    expiresAt: Date.UTC(2026, 10, 20, 1),
  };
}

export function aRun(agent = "local-agent", tenant = "default"): RunSummary {
  const at = "2026-11-20T00:00:00.000Z";
  const none = {
    started: 0,
    completed: 0,
    failed: 0,
    blocked: 0,
    previewed: 0,
    replayed: 0,
    waiting: 0,
    errors: 0,
    artifacts: 0,
  };
  return {
    run_id: "run_1",
    tenant,
    principal: { agent },
    state: "running",
    created_at: at,
    last_event_at: at,
    counts: { events: 0, ...none },
    deliverables: { expected: [] },
    governance: { result: "incomplete", reasons: [] },
  };
}

export function anAlarm(tenant = "default"): Alarm {
  const seen = { firstSeen: Date.UTC(2026, 10, 20), lastSeen: Date.UTC(2026, 10, 20), count: 1 };
  const words = { kind: "tool_errors", key: "tool_errors/mail", summary: "`mail` failed 5 times in a row." };
  return { id: "alm_1", tenant, severity: "warning", state: "open", data: {}, ...words, ...seen };
}

/** One call of the runtime: the function's name and its arguments. */
export type StubCall = readonly [verb: string, ...given: readonly unknown[]];

export interface StubOptions {
  readonly outcome?: ToolOutcome;
  readonly decided?: DecisionAnswer;
  readonly settled?: SettledAnswer;
  readonly owner?: string;
  readonly tenant?: string;
  readonly broken?: boolean;
  readonly draining?: boolean;
}

/** A runtime that runs nothing: it records its calls, and has one call and one approval, both of `owner`. */
export function stubRuntime(options: StubOptions = {}): {
  readonly runtime: Runtime;
  readonly requests: StubCall[];
} {
  const calls: StubCall[] = [];
  const record = aRecord(options.owner, options.tenant);
  const approval = anApproval(options.owner, options.tenant);
  const recording =
    <T>(verb: string, answer: T) =>
    async (...given: readonly unknown[]): Promise<T> => {
      calls.push([verb, ...given]);
      return answer;
    };
  const decided: DecisionAnswer = options.decided ?? {
    decided: true,
    approval: { ...approval, state: "approved" },
  };
  const run = aRun(options.owner, options.tenant);
  const settled: SettledAnswer = options.settled ?? { settled: true, call: { ...record, state: "ok" } };
  const outcome = options.outcome ?? anOutcome();
  const decision = { verdict: "ALLOW", risk: "safe", reasons: [], policyVersion: "p1" } as const;
  const facts = {
    tool: "echo",
    action: "default",
    risk: "safe",
    riskSource: "declared",
    effects: "read",
    scopes: [],
    permissions: [],
  } as const;
  const changes: ToolChanges = { server: "files", tool: "echo", state: "pinned", differences: [], warnings: [] };
  const anEntry = JSON.stringify({ call: { refs: {} }, context: { tenant: options.tenant ?? "default" } });
  const digests = { leaf: aDigest, root: aDigest };
  const runtime = {
    invoke: recording("invoke", outcome),
    /** A session passes on its options, so that a call's context is in one place. */
    openSession(limits: Limits, context: CallContext) {
      const invoke = (request: CallRequest, more: CallContext) => this.invoke(request, { ...context, ...more });
      return { limits, invoke, spend: () => true, close: async () => {} };
    },
    resume: recording("resume", outcome),
    explain: recording("explain", { reached: "verdict", decision, counting: decision.reasons, facts }),
    offered: () => [],
    calls: {
      list: recording("calls.list", [record]),
      get: async (id: string) => (id === record.call.id ? record : undefined),
    },
    approvals: {
      list: recording("approvals.list", [approval]),
      page: async ({ tenant, principal }: ApprovalFilter) => {
        calls.push(["approvals.page"]);
        const fits = tenant === approval.principal.tenant && !isForeign(approval.principal, principal);
        return { approvals: fits ? [approval] : [] };
      },
      groups: recording("approvals.groups", []),
      counts: recording("approvals.counts", {
        requests: Object.fromEntries(approvalStates.map((state) => [state, 0])),
        unknownCalls: 0,
      }),
      get: async (id: string) => (id === approval.id ? approval : undefined),
      eligibility: async (asked: readonly object[]) => asked.map(() => ({ may: ["approved"] })),
      decide: recording("decide", decided),
      decideMany: recording("decideMany", { taken: true, answers: [{ id: approval.id, decided }] }),
      withdraw: recording("withdraw", decided),
      revoke: recording("revoke", decided),
      comment: recording("comment", decided),
      grants: {
        list: () => [],
        get: () => undefined,
        stateOf: () => "live",
        problem: async () => undefined,
        revoke: recording("revokeGrant", undefined),
      },
    },
    ledger: { settle: recording("settle", settled), reconcile: recording("reconcile", settled) },
    audit: {
      size: 1,
      query: recording("audit.query", []),
      latest: recording("audit.latest", { events: [] }),
      prove: recording("audit.prove", {
        ...digests,
        seq: 0,
        body: anEntry,
        path: [],
        size: 1,
        checkpoint: "",
        publicKey: "",
      }),
      verify: recording("audit.verify", { intact: true, events: 0, head: aDigest, checkpoints: 0 }),
      checkpoint: recording("audit.checkpoint", "note"),
      async *export() {
        yield "one";
        yield "two";
      },
    },
    controls: {
      state: controls,
      pause: recording("pause", { ...controls, paused: true }),
      resume: recording("unpause", controls),
      pauseOne: recording("pauseOne", controls),
      resumeOne: recording("resumeOne", controls),
      setAutonomy: recording("setAutonomy", controls),
      setTool: recording("setTool", controls),
      setServer: recording("setServer", controls),
      history: recording("history", []),
    },
    policy: {
      ...{ version: "p1", effective: () => undefined, warnings: () => [] },
      explainCall: recording("explainCall", { reached: "verdict", decision, counting: decision.reasons, facts }),
    },
    readArtifact: recording("artifact", {
      meta: { digest: aDigest, mediaType: "text/html", bytes: 2 },
      chunks: [Buffer.from("hi")],
      notes: [],
    }),
    artifacts: {
      openStream: recording("artifact", {
        meta: { digest: aDigest, mediaType: "text/html", bytes: 2 },
        chunks: [Buffer.from("hi")],
      }),
    },
    agentRuns: {
      load: recording("agentRuns.load", undefined),
      save: recording("agentRuns.save", true),
      list: recording("agentRuns.list", []),
      remove: recording("agentRuns.remove", true),
    },
    runs: {
      list: recording("runs.list", [run]),
      page: recording("runs.page", { runs: [run] }),
      get: async ({ tenant }: RunName) => (tenant === run.tenant ? run : undefined),
      events: recording("runs.events", []),
      calls: recording("runs.calls", []),
      begin: recording("runs.begin", run),
      describe: recording("runs.describe", run),
      finish: recording("runs.finish", run),
    },
    tools: {
      names: () => [],
      unavailable: () => undefined,
      get: () => null,
      offer: () => undefined,
      has: () => false,
      blocked: () => undefined,
    },
    pins: { changes: () => changes, approve: recording("approveTool", { approved: true, changes }) },
    feed: { last: "0", open: async () => ({ from: "0", [Symbol.dispose]: () => {} }) },
    alarms: {
      list: () => [anAlarm(options.tenant)],
      page: () => ({ alarms: [anAlarm(options.tenant)] }),
      get: () => anAlarm(options.tenant),
      acknowledge: recording("alarms.acknowledge", { changed: true, alarm: anAlarm(options.tenant) }),
      resolve: recording("alarms.resolve", { changed: true, alarm: anAlarm(options.tenant) }),
    },
    storage: {
      sizes: async () => [],
      lastBackup: async () => undefined,
      backupChecked: recording("storage.backupChecked", undefined),
      backup: () => Readable.from([]),
    },
    channels: {
      list: () => [],
      test: recording("channels.test", { delivered: true }),
      retry: recording("channels.retry", 0),
      receive: async () => ({ taken: false, code: "signature_refused", message: "no" }),
      receiveFromSlack: async () => ({ taken: false, code: "signature_refused", message: "no" }),
    },
    note: recording("note", undefined),
    drain: async () => {},
    draining: options.draining ?? false,
    statistics: recording("statistics", {
      ...{ from: 0, to: 1, tools: [], agents: [], deciders: [], periods: [], minutes: [] },
      decisions: { approved: 0, denied: 0, skipped: 0, expired: 0, withdrawn: 0 },
    }),
    health: () => ({ status: options.broken === true ? "broken" : "ok", tools: 0, servers: [] }),
    reconnectServer: recording("reconnectServer", {
      ...{ name: "files", status: "connected", refused: [], restarts: 1, changes: [] },
    }),
    checkHealth: async () => ({ status: options.broken === true ? "broken" : "ok", tools: 0, servers: [] }),
  };
  return { runtime: runtime as unknown as Runtime, requests: calls }; // only what doors use; a door that needs more fails its test
}
