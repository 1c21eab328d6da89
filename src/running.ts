/** A runtime that runs: the public face over the path. Every verb that can run a tool ends in `invoke()`. */
import type { Approver } from "./approvals/approver.ts";
import type { AuditLog } from "./audit/log.ts";
import { type CallClaims, narrower, perCallFault } from "./calls/authority.ts";
import type { Authority, Principal, ToolCall } from "./calls/call.ts";
import { CallRefused } from "./calls/call-refused.ts";
import type { CallEvent, NotedEvent } from "./calls/event.ts";
import { newTraceId } from "./calls/ids.ts";
import type { JsonObject } from "./calls/json.ts";
import type { ToolOutcome } from "./calls/outcome.ts";
import type { ApprovalRecord } from "./calls/records.ts";
import { type Caller, type Limits, type Patience, Session } from "./calls/session.ts";
import { Deciding } from "./deciding.ts";
import type { CallContext, CallRequest, Calls, Health, LedgerFace, Runtime, RuntimeSession } from "./face.ts";
import { invoke } from "./invoke.ts";
import type { Parts } from "./parts.ts";
import type { Controls } from "./policy/controls.ts";
import { type PerCall, Reception } from "./reception.ts";
import type { ArtifactStore } from "./results/artifact-store.ts";
import { releasePins } from "./results/release-pins.ts";
import { type Explanation, explain, resume } from "./resume.ts";
import { redactJson } from "./secrets/redact-json.ts";
import { callNamed, Settling } from "./settling.ts";
import type { CallFilter, Store } from "./stores/store.ts";
import type { Skills } from "./tools/builtin/skills/skills.ts";
import type { Registry } from "./tools/registry.ts";
import type { Action } from "./tools/tool.ts";
import type { ToolPins } from "./tools/upstream/pins.ts";
import type { Servers } from "./tools/upstream/servers.ts";
import type { Runs } from "./watchers/archive/runs.ts";
import type { Stream } from "./watchers/stream.ts";
import type { Watcher } from "./watchers/watcher.ts";

export interface RunningOptions {
  readonly parts: Parts;
  readonly controls: Controls;
  readonly store: Store;
  readonly audit: AuditLog;
  readonly tools: Registry;
  readonly pins: ToolPins;
  readonly policy: Runtime["policy"];
  readonly skills: Skills | undefined;
  readonly stream: Stream;
  readonly limits: Limits;
  readonly patience: Patience;
  readonly approver: Approver | undefined;
  readonly separateUser: boolean;
  /** Everything that must be closed, in the order of its opening. */
  readonly closing: AsyncDisposableStack;
}

export class RunningRuntime implements Runtime {
  readonly approvals: Deciding;
  readonly calls: Calls;
  readonly ledger: LedgerFace;
  readonly audit: AuditLog;
  readonly tools: Registry;
  readonly pins: ToolPins;
  readonly policy: Runtime["policy"];
  readonly artifacts: ArtifactStore;
  readonly controls: Controls;
  readonly skills: Skills | undefined;
  readonly #options: RunningOptions;
  readonly #parts: Parts;
  readonly #reception: Reception;
  #runs: Runs | undefined;
  #servers: Servers | undefined;
  #closing = false;
  #inFlight = 0;
  #idle: (() => void) | undefined;

  constructor(options: RunningOptions) {
    const { parts, store, audit, tools, approver, separateUser } = options;
    this.#options = options;
    this.#parts = parts;
    this.#reception = new Reception({
      store,
      clock: parts.clock,
      controls: options.controls,
      patience: options.patience,
      redactor: parts.redactor,
      knows: (tool, action) => tools.find(tool, action) !== undefined,
    });
    this.audit = audit;
    this.tools = tools;
    this.pins = options.pins;
    this.policy = options.policy;
    this.artifacts = parts.artifacts;
    this.controls = options.controls;
    this.skills = options.skills;
    const runDetached = (approval: ApprovalRecord): void => void this.#inBackground(approval);
    this.approvals = new Deciding({
      parts,
      store,
      approver,
      separateUser,
      arrive: () => this.#reception.arrive(),
      runDetached,
    });
    this.calls = { list: (where: CallFilter = {}) => store.calls(where), get: (id) => callNamed(id, store) };
    this.ledger = new Settling(parts, store);
  }

  async invoke(request: CallRequest, context: CallContext = {}): Promise<ToolOutcome> {
    const session = new Session(this.#options.limits, this.#parts.clock);
    try {
      return await this.#invoke(request, this.#reception.authority(context, session.limits), session, context);
    } finally {
      if (session.hasPins) await this.#release(session);
    }
  }

  async call(tool: string, action: string, request: JsonObject, context?: CallContext): Promise<ToolOutcome> {
    const outcome = await this.invoke({ tool, action, arguments: request }, context);
    if (outcome.status !== "ok") throw new CallRefused(outcome);
    return outcome;
  }

  async resume(approvalId: string, context: CallContext = {}): Promise<ToolOutcome | undefined> {
    const fault = perCallFault(context);
    if (fault !== undefined) throw fault;
    const session = new Session(this.#options.limits, this.#parts.clock);
    try {
      return await resume(approvalId, this.#reception.arrive(), this.#reception.caller(session, context), this.#parts);
    } finally {
      if (session.hasPins) await this.#release(session);
    }
  }

  async explain(request: CallRequest, context: CallContext = {}): Promise<Explanation> {
    const authority = this.#reception.authority(context, this.#options.limits);
    return explain(this.#reception.call(request, authority, context.idempotencyKey, undefined), this.#parts);
  }

  openSession(asked: Partial<Limits> = {}, context: CallContext = {}): RuntimeSession {
    const { clock } = this.#parts;
    const limits = narrower(this.#options.limits, asked);
    const authority = this.#reception.authority(context, limits);
    const session = new Session(limits, clock);
    const close = async (): Promise<void> => {
      if (session.closed) return;
      session.close();
      await this.#release(session);
    };
    return {
      runId: authority.runId,
      traceId: authority.traceId,
      limits,
      get callCount() {
        return session.callCount;
      },
      get trace() {
        return session.trace;
      },
      invoke: (request, call) =>
        call === undefined
          ? this.#invoke(request, authority, session, context)
          : this.#invokeWithin(request, authority, session, call),
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  offered(principal?: Principal): readonly Action[] {
    const actions = this.tools.actions();
    return principal === undefined
      ? actions
      : actions.filter(({ facts }) => this.#parts.policy.offers(principal, facts));
  }

  watch(watcher: Watcher): Disposable {
    return this.#options.stream.watch(watcher);
  }

  async note(
    type: string,
    summary: string,
    more: Partial<Pick<NotedEvent, "by" | "tenant" | "principal" | "outcome" | "data">> = {},
  ): Promise<void> {
    const { redactor } = this.#parts;
    const event: NotedEvent = {
      moment: "noted",
      at: this.#parts.clock.now(),
      type: redactor.redact(type),
      summary: redactor.redact(summary),
      traceId: newTraceId(),
      policyVersion: this.#parts.policy.version,
      outcome: "info",
      ...redactJson(more, redactor),
    };
    await this.#options.store.commit({ write: "note", event }, "committed");
  }

  health(): Health {
    const { broken } = this.#options.store;
    const servers = (this.#servers?.status() ?? []).map(({ name, status, problem, processId }) => ({
      name,
      status,
      ...(problem !== undefined && { problem }),
      ...(processId !== undefined && { processId }),
    }));
    return {
      status: broken === undefined ? "ok" : "broken",
      ...(broken !== undefined && { problem: broken.message }),
      tools: this.tools.names().length,
      servers,
    };
  }

  /** Every moment comes by here: `arrived` and `left` are how many calls are in flight. */
  announce(event: CallEvent): void {
    if (event.moment === "arrived") this.#inFlight += 1;
    else if (event.moment === "left") {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#idle?.();
    }
    this.#options.stream.announce(event);
  }

  get runs(): Runs | undefined {
    return this.#runs;
  }

  /** Told once by createRuntime, before any call. */
  archiveWith(runs: Runs): void {
    this.#runs = runs;
  }

  /** Told once by createRuntime: its servers are closed with it. */
  serve(servers: Servers): void {
    this.#servers = servers;
  }

  async close(graceMs = 10_000): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#parts.book.stopWaiting();
    await this.#drained(graceMs);
    await this.#servers?.close();
    await this.#options.closing.disposeAsync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** A tool's call of another tool: its parent's authority, budget and caller; its own place in the parent as key (D23). */
  async child(
    parent: ToolCall & { readonly key: string },
    position: number,
    request: CallRequest,
    caller: Caller,
  ): Promise<ToolOutcome> {
    const call = this.#reception.call(request, parent.authority, `${parent.key}/${position}`, parent.id);
    return invoke(call, caller, this.#parts);
  }

  async #invokeWithin(
    request: CallRequest,
    authority: Authority,
    session: Session,
    call: CallClaims & PerCall,
  ): Promise<ToolOutcome> {
    return await this.#invoke(request, this.#reception.within(authority, call), session, call);
  }

  #invoke(request: CallRequest, authority: Authority, session: Session, per: PerCall): Promise<ToolOutcome> {
    const fault = perCallFault(per);
    if (fault !== undefined) return Promise.reject(fault);
    if (this.#closing) session.close();
    const call = this.#reception.call(request, authority, per.idempotencyKey, undefined);
    return invoke(call, this.#reception.caller(session, per), this.#parts);
  }

  /** What its calls kept is held by nobody any more: their rows say whether it is needed. */
  #release(session: Session): Promise<void> {
    return releasePins(session, this.#parts.artifacts, this.#parts.log);
  }

  async #inBackground(approval: ApprovalRecord): Promise<void> {
    await this.resume(approval.id, { patience: "deny" }).catch((error: unknown) => {
      this.#parts.log(`The detached call of \`${approval.tool}\` was cancelled: ${String(error)}`);
    });
  }

  async #drained(graceMs: number): Promise<void> {
    if (this.#inFlight === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle = resolve;
    const cancel = this.#parts.clock.in(graceMs, () => {
      this.#parts.log(
        `${this.#inFlight} calls were still running after ${graceMs} ms; they will be unknown at the next start.`,
      );
      resolve();
    });
    await promise;
    cancel();
  }
}
