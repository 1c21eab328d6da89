/**
 * What runs. A tool is declared by its author (`LocalTool`, `HostedTool`, `ProviderDefinedTool`: three structural kinds,
 * SPEC 2) and compiled once, at registration, into `Action`s: what the gates and the executor work with.
 *
 * Invariant: an Action is complete and frozen; its `definition` digest covers everything a person would read before
 * approving, so that an approval dies with the definition it was given for.
 * Next: kinds.ts (guards), define.ts (defineTool), compile.ts (LocalTool → Actions), registry.ts (registered tools and
 * their health), toolbox.ts (the plain box), run-foreign.ts (the only place where somebody else's code runs).
 */
import type { Autonomy, Principal, Risk } from "../core/call.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { ContentBlock, Preview, ResultFile, ToolOutcome } from "../core/outcome.ts";
import type { Suggestion, ToolFacts } from "../policy/policy.ts";
import type { ArtifactStream, ByteRange } from "../results/artifact-store.ts";
import type { SecretStore } from "../secrets/secret-store.ts";

/** SPEC 2.4: grouping, dashboards, audit; never routing. */
export type ToolType = "FUNCTION" | "SKILL" | "MCP" | "A2A" | "KNOWLEDGE" | "CONNECTOR" | "PIPELINE";

export interface ToolUi {
  /** `ui://…` */
  readonly resourceUri: string;
  /** Where the page may connect to and load from, as MCP Apps has it (`connectDomains`, `resourceDomains`, …). None: nowhere. */
  readonly csp?: JsonObject;
  /** `camera`, `microphone`, `geolocation`, `clipboardWrite`. */
  readonly permissions: readonly string[];
  readonly prefersBorder: boolean;
}

/** What a tool's body may use while it runs; nothing of it works after the call has ended. */
export interface ToolContext {
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly secrets: SecretStore;
  /** The same for every attempt of one logical call: send it upstream. */
  readonly idempotencyKey: string;
  readonly runId: string;
  readonly traceId: string;
  readonly taskId: string | undefined;
  readonly stepId: string | undefined;
  readonly principal: Principal;
  readonly autonomy: Autonomy | undefined;
  readonly grantedScopes: readonly string[];
  /** Set when a tool that suspended goes on. */
  readonly frozen: string | undefined;
  /** The request that a person approved for this very call. Undefined when no person was asked. */
  readonly approvalId: string | undefined;
  /** Artifacts that its caller may use. */
  readonly artifacts: ToolArtifacts;
  /** What it is doing, for those who look on, and how much of it is done, from 0 to 1, where that is known. */
  progress(content: string, fraction?: number): void;
  /** For those who look on: what the tool did, in a word like `file.read`. No content and no secrets in `data`. */
  emit(type: string, summary: string, data?: JsonObject): void;
  /** Throws when the call was cancelled or is past its deadline. */
  check(): void;
  /** Called once, when the caller closes the session that it opened. A call without such a session never has it called. */
  afterSession(then: () => void): void;
  /** A child call: with this call's authority, through the same gates. */
  call(request: {
    readonly tool: string;
    readonly action?: string;
    readonly arguments?: JsonObject;
  }): Promise<ToolOutcome>;
}

/** How a tool reads artifacts that are too large to be handed to it. */
export interface ToolArtifacts {
  /** How many UTF-8 bytes of a result go inline to this caller. */
  readonly inlineBytes: number;
  /**
   * The bytes piece by piece: all, or a part. A tool is given `{"$artifact": digest}` itself, and not the bytes, where its
   * schema names a property `$artifact`.
   *
   * @throws RuntimeFault `artifact_unavailable` when it is gone or not the caller's
   */
  open(artifact: string | { readonly $artifact: string }, range?: ByteRange): Promise<ArtifactStream>;
}

/** What a preview may use: it reads, so it is lent no secrets and makes no calls. */
export type PreviewContext = Omit<
  ToolContext,
  "secrets" | "call" | "frozen" | "artifacts" | "approvalId" | "afterSession"
>;

/** Which live call `classifyRisk` is asked about. It is not given for a call of the past or an imagined one. */
export type JudgedCall = Pick<ToolContext, "callId" | "runId" | "principal">;

/**
 * What `execute` may answer: text, blocks, bytes, or any other JSON value as structured content. A stream of bytes
 * (`ReadableStream`, `AsyncIterable`, `Blob`), by itself or as the `data` of a block, is kept as an artifact while it is read.
 */
export type ToolAnswer =
  | string
  | Json
  | undefined
  | {
      readonly content?: readonly ContentBlock[];
      readonly structured?: Json;
      readonly isError?: boolean;
      readonly retryable?: boolean;
    };

/** A tool that waits for people ends its turn with this, made by `suspend()`, and is run again with `frozen`. */
export interface Suspended {
  readonly suspended: string;
  readonly approvalId: string;
  /** Wall clock, milliseconds: when the approval lapses; until then a re-send is answered with what came of it. */
  readonly expiresAt?: number;
  /** Which of its calls a person is asked about, as its caller reads it. */
  readonly waitsFor?: string;
  /** Files that it has made: they are kept as long as it waits. */
  readonly files?: readonly ResultFile[];
}

/** `unusable`: why the schema itself cannot be used, whatever the arguments are. */
export type Parsed =
  | { readonly input: unknown }
  | { readonly issues: readonly Issue[] }
  | { readonly unusable: string };

/** What does not fit, and where. */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * The answer of a tool's own look at what became of a call (SPEC 9.6, case 170). `answer`: what the call answered, if the
 * tool can find that; it becomes the call's outcome, redacted and shaped as any answer is.
 */
export type Reconciled =
  | { readonly found: "succeeded"; readonly answer?: ToolAnswer }
  | { readonly found: "failed"; readonly reason?: string }
  | { readonly found: "unknown" };

/**
 * What MCP clients are told about a tool. A hint that is not there is not known; clients then assume the worse.
 *
 * @public
 */
export interface ToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/**
 * One callable action as it is shown: data, and none of the tool's own functions, so that nobody runs it but through the
 * gates.
 *
 * @public
 */
export interface Offer {
  readonly tool: string;
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** JSON Schema (2020-12) of the arguments, as offered to models. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations: ToolAnnotations;
  /** Pictures of it, as MCP has them. */
  readonly icons?: readonly JsonObject[];
  /** What its server says about it to clients that know its keys: MCP's `_meta`. */
  readonly meta?: JsonObject;
  readonly toolType: ToolType;
  readonly ui?: ToolUi;
  readonly kind: "local" | "hosted" | "provider_defined";
  /** Of a hosted or provider-defined tool: what each provider is sent for it, verbatim. */
  readonly providerSpecs?: JsonObject;
  /** Of a provider-defined tool: the types under which its provider's calls arrive. */
  readonly callTypes?: readonly string[];
  readonly facts: ToolFacts;
  readonly idempotent: boolean;
  /** SHA-256 over name, action, description, schemas, risk, effects, scopes, idempotence, and that a preview binds nothing (D18). */
  readonly definition: string;
  /** None: the session's. */
  readonly timeoutMs: number | undefined;
  readonly approvalTtlMs: number | undefined;
  /** Waits for people itself, so the call timeout does not apply (SPEC 7 step 12). */
  readonly suspends: boolean;
  /** Runs at the decision, without anybody waiting (D24). */
  readonly detached: boolean;
  readonly requireIdempotencyKey: boolean;
  /** Its preview, if it offers one, is made again when the approval is used; a difference voids it (D18). */
  readonly previewBinds: boolean;
  readonly deferLoading: boolean;
  readonly concurrencySafe: boolean;
  /** A script may not call it: hosted, provider-defined, `tool_chain`. The reason, when so. */
  readonly notFromChain: string | undefined;
  /** It can show what a call would do. */
  readonly previews: boolean;
}

/** One callable action of a registered tool: everything the path needs to know, prepared once. */
export interface Action extends Omit<Offer, "previews"> {
  /** Synchronous for our own tools and simple schemas; a stranger's schema may be checked in a worker. */
  parse(given: JsonObject): Parsed | Promise<Parsed>;
  /** Its arguments may hold bytes: they are checked by code, and not as JSON. */
  readonly takesBytes?: boolean | undefined;
  readonly classifyRisk: ((given: JsonObject, call?: JudgedCall) => Risk | Suggestion) | undefined;
  readonly preview:
    | ((
        input: unknown,
        context: PreviewContext,
      ) => Promise<Preview | { readonly summary: string; readonly diff?: string; readonly details?: Json } | null>)
    | undefined;
  execute(input: unknown, context: ToolContext): Promise<ToolAnswer | Suspended> | ToolAnswer | Suspended;
  readonly reconcile: ((input: unknown, context: ToolContext) => Promise<Reconciled>) | undefined;
}

/** How a tool has fared of late. One that is unavailable is refused before anybody is asked about it (SPEC 4.6). */
export interface ToolHealth {
  readonly status: "healthy" | "degraded" | "unavailable";
  readonly consecutiveErrors: number;
  /** Wall clock, milliseconds. */
  readonly lastSuccessAt?: number;
  readonly lastError?: string;
  /** Until then calls fail at once, retryable. */
  readonly rateLimitResetsAt?: number;
}

/** What the path asks of the registered tools. */
export interface Tools {
  find(tool: string, action: string): Action | undefined;
  has(tool: string): boolean;
  /** The provider-defined tool whose calls arrive under this type. */
  toolOfCallType?(type: string): string | undefined;
  /** Why it cannot be called now: switched off, server gone, rate limited. Undefined: it can. */
  unavailable(action: Pick<Action, "tool" | "facts">): string | undefined;
  /** Why a tool that is not registered may only be missing for now: its server is not connected yet. Undefined: it is unknown. */
  serverAway?(tool: string): string | undefined;
  /** How a call went; the registry keeps health from it. */
  report(
    action: Pick<Action, "tool">,
    went:
      | { readonly well: true }
      | { readonly well: false; readonly error: string; readonly rateLimitResetsAt?: number },
  ): void;
}
