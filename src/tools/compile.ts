import { RuntimeFault } from "../core/fault.ts";
import { deepFrozen } from "../core/json.ts";
import { shown } from "../core/shown.ts";
import { readable, readableSchema } from "../results/readable.ts";
import { declaredAnnotations } from "./annotations.ts";
import { offeredSchema } from "./define.ts";
import { type ActionDraft, type CompileOptions, definitionOf, factsOf, overrideOf, stated } from "./facts.ts";
import {
  type ActionSpec,
  type AnyTool,
  isHostedTool,
  isLocalTool,
  isProviderDefinedTool,
  isRecord,
  type LocalTool,
  type ProviderDefinedTool,
} from "./kinds.ts";
import { Members } from "./members.ts";
import { checkedName, Silhouettes, visible } from "./names.ts";
import { hostedAction, providerDefinedAction } from "./off-site.ts";
import { noArguments } from "./offers.ts";
import { parserFor } from "./parse.ts";
import type { JsonSchemas, SchemaGuard } from "./schema/json-schema.ts";
import { readSchema } from "./schema/preflight.ts";
import { isStandardSchema } from "./schema/standard-schema.ts";
import type { Action, ToolAnswer } from "./tool.ts";
import { checkedUi } from "./ui.ts";

export interface CompiledTool {
  /** In the order they were declared; frozen. */
  readonly actions: readonly Action[];
  /** The strangers' schemas among theirs: `ready` tells whether they are valid. */
  readonly guards: readonly SchemaGuard[];
}

/**
 * Turns a declared tool into what the gates work with, once. A tool's own code is not run here.
 *
 * @throws RuntimeFault `tool_incomplete`, `tool_name_invalid`, `tool_name_confusable` or `schema_refused`
 */
export function compile(tool: AnyTool, options: CompileOptions, schemas: JsonSchemas): CompiledTool {
  if (isProviderDefinedTool(tool)) return providerDefined(tool, options, schemas);
  if (isHostedTool(tool)) return { actions: [hostedAction(tool, options)], guards: [] };
  if (isLocalTool(tool)) return localActions(tool, options, schemas);
  throw noTool(tool);
}

/** One that states a schema has its arguments checked, as a local tool has. */
function providerDefined(tool: ProviderDefinedTool, options: CompileOptions, schemas: JsonSchemas): CompiledTool {
  const action = providerDefinedAction(tool, options);
  const { name, description, input } = tool;
  if (input === undefined) return { actions: [action], guards: [] };
  // Models know the arguments by the provider's own declaration, so a Standard Schema need not convert to JSON Schema.
  if (isStandardSchema(input)) return { actions: [Object.freeze({ ...action, parse: parserFor(input) })], guards: [] };
  const draft: ActionDraft = {
    ...{ tool: { name, description, input }, name: "default", spec: {} },
    ...{ over: overrideOf(options, "default"), members: new Members(name) },
  };
  const { guard, ...checked } = argumentsOf(draft, schemas);
  return { actions: [Object.freeze({ ...action, ...checked })], guards: guard === undefined ? [] : [guard] };
}

/** The fault for what has not the shape of any kind of tool. */
export function noTool(value: unknown): RuntimeFault {
  const name: unknown = isRecord(value) ? value["name"] : undefined;
  const what = typeof name === "string" && name !== "" ? visible(name) : `The tool ${shown(value)}`;
  const needs = "a tool needs a `name`, a `description`, and `execute`, `actions` or `providerSpecs`";
  return new RuntimeFault("tool_incomplete", `${what} does not have the shape of a tool: ${needs}.`);
}

function localActions(tool: LocalTool, options: CompileOptions, schemas: JsonSchemas): CompiledTool {
  const declared: readonly (readonly [string, ActionSpec])[] =
    tool.actions === undefined ? [["default", tool]] : Object.entries(tool.actions);
  if (declared.length === 0)
    new Members(checkedName(tool.name, "tool")).refuse("actions", "is empty; declare at least one.");
  checkActionNames(
    checkedName(tool.name, "tool"),
    declared.map(([name]) => name),
  );
  const made = declared.map(([name, spec]) => {
    const members = new Members(tool.actions === undefined ? tool.name : `${tool.name}.${name}`);
    return localAction({ tool, name, spec, over: overrideOf(options, name), members }, schemas);
  });
  return {
    actions: made.map(({ action }) => action),
    guards: made.flatMap(({ guard }) => (guard === undefined ? [] : [guard])),
  };
}

function checkActionNames(tool: string, names: readonly string[]): void {
  const seen = new Silhouettes();
  for (const name of names) {
    const alike = seen.alike(checkedName(name, "action"));
    if (alike !== undefined) {
      throw new RuntimeFault(
        "tool_name_confusable",
        `Tool \`${tool}\`: its actions \`${alike}\` and \`${name}\` look alike; rename one.`,
      );
    }
    seen.add(name);
  }
}

interface CompiledAction {
  readonly action: Action;
  readonly guard: SchemaGuard | undefined;
}

function localAction(draft: ActionDraft, schemas: JsonSchemas): CompiledAction {
  const { tool, name, over, members } = draft;
  const facts = factsOf(draft);
  const idempotent = members.idempotent(over.idempotent ?? stated(draft, "idempotent"));
  const { guard, parse, takesBytes, inputSchema } = argumentsOf(draft, schemas);
  const output = stated(draft, "outputSchema");
  const outputSchema = output === undefined ? {} : { outputSchema: readableSchema(readSchema(output, members.whose)) };
  const previewBinds = members.flag("previewBinds", stated(draft, "previewBinds"), true);
  const description = readable(members.text("description", stated(draft, "description")));
  const title = stated(draft, "title");
  const ui = checkedUi(tool.ui, members);
  const action: Action = Object.freeze({
    ...{
      tool: tool.name,
      name,
      description,
      inputSchema,
      ...outputSchema,
      facts,
      idempotent,
      previewBinds,
      parse,
      takesBytes,
    },
    ...(title !== undefined && { title: readable(members.text("title", title)) }),
    annotations: Object.freeze({ ...(tool.annotations ?? declaredAnnotations(draft, facts, idempotent)) }),
    ...(tool.icons !== undefined && { icons: deepFrozen(structuredClone(tool.icons)) }),
    ...(tool.meta !== undefined && { meta: deepFrozen(structuredClone(tool.meta)) }),
    ...(ui !== undefined && { ui }),
    toolType: members.toolType(tool.toolType),
    kind: "local",
    definition: definitionOf(facts, { idempotent, previewBinds, description, inputSchema, ...outputSchema }),
    notFromChain:
      tool.name === "tool_chain" ? "`tool_chain` cannot be called from a chain: that would be a recursion." : undefined,
    ...termsOf(draft),
    ...bodiesOf(draft),
  });
  return { action, guard };
}

type ActionTerms = Pick<
  Action,
  "timeoutMs" | "approvalTtlMs" | "suspends" | "detached" | "requireIdempotencyKey" | "deferLoading" | "concurrencySafe"
>;

function termsOf(draft: ActionDraft): ActionTerms {
  const { tool, over, members } = draft;
  const flag = (member: "suspends" | "detached" | "concurrencySafe"): boolean =>
    members.flag(member, stated(draft, member));
  return {
    timeoutMs: members.milliseconds("timeoutMs", over.timeoutMs ?? stated(draft, "timeoutMs")),
    approvalTtlMs: members.milliseconds("approvalTtlMs", over.approvalTtlMs ?? stated(draft, "approvalTtlMs")),
    requireIdempotencyKey: members.flag(
      "requireIdempotencyKey",
      over.requireIdempotencyKey ?? stated(draft, "requireIdempotencyKey"),
    ),
    deferLoading: members.flag("deferLoading", tool.deferLoading),
    suspends: flag("suspends"),
    detached: flag("detached"),
    concurrencySafe: flag("concurrencySafe"),
  };
}

/** How the arguments are checked, and what models are shown of it. Without a schema the action takes none. */
function argumentsOf(
  { tool, spec, members, over }: ActionDraft,
  schemas: JsonSchemas,
): Pick<Action, "parse" | "takesBytes" | "inputSchema"> & { readonly guard: SchemaGuard | undefined } {
  const { input, inputSchema: shown } = spec.input !== undefined || spec.inputSchema !== undefined ? spec : tool;
  if (input !== undefined && !isStandardSchema(input) && !isRecord(input)) {
    members.refuse("input", "must be a Standard Schema (zod, valibot, arktype, …) or a JSON Schema object.");
  }
  const offered = offeredSchema({ input, inputSchema: shown }, tool.name);
  const inputSchema = offered === undefined ? noArguments : readableSchema(readSchema(offered, members.whose));
  if (isStandardSchema(input)) return { inputSchema, parse: parserFor(input), takesBytes: true, guard: undefined };
  if (offered === undefined) return { inputSchema, parse: parserFor(undefined), takesBytes: false, guard: undefined };
  const guard = schemas.prepare(input ?? offered, members.whose, over.server !== undefined);
  return { inputSchema, parse: parserFor(guard), takesBytes: false, guard };
}

type ToolFunctionName = "execute" | "preview" | "classifyRisk" | "reconcile";

/** A body belongs to the action, else to the tool, and keeps its own `this`. */
function bodiesOf({ tool, name, spec, members }: ActionDraft): Pick<Action, ToolFunctionName> {
  const ownerOf = (body: ToolFunctionName): ActionSpec | undefined => {
    const owner = spec[body] === undefined ? tool : spec;
    if (owner[body] !== undefined && typeof owner[body] !== "function") members.refuse(body, "must be a function.");
    return owner[body] === undefined ? undefined : owner;
  };
  const runner = ownerOf("execute") ?? members.refuse("execute", "is missing; write what the tool does.");
  const viewer = ownerOf("preview");
  const classifier = ownerOf("classifyRisk");
  const finder = ownerOf("reconcile");
  return {
    execute: (input, context) => runner.execute?.(input, context, name) as ToolAnswer, // toRawResult takes whatever it is
    preview: viewer && (async (input, context) => viewer.preview?.(input, context, name) as null), // toPreview takes whatever it is
    classifyRisk: classifier && ((given, call) => classifier.classifyRisk?.(given, name, call) ?? {}),
    reconcile: finder && (async (input, context) => finder.reconcile?.(input, context, name) ?? { found: "unknown" }),
  };
}
