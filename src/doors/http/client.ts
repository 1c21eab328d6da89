import type { AuditEvent } from "../../audit/log.ts";
import type { Autonomy } from "../../calls/call.ts";
import { isJsonObject, type Json, type JsonObject } from "../../calls/json.ts";
import type { ApprovalState, CallState } from "../../calls/records.ts";
import type { ApprovalWire, CallWire, ContextWire, OutcomeWire } from "../wire.ts";
import type { ControlChangeWire, ControlsWire, ExplanationWire, HealthWire, ToolWire } from "../wire-tools.ts";

export interface ClientOptions {
  /** `http://127.0.0.1:7420`. */
  readonly url: string;
  readonly token: string;
  /** Carries the requests; `fetch` when nothing is given. A door in this process is asked without a socket. */
  readonly send?: (request: Request) => Promise<Response>;
}

/** A request the server did not take, or a server that was not there (`status` 0, `code` `unreachable`). A refused call is no problem: it is an outcome. */
export class ClientProblem extends Error {
  override readonly name = "ClientProblem";
  readonly status: number;
  readonly code: string;
  /** The whole answer: beside `error` it may hold the record that was in the way. */
  readonly body: Json;

  constructor(status: number, code: string, message: string, body: Json = null, cause?: unknown) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.body = body;
  }
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

type Query = Readonly<Record<string, string | number | undefined>>;

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

  health(): Promise<HealthWire> {
    return this.#line.get("/v1/health");
  }
}

/** Requests and answers; knows nothing of what they mean. */
class Line {
  readonly #url: string;
  readonly #token: string;
  readonly #carry: (request: Request) => Promise<Response>;

  constructor(url: string, token: string, carry: (request: Request) => Promise<Response>) {
    this.#url = url.replace(/\/$/, "");
    this.#token = token;
    this.#carry = carry;
  }

  get<Answer>(path: string, query: Query = {}): Promise<Answer> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
    return this.#ask(`${path}${search.size === 0 ? "" : `?${search}`}`, { method: "GET" });
  }

  post<Answer>(path: string, body: object, signal?: AbortSignal): Promise<Answer> {
    return this.#ask(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
      ...(signal !== undefined && { signal }),
    });
  }

  async *lines(path: string): AsyncGenerator<string> {
    const response = await this.#send(path, { method: "GET" });
    if (!response.ok || response.body === null) throw problemOf(response.status, await response.text());
    let rest = "";
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    if (rest !== "") yield rest;
  }

  async #ask<Answer>(path: string, init: RequestInit): Promise<Answer> {
    const response = await this.#send(path, init);
    const text = await response.text().catch((error: unknown) => this.#cutOff(init, error));
    const body = parsed(text);
    const isAnswer = isJsonObject(body) && !Object.hasOwn(body, "error");
    // A call that was refused has a status of its own and an outcome as its body.
    if (isAnswer && (response.ok || Object.hasOwn(body, "call_id"))) return body as Answer; // the server's wire types (wire.ts)
    throw problemOf(response.status, text);
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#carry(
        new Request(`${this.#url}${path}`, {
          ...init,
          headers: { ...init.headers, authorization: `Bearer ${this.#token}` },
        }),
      );
    } catch (error) {
      return this.#cutOff(init, error);
    }
  }

  /** The server was not there, or went away in the middle of its answer. */
  #cutOff(init: RequestInit, error: unknown): never {
    if (init.signal?.aborted === true) throw error;
    const message = `No Postern answers at ${this.#url}; start one with \`postern start\`.`;
    throw new ClientProblem(0, "unreachable", message, null, error);
  }
}

function problemOf(status: number, text: string): ClientProblem {
  const body = parsed(text);
  const error = isJsonObject(body) ? body["error"] : undefined;
  if (error !== undefined && isJsonObject(error))
    return new ClientProblem(status, String(error["code"]), String(error["message"]), body);
  return new ClientProblem(
    status,
    "not_postern",
    `The server answered ${status} with something that is not Postern's.`,
    body,
  );
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json; // JSON.parse makes nothing but JSON
  } catch {
    return text; // it is shown as what it is: not ours
  }
}
