import type { Risk } from "../calls/call.ts";
import { messageOf, RuntimeFault } from "../calls/fault.ts";
import { digestOf, type Json, type JsonObject } from "../calls/json.ts";
import type { ToolFacts } from "../policy/policy.ts";
import { inOurSpelling, offeredSchema } from "./define.ts";
import { toolCallRequest } from "./exchange.ts";
import { deepFrozen } from "./frozen.ts";
import type { JsonSchemas, SchemaGuard } from "./json-schema.ts";
import {
  type ActionSpec,
  type AnyTool,
  type HostedTool,
  isHostedTool,
  isProviderDefinedTool,
  isRecord,
  kindOf,
  type LocalTool,
  type ProviderDefinedTool,
  providerSpecsOf,
} from "./kinds.ts";
import { Members } from "./members.ts";
import { checkedName, silhouette, visible } from "./names.ts";
import { noArguments } from "./offers.ts";
import { parserFor } from "./parse.ts";
import { plainSchema } from "./preflight.ts";
import { isStandardSchema } from "./standard-schema.ts";
import type { Action, Reconciled, ToolAnswer, ToolContext } from "./tool.ts";

/** What an operator, or the adapter of a server, says of a tool. It stands over what the tool says of itself. */
export interface Override {
  readonly risk?: Risk | "low" | undefined;
  readonly effects?: ToolFacts["effects"] | undefined;
  readonly idempotent?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  readonly approvalTtlMs?: number | undefined;
  readonly requireIdempotencyKey?: boolean | undefined;
  /** Needed as well as the tool's own (C24). */
  readonly scopes?: readonly string[] | undefined;
  readonly permissions?: readonly string[] | undefined;
}

export interface CompileOptions extends Override {
  /** The upstream server it comes from. */
  readonly server?: string | undefined;
  /** Where the tool's own `risk` comes from, when not from its author: `default` for a stranger's. */
  readonly riskSource?: ToolFacts["riskSource"] | undefined;
  /** By action name; stands over what is said for the whole tool. */
  readonly actions?: Readonly<Record<string, Override>> | undefined;
}

export interface Compiled {
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
export function compile(tool: AnyTool, options: CompileOptions, schemas: JsonSchemas): Compiled {
  if (isProviderDefinedTool(tool)) return { actions: [providerDefined(tool, options)], guards: [] };
  if (isHostedTool(tool)) return { actions: [hosted(tool, options)], guards: [] };
  if (kindOf(tool) !== "local") {
    const name: unknown = isRecord(tool) ? tool["name"] : undefined;
    throw new RuntimeFault(
      "tool_incomplete",
      `Tool ${visible(name)} has not the shape of a tool: it needs a \`name\`, a \`description\` and \`execute\`, \`actions\` or \`providerSpecs\`.`,
    );
  }
  return local(inOurSpelling(tool), options, schemas);
}

function local(tool: LocalTool, options: CompileOptions, schemas: JsonSchemas): Compiled {
  const name = checkedName(tool.name, "tool");
  const declared: readonly (readonly [string, ActionSpec])[] =
    tool.actions === undefined ? [["default", tool]] : Object.entries(tool.actions);
  if (declared.length === 0)
    new Members(name).refuse("actions", "is empty; declare at least one action.");
  const seen = new Set<string>();
  const guards: SchemaGuard[] = [];
  const actions = declared.map(([actionName, spec]) => {
    checkedName(actionName, "action");
    if (seen.has(silhouette(actionName))) {
      throw new RuntimeFault(
        "tool_name_confusable",
        `Tool \`${name}\` has two actions that look like \`${actionName}\`; rename one.`,
      );
    }
    seen.add(silhouette(actionName));
    return oneAction(tool, actionName, spec, options, schemas, guards);
  });
  return { actions, guards };
}

/** An action's own word, else its tool's. */
function stated<Name extends keyof ActionSpec>(
  tool: LocalTool,
  spec: ActionSpec,
  name: Name,
): ActionSpec[Name] {
  return spec[name] ?? tool[name];
}

function oneAction(
  tool: LocalTool,
  name: string,
  spec: ActionSpec,
  options: CompileOptions,
  schemas: JsonSchemas,
  guards: SchemaGuard[],
): Action {
  const whose = name === "default" ? tool.name : `${tool.name}.${name}`;
  const members = new Members(whose);
  const { actions: overrides, ...all } = options;
  const own =
    overrides !== undefined && Object.hasOwn(overrides, name) ? overrides[name] : undefined;
  const over: CompileOptions = { ...all, ...own };
  const facts = factsOf(
    tool,
    name,
    spec,
    over,
    members,
    [all.scopes, own?.scopes],
    [all.permissions, own?.permissions],
  );
  const idempotent = members.idempotent(over.idempotent ?? stated(tool, spec, "idempotent"));
  const { parse, inputSchema } = input(tool, spec, whose, members, schemas, guards);
  const outputSchema = readSchema(stated(tool, spec, "outputSchema"), whose);
  const description = members.text("description", stated(tool, spec, "description"));
  const title = stated(tool, spec, "title");
  return Object.freeze({
    tool: tool.name,
    name,
    ...(title !== undefined && { title: members.text("title", title) }),
    description,
    inputSchema,
    ...(outputSchema !== undefined && { outputSchema }),
    toolType: members.toolType(tool.toolType),
    ...(tool.ui !== undefined && { ui: Object.freeze({ ...tool.ui }) }),
    kind: "local" as const,
    facts,
    idempotent,
    definition: definitionOf(facts, idempotent, description, inputSchema, outputSchema),
    timeoutMs: members.milliseconds("timeoutMs", over.timeoutMs ?? stated(tool, spec, "timeoutMs")),
    approvalTtlMs: members.milliseconds(
      "approvalTtlMs",
      over.approvalTtlMs ?? stated(tool, spec, "approvalTtlMs"),
    ),
    suspends: members.flag("suspends", stated(tool, spec, "suspends")),
    detached: members.flag("detached", stated(tool, spec, "detached")),
    requireIdempotencyKey: members.flag(
      "requireIdempotencyKey",
      over.requireIdempotencyKey ?? stated(tool, spec, "requireIdempotencyKey"),
    ),
    previewBinds: members.flag("previewBinds", stated(tool, spec, "previewBinds")),
    deferLoading: members.flag("deferLoading", tool.deferLoading),
    concurrencySafe: members.flag("concurrencySafe", stated(tool, spec, "concurrencySafe")),
    notFromChain:
      tool.name === "tool_chain"
        ? "`tool_chain` cannot be called from a chain: that would be a recursion."
        : undefined,
    parse,
    ...bodiesOf(tool, name, spec, members),
  });
}

function factsOf(
  tool: LocalTool,
  action: string,
  spec: ActionSpec,
  over: CompileOptions,
  members: Members,
  scopes: readonly unknown[],
  permissions: readonly unknown[],
): ToolFacts {
  const risk = members.risk(over.risk ?? stated(tool, spec, "risk"));
  return Object.freeze({
    tool: tool.name,
    action,
    ...(over.server !== undefined && { server: over.server }),
    risk,
    riskSource:
      over.risk === undefined ? (over.riskSource ?? "declared") : (over.riskSource ?? "operator"),
    effects: members.effects(over.effects ?? stated(tool, spec, "effects"), risk),
    scopes: members.texts("scopes", tool.scopes, spec.scopes, ...scopes),
    permissions: members.texts("permissions", tool.permissions, spec.permissions, ...permissions),
  });
}

/** How the arguments are checked, and what models are shown of it. Without an `input` the action takes none. */
function input(
  tool: LocalTool,
  spec: ActionSpec,
  whose: string,
  members: Members,
  schemas: JsonSchemas,
  guards: SchemaGuard[],
): Pick<Action, "parse" | "inputSchema"> {
  const source = spec.input !== undefined || spec.inputSchema !== undefined ? spec : tool;
  const { input: given } = source;
  if (given !== undefined && !isStandardSchema(given) && !isRecord(given)) {
    members.refuse(
      "input",
      "must be a Standard Schema (zod, valibot, arktype, …) or a JSON Schema object.",
    );
  }
  const inputSchema = readSchema(offeredSchema(source, tool.name), whose) ?? noArguments;
  if (isStandardSchema(given)) return { inputSchema, parse: parserFor(given) };
  if (inputSchema === noArguments) return { inputSchema, parse: parserFor(undefined) };
  const guard = schemas.prepare(given ?? inputSchema, whose);
  guards.push(guard);
  return { inputSchema, parse: parserFor(guard) };
}

function readSchema(given: unknown, whose: string): JsonObject | undefined {
  if (given === undefined) return undefined;
  const { schema } = plainSchema(given, (why) => {
    throw new RuntimeFault("schema_refused", `The schema of ${visible(whose)} is refused: ${why}`);
  });
  return deepFrozen(schema);
}

/** D18: what a person reads before approving. Another server's tool, or one that reads otherwise, is another definition. */
function definitionOf(
  facts: ToolFacts,
  idempotent: boolean,
  description: string,
  inputSchema: Json,
  outputSchema: Json | undefined,
): string {
  const { tool, action, server, risk, effects, scopes } = facts;
  try {
    return digestOf({
      tool,
      action,
      server: server ?? null,
      description,
      inputSchema,
      outputSchema: outputSchema ?? null,
      risk,
      effects,
      scopes,
      idempotent,
    });
  } catch (error) {
    throw new RuntimeFault(
      "tool_incomplete",
      `Tool ${visible(tool)} cannot be fingerprinted: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

/** A body belongs to the action, else to the tool, and keeps its own `this`. */
function bodiesOf(
  tool: LocalTool,
  name: string,
  spec: ActionSpec,
  members: Members,
): Pick<Action, "execute" | "preview" | "classifyRisk" | "reconcile"> {
  const has = (
    body: "execute" | "preview" | "classifyRisk" | "reconcile",
  ): ActionSpec | undefined => {
    const owner = spec[body] === undefined ? tool : spec;
    if (owner[body] !== undefined && typeof owner[body] !== "function")
      members.refuse(body, "must be a function.");
    return owner[body] === undefined ? undefined : owner;
  };
  const runner =
    has("execute") ?? members.refuse("execute", "is missing; write what the tool does.");
  const viewer = has("preview");
  const classifier = has("classifyRisk");
  const finder = has("reconcile");
  return {
    execute: (given, context) => runner.execute?.(given, context, name) as ToolAnswer, // toRawResult takes whatever it is
    preview: viewer && (async (given, context) => viewer.preview?.(given, context, name) as never), // previewed.ts takes whatever it is
    classifyRisk: classifier && ((given) => classifier.classifyRisk?.(given, name) ?? {}),
    reconcile:
      finder && (async (given, context) => finder.reconcile?.(given, context, name) as Reconciled), // read member by member by who asks
  };
}

/** Nothing runs here: the provider runs it and its result arrives in a later turn (case 13). */
function hosted(tool: HostedTool, options: CompileOptions): Action {
  return offSite(tool, options, "hosted", "safe", {
    notFromChain: `\`${tool.name}\` is provider-hosted: it cannot be called from a chain.`,
    execute: () => undefined,
  });
}

/** `handleCall` runs, and `execute` is never looked for (case 12). Its provider's own answer is kept as it is (C12). */
function providerDefined(tool: ProviderDefinedTool, options: CompileOptions): Action {
  return offSite(tool, options, "provider_defined", "high", {
    notFromChain: `\`${tool.name}\` is provider-defined: it cannot be called from a chain.`,
    execute: (given: unknown, context: ToolContext) => {
      const call = toolCallRequest({
        name: tool.name,
        arguments: isRecord(given) ? (given as JsonObject) : {},
        callId: context.callId,
      }); // arguments are JSON
      return (
        tool.handleCall === undefined
          ? tool.handle_call?.(call, context)
          : tool.handleCall(call, context)
      ) as ToolAnswer; // toRawResult takes whatever it is
    },
  });
}

function offSite(
  tool: ProviderDefinedTool,
  options: CompileOptions,
  kind: "hosted" | "provider_defined",
  assumed: Risk,
  own: Pick<Action, "execute" | "notFromChain">,
): Action {
  const members = new Members(checkedName(tool.name, "tool"));
  const { actions: overrides, ...all } = options;
  const over: CompileOptions = { ...all, ...overrides?.["default"] };
  const source = {
    ...over,
    riskSource:
      over.riskSource ??
      (over.risk === undefined && tool.risk === undefined ? ("default" as const) : undefined),
  };
  const facts = factsOf(
    {
      name: tool.name,
      description: tool.description,
      risk: tool.risk ?? assumed,
      effects: kind === "hosted" ? "read" : "write",
    },
    "default",
    {},
    source,
    members,
    [over.scopes],
    [over.permissions],
  );
  const idempotent = members.flag("idempotent", over.idempotent ?? tool.idempotent);
  const specs = readSchema(providerSpecsOf(tool), tool.name) ?? {};
  return Object.freeze({
    tool: tool.name,
    name: "default",
    description: tool.description,
    inputSchema: anyArguments,
    toolType: "FUNCTION" as const,
    kind,
    facts,
    idempotent,
    definition: definitionOf(facts, idempotent, tool.description, specs, undefined),
    timeoutMs: members.milliseconds("timeoutMs", over.timeoutMs),
    approvalTtlMs: members.milliseconds("approvalTtlMs", over.approvalTtlMs),
    suspends: false,
    detached: false,
    requireIdempotencyKey: members.flag("requireIdempotencyKey", over.requireIdempotencyKey),
    previewBinds: false,
    deferLoading: false,
    concurrencySafe: false,
    parse: (given: JsonObject) => ({ input: given }), // its provider made them after its own schema, which is not told
    classifyRisk: undefined,
    preview: undefined,
    reconcile: undefined,
    ...own,
  });
}

const anyArguments: JsonObject = Object.freeze({ type: "object" });
