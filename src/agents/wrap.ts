import { RuntimeFault } from "../core/fault.ts";
import type { JsonObject } from "../core/json.ts";
import type { Runtime } from "../runtime/api.ts";
import type { ActionSpec, LocalTool } from "../tools/kinds.ts";
import type { ToolInput } from "../tools/schema/standard-schema.ts";
import type { ToolContext } from "../tools/tool.ts";

/** What an agent library does not know of a tool and Postern must: stated by the developer. A tool without a risk is refused. */
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

/** A tool of an agent library, as its adapter reads it. */
export interface LibraryTool {
  /** The library's own object: the same one may be wrapped again. */
  readonly original: object;
  readonly name: string;
  readonly description: string;
  readonly input: ToolInput;
  execute(input: unknown, context: ToolContext): unknown;
}

const wrapped = new WeakMap<Runtime, Map<string, object>>();

/**
 * Registers tools that an agent library already has, each with its statement. Wrapping the same tools again changes nothing.
 *
 * @throws RuntimeFault `tool_incomplete` for a tool without a statement, and what registration refuses
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
      "tool_incomplete",
      `There is no tool \`${unknown}\` to state a risk for; there are ${names(tools)}.`,
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
    "tool_incomplete",
    `Tool \`${name}\` has no risk. State it where you wrap the tool: { ${name}: { risk: "high", effects: "write", idempotent: false } }.`,
  );
}

function localTool({ name, description, input, execute }: LibraryTool, statement: ToolStatement): LocalTool {
  const schema = isJsonSchema(input) ? { inputSchema: input } : { input };
  const { idempotent = false } = statement;
  return { ...statement, idempotent, name, description, ...schema, execute };
}

function isJsonSchema(input: ToolInput): input is JsonObject {
  return !("~standard" in input);
}

function names(tools: readonly LibraryTool[]): string {
  return tools.map(({ name }) => `\`${name}\``).join(", ") || "none";
}
