/**
 * The three kinds of tools. Any object of the right shape is a tool. The guards also take the designs' names of members
 * (`provider_specs`); registration does not, and names `legacyTool`.
 */
import { isRecord, type Json, type JsonObject, type Risk } from "@postern/core";
import type { Suggestion, ToolFacts } from "../policy/policy.ts";
import type { ToolCallRequest } from "./exchange.ts";
import type { ToolInput } from "./schema/standard-schema.ts";
import type { JudgedCall, PreviewContext, Reconciled, ToolAnnotations, ToolContext, ToolType, ToolUi } from "./tool.ts";

/** The members of one action. A member that an action leaves out comes from its tool. */
export interface ActionSpec {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly input?: ToolInput | undefined;
  /** Shown to models instead of the JSON Schema of `input`. */
  readonly inputSchema?: JsonObject | undefined;
  readonly outputSchema?: JsonObject | undefined;
  readonly risk?: Risk | undefined;
  /** Default: `read` where the risk is `safe`, else `write`. */
  readonly effects?: ToolFacts["effects"] | undefined;
  /** Its results may come from outside: web pages, mails. Default: false. */
  readonly openWorld?: boolean | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly permissions?: readonly string[] | undefined;
  readonly idempotent?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  readonly approvalTtlMs?: number | undefined;
  readonly suspends?: boolean | undefined;
  readonly detached?: boolean | undefined;
  readonly requireIdempotencyKey?: boolean | undefined;
  /**
   * The preview must be the same when the approved call runs, else the approval is void. `false` is for previews that change
   * by themselves, such as a rate of the day; the approver sees that. Default: true.
   */
  readonly previewBinds?: boolean | undefined;
  readonly concurrencySafe?: boolean | undefined;
  /** Text, `{ content?, structured?, isError?, retryable? }`, any other JSON, or what `suspend()` gives. */
  execute?(input: unknown, context: ToolContext, action: string): unknown;
  preview?(input: unknown, context: PreviewContext, action: string): unknown;
  classifyRisk?(given: unknown, action: string, call?: JudgedCall): Risk | Suggestion;
  reconcile?(input: unknown, context: ToolContext, action: string): Reconciled | Promise<Reconciled>;
}

/** The page that clients show for a tool (MCP Apps). Only clients run it, in a sandbox of theirs. */
export interface DeclaredUi extends Partial<Omit<ToolUi, "resourceUri">> {
  /** `ui://…` */
  readonly resourceUri: string;
  /** The page itself: one HTML document. */
  readonly html?: string;
}

/** Runs here. */
export interface LocalTool extends ActionSpec {
  readonly name: string;
  readonly description: string;
  /** Default: `FUNCTION`. */
  readonly toolType?: ToolType | undefined;
  readonly ui?: DeclaredUi | undefined;
  /** Hints for MCP clients. By default they follow from effects, openWorld and idempotence. */
  readonly annotations?: ToolAnnotations | undefined;
  readonly icons?: readonly JsonObject[] | undefined;
  /** MCP's `_meta`, for clients that know its keys. */
  readonly meta?: JsonObject | undefined;
  readonly deferLoading?: boolean | undefined;
  /** With actions, only these can be called; without, the tool is one action named `default`. */
  readonly actions?: Readonly<Record<string, ActionSpec>> | undefined;
}

/** One entry a provider, sent to it verbatim. */
export type ProviderSpecs = Readonly<Record<string, Json>>;

/** Runs at the provider. It is never called here; its result arrives in a later turn. */
export interface HostedTool {
  readonly name: string;
  readonly description: string;
  readonly providerSpecs: ProviderSpecs;
  readonly risk?: Risk | undefined;
}

/**
 * Declared by the provider, run here by `handleCall`. It may state the schema of its arguments, its effects and its preview,
 * as a local tool does.
 */
export interface ProviderDefinedTool
  extends HostedTool,
    Pick<ActionSpec, "input" | "effects" | "openWorld" | "permissions" | "timeoutMs" | "preview" | "classifyRisk"> {
  /** The provider's types of its calls (`computer_call`). A call of one of these types is a call of this tool. */
  readonly callTypes: readonly string[];
  readonly idempotent?: boolean | undefined;
  handleCall(call: ToolCallRequest, context: ToolContext): unknown;
}

export type AnyTool = LocalTool | HostedTool | ProviderDefinedTool;
export type ToolKind = "local" | "hosted" | "provider_defined";

export function isProviderDefinedTool(value: unknown): value is ProviderDefinedTool {
  if (!isDescribed(value) || !hasSpecs(value) || !canHandle(value)) return false;
  const types = value["callTypes"] ?? value["call_types"];
  return Array.isArray(types) && types.every((type) => typeof type === "string" && type !== "");
}

export function isHostedTool(value: unknown): value is HostedTool {
  return isDescribed(value) && hasSpecs(value) && !canHandle(value);
}

export function isLocalTool(value: unknown): value is LocalTool {
  if (!isDescribed(value) || hasSpecs(value)) return false;
  return typeof value["execute"] === "function" || isRecord(value["actions"]);
}

/** Returns undefined if the object is no tool. */
export function kindOf(value: unknown): ToolKind | undefined {
  if (isProviderDefinedTool(value)) return "provider_defined";
  if (isHostedTool(value)) return "hosted";
  return isLocalTool(value) ? "local" : undefined;
}

/** The types of its provider's calls. Empty for other kinds. */
export function callTypesOf(tool: AnyTool): readonly string[] {
  return isProviderDefinedTool(tool) ? tool.callTypes : [];
}

function hasSpecs(value: Record<string, unknown>): boolean {
  return isRecord(value["providerSpecs"] ?? value["provider_specs"]);
}

function canHandle(value: Record<string, unknown>): boolean {
  return typeof (value["handleCall"] ?? value["handle_call"]) === "function";
}

function isDescribed(value: unknown): value is Record<string, unknown> {
  return (
    isRecord(value) &&
    typeof value["name"] === "string" &&
    value["name"] !== "" &&
    typeof value["description"] === "string"
  );
}
