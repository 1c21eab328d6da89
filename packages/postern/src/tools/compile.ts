import { deepFrozen, defined, isRecord, type JsonObject, type Risk, RuntimeFault } from "@postern/core";
import { readable, readableSchema } from "../results/readable.ts";
import { declaredAnnotations } from "./annotations.ts";
import { offeredSchema } from "./define.ts";
import { toolCallRequest } from "./exchange.ts";
import { type ActionDraft, type CompileOptions, definitionOf, factsOf, overrideOf, stated } from "./facts.ts";
import {
  type ActionSpec,
  type AnyTool,
  type HostedTool,
  isLocalTool,
  isProviderDefinedTool,
  kindOf,
  type LocalTool,
  type ProviderDefinedTool,
} from "./kinds.ts";
import { noTool, refuseMistypedProviders, refuseUnknownMembers } from "./known-members.ts";
import { Members } from "./members.ts";
import { checkedName, Silhouettes } from "./names.ts";
import { noArguments } from "./offers.ts";
import { parserFor } from "./parse.ts";
import { withoutAbsent } from "./schema/absent.ts";
import type { JsonSchemas, SchemaGuard } from "./schema/json-schema.ts";
import { readSchema } from "./schema/preflight.ts";
import { isStandardSchema } from "./schema/standard-schema.ts";
import type { Action, ToolAnswer, ToolContext } from "./tool.ts";
import { checkedUi } from "./ui.ts";

export interface CompiledTool {
  /** In the order in which they were declared; frozen. */
  readonly actions: readonly Action[];
  /** The JSON Schemas of the actions. `ready` resolves when they are valid. */
  readonly guards: readonly SchemaGuard[];
}

interface CompiledAction {
  readonly action: Action;
  readonly guard?: SchemaGuard | undefined;
}

/**
 * Turns a declared tool into what the gates work with, once. It does not run the tool's own code.
 *
 * @throws RuntimeFault `options_invalid`
 */
export function compile(tool: AnyTool, options: CompileOptions, schemas: JsonSchemas): CompiledTool {
  const compiled = compiledActions(tool, options, schemas);
  return {
    actions: compiled.map(({ action }) => Object.freeze(action)),
    guards: compiled.flatMap(({ guard }) => guard ?? []),
  };
}

function compiledActions(tool: AnyTool, options: CompileOptions, schemas: JsonSchemas): readonly CompiledAction[] {
  const kind = kindOf(tool);
  if (kind === undefined) throw noTool(tool);
  const members = new Members(tool.name);
  refuseUnknownMembers(tool, kind, members);
  refuseUnknownMembers(options, "options", members);
  if (isLocalTool(tool)) return localActions(tool, options, schemas);
  refuseMistypedProviders(tool, members);
  return [isProviderDefinedTool(tool) ? providerDefined(tool, options, schemas) : hosted(tool, options)];
}

/** Has no code here: the provider runs it, and its result arrives in a later turn. */
function hosted(tool: HostedTool, options: CompileOptions): CompiledAction {
  const { name } = tool;
  const action: Action = {
    ...declared(tool, options, { risk: "safe", effects: "read" }),
    kind: "hosted",
    notFromChain: `\`${name}\` is provider-hosted: it cannot be called from a chain.`,
    execute: () => `\`${name}\` is run by the provider; nothing ran here. Its result comes from the provider.`,
  };
  return { action };
}

/**
 * Runs `handleCall`, never `execute`. A provider's tool drives a computer or a shell, so its risk is `high` by default. Its
 * arguments are checked if it states a schema.
 */
function providerDefined(tool: ProviderDefinedTool, options: CompileOptions, schemas: JsonSchemas): CompiledAction {
  const { name, description, input } = tool;
  const action: Action = {
    ...declared(tool, options, { risk: "high", effects: "write" }),
    kind: "provider_defined",
    notFromChain: `\`${name}\` is provider-defined: it cannot be called from a chain.`,
    execute: (args: unknown, context: ToolContext) => {
      const call = toolCallRequest({
        name,
        arguments: isRecord(args) ? (args as JsonObject) : {}, // a call's arguments are JSON
        callId: context.callId,
      });
      return tool.handleCall(call, context) as ToolAnswer; // toRawResult accepts every value
    },
  };
  if (input === undefined) return { action };
  // Models know the arguments by the provider's own declaration, so a Standard Schema need not convert to JSON Schema.
  if (isStandardSchema(input)) return { action: { ...action, parse: parserFor(input) } };
  const members = new Members(name);
  const draft = { tool: { name, description, input }, name: "default", spec: {}, over: options, members };
  const { guard, ...checked } = argumentsOf(draft, schemas);
  return { action: { ...action, ...checked }, guard };
}

const anyArguments: JsonObject = Object.freeze({ type: "object" });

/** The part that hosted and provider-defined tools have in common. A risk that is not stated is the kind's own. */
function declared(
  tool: HostedTool & Partial<ProviderDefinedTool>,
  options: CompileOptions,
  kind: { readonly risk: Risk; readonly effects: "read" | "write" },
): Omit<Action, "kind" | "notFromChain" | "execute"> {
  const members = new Members(checkedName(tool.name, "tool"));
  const override = overrideOf(options, "default");
  const isAssumed = override.risk === undefined && tool.risk === undefined;
  const over = isAssumed ? { riskSource: "default" as const, ...override } : override;
  const { name, description, risk = kind.risk, effects = kind.effects, openWorld = true, callTypes = [] } = tool;
  const { permissions, timeoutMs, idempotent: own, preview, classifyRisk } = tool;
  const described = { name, description, risk, effects, openWorld, permissions, timeoutMs, idempotent: own };
  const draft: ActionDraft = { tool: described, name: "default", spec: {}, over, members };
  const facts = factsOf(draft);
  const idempotent = members.flag("idempotent", stated(draft, "idempotent"));
  const providerSpecs = readSchema(tool.providerSpecs, name);
  return {
    ...{ tool: name, name: "default", description, inputSchema: anyArguments, toolType: "FUNCTION", annotations: {} },
    ...{ facts, idempotent, providerSpecs, ...termsOf(draft) },
    ...(callTypes.length > 0 && { callTypes: Object.freeze([...callTypes]) }),
    definition: definitionOf(facts, { idempotent, description, inputSchema: providerSpecs }),
    previewBinds: preview !== undefined,
    parse: (args) => ({ input: args }), // a model follows the provider's own schema, which Postern does not know
    withoutAbsent: (given) => given,
    takesBytes: true,
    preview: preview && (async (input, context) => tool.preview?.(input, context, "default") as null), // toPreview accepts every value
    classifyRisk: classifyRisk && ((args, call) => tool.classifyRisk?.(args, "default", call) ?? {}),
    reconcile: undefined,
  };
}

function localActions(tool: LocalTool, options: CompileOptions, schemas: JsonSchemas): readonly CompiledAction[] {
  const name = checkedName(tool.name, "tool");
  const actions: readonly (readonly [string, ActionSpec])[] =
    tool.actions === undefined ? [["default", tool]] : Object.entries(tool.actions);
  if (actions.length === 0) new Members(name).refuse("actions", "is empty; declare at least one.");
  refuseOverridesOfNothing(name, actions, options);
  const seen = new Silhouettes();
  for (const [action] of actions) {
    const alike = seen.alike(checkedName(action, "action"));
    if (alike !== undefined)
      throw new RuntimeFault(
        "options_invalid",
        `Tool \`${name}\`: its actions \`${alike}\` and \`${action}\` look alike; rename one.`,
      );
    seen.add(action);
  }
  return actions.map(([action, spec]) => {
    const members = new Members(tool.actions === undefined ? name : `${name}.${action}`);
    if (tool.actions !== undefined) refuseUnknownMembers(spec, "action", members);
    return localAction({ tool, name: action, spec, over: overrideOf(options, action), members }, schemas);
  });
}

/** What an operator states for an action that is not there would be lost. */
function refuseOverridesOfNothing(
  name: string,
  actions: readonly (readonly [string, ActionSpec])[],
  { actions: overrides = {} }: CompileOptions,
): void {
  const known = actions.map(([action]) => action);
  for (const [action, override] of Object.entries(overrides)) {
    const members = new Members(`${name}.${action}`);
    if (!known.includes(action)) members.refuse("actions", `is not an action of the tool; it has ${known.join(", ")}.`);
    refuseUnknownMembers(override, "override", members);
  }
}

function localAction(draft: ActionDraft, schemas: JsonSchemas): CompiledAction {
  const { tool, name, members } = draft;
  const facts = factsOf(draft);
  const idempotent = members.idempotent(stated(draft, "idempotent"));
  const { guard, inputSchema, ...checking } = argumentsOf(draft, schemas);
  const output = stated(draft, "outputSchema");
  const outputSchema = output && readableSchema(readSchema(output, members.whose));
  const previewBinds = members.flag("previewBinds", stated(draft, "previewBinds"), true);
  const description = readable(members.text("description", stated(draft, "description")));
  const title = stated(draft, "title");
  const action: Action = {
    ...{ tool: tool.name, name, description, inputSchema, facts, idempotent, previewBinds, ...checking },
    ...defined({
      outputSchema,
      title: title === undefined ? undefined : readable(members.text("title", title)),
      icons: tool.icons && deepFrozen(structuredClone(tool.icons)),
      meta: tool.meta && deepFrozen(structuredClone(tool.meta)),
      ui: checkedUi(tool.ui, members),
    }),
    annotations: Object.freeze({ ...(tool.annotations ?? declaredAnnotations(draft, facts, idempotent)) }),
    toolType: members.toolType(tool.toolType),
    kind: "local",
    definition: definitionOf(facts, {
      idempotent,
      previewBinds,
      description,
      inputSchema,
      ...defined({ outputSchema }),
    }),
    notFromChain:
      tool.name === "tool_chain" ? "`tool_chain` cannot be called from a chain: that would be a recursion." : undefined,
    ...termsOf(draft),
    ...bodiesOf(draft),
  };
  return { action, guard };
}

const flags = ["requireIdempotencyKey", "suspends", "detached", "concurrencySafe"] as const;
type ActionTerms = Pick<Action, (typeof flags)[number] | "timeoutMs" | "approvalTtlMs" | "deferLoading">;

function termsOf(draft: ActionDraft): ActionTerms {
  const { tool, members } = draft;
  const values = flags.map((member) => [member, members.flag(member, stated(draft, member))]);
  return {
    ...(Object.fromEntries(values) as Pick<Action, (typeof flags)[number]>), // one for each flag
    timeoutMs: members.milliseconds("timeoutMs", stated(draft, "timeoutMs")),
    approvalTtlMs: members.milliseconds("approvalTtlMs", stated(draft, "approvalTtlMs")),
    deferLoading: members.flag("deferLoading", tool.deferLoading),
  };
}

/** How the arguments are checked, and what models see of the schema. An action without a schema takes no arguments. */
function argumentsOf(
  { tool, spec, members, over }: ActionDraft,
  schemas: JsonSchemas,
): Pick<Action, "parse" | "withoutAbsent" | "takesBytes" | "inputSchema"> & {
  readonly guard: SchemaGuard | undefined;
} {
  const { input, inputSchema: own } = spec.input !== undefined || spec.inputSchema !== undefined ? spec : tool;
  if (input !== undefined && !isStandardSchema(input) && !isRecord(input)) {
    members.refuse("input", "must be a Standard Schema (zod, valibot, arktype, …) or a JSON Schema object.");
  }
  const offered = offeredSchema({ input, inputSchema: own }, tool.name);
  const inputSchema = offered === undefined ? noArguments : readableSchema(readSchema(offered, members.whose));
  const takesBytes = isStandardSchema(input);
  const guard =
    takesBytes || offered === undefined
      ? undefined
      : schemas.prepare(input ?? offered, members.whose, over.server !== undefined);
  const checked = guard?.vetted.schema ?? inputSchema;
  return {
    ...{ inputSchema, takesBytes, guard, parse: parserFor(takesBytes ? input : guard) },
    withoutAbsent: (given) => withoutAbsent(given, checked),
  };
}

type ToolFunctionName = "execute" | "preview" | "classifyRisk" | "reconcile";

/** A function belongs to the action, else to the tool, and keeps its own `this`. */
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
    execute: (input, context) => runner.execute?.(input, context, name) as ToolAnswer, // toRawResult accepts every value
    preview: viewer && (async (input, context) => viewer.preview?.(input, context, name) as null), // toPreview accepts every value
    classifyRisk: classifier && ((args, call) => classifier.classifyRisk?.(args, name, call) ?? {}),
    reconcile: finder && (async (input, context) => finder.reconcile?.(input, context, name) ?? { found: "unknown" }),
  };
}
