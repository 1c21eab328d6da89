/**
 * Both directions between the runtime and an agent library: the runtime's tools in the library's form, and tools that a
 * user of the library already has, registered with the runtime.
 */

import {
  type ApprovalRecord,
  asSentence,
  CallRefused,
  type ContentBlock,
  isRecord,
  type JsonObject,
  lineOfBytes,
  RuntimeFault,
  textOf,
} from "@postern/core";
import type { LocalTool, Runtime, ToolContext } from "postern";
import type { RenderedOutcome } from "postern/results";
import type { ActionSpec, ToolInput } from "postern/tools";
import {
  type AgentContext,
  type AgentTool,
  type AgentTools,
  openAgentTools,
  type RenderedToolAnswer,
} from "./agent-tools.ts";

/** The tools of one agent in one run, in the form that an agent library takes. */
export interface LibraryTools<Tools> extends AsyncDisposable {
  readonly tools: Tools;
  readonly agentTools: AgentTools;
}

/** Opens the tools of an agent and turns each one that runs here into the library's form. */
export function offerToLibrary<Tool>(
  runtime: Runtime,
  context: AgentContext,
  toolOf: (tool: AgentTool, agentTools: AgentTools) => Tool,
): LibraryTools<Tool[]> {
  const agentTools = openAgentTools(runtime, context);
  const local = agentTools.list().filter(({ offer }) => offer.kind === "local");
  return {
    agentTools,
    tools: local.map((tool) => toolOf(tool, agentTools)),
    [Symbol.asyncDispose]: () => agentTools[Symbol.asyncDispose](),
  };
}

/** For a library that continues a call before the decision and cannot pause it again. */
export function stillWaits(tool: string, approvalId: string): RuntimeFault {
  return new RuntimeFault(
    "approval_waits",
    `\`${tool}\` still waits: no person has decided the request ${approvalId} in Postern, so nothing ran. Resume the same stored state after the decision.`,
  );
}

/** Why a decided request did not let its call run, for the model. Returns undefined when it does. */
export async function refusalOf({ id, key, state }: ApprovalRecord, runtime: Runtime): Promise<string | undefined> {
  if (state === "approved" || state === "used") return undefined;
  return (await runtime.calls.get(key))?.outcome?.refusal?.message ?? `The request ${id} is ${state}.`;
}

/** The user's no, in what a paused run is resumed with: `false`, `"n"`, `"no"`, or `{ approved: false, reason }`. */
export function noIn(resumed: unknown): { readonly reason?: string } | undefined {
  if (resumed === false || (typeof resumed === "string" && /^\s*no?\s*$/i.test(resumed))) return {};
  if (!isRecord(resumed) || resumed["approved"] !== false) return undefined;
  const { reason } = resumed;
  return typeof reason === "string" ? { reason } : {};
}

/** For the model, after the user's no in the library. */
export function refusedByUser(tool: string, reason = ""): string {
  const why = reason === "" ? "" : ` Reason: ${asSentence(reason)}`;
  return `Not run: the user refused this call of \`${tool}\`.${why}`;
}

/** The value that a library's tool returns. @throws CallRefused when the tool did not run or failed */
export function resultOf(answer: RenderedToolAnswer): unknown {
  throwIfRefused(answer);
  return structuredOrText(answer);
}

/**
 * The structured content, unless the model must also read what only the text says: notes, and lines for files.
 *
 * @param takes whether the library sends this block of bytes beside the result
 */
export function structuredOrText(
  { structured, text, content, outcome }: RenderedToolAnswer,
  takes: (block: ContentBlock) => boolean = () => false,
): unknown {
  const hasMore = content.some((block) => lineOfBytes(block) !== undefined && !takes(block));
  return hasMore || outcome.notes !== undefined ? text : (structured ?? text);
}

/** @throws CallRefused with the text for the model */
export function throwIfRefused({ isError, outcome, text }: RenderedToolAnswer): void {
  if (isError) throw new CallRefused(outcome, text);
}

/** A result as one text, or as parts if it holds media. A block that the library cannot take is one line of text. */
export function textOrParts<Part extends { readonly type: string }>(
  { text, content }: Pick<RenderedOutcome, "text" | "content">,
  partOf: (block: ContentBlock) => Part | undefined,
): string | Part[] {
  const parts = content.flatMap((block) => partOf(block) ?? partOf(asText(block)) ?? []);
  return parts.every(({ type }) => type === "text" || type === "input_text") ? text : parts;
}

/** A block as one block of text. */
export function asText(block: ContentBlock): ContentBlock & { readonly type: "text" } {
  return { type: "text", text: lineOfBytes(block) ?? textOf([block]) };
}

/** A Standard Schema with its JSON Schema, for libraries that take one. */
export interface AnySchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "postern";
    readonly validate: (value: unknown) => { readonly value: never };
    readonly jsonSchema: { readonly input: () => JsonObject; readonly output: () => JsonObject };
  };
}

/** Shows a schema to the model and accepts every value. The gate validates, and its answer names the mistake. */
export function anySchema(parameters: JsonObject): AnySchema {
  const schema = (): JsonObject => structuredClone(parameters); // libraries change the schemas that they receive
  const validate = (value: unknown): { readonly value: never } => ({ value: value as never }); // the library passes it on unchanged
  return { "~standard": { version: 1, vendor: "postern", validate, jsonSchema: { input: schema, output: schema } } };
}

/** The facts of a tool that an agent library does not have. The developer states them. A tool without a risk is refused. */
export type ToolStatement = Pick<
  ActionSpec,
  | "risk"
  | "effects"
  | "scopes"
  | "permissions"
  | "idempotent"
  | "openWorld"
  | "timeoutMs"
  | "approvalTtlMs"
  | "concurrencySafe"
  | "requireIdempotencyKey"
  | "preview"
  | "classifyRisk"
  | "reconcile"
>;

/** The statements by tool name. */
export type ToolStatements = Readonly<Record<string, ToolStatement>>;

/** A tool of an agent library, in the form that its adapter gives. */
export interface LibraryTool {
  /** The library's own object. Wrapping the same object again changes nothing. */
  readonly original: object;
  readonly name: string;
  readonly description?: string | undefined;
  /** A Standard Schema or a JSON Schema. Undefined for any object. */
  readonly input?: unknown;
  execute(input: unknown, context: ToolContext): unknown;
}

const wrapped = new WeakMap<Runtime, Map<string, object>>();

/**
 * Registers tools that an agent library already has, each with its statement. Wrapping the same tools again changes nothing.
 *
 * @throws RuntimeFault `options_invalid` for a tool without a statement, and what registration refuses
 */
export function registerLibraryTools(
  runtime: Runtime,
  tools: readonly LibraryTool[],
  statements: ToolStatements,
): void {
  const known = wrapped.get(runtime) ?? new Map<string, object>();
  wrapped.set(runtime, known);
  const unknown = Object.keys(statements).find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined)
    throw new RuntimeFault(
      "options_invalid",
      `There is no tool \`${unknown}\` to state a risk for; there are ${tools.map(({ name }) => `\`${name}\``).join(", ") || "none"}.`,
    );
  for (const tool of tools) {
    if (known.get(tool.name) === tool.original) continue;
    runtime.tools.register(localTool(tool, statementFor(tool, statements)));
    known.set(tool.name, tool.original);
  }
}

function statementFor({ name }: LibraryTool, statements: ToolStatements): ToolStatement {
  const statement = Object.hasOwn(statements, name) ? statements[name] : undefined;
  if (statement?.risk !== undefined) return statement;
  throw new RuntimeFault(
    "options_invalid",
    `Tool \`${name}\` has no risk. State it where you wrap the tool: { ${name}: { risk: "high", effects: "write", idempotent: false } }.`,
  );
}

function localTool(tool: LibraryTool, statement: ToolStatement): LocalTool {
  const { name, description = "", execute } = tool;
  const input = (tool.input ?? { type: "object", properties: {} }) as ToolInput; // registration checks it
  const schema = "~standard" in input ? { input } : { inputSchema: input };
  const { idempotent = false } = statement;
  return { ...statement, idempotent, name, description, ...schema, execute };
}
