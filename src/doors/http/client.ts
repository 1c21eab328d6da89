import type { Autonomy } from "../../calls/call.ts";
import type { Json } from "../../calls/json.ts";
import type { CallState } from "../../calls/records.ts";
import { type Client, clientOf } from "../contract/client.ts";
import { type Contract, contract } from "../contract/contract.ts";
import type { CallWire, OutcomeWire } from "../wire.ts";
import type { ToolChangesWire } from "../wire-pins.ts";
import type { ControlChangeWire, ControlsWire, ExplanationWire, HealthWire, ToolWire } from "../wire-tools.ts";
import { AccountsClient } from "./accounts-client.ts";
import type { AgentRunWire } from "./agent-run-routes.ts";
import { ChainClient } from "./chain-client.ts";
import { Line } from "./client-line.ts";
import { type EventQuery, type FollowOptions, followEvents, type Heard } from "./event-client.ts";
import type { CallFields } from "./fields.ts";
import { patientSend } from "./patient-send.ts";

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

export class PosternClient {
  readonly people: AccountsClient;
  readonly chains: ChainClient;
  readonly #line: Line;
  readonly api: Client<Contract>;

  constructor(line: Line) {
    this.#line = line;
    this.api = clientOf(contract, line);
    this.people = new AccountsClient(line);
    this.chains = new ChainClient(line);
  }

  call(body: CallFields, signal?: AbortSignal): Promise<OutcomeWire> {
    return this.#line.post("/v1/calls", body, signal);
  }
  explain(body: CallFields): Promise<ExplanationWire> {
    return this.#line.post("/v1/explain", body);
  }

  calls(
    where: { state?: CallState; tool?: string; run_id?: string; before?: string; limit?: number } = {},
  ): Promise<{ calls: readonly CallWire[]; next_before?: string }> {
    return this.#line.get("/v1/calls", where);
  }
  showCall(id: string): Promise<CallWire> {
    return this.#line.get(`/v1/calls/${encodeURIComponent(id)}`);
  }
  settle(id: string, outcome: "succeeded" | "failed" | "retry", reason: string): Promise<CallWire> {
    return this.#line.post(`/v1/calls/${encodeURIComponent(id)}/settle`, { outcome, reason });
  }

  /** @param owner whose it is, for an operator */
  artifact(digest: string, owner: { agent?: string; user?: string } = {}): AsyncIterable<Uint8Array> {
    const search = new URLSearchParams(owner);
    return this.#line.bytes(`/v1/artifacts/${encodeURIComponent(digest)}${search.size === 0 ? "" : `?${search}`}`);
  }

  /** @param runId of an agent: as the skills of this run let it see them */
  async tools(runId?: string): Promise<readonly ToolWire[]> {
    const { tools } = await this.#line.get<{ readonly tools: readonly ToolWire[] }>("/v1/tools", { run_id: runId });
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

  async agentRuns(limit: number): Promise<readonly string[]> {
    const { run_ids } = await this.#line.get<{ readonly run_ids: readonly string[] }>("/v1/agent-runs", { limit });
    return run_ids;
  }
  agentRun(id: string): Promise<AgentRunWire> {
    return this.#line.get(`/v1/agent-runs/${encodeURIComponent(id)}`);
  }
  saveAgentRun(id: string, state: Json, expectedVersion: number): Promise<{ version: number }> {
    return this.#line.put(`/v1/agent-runs/${encodeURIComponent(id)}`, { state, expected_version: expectedVersion });
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

  /** What happens, from now on, until `signal` says so. */
  events(where: EventQuery, options: FollowOptions): AsyncGenerator<Heard> {
    return followEvents(this.api.events, where, options);
  }
  /** Records that a secret was set or removed; its name, never its value. */
  noteSecret(connector: string, key: string, act: "set" | "removed"): Promise<{ recorded: true }> {
    return this.#line.post("/v1/secrets/changes", { connector, key, act });
  }

  health(): Promise<HealthWire> {
    return this.#line.get("/v1/health");
  }
}
