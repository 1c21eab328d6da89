import type { Autonomy, Principal } from "../calls/call.ts";
import type { Clock } from "../calls/clock.ts";
import type { Announce } from "../calls/event.ts";
import { RuntimeFault } from "../calls/fault.ts";
import type { JsonObject } from "../calls/json.ts";
import type { ToolOutcome } from "../calls/outcome.ts";
import type { Caller } from "../calls/session.ts";
import type { ClaimedCall } from "../gates/stages.ts";
import { type Loan, lend } from "../secrets/lend.ts";
import { redactJson } from "../secrets/redact-json.ts";
import type { Redactor, SecretStore } from "../secrets/secret-store.ts";
import type { ToolContext } from "../tools/tool.ts";

/** Makes a child call with its parent's authority; wired by the runtime, because the path is above this layer. */
export type CallChild = (
  parent: ClaimedCall,
  position: number,
  request: { readonly tool: string; readonly action?: string; readonly arguments?: JsonObject },
  caller: Caller,
) => Promise<ToolOutcome>;

export interface ContextParts {
  readonly secrets: SecretStore;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly announce: Announce;
  readonly child: CallChild;
}

/** What a tool sees of its call. Signal and secrets are made when they are asked for; `end` takes back what was lent. */
export class CallContext implements ToolContext {
  readonly #call: ClaimedCall;
  readonly #caller: Caller;
  readonly #lazy: { readonly signal: AbortSignal };
  readonly #parts: ContextParts;
  #loan: Loan | undefined;
  #children = 0;
  #over = false;

  /** For what is of this house and makes calls of its own (chains/): a tool's body is given no way to this. */
  static inside(context: ToolContext): { readonly call: ClaimedCall; readonly caller: Caller } | undefined {
    if (!(context instanceof CallContext)) return undefined;
    return { call: context.#call, caller: context.#caller };
  }

  constructor(call: ClaimedCall, caller: Caller, lazy: { readonly signal: AbortSignal }, parts: ContextParts) {
    this.#call = call;
    this.#caller = caller;
    this.#lazy = lazy;
    this.#parts = parts;
  }

  get callId(): string {
    return this.#call.id;
  }
  get signal(): AbortSignal {
    return this.#lazy.signal;
  }
  get idempotencyKey(): string {
    return this.#call.key;
  }
  get runId(): string {
    return this.#call.authority.runId;
  }
  get traceId(): string {
    return this.#call.authority.traceId;
  }
  get taskId(): string | undefined {
    return this.#call.authority.taskId;
  }
  get stepId(): string | undefined {
    return this.#call.authority.stepId;
  }
  get principal(): Principal {
    return { ...this.#call.authority.principal }; // a copy: the session's later calls have the same one
  }
  get autonomy(): Autonomy | undefined {
    return this.#call.authority.autonomy;
  }
  get grantedScopes(): readonly string[] {
    return [...this.#call.authority.scopes];
  }
  get frozen(): string | undefined {
    return this.#call.record?.image;
  }

  get secrets(): SecretStore {
    this.#loan ??= lend(this.#parts.secrets, this.#parts.redactor);
    if (this.#over) this.#loan.end();
    return this.#loan;
  }

  progress(content: string): void {
    if (this.#over) return;
    const clean = this.#parts.redactor.redact(String(content));
    this.#parts.announce({ moment: "progressed", call: this.#call, content: clean });
    try {
      this.#caller.progress?.(clean);
    } catch {
      // A caller that cannot hear progress still gets its outcome (case 196).
    }
  }

  emit(type: string, summary: string, data?: JsonObject): void {
    if (this.#over) return;
    const { redactor, announce } = this.#parts;
    const said = { type: redactor.redact(type), summary: redactor.redact(summary) };
    const clean = data === undefined ? undefined : redactJson(data, redactor);
    announce({ moment: "emitted", call: this.#call, ...said, ...(clean !== undefined && { data: clean }) });
  }

  check(): void {
    if (this.#caller.signal?.aborted === true) throw this.#caller.signal.reason;
    const { deadline } = this.#caller;
    if (this.#over || (deadline !== undefined && deadline <= this.#parts.clock.monotonic()))
      throw new RuntimeFault("deadline_passed", "The call is over.");
  }

  async call(request: {
    readonly tool: string;
    readonly action?: string;
    readonly arguments?: JsonObject;
  }): Promise<ToolOutcome> {
    this.check();
    this.#children += 1;
    return this.#parts.child(this.#call, this.#children, request, this.#caller);
  }

  end(): void {
    this.#over = true;
    this.#loan?.end();
  }
}
