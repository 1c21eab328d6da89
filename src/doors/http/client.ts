import type { AuditEvent } from "../../audit/log.ts";
import type { Autonomy } from "../../calls/call.ts";
import type { JsonObject } from "../../calls/json.ts";
import type { ApprovalState, CallState } from "../../calls/records.ts";
import type { CandidateState } from "../../tools/builtin/memory/candidate-desk.ts";
import type { RunEvent, RunSummary, RunVerification } from "../../watchers/archive/runs.ts";
import type { NamedText } from "../policy-reader.ts";
import type { ApprovalWire, CallWire, ContextWire, OutcomeWire } from "../wire.ts";
import type { CandidateWire } from "../wire-memory.ts";
import type { ToolChangesWire } from "../wire-pins.ts";
import type { PolicyTestWire, PolicyWire, SimulationWire } from "../wire-policy.ts";
import type { SkillsWire } from "../wire-skills.ts";
import type { ControlChangeWire, ControlsWire, ExplanationWire, HealthWire, ToolWire } from "../wire-tools.ts";
import { Line } from "./client-line.ts";

export { ClientProblem } from "./client-line.ts";

export interface ClientOptions {
  /** `http://127.0.0.1:7420`. */
  readonly url: string;
  readonly token: string;
  /** Carries the requests; `fetch` when nothing is given. A door in this process is asked without a socket. */
  readonly send?: (request: Request) => Promise<Response>;
}

export interface CallBody extends ContextWire {
  readonly tool: string;
  readonly action?: string | undefined;
  readonly arguments?: JsonObject | undefined;
}

export type VerificationWire =
  | {
      readonly intact: true;
      readonly events: number;
      readonly head: string;
      readonly checkpoints: number;
    }
  | {
      readonly intact: false;
      readonly events: number;
      readonly first_broken: number;
      readonly why: string;
    };

/**
 * The other end of the HTTP door, for the command line and for programs in this process's language.
 *
 * Contract: every method throws `ClientProblem` and nothing else, but for an aborted `signal`.
 */
export function createClient({ url, token, send = fetch }: ClientOptions): PosternClient {
  return new PosternClient(new Line(url, token, send));
}

export class PosternClient {
  readonly #line: Line;

  constructor(line: Line) {
    this.#line = line;
  }

  call(body: CallBody, signal?: AbortSignal): Promise<OutcomeWire> {
    return this.#line.post("/v1/calls", body, signal);
  }
  explain(body: CallBody): Promise<ExplanationWire> {
    return this.#line.post("/v1/explain", body);
  }

  calls(
    where: { state?: CallState; tool?: string; run_id?: string; before?: number; limit?: number } = {},
  ): Promise<{ calls: readonly CallWire[]; next_before?: number }> {
    return this.#line.get("/v1/calls", where);
  }
  showCall(id: string): Promise<CallWire> {
    return this.#line.get(`/v1/calls/${encodeURIComponent(id)}`);
  }
  settle(id: string, outcome: "succeeded" | "failed" | "retry", reason: string): Promise<CallWire> {
    return this.#line.post(`/v1/calls/${encodeURIComponent(id)}/settle`, { outcome, reason });
  }
  reconcile(id: string): Promise<CallWire> {
    return this.#line.post(`/v1/calls/${encodeURIComponent(id)}/reconcile`, {});
  }

  async tools(): Promise<readonly ToolWire[]> {
    const { tools } = await this.#line.get<{ readonly tools: readonly ToolWire[] }>("/v1/tools");
    return tools;
  }
  showTool(name: string): Promise<{ tool: string; actions: readonly ToolWire[] }> {
    return this.#line.get(`/v1/tools/${encodeURIComponent(name)}`);
  }

  toolChanges(name: string): Promise<ToolChangesWire> {
    return this.#line.get(`/v1/tools/${encodeURIComponent(name)}/changes`);
  }
  /** @param definition the digest of what was looked at */
  approveTool(name: string, definition: string, reason?: string): Promise<ToolChangesWire> {
    return this.#line.post(`/v1/tools/${encodeURIComponent(name)}/approve`, { definition, reason });
  }

  async approvals(where: { state?: ApprovalState; limit?: number } = {}): Promise<readonly ApprovalWire[]> {
    const { approvals } = await this.#line.get<{ readonly approvals: readonly ApprovalWire[] }>("/v1/approvals", where);
    return approvals;
  }
  showApproval(id: string): Promise<ApprovalWire> {
    return this.#line.get(`/v1/approvals/${encodeURIComponent(id)}`);
  }
  decide(id: string, verb: "approve" | "deny" | "skip", reason?: string): Promise<ApprovalWire> {
    return this.#line.post(`/v1/approvals/${encodeURIComponent(id)}/${verb}`, { reason });
  }
  modify(id: string, edited: JsonObject, reason?: string): Promise<ApprovalWire> {
    return this.#line.post(`/v1/approvals/${encodeURIComponent(id)}/modify`, {
      arguments: edited,
      reason,
    });
  }
  withdraw(id: string, reason?: string): Promise<ApprovalWire> {
    return this.#line.post(`/v1/approvals/${encodeURIComponent(id)}/withdraw`, { reason });
  }
  resume(id: string, signal?: AbortSignal): Promise<OutcomeWire> {
    return this.#line.post(`/v1/approvals/${encodeURIComponent(id)}/resume`, {}, signal);
  }

  /** `since` and `until`: ISO 8601. */
  audit(
    where: {
      trace_id?: string;
      type?: string;
      tool?: string;
      outcome?: string;
      call_id?: string;
      since?: string;
      until?: string;
      after?: number;
      limit?: number;
    } = {},
  ): Promise<{
    events: readonly AuditEvent[];
    next_after?: number;
  }> {
    return this.#line.get("/v1/audit", where);
  }
  verifyAudit(against?: string): Promise<VerificationWire> {
    return this.#line.get("/v1/audit/verify", { against });
  }
  exportAudit(): AsyncIterable<string> {
    return this.#line.lines("/v1/audit/export");
  }
  checkpoint(): Promise<{ note: string }> {
    return this.#line.post("/v1/audit/checkpoint", {});
  }

  async runs(where: { agent?: string; limit?: number } = {}): Promise<readonly RunSummary[]> {
    const { runs } = await this.#line.get<{ readonly runs: readonly RunSummary[] }>("/v1/runs", where);
    return runs;
  }
  showRun(id: string): Promise<RunSummary> {
    return this.#line.get(`/v1/runs/${encodeURIComponent(id)}`);
  }
  runEvents(
    id: string,
    where: { after?: number; type?: string; limit?: number } = {},
  ): Promise<{ events: readonly RunEvent[]; next_after?: number }> {
    return this.#line.get(`/v1/runs/${encodeURIComponent(id)}/events`, where);
  }
  verifyRun(id: string): Promise<RunVerification> {
    return this.#line.get(`/v1/runs/${encodeURIComponent(id)}/verify`);
  }
  exportRun(id: string): AsyncIterable<Uint8Array> {
    return this.#line.bytes(`/v1/runs/${encodeURIComponent(id)}/export`);
  }

  controls(): Promise<ControlsWire> {
    return this.#line.get("/v1/controls");
  }
  async controlHistory(): Promise<readonly ControlChangeWire[]> {
    const { changes } = await this.#line.get<{ readonly changes: readonly ControlChangeWire[] }>(
      "/v1/controls/history",
    );
    return changes;
  }
  pause(reason?: string): Promise<ControlsWire> {
    return this.#line.post("/v1/controls/pause", { reason });
  }
  unpause(reason?: string): Promise<ControlsWire> {
    return this.#line.post("/v1/controls/resume", { reason });
  }
  setAutonomy(level: Autonomy, reason?: string): Promise<ControlsWire> {
    return this.#line.post("/v1/controls/autonomy", { level, reason });
  }
  setTool(name: string, enabled: boolean, reason?: string): Promise<ControlsWire> {
    return this.#line.post(`/v1/controls/tools/${encodeURIComponent(name)}`, { enabled, reason });
  }
  setServer(name: string, enabled: boolean, reason?: string): Promise<ControlsWire> {
    return this.#line.post(`/v1/controls/servers/${encodeURIComponent(name)}`, { enabled, reason });
  }

  policy(
    whose: {
      agent?: string | undefined;
      user?: string | undefined;
      run_id?: string | undefined;
      autonomy?: Autonomy | undefined;
    } = {},
  ): Promise<PolicyWire> {
    return this.#line.get("/v1/policy", whose);
  }
  /** As the operator, about a call of anybody. */
  explainFor(body: {
    tool: string;
    action?: string | undefined;
    arguments?: JsonObject | undefined;
    agent?: string | undefined;
    user?: string | undefined;
    run_id?: string | undefined;
    scopes?: readonly string[] | undefined;
    autonomy?: Autonomy | undefined;
  }): Promise<ExplanationWire> {
    return this.#line.post("/v1/policy/explain", body);
  }
  simulatePolicy(body: {
    configuration: NamedText;
    tool?: string | undefined;
    run_id?: string | undefined;
    limit?: number | undefined;
  }): Promise<SimulationWire> {
    return this.#line.post("/v1/policy/simulate", body);
  }
  testPolicy(body: { configuration: NamedText; tables?: readonly NamedText[] | undefined }): Promise<PolicyTestWire> {
    return this.#line.post("/v1/policy/test", body);
  }

  skills(): Promise<SkillsWire> {
    return this.#line.get("/v1/skills");
  }
  activateSkill(name: string, runId: string): Promise<{ run_id: string; active: readonly string[] }> {
    return this.#line.post(`/v1/skills/${encodeURIComponent(name)}/activate`, { run_id: runId });
  }
  deactivateSkill(name: string, runId: string): Promise<{ run_id: string; active: readonly string[] }> {
    return this.#line.post(`/v1/skills/${encodeURIComponent(name)}/deactivate`, { run_id: runId });
  }

  async memoryCandidates(where: {
    run_id?: string;
    state?: CandidateState;
    limit?: number;
  }): Promise<readonly CandidateWire[]> {
    const { candidates } = await this.#line.get<{ readonly candidates: readonly CandidateWire[] }>(
      "/v1/memory/candidates",
      where,
    );
    return candidates;
  }
  acceptMemory(
    id: string,
    more: { run_id?: string | undefined; reason?: string | undefined; again?: boolean | undefined },
  ): Promise<CandidateWire> {
    return this.#line.post(`/v1/memory/candidates/${encodeURIComponent(id)}/accept`, more);
  }
  rejectMemory(id: string, more: { run_id?: string | undefined; reason?: string | undefined }): Promise<CandidateWire> {
    return this.#line.post(`/v1/memory/candidates/${encodeURIComponent(id)}/reject`, more);
  }

  health(): Promise<HealthWire> {
    return this.#line.get("/v1/health");
  }
}
