import {
  type Announce,
  type Autonomy,
  type Clock,
  copyOf,
  type JsonObject,
  type Principal,
  type ProgressCount,
  RuntimeFault,
  referenceKey,
  type ToolCall,
  type ToolOutcome,
} from "@postern/core";
import type { Caller } from "../call/session.ts";
import type { CurrentPolicy } from "../policy/current-policy.ts";
import { coversTool } from "../policy/guardrails/guardrails.ts";
import type { ArtifactStore } from "../results/artifact-store.ts";
import { lend } from "../secrets/lend.ts";
import { redactJson } from "../secrets/redact-json.ts";
import type { Redactor, SecretStore } from "../secrets/secret-store.ts";
import type { LazySignal } from "../tools/run-foreign.ts";
import type { ToolArtifacts, ToolContext, Tools } from "../tools/tool.ts";
import type { ClaimedCall } from "./gates/stages.ts";
import { isFromOutside } from "./scoped-history.ts";

/** Guardrails examine a result as a whole; single sentences of it would pass them. */
const hiddenProgress = "It goes on. Its words are not shown, because guardrails examine what the tool answers.";

/** Makes a child call with its parent's authority. */
export type CallChild = (
  parent: ClaimedCall,
  number: number,
  request: { readonly tool: string; readonly action?: string; readonly arguments?: JsonObject },
  caller: Caller,
) => Promise<ToolOutcome>;

export interface ContextParts {
  readonly artifacts: ArtifactStore;
  readonly secrets: SecretStore;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly announce: Announce;
  readonly child: CallChild;
  readonly tools: Tools;
  readonly policy: CurrentPolicy;
}

/** What a tool sees of its call. Its members also work when destructured. Signal and secrets are made on first use; secrets stop working when the run ends. */
export class ToolCallContext implements ToolContext {
  readonly #call: ClaimedCall;
  readonly #caller: Caller;
  readonly #run: Pick<LazySignal, "signal" | "over" | "onEnd">;
  readonly #parts: ContextParts;
  #secrets: SecretStore | undefined;
  #children = 0;

  /** For tools of Postern that make calls of their own (code-mode/). Other tools have no access to it. */
  static inside(context: ToolContext): { readonly call: ClaimedCall; readonly caller: Caller } | undefined {
    if (!(context instanceof ToolCallContext)) return undefined;
    return { call: context.#call, caller: context.#caller };
  }

  constructor(
    call: ClaimedCall,
    caller: Caller,
    run: Pick<LazySignal, "signal" | "over" | "onEnd">,
    parts: ContextParts,
  ) {
    this.#call = call;
    this.#caller = caller;
    this.#run = run;
    this.#parts = parts;
  }

  get callId(): string {
    return this.#call.id;
  }
  get signal(): AbortSignal {
    return this.#run.signal;
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
    return { ...this.#call.authority.principal }; // a copy, because the session's later calls share the original
  }
  get autonomy(): Autonomy | undefined {
    return this.#call.authority.autonomy;
  }
  get tools(): readonly string[] | undefined {
    const { tools } = this.#call.authority;
    return tools && [...tools];
  }
  get grantedScopes(): readonly string[] {
    return [...this.#call.authority.scopes];
  }
  get frozen(): string | undefined {
    return this.#call.record?.image;
  }

  get approvalId(): string | undefined {
    return this.#call.approvalId;
  }

  get secrets(): SecretStore {
    if (this.#secrets === undefined) {
      const loan = lend(this.#parts.secrets, this.#parts.redactor);
      this.#secrets = loan;
      this.#run.onEnd(() => loan.end());
    }
    return this.#secrets;
  }

  get artifacts(): ToolArtifacts {
    const { session } = this.#caller;
    const { artifacts, authority } = this.#call;
    return artifactsFor({ authority, opened: artifacts.opened }, session.limits.maxInlineResultBytes, this.#parts);
  }

  get progress(): ToolContext["progress"] {
    return (content, fraction, count) => this.#progress(content, fraction, count);
  }
  get emit(): ToolContext["emit"] {
    return (type, summary, data) => this.#emit(type, summary, data);
  }
  get afterSession(): ToolContext["afterSession"] {
    return (then) => this.#caller.session.onClose(then);
  }
  get check(): ToolContext["check"] {
    return () => this.#check();
  }
  get call(): ToolContext["call"] {
    return (request) => this.#child(request);
  }

  #progress(content: string, fraction?: number, count?: ProgressCount): void {
    if (this.#run.over) return;
    const isShown = !this.#parts.policy.now.guardrails?.onResults.some((guard) => coversTool(guard, this.#call.tool));
    const clean = isShown ? this.#parts.redactor.redact(String(content)) : hiddenProgress;
    // A fraction that is not a number is left out; one above 1 counts as 1.
    const done = Number.isFinite(fraction) ? { fraction: Math.min(1, Math.max(0, Number(fraction))) } : {};
    const kept = this.#call.record?.call.id;
    const as = kept === undefined || kept === this.#call.id ? {} : { recordedAs: kept };
    this.#parts.announce({ moment: "progressed", call: this.#call, content: clean, ...done, ...countOf(count), ...as });
  }

  #emit(type: string, summary: string, data?: JsonObject): void {
    if (this.#run.over) return;
    const { redactor, announce } = this.#parts;
    const text = { type: redactor.redact(type), summary: redactor.redact(summary) };
    const clean = data === undefined ? undefined : redactJson(copyOf(data), redactor);
    announce({ moment: "emitted", call: this.#call, ...text, ...(clean !== undefined && { data: clean }) });
  }

  #check(): void {
    if (this.#caller.signal?.aborted === true) throw this.#caller.signal.reason;
    const { deadline } = this.#caller;
    if (this.#run.over || (deadline !== undefined && deadline <= this.#parts.clock.monotonic()))
      throw new RuntimeFault("deadline_passed", "The call is over.");
  }

  async #child(request: Parameters<ToolContext["call"]>[0]): Promise<ToolOutcome> {
    this.#check();
    this.#children += 1;
    const outcome = await this.#parts.child(this.#call, this.#children, request, this.#caller);
    const { openWorld } = this.#parts.tools.find(request.tool, request.action ?? "default")?.facts ?? {};
    if (isFromOutside(openWorld, outcome)) this.#call.artifacts.openWorld = true;
    return outcome;
  }
}

/** Numbers that are not finite are left out. */
function countOf({ progress, total }: Partial<ProgressCount> = {}): { readonly count?: ProgressCount } {
  if (!Number.isFinite(progress)) return {};
  return { count: { progress: Number(progress), ...(Number.isFinite(total) && { total: Number(total) }) } };
}

/** A tool may read the artifacts that its caller may read. Its result has their judgement, so they are noted in `opened`. */
export function artifactsFor(
  { authority, opened }: Pick<ToolCall, "authority"> & { readonly opened: Set<string> },
  inlineBytes: number,
  { artifacts }: Pick<ContextParts, "artifacts">,
): ToolArtifacts {
  return {
    inlineBytes,
    open: (artifact, range) => {
      const digest = typeof artifact === "string" ? artifact : artifact[referenceKey];
      opened.add(digest);
      return artifacts.openStream(digest, authority.principal, range);
    },
  };
}
