/**
 * What runs. An author declares a tool (`LocalTool`, `HostedTool` or `ProviderDefinedTool`). Registration compiles it once
 * into `Action`s, which the gates and the executor use.
 *
 * Invariant: an Action is complete and frozen; its `definition` digest covers everything a person would read before
 * approving, so that an approval dies with the definition it was given for.
 * Next: kinds.ts (guards), define.ts (defineTool), compile.ts (LocalTool → Actions), registry.ts (registered tools and
 * their health), toolbox.ts (a collection of tools), run-foreign.ts (the only place that runs third-party code).
 */
import type {
  Autonomy,
  ContentBlock,
  Json,
  JsonObject,
  Preview,
  Principal,
  ProgressCount,
  ResultFile,
  Risk,
  ToolOutcome,
} from "@postern/core";
import type { Suggestion, ToolFacts } from "../policy/policy.ts";
import type { ArtifactStream, ByteRange } from "../results/artifact-store.ts";
import type { SecretStore } from "../secrets/secret-store.ts";

/** For grouping, dashboards and audit; never for routing. */
export type ToolType = "FUNCTION" | "SKILL" | "MCP" | "A2A" | "KNOWLEDGE" | "CONNECTOR" | "PIPELINE";

export interface ToolUi {
  /** `ui://…` */
  readonly resourceUri: string;
  /** Where the page may connect to and load from, as MCP Apps has it (`connectDomains`, `resourceDomains`, …). Left out: nowhere. */
  readonly csp?: JsonObject;
  /** `camera`, `microphone`, `geolocation`, `clipboardWrite`. */
  readonly permissions: readonly string[];
  readonly prefersBorder: boolean;
}

/** What a tool may use while it runs. Nothing of it works after the call has ended. */
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
  /** Names of the only tools that the caller can call. Undefined: every tool. */
  readonly tools: readonly string[] | undefined;
  /** Set when a suspended tool continues. */
  readonly frozen: string | undefined;
  /** The request that a person approved for this call. Undefined if no person was asked. */
  readonly approvalId: string | undefined;
  /** Artifacts that its caller may use. */
  readonly artifacts: ToolArtifacts;
  /**
   * Reports what the tool is doing, and how much of it is done, from 0 to 1, if that is known.
   *
   * @param count the same in the tool's own numbers
   */
  progress(content: string, fraction?: number, count?: ProgressCount): void;
  /** Reports what the tool did, with a type like `file.read`. No content and no secrets in `data`. */
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

/** How a tool reads artifacts that are too large to be passed as arguments. */
export interface ToolArtifacts {
  /** How many UTF-8 bytes of a result go inline to this caller. */
  readonly inlineBytes: number;
  /**
   * The bytes in pieces: all, or a range. A tool receives `{"$artifact": digest}` instead of the bytes if its schema names a
   * property `$artifact`.
   *
   * @throws RuntimeFault `artifact_unavailable` when it is gone or not the caller's
   */
  open(artifact: string | { readonly $artifact: string }, range?: ByteRange): Promise<ArtifactStream>;
}

/** What a preview may use. It only reads, so it gets no secrets and makes no calls. */
export type PreviewContext = Omit<
  ToolContext,
  "secrets" | "call" | "frozen" | "artifacts" | "approvalId" | "afterSession"
>;

/** The live call that `classifyRisk` judges. It is left out for a past or an imagined call. */
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
  /** Wall clock, milliseconds: when the approval expires. Until then a re-send returns the outcome. */
  readonly expiresAt?: number;
  /** The call that a person must decide, in words for the caller. */
  readonly waitsFor?: string;
  /** Files that it has made. They are kept while it waits. */
  readonly files?: readonly ResultFile[];
}

/** `unusable`: why the schema itself cannot be used, whatever the arguments are. */
export type Parsed =
  | { readonly input: unknown }
  | { readonly issues: readonly Issue[] }
  | { readonly unusable: string };

/** What does not fit the schema, and where. */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * What `reconcile` found out about a call. `answer` is the call's answer, if the tool can find it. It becomes the call's
 * outcome, redacted and shaped like any answer.
 */
export type Reconciled =
  | { readonly found: "succeeded"; readonly answer?: ToolAnswer }
  | { readonly found: "failed"; readonly reason?: string }
  | { readonly found: "unknown" };

/**
 * The hints about a tool for MCP clients. If a hint is missing, clients assume the worst.
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
 * One callable action as data, without the tool's own functions, so that it runs only through the gates.
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
  /** MCP's `_meta`, for clients that know its keys. */
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
  /** SHA-256 over name, action, description, schemas, risk, effects, scopes, idempotence, and whether a preview binds. */
  readonly definition: string;
  /** Undefined: the session's. */
  readonly timeoutMs: number | undefined;
  readonly approvalTtlMs: number | undefined;
  /** Waits for people itself, so the call timeout does not apply. */
  readonly suspends: boolean;
  /** Runs at the decision, while no caller waits. */
  readonly detached: boolean;
  readonly requireIdempotencyKey: boolean;
  /** Its preview is made again when the approval is used. A difference voids the approval. */
  readonly previewBinds: boolean;
  readonly deferLoading: boolean;
  readonly concurrencySafe: boolean;
  /** Why a script may not call it: hosted, provider-defined, `tool_chain`. Undefined if it may. */
  readonly notFromChain: string | undefined;
  /** It can show what a call would do. */
  readonly previews: boolean;
  /** It can find out how a call ended whose outcome is unknown. */
  readonly reconciles: boolean;
}

/** One callable action of a registered tool, compiled once. */
export interface Action extends Omit<Offer, "previews" | "reconciles"> {
  /** Synchronous if the schema is; a JSON Schema may be checked in a worker. */
  parse(given: JsonObject): Parsed | Promise<Parsed>;
  /** The arguments without each null that stands for an optional member that is left out. The same object if there is none. */
  withoutAbsent: (given: JsonObject) => JsonObject;
  /** Its arguments may hold bytes, because code checks them and no JSON Schema. */
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

/** How recent calls of a tool ended. A call of an unavailable tool is refused before a person is asked. */
export interface ToolHealth {
  readonly status: "healthy" | "degraded" | "unavailable";
  readonly consecutiveErrors: number;
  /** Wall clock, milliseconds. */
  readonly lastSuccessAt?: number;
  readonly lastError?: string;
  /** Until then calls fail at once, retryable. */
  readonly rateLimitResetsAt?: number;
}

/** What the pipeline needs of the registered tools. */
export interface Tools {
  find(tool: string, action: string): Action | undefined;
  has(tool: string): boolean;
  /** The provider-defined tool whose calls arrive under this type. */
  toolOfCallType?(type: string): string | undefined;
  /** Why it cannot be called now: switched off, server gone, rate limited. Returns undefined if it can. */
  unavailable(action: Pick<Action, "tool" | "facts">): string | undefined;
  /** The reason if a tool is not there yet: its server is not connected, or its engine cannot run. Returns undefined for an unknown tool. */
  missing?(tool: string): string | undefined;
  /** What the person of a call has to do first. Returns undefined if nothing is missing. */
  missingFor?(
    tool: string,
    principal: Principal,
  ): { readonly message: string; readonly details: JsonObject } | undefined;
  /** Resolves after the first attempt to connect the tool's server. Returns undefined when it is over, and for other tools. */
  serverArriving?(tool: string): Promise<void> | undefined;
  /** Starts the tool's server if it is idle, and resolves when it has started or failed. Else returns undefined. */
  serverToStart?(tool: string): Promise<void> | undefined;
  /** Records how a call ended, for the tool's health. */
  report(
    action: Pick<Action, "tool">,
    went:
      | { readonly well: true }
      | { readonly well: false; readonly error: string; readonly rateLimitResetsAt?: number },
  ): void;
}
