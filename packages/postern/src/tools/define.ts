import { defined, type JsonObject, messageOf, type Risk, RuntimeFault, visible } from "@postern/core";
import type { Suggestion } from "../policy/policy.ts";
import type { ActionSpec, LocalTool } from "./kinds.ts";
import { type ArgumentsOf, isStandardSchema, type ToolInput } from "./schema/standard-schema.ts";
import type { JudgedCall, PreviewContext, Reconciled, Suspended, ToolContext } from "./tool.ts";

/** `ActionSpec` with its bodies typed by the schema of the arguments. */
export interface ActionDefinition<Input extends ToolInput>
  extends Omit<ActionSpec, "input" | "execute" | "preview" | "classifyRisk" | "reconcile"> {
  readonly input?: Input | undefined;
  execute?(input: ArgumentsOf<Input>, context: ToolContext, action: string): unknown;
  preview?(input: ArgumentsOf<Input>, context: PreviewContext, action: string): unknown;
  /**
   * Runs before the decision, with the arguments as they were sent. It may raise the risk, and lower a risk that the tool
   * declares, but never one that an operator stated.
   */
  classifyRisk?(given: ArgumentsOf<Input>, action: string, call?: JudgedCall): Risk | Suggestion;
  reconcile?(input: ArgumentsOf<Input>, context: ToolContext, action: string): Reconciled | Promise<Reconciled>;
}

export interface ToolDefinition<Input extends ToolInput, Inputs extends Readonly<Record<string, ToolInput>>>
  extends ActionDefinition<Input>,
    Pick<LocalTool, "name" | "toolType" | "ui" | "deferLoading"> {
  readonly description: string;
  readonly actions?: { readonly [Name in keyof Inputs]: ActionDefinition<Inputs[Name]> } | undefined;
}

/**
 * Declares a tool. It is checked when it is registered; the fault names what is missing or not known.
 *
 * @example
 * const send = defineTool({
 *   name: "send_email", description: "Sends a mail.", risk: "high", idempotent: false,
 *   input: z.object({ to: z.string(), body: z.string() }),
 *   execute: async ({ to }) => `sent to ${to}`,
 * });
 *
 * @public
 */
export function defineTool<
  Input extends ToolInput = JsonObject,
  Inputs extends Readonly<Record<string, ToolInput>> = Record<string, JsonObject>,
>(definition: ToolDefinition<Input, Inputs>): LocalTool {
  return Object.freeze({ ...definition });
}

/** The JSON Schema of an action's arguments, as offered to models. Returns undefined if it takes none. */
export function offeredSchema(spec: ActionSpec, tool: string): JsonObject | undefined {
  if (spec.inputSchema !== undefined) return spec.inputSchema;
  const { input } = spec;
  if (!isStandardSchema(input)) return input;
  const { jsonSchema, vendor } = input["~standard"];
  if (jsonSchema === undefined) {
    throw new RuntimeFault(
      "options_invalid",
      `Tool ${visible(tool)}: a schema of \`${vendor}\` has no JSON Schema form here; state \`inputSchema\` as well.`,
    );
  }
  try {
    const { $schema: _dialect, ...schema } = jsonSchema.input({ target: "draft-2020-12" });
    return schema as JsonObject; // Standard Schema defines it as JSON
  } catch (error) {
    throw new RuntimeFault(
      "options_invalid",
      `Tool ${visible(tool)}: \`input\` cannot be shown as JSON Schema (${messageOf(error)}); state \`inputSchema\` as well.`,
      { cause: error },
    );
  }
}

const suspensions = new WeakSet<object>();

/**
 * The answer of a tool that waits for people: its own image and the approval it waits for. It runs again with
 * `context.frozen` when the approval is decided. Only an answer of this function suspends a call, JSON cannot.
 *
 * @public
 */
export function suspend(image: string, approvalId: string, expiresAt?: number): Suspended {
  return suspended({ suspended: image, approvalId, ...defined({ expiresAt }) });
}

/** The same with all members given. */
export function suspended(answer: Suspended): Suspended {
  const made = Object.freeze({ ...answer });
  suspensions.add(made);
  return made;
}

export function isSuspended(answer: unknown): answer is Suspended {
  return typeof answer === "object" && answer !== null && suspensions.has(answer);
}

const cuts = new WeakSet<object>();

/**
 * Marks the answer of a suspending tool that was interrupted. Its finished calls are recorded under their own keys, so the
 * same call sent again continues from there.
 */
export function cutShort<Answer extends object>(answer: Answer): Answer {
  cuts.add(answer);
  return answer;
}

export function isCutShort(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && cuts.has(answer);
}
