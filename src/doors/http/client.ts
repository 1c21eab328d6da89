import type { AuditEvent, Verdict } from "../../audit/log.ts";
import type { CandidateState } from "../../tools/builtin/memory/candidate-desk.ts";
import type { RunEvent, RunSummary, RunVerification } from "../../watchers/archive/runs.ts";
import { type Client, clientOf } from "../contract/client.ts";
import { type Contract, contract } from "../contract/contract.ts";
import type { Explanation } from "../contract/policy.ts";
import type { CheckedWire, VerificationWire } from "../wire-audit.ts";
import type { CandidateWire } from "../wire-memory.ts";
import type { SkillsWire } from "../wire-skills.ts";
import { Line } from "./client-line.ts";
import { type EventQuery, type FollowOptions, followEvents, type Heard } from "./event-client.ts";
import { patientSend } from "./patient-send.ts";
import { PolicyClient } from "./policy-client.ts";

export { ClientProblem } from "./client-line.ts";

export interface ClientOptions {
  /** `http://127.0.0.1:7420`. */
  readonly url: string;
  readonly token: string;
  /** Carries the requests. Default: HTTP, without a limit of time. A server in this process is asked without a socket. */
  readonly send?: (request: Request) => Promise<Response>;
}

/**
 * The other end of the HTTP door, for the command line and for programs in this process's language.
 *
 * Contract: every method throws `ClientProblem` and nothing else, but for an aborted `signal`.
 */
export function createClient({ url, token, send = patientSend }: ClientOptions): PosternClient {
  return new PosternClient(new Line(url, token, send));
}

/** `since` and `until`: ISO 8601. */
type AuditAsked = {
  readonly trace_id?: string;
  readonly type?: string;
  readonly tool?: string;
  readonly outcome?: string;
  readonly call_id?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit?: number;
};

export class PosternClient {
  readonly policy: PolicyClient;
  readonly #line: Line;
  readonly api: Client<Contract>;

  constructor(line: Line) {
    this.#line = line;
    this.api = clientOf(contract, line);
    this.policy = new PolicyClient(line);
  }

  explainCall(id: string): Promise<Explanation> {
    return this.#line.get(`/v1/calls/${encodeURIComponent(id)}/explanation`);
  }
  audit(
    where: AuditAsked & { readonly after?: number } = {},
  ): Promise<{ events: readonly AuditEvent[]; next_after?: number }> {
    return this.#line.get("/v1/audit", where);
  }
  /** New to old; a page may hold fewer than were asked for although there are more. */
  latestAudit(
    where: AuditAsked & { readonly before?: number } = {},
  ): Promise<{ events: readonly AuditEvent[]; next_before?: number; size: number; checked?: CheckedWire }> {
    return this.#line.get("/v1/audit/latest", where);
  }
  verifyAudit(against?: string): Promise<VerificationWire & Partial<Verdict>> {
    return this.#line.get("/v1/audit/verify", { against });
  }
  exportAudit(): AsyncIterable<string> {
    return this.#line.lines("/v1/audit/export");
  }
  checkpoint(): Promise<{ note: string }> {
    return this.#line.post("/v1/audit/checkpoint", {});
  }

  runs(
    where: { agent?: string; after?: string; limit?: number } = {},
  ): Promise<{ runs: readonly RunSummary[]; next_after?: string }> {
    return this.#line.get("/v1/runs", where);
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
  changeRun(id: string, verb: "begin" | "describe" | "finish", said: object): Promise<RunSummary> {
    return this.#line.post(`/v1/runs/${encodeURIComponent(id)}/${verb}`, said);
  }
  verifyRun(id: string): Promise<RunVerification> {
    return this.#line.get(`/v1/runs/${encodeURIComponent(id)}/verify`);
  }
  exportRun(id: string): AsyncIterable<Uint8Array> {
    return this.#line.bytes(`/v1/runs/${encodeURIComponent(id)}/export`);
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

  /** What happens, from now on, until `signal` says so. */
  events(where: EventQuery, options: FollowOptions): AsyncGenerator<Heard> {
    return followEvents(this.#line, where, options);
  }
}
