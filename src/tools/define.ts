import type { Risk } from "../calls/call.ts";
import { messageOf, RuntimeFault } from "../calls/fault.ts";
import type { JsonObject } from "../calls/json.ts";
import type { Suggestion } from "../policy/policy.ts";
import { type ActionSpec, isRecord, type LocalTool } from "./kinds.ts";
import { visible } from "./names.ts";
import { type ArgumentsOf, isStandardSchema, type ToolInput } from "./standard-schema.ts";
import type { JudgedCall, PreviewContext, Reconciled, Suspended, ToolContext } from "./tool.ts";

/** `ActionSpec` with its bodies typed by the schema of the arguments. */
export interface ActionDefinition<Input extends ToolInput>
  extends Omit<ActionSpec, "input" | "execute" | "preview" | "classifyRisk" | "reconcile"> {
  readonly input?: Input | undefined;
  execute?(input: ArgumentsOf<Input>, context: ToolContext, action: string): unknown;
  preview?(input: ArgumentsOf<Input>, context: PreviewContext, action: string): unknown;
  /**
   * Is asked before anything is decided, with the arguments as they were sent. It may raise the risk, and lower one that the
   * tool declares: never one that an operator stated.
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
 * Declares a tool. Nothing is checked before it is registered: then whatever is missing is named (D11).
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

/**
 * Takes a bare object for a tool (C4): without a risk it is `safe`, without idempotence it is not. One that spells its
 * members in snake_case (`input_schema`) is called as such tools are: `execute(context, arguments)`.
 *
 * @public
 */
export function legacyTool(bare: object): LocalTool {
  const own = inOurSpelling(bare as LocalTool); // what it lacks shows at registration
  return Object.freeze({
    ...everyMember(own),
    risk: own.risk ?? "safe",
    idempotent: own.idempotent ?? false,
  });
}

/** A tool under our names: itself, unless it has an `input_schema`. */
export function inOurSpelling(tool: LocalTool): LocalTool {
  const members = tool as LocalTool & {
    readonly input_schema?: unknown;
    readonly defer_loading?: unknown;
  }; // in snake_case
  const { input_schema: schema, defer_loading: deferLoading, execute } = members;
  if (!isRecord(schema)) return tool;
  return {
    ...everyMember(tool),
    inputSchema: schema as JsonObject, // is read as JSON at registration
    ...(typeof deferLoading === "boolean" && { deferLoading }),
    ...(typeof execute === "function" && {
      execute: (input: unknown, context: ToolContext): unknown => Reflect.apply(execute, tool, [context, input]),
    }),
  };
}

/** A class's tools have their members on the prototype, and bodies that need their own `this`. */
function everyMember(tool: LocalTool): LocalTool {
  const members: Record<string, unknown> = { name: tool.name, description: tool.description };
  for (const name of [...memberNames, ...Object.keys(tool)]) {
    const member: unknown = Reflect.get(tool, name);
    if (member !== undefined && !respelled.has(name))
      members[name] = typeof member === "function" && name !== "input" ? member.bind(tool) : member;
  }
  return members as unknown as LocalTool; // the same members, read one by one
}

/** What is under our own name from now on: otherwise it would be turned round a second time. */
const respelled: ReadonlySet<string> = new Set(["input_schema", "defer_loading"]);

const memberNames: readonly (keyof LocalTool)[] = [
  ...([
    "title",
    "input",
    "inputSchema",
    "outputSchema",
    "risk",
    "effects",
    "openWorld",
    "scopes",
    "permissions",
    "idempotent",
    "timeoutMs",
  ] as const),
  ...([
    "approvalTtlMs",
    "suspends",
    "detached",
    "requireIdempotencyKey",
    "previewBinds",
    "concurrencySafe",
    "toolType",
    "ui",
  ] as const),
  ...(["deferLoading", "actions", "execute", "preview", "classifyRisk", "reconcile"] as const),
];

/** The JSON Schema of an action's arguments, as offered to models. Undefined: it takes none. */
export function offeredSchema(spec: ActionSpec, tool: string): JsonObject | undefined {
  if (spec.inputSchema !== undefined) return spec.inputSchema;
  const { input } = spec;
  if (!isStandardSchema(input)) return input;
  const { jsonSchema, vendor } = input["~standard"];
  if (jsonSchema === undefined) {
    throw new RuntimeFault(
      "tool_incomplete",
      `Tool ${visible(tool)}: a schema of \`${vendor}\` has no JSON Schema form here; state \`inputSchema\` as well.`,
    );
  }
  try {
    const { $schema: _dialect, ...schema } = jsonSchema.input({ target: "draft-2020-12" });
    return schema as JsonObject; // Standard Schema promises JSON
  } catch (error) {
    throw new RuntimeFault(
      "tool_incomplete",
      `Tool ${visible(tool)}: \`input\` cannot be shown as JSON Schema (${messageOf(error)}); state \`inputSchema\` as well.`,
      { cause: error },
    );
  }
}

const suspensions = new WeakSet<object>();

/**
 * What a tool that waits for people answers with: its own image and the approval it waits for. It is run again with
 * `context.frozen` when the approval is decided. Only what this made counts: a stranger's JSON cannot suspend a call.
 *
 * @public
 */
export function suspend(image: string, approvalId: string, expiresAt?: number): Suspended {
  return suspended({ suspended: image, approvalId, ...(expiresAt !== undefined && { expiresAt }) });
}

/** The same of all that can be said. */
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
 * What a tool that suspends answers when its turn was cut short before its end. What it did is done and on record under
 * its own key; the same call sent again goes on from there. Only what this marked counts.
 */
export function cutShort<Answer extends object>(answer: Answer): Answer {
  cuts.add(answer);
  return answer;
}

export function isCutShort(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && cuts.has(answer);
}
